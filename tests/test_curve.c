/* SPDX-License-Identifier: MIT */
#include "signer_rig.h"
#include "sr_hash.h"

struct answer {
	const char *seckey;
	const char *digest;
	const char *extra; /* NULL: deterministic */
	const char *sig;
	uint8_t recid;
};

#define ONE "0000000000000000000000000000000000000000000000000000000000000001"
#define FORTY_TWO "2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a"
#define ORDER "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
#define ALL_ONES "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

/*
 * Digests at or above the order, and the hedged one, are from an implementation
 * of RFC 6979 in Python integers; the others are published (trezor-crypto's
 * test_rfc6979) or RustCrypto k256's (256 bytes of 0xab under a key of 0x2a).
 */
static const struct answer answers[] = {
	{ ONE, "a0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e", NULL,
	  "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8"
	  "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
	  1 },
	{ "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
	  "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf", NULL,
	  "432310e32cb80eb6503a26ce83cc165c783b870845fb8aad6d970889fcd7a6c8"
	  "530128b6b81c548874a6305d93ed071ca6e05074d85863d4056ce89b02bfab69",
	  0 },
	{ "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
	  "a0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e", NULL,
	  "fd567d121db66e382991534ada77a6bd3106f0a1098c231e47993447cd6af2d0"
	  "6b39cd0eb1bc8603e159ef5c20a5c8ad685a45b06ce9bebed3f153d10d93bed5",
	  0 },
	{ ONE, ALL_ONES, NULL,
	  "7cb38cc5712e9e11a767615f6080dbc111c9cdd613eb98999fd92a86bafd4540"
	  "7923ca1f4d03471d2866f776ef8a6d3cac099b427331aeb245aa9dafeddcf115",
	  0 },
	{ ONE, ORDER, NULL,
	  "a0b37f8fba683cc68f6574cd43b39f0343a50008bf6ccea9d13231d9e7e2e1e4"
	  "11edc8d307254296264aebfc3dc76cd8b668373a072fd64665b50000e9fcce52",
	  1 },
};

static struct sr_curve *curve;

static void begin(void)
{
	static const unsigned char seed[32] = { 9 };

	rig_need_secret_memory();
	cr_assert_eq(sr_curve_new(&curve, seed), 0);
}

static void end(void)
{
	sr_curve_delete(curve);
	sr_curve_delete(NULL);
}

TestSuite(ecdsa, .init = begin, .fini = end);

static void digest_of_seed_message(unsigned char digest[32])
{
	unsigned char message[256];
	struct sr_hasher *hasher;

	memset(message, 0xab, sizeof message);
	cr_assert_eq(sr_hasher_new(&hasher), 0);
	cr_assert_eq(sr_sha256(hasher, digest, message, sizeof message), 0);
	sr_hasher_delete(hasher);
}

Test(ecdsa, deterministic_signatures_are_the_published_ones)
{
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		unsigned char seckey[32], digest[32], want[64], sig[64], pubkey[33];
		uint8_t recid;

		rig_unhex(seckey, answers[i].seckey);
		rig_unhex(digest, answers[i].digest);
		rig_unhex(want, answers[i].sig);
		cr_assert_eq(sr_ecdsa_sign(curve, sig, &recid, digest, seckey, NULL), 0);
		cr_assert_arr_eq(sig, want, sizeof want, "case %zu", i);
		cr_assert_eq(recid, answers[i].recid, "case %zu", i);
		cr_assert_eq(sr_curve_pubkey(curve, pubkey, NULL, seckey), 0);
		cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), 0, "case %zu", i);
	}
}

Test(ecdsa, loop_that_the_project_started_from_gives_its_signature)
{
	unsigned char seckey[32], digest[32], want[64], sig[64], pubkey[33], want_pubkey[33];
	uint8_t recid;

	rig_unhex(want_pubkey,
		  "035be5e9478209674a96e60f1f037f6176540fd001fa1d64694770c56a7709c42c");
	rig_unhex(want, "082e114933b543362e29f818216bfa0a5d5a3bc56e16ca56ea440a99f5478bc0"
			"048611d6038a5b50bbdffbddbb223a9c4da7b760f5555e7fce488491fa5c6233");
	rig_unhex(seckey, FORTY_TWO);
	digest_of_seed_message(digest);
	cr_assert_eq(sr_ecdsa_sign(curve, sig, &recid, digest, seckey, NULL), 0);
	cr_assert_arr_eq(sig, want, sizeof want);
	cr_assert_eq(recid, 0);
	cr_assert_eq(sr_curve_pubkey(curve, pubkey, NULL, seckey), 0);
	cr_assert_arr_eq(pubkey, want_pubkey, sizeof pubkey);
}

Test(ecdsa, hedged_signature_follows_section_3_6)
{
	unsigned char seckey[32], digest[32], extra[32], want[64], sig[64];
	uint8_t recid;

	rig_unhex(want, "598f2323c562c7e43299d169803572eea3de56c5bcc6d9c8b1e0e86dc3c0e6b6"
			"104b1e8b955afba096a4f4bfe047a1d5fab3e7f6af5b46139fdd57a8af0277ec");
	rig_unhex(seckey, FORTY_TWO);
	digest_of_seed_message(digest);
	for (unsigned int i = 0; i < 32; i++)
		extra[i] = (unsigned char)i;
	cr_assert_eq(sr_ecdsa_sign(curve, sig, &recid, digest, seckey, extra), 0);
	cr_assert_arr_eq(sig, want, sizeof want);
	cr_assert_eq(recid, 1);
}

