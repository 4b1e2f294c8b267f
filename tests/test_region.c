/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sr_record.h"
#include "sr_region.h"

#define LAYOUT_HASH_V1 0x09798764u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static const struct sr_geometry small = { 2, 8, 384 };

static struct sr_region make(const struct sr_geometry *g)
{
	struct sr_reason why = { 0, "" };
	struct sr_region r;
	int ret = sr_region_create(&r, SR_REGION_SUBMISSION, g, 0, -1, &why);

	if (ret == -ENOSYS || ret == -EINVAL)
		cr_skip_test("no sealed memfd here (qemu-user, or an old kernel): %s", why.text);
	cr_assert_eq(ret, 0, "%s", why.text);
	return r;
}

Test(region, geometry_is_judged_before_any_arithmetic)
{
	static const struct sr_geometry wrong[] = {
		{ 0, 8, 384 },
		{ 65, 8, 384 },
		{ UINT32_MAX, 8, 384 },
		{ 1, 0, 384 },
		{ 1, 1, 384 },
		{ 1, 3, 384 },
		{ 1, 8192, 384 },
		{ 1, UINT32_MAX, 384 },
		{ 1, 0x80000000u, 384 },
		{ 1, 8, 0 },
		{ 1, 8, 64 },
		{ 1, 8, 200 },
		{ 1, 8, SR_SUB_BYTES_MAX + 128 },
		{ 1, 8, UINT32_MAX },
	};
	static const struct sr_geometry right[] = { { 1, 2, 128 },
						    { 64, 4096, SR_SUB_BYTES_MAX },
						    { 3, 256, 384 } };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct sr_region r = { .fd = 77 };

		cr_assert_not(sr_geometry_valid(&wrong[i]), "%zu", i);
		cr_assert_eq(sr_region_create(&r, SR_REGION_SUBMISSION, &wrong[i], 0, -1, NULL),
			     -EINVAL);
		cr_assert_eq(sr_region_join(&r, SR_REGION_SUBMISSION, &wrong[i], 0, NULL), -EPROTO);
		cr_assert_eq(r.fd, 77, "outputs are untouched on failure");
	}
	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
		cr_assert(sr_geometry_valid(&right[i]));
}

Test(region, parts_lie_where_the_abi_says)
{
	struct sr_region r = make(&small);
	struct sr_slots s0 = sr_region_slots(&r, 0);
	struct sr_slots s1 = sr_region_slots(&r, 1);

	cr_assert_eq((unsigned char *)sr_region_beat(&r) - r.base, 128);
	cr_assert_eq((unsigned char *)sr_region_block(&r, 0) - r.base, 256);
	cr_assert_eq((unsigned char *)sr_region_block(&r, 1) - r.base, 384);
	cr_assert_eq(r.slots_offset, 4096);
	cr_assert_eq(s0.base - r.base, 4096);
	cr_assert_eq(s1.base - s0.base, 8 * 384);
	cr_assert_eq(s0.mask, 7);
	cr_assert_eq(s0.slot_bytes, 384);
	cr_assert_eq(sr_region_bytes(&small), 4096 + 8192, "2 * 8 * 384 bytes fill two pages");
	sr_region_drop(&r);
}

Test(region, blocks_of_64_sessions_stay_before_the_slots)
{
	struct sr_geometry g = { 64, 2, 128 };
	struct sr_region r = make(&g);

	cr_assert_leq((size_t)((unsigned char *)sr_region_block(&r, 63) - r.base) + SR_LINE_BYTES,
		      r.slots_offset);
	cr_assert_leq((size_t)(sr_region_slots(&r, 63).base - r.base) + 2 * 128, r.bytes);
	sr_region_drop(&r);
}

