/* SPDX-License-Identifier: MIT */
/*
 * What all venues stand on: decimals and notional, bounded output, msgpack, EIP-712
 * words, the table of venues, and what a completion says about an order.
 */
#include "order_rig.h"

#include "sr_eip712.h"
#include "sr_msgpack.h"
#include "sigring_order.h"

/* ---- decimals ---- */

static void check_text(uint64_t v, unsigned int decimals, const char *expected)
{
	char text[SR_DECIMAL_TEXT_BYTES + 1];
	size_t bytes = sr_decimal_text(text, v, decimals);

	text[bytes] = '\0';
	cr_assert_str_eq(text, expected);
}

Test(decimal, has_no_trailing_zero_exponent_or_bare_point)
{
	check_text(0, 0, "0");
	check_text(0, 8, "0");
	check_text(1, 8, "0.00000001");
	check_text(10, 8, "0.0000001");
	check_text(100000000, 8, "1");
	check_text(120000000, 8, "1.2");
	check_text(1000000000, 8, "10");
	check_text(8765432112345678, 8, "87654321.12345678");
	check_text(UINT64_MAX, 0, "18446744073709551615");
	check_text(UINT64_MAX, 8, "184467440737.09551615");
	check_text(UINT64_MAX, 20, "0.18446744073709551615");
	check_text(UINT64_MAX, 24, "0.000018446744073709551615");
	check_text(10000000000000000000u, 19, "1");
}

Test(decimal, text_and_number_are_inverse)
{
	uint64_t state = 88172645463325252u, v, again;
	char text[SR_DECIMAL_TEXT_BYTES];

	for (unsigned int i = 0; i < 200000; i++) {
		unsigned int decimals = i % (SR_DECIMAL_TEXT_SCALE_MAX + 1);
		size_t bytes;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		v = state >> i % 64;
		bytes = sr_decimal_text(text, v, decimals);
		cr_assert_eq(sr_decimal_parse(&again, text, bytes, decimals), 0, "%.*s",
			     (int)bytes, text);
		cr_assert_eq(v, again);
		cr_assert(bytes == 1 || text[0] != '0' || text[1] == '.');
		cr_assert(text[bytes - 1] != '.');
		cr_assert(!memchr(text, '.', bytes) || text[bytes - 1] != '0');
	}
}

static int parse(uint64_t *v, const char *text, unsigned int decimals)
{
	return sr_decimal_parse(v, text, strlen(text), decimals);
}

