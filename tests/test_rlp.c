/* SPDX-License-Identifier: MIT */
/* RLP: the vectors of ethereum/tests and ethers, and what does not fit. */
#include "order_rig.h"

#include <sys/stat.h>

#include "sr_rlp.h"

static unsigned char room[16384];

/* Decimal digits of more than 64 bits to 33 bytes, big-endian. */
static void big(unsigned char number[33], const char *digits)
{
	memset(number, 0, 33);
	for (; *digits; digits++) {
		unsigned int carry = (unsigned int)(*digits - '0');

		for (unsigned int i = 33; i--; carry >>= 8) {
			carry += number[i] * 10u;
			number[i] = (unsigned char)carry;
		}
	}
}

/* Bounded: the vectors are a few levels deep. */
static void item_put(struct sr_out *out, const json_t *item, bool hex)
{
	static unsigned char bytes[8192];
	unsigned char number[33];
	const json_t *child;
	size_t i, list;

	if (json_is_array(item)) {
		list = sr_rlp_begin(out);
		json_array_foreach(item, i, child)
			item_put(out, child, hex);
		sr_rlp_end(out, list);
	} else if (json_is_integer(item)) {
		sr_rlp_uint(out, (uint64_t)json_integer_value(item));
	} else if (hex) {
		sr_rlp_bytes(out, bytes, rig_unhex(bytes, sizeof bytes, json_string_value(item)));
	} else if (json_string_value(item)[0] == '#') {
		big(number, json_string_value(item) + 1);
		sr_rlp_integer(out, number, sizeof number);
	} else {
		sr_rlp_bytes(out, json_string_value(item), json_string_length(item));
	}
}

static void check(json_t *array, const char *member, bool hex)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry) {
		struct sr_out out = sr_out_over(room, sizeof room);

		item_put(&out, json_object_get(entry, member), hex);
		cr_assert_not(out.full);
		rig_expect(entry, "encoded", out.data, out.used, rig_string(entry, "name"));
	}
}

static json_t *vectors(void)
{
	json_error_t error;
	/* One of them is a string of the byte 0. */
	json_t *root = json_load_file("tests/vectors/rlp.json", JSON_ALLOW_NUL, &error);

	cr_assert_not_null(root, "%s", error.text);
	cr_assert_gt(json_string_length(json_object_get(root, "source")), 20);
	return root;
}

Test(rlp, every_vector_of_ethereum_tests)
{
	json_t *root = vectors();

	check(rig_array(root, "rlp", 28), "item", false);
	json_decref(root);
}

Test(rlp, vectors_of_ethers)
{
	json_t *root = vectors();

	check(rig_array(root, "ethers_rlp", 40), "decoded", true);
	json_decref(root);
}

Test(rlp, every_vector_of_ethers_where_they_are)
{
	const char *folder = getenv("SIGRING_VECTORS");
	char path[512];
	json_error_t error;
	struct stat st;
	json_t *root;

	(void)snprintf(path, sizeof path, "%s/ethereum/ethers_rlp.json",
		       folder ? folder : "../shared/vectors");
	if (stat(path, &st))
		cr_skip_test("bulk set %s is not there (SIGRING_VECTORS names the folder)", path);
	root = json_load_file(path, 0, &error);
	cr_assert_not_null(root, "%s", error.text);
	cr_assert_eq(json_array_size(root), 61);
	check(root, "decoded", true);
	json_decref(root);
}

Test(rlp, lengths_of_lists_take_as_many_bytes_as_they_need)
{
	static const struct {
		size_t bytes, head;
	} cases[] = { { 0, 1 }, { 55, 1 }, { 56, 2 }, { 255, 2 }, { 256, 3 }, { 16000, 3 } };

	for (unsigned int i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sr_out out = sr_out_over(room, sizeof room);
		size_t list = sr_rlp_begin(&out);

		for (size_t j = 0; j < cases[i].bytes; j++)
			sr_out_byte(&out, (unsigned int)(1 + j % 100));
		sr_rlp_end(&out, list);
		cr_assert_eq(out.used, cases[i].bytes + cases[i].head);
		for (size_t j = 0; j < cases[i].bytes; j++)
			cr_assert_eq(room[cases[i].head + j], 1 + j % 100);
	}
}

Test(rlp, what_does_not_fit_is_remembered_at_every_room)
{
	for (size_t bytes = 0; bytes <= 70; bytes++) {
		unsigned char *exact = malloc(bytes + 1);
		struct sr_out out = sr_out_over(exact, bytes);
		size_t outer = sr_rlp_begin(&out), inner = sr_rlp_begin(&out);

		sr_rlp_bytes(&out, "0123456789012345678901234567890123456789012345678901234567",
			     58);
		sr_rlp_end(&out, inner);
		sr_rlp_end(&out, outer);
		cr_assert_eq(out.full, bytes < 64, "room of %zu", bytes);
		free(exact);
	}
}
