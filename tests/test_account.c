/* SPDX-License-Identifier: MIT */
/* What venues call the owner of a key, against keys that others have published. */
#include "session_rig.h"

#include "sr_account.h"

Test(account, cosmos_addresses_are_those_that_others_publish)
{
	/* dydxprotocol/v4-clients, the test identities of v4-client-py-v2 (two) and of
	 * v4-client-cpp; and the same keys under another chain's prefix. */
	static const struct {
		const char *prefix, *pubkey, *address;
	} known[] = {
		{ "dydx", "0291d1d9fd23334f3d53c3a5b50b56317d8964692320d73d22d7a0b115d5eb574f",
		  "dydx1wldnytkerzs39rs28djn0p9vvqer2x2k5x8hjy" },
		{ "dydx", "03f0be763f781b5b59ebc37d721beda913148a539425baa720b97d4820f652ed75",
		  "dydx14zzueazeh0hj67cghhf9jypslcf9sh2n5k6art" },
		{ "dydx", "02dd984e906662c1484f4dba55bc3cf72a2b0a97c8e017972abf57dc7f55861d25",
		  "dydx1cug6vurjx55mpeqxmvlqgp4y946echj2h7glc7" },
		/* cosmos/cosmjs, proto-signing's testutils.ts. */
		{ "cosmos", "034f04181eeba35391b858633a765c4a0c189697b40d216354d50890d350c70290",
		  "cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6" },
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		char text[SR_ACCOUNT_COSMOS_BYTES];
		unsigned char pubkey[33];

		(void)rig_unhex(pubkey, sizeof pubkey, known[i].pubkey);
		cr_assert_eq(sr_account_cosmos(text, known[i].prefix, pubkey), 0);
		cr_assert_str_eq(text, known[i].address);
	}
}

Test(account, a_prefix_that_no_chain_has_is_refused)
{
	static const char *const wrong[] = { "", "Cosmos", "cos mos", "c1\n",
					     "abcdefghijklmnopq" };
	char text[SR_ACCOUNT_COSMOS_BYTES] = "untouched";
	const unsigned char pubkey[33] = { 2 };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(sr_account_cosmos(text, wrong[i], pubkey), -EINVAL, "%s", wrong[i]);
		cr_assert_str_eq(text, "untouched");
	}
	cr_assert_eq(sr_account_cosmos(text, "abcdefghijklmnop", pubkey), 0);
	cr_assert_eq(strlen(text), SR_ACCOUNT_COSMOS_BYTES - 1);
}

/* The examples of ERC-55. */
Test(account, ethereum_addresses_have_their_check)
{
	static const char *const known[] = {
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
		"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
		"0x52908400098527886E0F7030069857D2E4169EE7",
		"0xde709f2102306220921060314715629080e2fb77",
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		char text[SR_ACCOUNT_ETHEREUM_BYTES];
		unsigned char address[20];

		(void)rig_unhex(address, sizeof address, known[i] + 2);
		sr_account_ethereum(text, address);
		cr_assert_str_eq(text, known[i]);
	}
}