Test(decimal, what_is_no_decimal_or_does_not_fit_is_refused)
{
	static const char *const bad[] = {
		"", ".", "-", "-.", "1.0.0", "1e5", "+1", " 1", "1 ", "0x1", "-1", "1-", "--0", "NaN",
	};
	uint64_t v = 77;

	for (unsigned int i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_eq(parse(&v, bad[i], 8), -EINVAL, "%s", bad[i]);
	cr_assert_eq(parse(&v, "0.000000001", 8), -ERANGE);
	cr_assert_eq(parse(&v, "18446744073709551616", 0), -ERANGE);
	cr_assert_eq(parse(&v, "184467440737.09551616", 8), -ERANGE);
	cr_assert_eq(parse(&v, "99999999999999999999999999999999", 8), -ERANGE);
	cr_assert_eq(v, 77, "untouched");
	cr_assert_eq(parse(&v, "184467440737.09551615000", 8), 0);
	cr_assert_eq(v, UINT64_MAX);
}

/* hyperliquid-python-sdk pull 313: "-0" was signed. */
Test(decimal, lesson_minus_zero_is_zero)
{
	uint64_t v;

	cr_assert_eq(parse(&v, "-0", 8), 0);
	cr_assert_eq(v, 0);
	check_text(v, 8, "0");
}

Test(decimal, published_facts)
{
	json_t *root = rig_vectors("hyperliquid.json"), *fact;
	static const char *const sets[] = { "decimal_to_wire", "decimal_normalise" };
	static const size_t counts[] = { 10, 5 };
	uint64_t v;
	size_t i;

	for (unsigned int set = 0; set < 2; set++)
		json_array_foreach(rig_array(root, sets[set], counts[set]), i, fact) {
			const char *in = rig_string(fact, "in"), *out = rig_string(fact, "out");

			if (!strcmp(in, "1.0.0")) {
				cr_assert_eq(parse(&v, in, 8), -EINVAL);
				continue;
			}
			cr_assert_eq(parse(&v, in, 8), 0, "%s", in);
			check_text(v, 8, out);
		}
	json_array_foreach(rig_array(root, "decimal_to_int", 4), i, fact) {
		const char *in = rig_string(fact, "in"), *out = rig_string(fact, "out");
		char text[32];

		if (!strcmp(out, "ERROR")) {
			cr_assert_eq(parse(&v, in, 8), -ERANGE);
			continue;
		}
		cr_assert_eq(parse(&v, in, 8), 0, "%s", in);
		(void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
		cr_assert_str_eq(text, out);
	}
	json_decref(root);
}

Test(decimal, figures_and_places)
{
	cr_assert_eq(sr_decimal_figures(0), 0);
	cr_assert_eq(sr_decimal_figures(1000), 1);
	cr_assert_eq(sr_decimal_figures(10010), 4);
	cr_assert_eq(sr_decimal_figures(UINT64_MAX), 20);
	cr_assert_eq(sr_decimal_places(0, 8), 0);
	cr_assert_eq(sr_decimal_places(100000000, 8), 0);
	cr_assert_eq(sr_decimal_places(100000001, 8), 8);
	cr_assert_eq(sr_decimal_places(120000000, 8), 1);
}

/* ---- notional ---- */

static sr_u128 wide(const char *text)
{
	sr_u128 v = 0;

	for (; *text; text++)
		v = v * 10u + (unsigned char)(*text - '0');
	return v;
}

Test(notional, agrees_with_pythons_integers)
{
	json_t *root = rig_vectors("notional.json"), *row;
	size_t i;

	json_array_foreach(rig_array(root, "cases", 300), i, row) {
		const char *expected = json_string_value(json_array_get(row, 4));
		uint64_t notional = 77;
		int ret = sr_notional(&notional, wide(json_string_value(json_array_get(row, 0))),
				      (int)json_integer_value(json_array_get(row, 1)),
				      wide(json_string_value(json_array_get(row, 2))),
				      (int)json_integer_value(json_array_get(row, 3)));

		if (!strcmp(expected, "RANGE")) {
			cr_assert_eq(ret, -ERANGE, "row %zu", i);
			cr_assert_eq(notional, 77, "untouched");
			continue;
		}
		cr_assert_eq(ret, 0, "row %zu", i);
		cr_assert_eq(notional, strtoull(expected, NULL, 10), "row %zu", i);
	}
	json_decref(root);
}

#define DIGITS 160u

/* The same on paper: decimal digits, least significant first. */
static int on_paper(uint64_t *notional, sr_u128 price, sr_u128 size, int scale)
{
	unsigned char a[40] = { 0 }, b[40] = { 0 }, product[DIGITS] = { 0 };
	unsigned int carry = 0;
	bool remainder = false;
	sr_u128 sum = 0;

	for (unsigned int i = 0; i < 40; i++, price /= 10, size /= 10) {
		a[i] = (unsigned char)(price % 10);
		b[i] = (unsigned char)(size % 10);
	}
	for (unsigned int i = 0; i < 40; i++) {
		carry = 0;
		for (unsigned int j = 0; j < 40; j++) {
			unsigned int digit = product[i + j] + (unsigned int)a[i] * b[j] + carry;

			product[i + j] = (unsigned char)(digit % 10);
			carry = digit / 10;
		}
		product[i + 40] = (unsigned char)carry;
	}
	for (int i = 0; i < scale && i < (int)DIGITS; i++)
		remainder |= product[i] != 0;
	for (int i = (int)DIGITS - 1; i >= 0; i--) {
		if (i + scale >= 0 && i + scale < (int)DIGITS)
			sum = sum * 10 + product[i + scale];
		else
			sum = sum * 10;
		if (sum > UINT64_MAX)
			return -ERANGE;
	}
	sum += remainder;
	if (sum > UINT64_MAX)
		return -ERANGE;
	*notional = (uint64_t)sum;
	return 0;
}

Test(notional, agrees_with_long_multiplication)
{
	uint64_t state = 88172645463325252u;
	unsigned int in_range = 0;

	for (unsigned int i = 0; i < 100000; i++) {
		sr_u128 factor[2];
		int decimals[2], ret, expected;
		uint64_t got = 77, paper = 77;

		for (unsigned int j = 0; j < 2; j++) {
			uint64_t high, shift;

			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			high = state;
			shift = high >> 7 & 127;
			factor[j] = ((sr_u128)high << 64 | high * 0x9e3779b97f4a7c15) >> shift;
			decimals[j] = i % 3 ? 8 : (int)(high % 50) - 12;
		}
		ret = sr_notional(&got, factor[0], decimals[0], factor[1], decimals[1]);
		expected = on_paper(&paper, factor[0], factor[1], decimals[0] + decimals[1] - 6);
		if (decimals[0] + decimals[1] - 6 > 60)
			continue;
		cr_assert_eq(ret, expected, "case %u", i);
		cr_assert_eq(got, paper, "case %u", i);
		in_range += !ret;
	}
	cr_assert_gt(in_range, 20000);
}

Test(notional, scales_are_bounded)
{
	uint64_t v;

	cr_assert_eq(sr_notional(&v, 1, INT8_MIN, 1, 6), -ERANGE);
	cr_assert_eq(sr_notional(&v, 1, 6, 1, INT_MAX), -ERANGE);
	cr_assert_eq(sr_notional(&v, 1, 60, 1, 60), -ERANGE);
	cr_assert_eq(sr_notional(&v, 1, 33, 1, 33), 0);
	cr_assert_eq(v, 1, "rounded up");
	cr_assert_eq(sr_notional(&v, 0, 33, 1, 33), 0);
	cr_assert_eq(v, 0);
}

/* ---- output ---- */

Test(out, keeps_to_its_room_and_remembers)
{
	unsigned char memory[8] = { 0 };
	struct sr_out out = sr_out_over(memory, 4);

	sr_out_bytes(&out, "abc", 3);
	sr_out_hex(&out, memory, 1);
	cr_assert(out.full);
	sr_out_byte(&out, 'd');
	sr_out_byte(&out, 'e');
	sr_out_be64(&out, UINT64_MAX);
	cr_assert_eq(sr_out_done(&out), -ENOSPC);
	cr_assert_eq(memcmp(memory, "abcd\0\0\0\0", 8), 0);
}

static void check_u256(const char *hex, const char *expected)
{
	unsigned char v[32] = { 0 };
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	size_t bytes = strlen(hex) / 2;

	cr_assert_eq(rig_unhex(v + 32 - bytes, bytes, hex), bytes);
	sr_out_u256(&out, v);
	cr_assert_eq(out.used, strlen(expected), "%.*s", (int)out.used, rig_text);
	cr_assert_eq(memcmp(rig_text, expected, out.used), 0);
}

Test(out, numbers_of_256_bits)
{
	check_u256("00", "0");
	check_u256("0a", "10");
	check_u256("8ac7230489e80000", "10000000000000000000");
	check_u256("8ac7230489e7ffff", "9999999999999999999");
	check_u256("9dae4b3ad3eb9ed3d4d8c2b1d0c2e1b3f1f2e3d4c5b6a79889706152433425f3",
		   "71321067833814999995687185355969386517099645628809964958989497846749207995891");
	check_u256("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		   "115792089237316195423570985008687907853269984665640564039457584007913129639935");
}

Test(out, base64)
{
	static const char *const facts[][2] = { /* RFC 4648 section 10 */
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
	};

	for (unsigned int i = 0; i < sizeof facts / sizeof facts[0]; i++) {
		struct sr_out out = sr_out_over(rig_text, sizeof rig_text);

		sr_out_base64(&out, (const unsigned char *)facts[i][0], strlen(facts[i][0]));
		cr_assert_eq(out.used, strlen(facts[i][1]));
		cr_assert_eq(memcmp(rig_text, facts[i][1], out.used), 0);
	}
}

/* ---- msgpack ---- */

static struct sr_out packed;

static void start(void)
{
	packed = sr_out_over(rig_text, sizeof rig_text);
}

static void check_packed(const char *hex)
{
	unsigned char expected[64];

	cr_assert_eq(rig_unhex(expected, sizeof expected, hex), packed.used, "%s", hex);
	cr_assert_eq(memcmp(expected, rig_text, packed.used), 0, "%s", hex);
	start();
}

/* The msgpack specification's table of formats. */
Test(msgpack, takes_the_smallest_form)
{
	static const struct {
		int64_t v;
		const char *hex;
	} ints[] = {
		{ 0, "00" }, { 127, "7f" }, { 128, "cc80" }, { 255, "ccff" }, { 256, "cd0100" },
		{ 65535, "cdffff" }, { 65536, "ce00010000" }, { 4294967295, "ceffffffff" },
		{ 4294967296, "cf0000000100000000" }, { INT64_MAX, "cf7fffffffffffffff" },
		{ -1, "ff" }, { -32, "e0" }, { -33, "d0df" }, { -128, "d080" },
		{ -129, "d1ff7f" }, { -32768, "d18000" }, { -32769, "d2ffff7fff" },
		{ INT32_MIN, "d280000000" }, { (int64_t)INT32_MIN - 1, "d3ffffffff7fffffff" },
		{ INT64_MIN, "d38000000000000000" },
	};

	start();
	for (unsigned int i = 0; i < sizeof ints / sizeof ints[0]; i++) {
		sr_msgpack_int(&packed, ints[i].v);
		check_packed(ints[i].hex);
	}
	sr_msgpack_uint(&packed, UINT64_MAX);
	check_packed("cfffffffffffffffff");
	sr_msgpack_bool(&packed, true);
	sr_msgpack_bool(&packed, false);
	sr_msgpack_nil(&packed);
	check_packed("c3c2c0");
	sr_msgpack_array(&packed, 15);
	sr_msgpack_array(&packed, 16);
	sr_msgpack_array(&packed, 65536);
	check_packed("9fdc0010dd00010000");
	sr_msgpack_map(&packed, 15);
	sr_msgpack_map(&packed, 16);
	sr_msgpack_map(&packed, 65536);
	check_packed("8fde0010df00010000");
}

Test(msgpack, lengths_of_strings)
{
	static const unsigned char text[65536];

	start();
	sr_msgpack_str(&packed, "abc", 3);
	check_packed("a3616263");
	sr_msgpack_str(&packed, text, 31);
	cr_assert_eq((unsigned char)rig_text[0], 0xbf);
	start();
	sr_msgpack_str(&packed, text, 32);
	packed.used = 2;
	check_packed("d920");
	sr_msgpack_str(&packed, text, 256);
	packed.used = 3;
	check_packed("da0100");
}

/* ---- EIP-712 ---- */

/* EIP-55's own examples. */
Test(eip712, addresses_have_their_checksum)
{
	static const char *const facts[] = {
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
		"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
		unsigned char address[20];

		cr_assert_eq(rig_unhex(address, 20, facts[i]), 20);
		sr_address_checksum(&out, address);
		cr_assert_eq(out.used, 42);
		cr_assert_eq(memcmp(rig_text, facts[i], 42), 0, "%.42s", rig_text);
	}
}

Test(eip712, words)
{
	static const char expected[] =
		"000000000000000000000000000000000000000000000000ffffffffffffffff"
		"00000000000000000000000000000000ffffffffffffffffffffffffffffffff"
		"fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe"
		"00000000000000000000000000000000000000000000000000000000000000ff"
		"0000000000000000000000000102030405060708090a0b0c0d0e0f1011121314"
		"c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
	static const unsigned char address[20] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
						   11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	struct sr_out out = sr_out_over(rig_text, sizeof rig_text);
	unsigned char bytes[6 * 32];

	sr_word_u64(&out, UINT64_MAX);
	sr_word_u128(&out, ~(sr_u128)0);
	sr_word_i128(&out, -2);
	sr_word_i128(&out, 255);
	sr_word_address(&out, address);
	sr_word_text(&out, NULL, 0);
	cr_assert_eq(rig_unhex(bytes, sizeof bytes, expected), out.used);
	cr_assert_arr_eq(bytes, rig_text, sizeof bytes);
}

/* ---- the table ---- */

Test(venues, have_numbers_and_names_of_their_own)
{
#define ROW(number, constant, name) &sr_venue_##name,
	static const struct sr_venue *const all[] = { SR_VENUES(ROW) };
#undef ROW

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		cr_assert_geq(all[i]->type, SR_TYPE_TYPED_MIN);
		cr_assert(sr_venue_find(all[i]->type) == all[i], "%s", all[i]->name);
		cr_assert(sr_venue_from_name(all[i]->name) == all[i], "%s", all[i]->name);
		cr_assert(sr_venue_name(all[i]->type) == all[i]->name);
		cr_assert_eq(sr_venue_type(all[i]->name), all[i]->type);
		cr_assert(all[i]->bytes && all[i]->decode && all[i]->digest &&
			  all[i]->signature && all[i]->render);
	}
	cr_assert_null(sr_venue_find(SR_ECDSA_DIGEST));
	cr_assert_null(sr_venue_find(0xffff));
	cr_assert_null(sr_venue_from_name("no such venue"));
	cr_assert_null(sr_venue_name(SR_ECDSA_DIGEST));
	cr_assert_eq(sr_venue_type("no such venue"), 0);
}

Test(venues, kinds_have_names)
{
	for (uint32_t kind = SR_KIND_ORDER; kind <= SR_KIND_MESSAGE; kind++)
		cr_assert_eq(sr_kind_from_name(sr_kind_name(kind)), kind);
	cr_assert_eq(sr_kind_from_name("none"), SR_KIND_NONE);
	cr_assert_str_eq(sr_kind_name(200), "unassigned kind");
}

/* ---- what a completion says about an order ---- */

Test(completed, gives_the_signature_and_the_nonce_that_was_signed)
{
	struct sr_completion done = { .status = SR_OK, .sigkind = SR_SIG_ECDSA, .recovery_id = 1,
				      .venue_nonce = 77, .signature = { 1, [63] = 2 } };
	struct sr_order_signature signature = { { 9 }, 9 };
	unsigned char body[SR_ORDER_HEAD_BYTES] = { 0 };

	cr_assert_eq(sr_order_completed(&signature, body, &done), 0);
	cr_assert_eq(sr_get64(body + SR_ORDER_NONCE), 77, "the signer numbered it");
	cr_assert(signature.rs[0] == 1 && signature.rs[63] == 2 && signature.recid == 1);

	cr_assert_eq(sr_order_completed(&signature, body, &done), 0, "once more is the same");
	sr_put64(body + SR_ORDER_NONCE, 78);
	cr_assert_eq(sr_order_completed(&signature, body, &done), -EINVAL, "another order was signed");
	cr_assert_eq(sr_get64(body + SR_ORDER_NONCE), 78);
}

Test(completed, without_a_signature_nothing_is_touched)
{
	const struct sr_completion done = { .status = SR_DENIED, .venue_nonce = 77 };
	struct sr_completion bip340 = { .status = SR_OK, .sigkind = SR_SIG_BIP340 };
	struct sr_order_signature signature = { { 9 }, 9 };
	unsigned char body[SR_ORDER_HEAD_BYTES] = { 0 };

	cr_assert_eq(sr_order_completed(&signature, body, &done), -ENOMSG);
	cr_assert_eq(sr_order_completed(&signature, body, &bip340), -ENOMSG);
	cr_assert_eq(sr_get64(body + SR_ORDER_NONCE), 0);
	cr_assert_eq(signature.rs[0], 9);
}
