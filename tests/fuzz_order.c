/* SPDX-License-Identifier: MIT */
/*
 * fuzz_order.c - arbitrary bodies of every typed order.
 *
 * The first two bytes choose a venue and a room to render into, the rest is the body.
 * Checked besides what the sanitizers see: no body is of two types; what decodes has a
 * digest, and renders the same text again, into as much room as it said and no less.
 */
#include "sr_order.h"

#define FUZZ_NAME "order"
#define FUZZ_INPUT_BYTES 4098u
#ifdef SR_FUZZ_MAIN
#define FUZZ_MAKE fuzz_make_order
#endif
#include "fuzz_main.h"

#define TEXT_BYTES 65536u

#define ROW(number, constant, name) &sr_venue_##name,
static const struct sr_venue *const venues[] = { SR_VENUES(ROW) };
#undef ROW
#define VENUES (sizeof venues / sizeof venues[0])

#ifdef SR_FUZZ_MAIN
/* Bodies that are nearly right: a head that fits, few bits in what follows, and often
 * the length that the head asks for. */
static size_t fuzz_make_order(uint8_t *input, size_t room)
{
	const struct sr_venue *venue = venues[fuzz_random() % VENUES];
	unsigned int mode = (unsigned int)(fuzz_random() % 4);
	uint8_t *body = input + 2;
	uint32_t bytes;

	for (size_t i = 0; i < room; i++)
		input[i] = mode == 0 || fuzz_random() % 16 == 0 ? (uint8_t)(fuzz_random() >> 32) : 0;
	input[0] = (uint8_t)(fuzz_random() >> 32);
	input[1] = (uint8_t)(fuzz_random() >> 32);
	sr_put16(body + SR_ORDER_TYPE, venue->type);
	body[SR_ORDER_ACTION] = (uint8_t)(fuzz_random() % 12);
	body[SR_ORDER_FLAGS] = (uint8_t)(fuzz_random() % 64);
	sr_put16(body + SR_ORDER_ROWS, (uint16_t)(fuzz_random() % (fuzz_random() & 1 ? 3 : 140)));
	sr_put16(body + SR_ORDER_TAIL, venue->tail ? (uint16_t)(fuzz_random() % 256) : 0);
	bytes = venue->bytes(body);
	if (bytes)
		bytes += sr_get16(body + SR_ORDER_TAIL);
	if (!bytes || bytes > room - 2 || fuzz_random() % 16 == 0)
		bytes = (uint32_t)(fuzz_random() % (room - 2));
	return 2 + bytes;
}
#endif

static struct sr_order order;
static struct sr_order_env env;
static char text[TEXT_BYTES], again[TEXT_BYTES];

static void judge(const unsigned char *body, uint32_t bytes, size_t room)
{
	const struct sr_order_signature signature = { { 1 }, 1 };
	unsigned char digest[SR_DIGEST_BYTES];
	int whole, part;

	require(order.view.leg_count <= SR_ORDER_LEGS_MAX, "more legs than there are");
	require(order.view.kind != SR_KIND_NONE, "no kind");
	require(order.body == body && order.body_bytes == bytes, "another body");
	require(sr_order_digest(digest, &order, &env) == 0, "no digest");
	require(sr_order_signature_text(text, sizeof text, &order, &signature, &env) > 0,
		"no signature");
	whole = sr_order_render(text, sizeof text, &order, &signature, &env);
	require(whole > 0, "no body to post");
	part = sr_order_render(again, room, &order, &signature, &env);
	require((part == whole) == (room >= (size_t)whole) && (part == whole || part == -ENOSPC),
		"room");
	if (part == whole)
		require(!memcmp(text, again, (size_t)whole), "another text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned int taken = 0;
	unsigned char *body;

	if (bytes < 2 || bytes > FUZZ_INPUT_BYTES)
		return 0;
	if (!env.hasher)
		require(sr_hasher_new(&env.hasher) == 0, "no hasher");
	/* Of its own size, so that the sanitizers see a read behind its end. */
	body = malloc(bytes - 2 ? bytes - 2 : 1);
	require(body != NULL, "no memory");
	memcpy(body, data + 2, bytes - 2);

	for (size_t i = 0; i < VENUES; i++) {
		int ret = sr_order_decode(&order, venues[i]->type, body, (uint32_t)bytes - 2, &env);

		require(ret == 0 || ret == -EINVAL || ret == -EPERM, "an error that is not due");
		if (ret)
			continue;
		taken++;
		judge(body, (uint32_t)bytes - 2, (size_t)data[0] << 4 | data[1] >> 4);
	}
	require(taken <= 1, "one body, two types");
	free(body);
	return 0;
}