Test(ecdsa, numbers_that_are_no_key_are_refused_and_outputs_untouched)
{
	static const char *const wrong[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		ORDER,
		ALL_ONES,
	};
	unsigned char seckey[32], digest[32] = { 1 }, untouched[64], out[64];
	uint8_t recid = 0xee;

	memset(untouched, 0xee, sizeof untouched);
	for (size_t i = 0; i < 3; i++) {
		memset(out, 0xee, sizeof out);
		rig_unhex(seckey, wrong[i]);
		cr_assert_eq(sr_curve_pubkey(curve, out, out + 33, seckey), -EINVAL);
		cr_assert_eq(sr_ecdsa_sign(curve, out, &recid, digest, seckey, NULL), -EINVAL);
		cr_assert_eq(sr_bip340_sign(curve, out, digest, 32, seckey, NULL), -EINVAL);
		cr_assert_arr_eq(out, untouched, sizeof out);
		cr_assert_eq(recid, 0xee);
	}
}

Test(ecdsa, address_is_ethereums)
{
	unsigned char seckey[32], pubkey[33], address[20], want[20];

	rig_unhex(seckey, ONE);
	rig_unhex(want, "7e5f4552091a69125d5dfcb7b8c2659029395bdf");
	cr_assert_eq(sr_curve_pubkey(curve, pubkey, address, seckey), 0);
	cr_assert_arr_eq(address, want, sizeof want);
}

/* n - s, big-endian. */
static void flip(unsigned char s[32])
{
	unsigned char order[32];
	unsigned int borrow = 0;

	rig_unhex(order, ORDER);
	for (unsigned int i = 32; i-- > 0;) {
		unsigned int v = 256u + order[i] - s[i] - borrow;

		s[i] = (unsigned char)v;
		borrow = v < 256u;
	}
}

Test(ecdsa, verify_refuses_high_s_each_flipped_bit_and_no_point)
{
	unsigned char seckey[32], digest[32], sig[64], pubkey[33];

	rig_unhex(seckey, answers[0].seckey);
	rig_unhex(digest, answers[0].digest);
	rig_unhex(sig, answers[0].sig);
	cr_assert_eq(sr_curve_pubkey(curve, pubkey, NULL, seckey), 0);
	for (unsigned int bit = 0; bit < 512; bit += 7) {
		sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
		cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), -EBADMSG);
		sig[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}

	flip(sig + 32);
	cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), -EBADMSG, "high s");
	flip(sig + 32);
	cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), 0);
	pubkey[0] = 5;
	cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), -EINVAL);
	memset(sig, 0xff, sizeof sig);
	pubkey[0] = 2;
	cr_assert_eq(sr_ecdsa_verify(curve, sig, digest, pubkey), -EBADMSG, "r, s above n");
}

/* BIP-340 test-vectors.csv, index 0 and 1. */
Test(ecdsa, bip340_signatures_are_the_published_ones)
{
	static const struct {
		const char *seckey, *aux, *message, *sig, *pubkey;
	} cases[] = {
		{ "0000000000000000000000000000000000000000000000000000000000000003",
		  "0000000000000000000000000000000000000000000000000000000000000000",
		  "0000000000000000000000000000000000000000000000000000000000000000",
		  "E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA8215"
		  "25F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0",
		  "F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9" },
		{ "B7E151628AED2A6ABF7158809CF4F3C762E7160F38B4DA56A784D9045190CFEF",
		  "0000000000000000000000000000000000000000000000000000000000000001",
		  "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89",
		  "6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE3341"
		  "8906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A",
		  "DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659" },
	};

	for (size_t i = 0; i < 2; i++) {
		unsigned char seckey[32], aux[32], message[32], want[64], sig[64], pubkey[33];

		rig_unhex(seckey, cases[i].seckey);
		rig_unhex(aux, cases[i].aux);
		rig_unhex(message, cases[i].message);
		rig_unhex(want, cases[i].sig);
		rig_unhex(pubkey + 1, cases[i].pubkey);
		pubkey[0] = (unsigned char)(2 + i); /* ignored */
		cr_assert_eq(sr_bip340_sign(curve, sig, message, 32, seckey, aux), 0);
		cr_assert_arr_eq(sig, want, sizeof want, "case %zu", i);
		cr_assert_eq(sr_bip340_verify(curve, sig, message, 32, pubkey), 0);
		sig[40] ^= 1;
		cr_assert_eq(sr_bip340_verify(curve, sig, message, 32, pubkey), -EBADMSG);
	}
}

Test(ecdsa, bip340_takes_messages_of_any_length)
{
	unsigned char seckey[32], message[1000], sig[64], pubkey[33];

	memset(message, 0x44, sizeof message);
	rig_unhex(seckey, FORTY_TWO);
	cr_assert_eq(sr_curve_pubkey(curve, pubkey, NULL, seckey), 0);
	for (size_t bytes = 0; bytes <= sizeof message; bytes += 125) {
		cr_assert_eq(sr_bip340_sign(curve, sig, message, bytes, seckey, NULL), 0);
		cr_assert_eq(sr_bip340_verify(curve, sig, message, bytes, pubkey), 0);
		cr_assert_eq(sr_bip340_verify(curve, sig, message, bytes ^ 1, pubkey), -EBADMSG);
	}
}