Test(region, is_sealed_and_its_slots_look_empty)
{
	struct sr_region r = make(&small);

	cr_assert_eq(fcntl(r.fd, F_GET_SEALS) & SEALS, SEALS);
	cr_assert(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
	for (uint32_t i = 0; i < 2; i++) {
		struct sr_slots s = sr_region_slots(&r, i);

		for (uint64_t n = 0; n < 8; n++)
			cr_assert_eq(sr_slot_look(&s, n), -EAGAIN);
	}
	sr_region_drop(&r);
	cr_assert_null(r.base);
	sr_region_drop(&r); /* an empty one is legal */
}

Test(region, joined_copy_shows_what_the_creator_writes)
{
	struct sr_region r = make(&small);
	struct sr_region j;
	struct sr_slots w = sr_region_slots(&r, 1);
	struct sr_slots t;
	unsigned char record[384] = { 0 };

	cr_assert_eq(sr_region_join(&j, SR_REGION_SUBMISSION, &small, r.fd, NULL), 0);
	cr_assert_neq(j.base, r.base);
	cr_assert_eq(j.fd, -1, "the descriptor is not taken over");
	t = sr_region_slots(&j, 1);
	record[100] = 42;
	sr_slot_publish(&w, 0, record);
	cr_assert_eq(sr_slot_look(&t, 0), 0);
	sr_slot_copy(&t, 0, record);
	cr_assert_eq(record[100], 42);
	sr_region_drop(&r); /* the creator goes: the mapping stays */
	cr_assert_eq(sr_slot_look(&t, 0), 0);
	sr_region_drop(&j);
}

static void cannot_join(const struct sr_region *r, enum sr_region_kind kind,
			const struct sr_geometry *g, int error, const char *words)
{
	struct sr_region j = { .fd = 77 };
	struct sr_reason why = { 0, "" };

	cr_assert_eq(sr_region_join(&j, kind, g, r->fd, &why), error, "%s", why.text);
	cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	cr_assert_eq(j.fd, 77, "outputs are untouched on failure");
}

Test(region, join_refuses_another_kind_or_geometry)
{
	struct sr_region r = make(&small);
	struct sr_geometry g = small;

	cannot_join(&r, SR_REGION_COMPLETION, &small, -EPROTO, "geometry");
	g.sessions = 1;
	g.depth = 16; /* as large */
	cannot_join(&r, SR_REGION_SUBMISSION, &g, -EPROTO, "geometry");
	g = small;
	g.depth = 16;
	cannot_join(&r, SR_REGION_SUBMISSION, &g, -EPROTO, "bytes");
	sr_region_drop(&r);
}

/* The creator writes his header through his own mapping, as a hostile one could. */
Test(region, join_refuses_each_wrong_word_of_the_header)
{
	struct sr_region r = make(&small);
	struct sr_region_header *h = (struct sr_region_header *)(void *)r.base;
	struct sr_region_header good = *h;

	h->magic++;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "magic");
	*h = good;
	h->abi_major++;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "same version");
	*h = good;
	h->layout_hash++;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "same version");
	*h = good;
	h->region_bytes++;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "geometry");
	*h = good;
	h->slots_offset += 4096;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "geometry");
	*h = good;
	h->slot_bytes = 128;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EPROTO, "geometry");
	*h = good;
	sr_region_drop(&r);
}

Test(region, join_keeps_its_own_copy_of_the_geometry)
{
	struct sr_region r = make(&small);
	struct sr_region_header *h = (struct sr_region_header *)(void *)r.base;
	struct sr_region j;

	cr_assert_eq(sr_region_join(&j, SR_REGION_SUBMISSION, &small, r.fd, NULL), 0);
	h->depth = 4096;
	h->slots_offset = 0xfffff000u;
	cr_assert_eq(j.geometry.depth, 8);
	cr_assert_eq(j.slots_offset, 4096);
	cr_assert_eq(sr_region_slots(&j, 1).base - j.base, 4096 + 8 * 384);
	sr_region_drop(&j);
	sr_region_drop(&r);
}

Test(region, join_refuses_what_is_no_memfd)
{
	struct sr_region r = { .fd = open("/dev/zero", O_RDWR | O_CLOEXEC) };

	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EBADF, "no memfd");
	(void)close(r.fd);
	r.fd = -1;
	cannot_join(&r, SR_REGION_SUBMISSION, &small, -EBADF, "no memfd");
}

Test(region, layout_hash_is_what_was_released)
{
	/* Changes only together with SR_ABI_MAJOR. */
	cr_assert_eq(SR_ABI_MAJOR, 1);
	cr_assert_eq(sr_layout_hash(), LAYOUT_HASH_V1, "layout hash is 0x%08x", sr_layout_hash());
}
