/* SPDX-License-Identifier: MIT */
#include "sr_frame.h"

/* Where a header's words and a payload's fields lie: the ABI of the stream. */
enum {
	AT_BYTES = 0,
	AT_SESSION = 4,
	AT_EPOCH = 8,
	AT_KIND = 12,

	HELLO_PROTOCOL = 0,
	HELLO_CREDITS = 4,
	HELLO_SLOT_BYTES = 8,
	HELLO_WRITE_BYTES = 12,
	HELLO_SESSIONS = 16,
	HELLO_FEATURES = 20,
	HELLO_BOOT_ID = 24,
	HELLO_RESERVED = 40,

	OPEN_TOKEN = 0,
	OPEN_FIRST = 16,
	OPEN_NEXT = 24,
	OPEN_DEPTH = 32,
	OPEN_SLOT_BYTES = 36,
	OPEN_UID = 40,
	OPEN_FLAGS = 44,
	OPEN_COOKIE = 48,
	OPEN_RESERVED = 52,

	OPENED_COOKIE = 0,
	OPENED_RESULT = 4,
};

SR_STATIC_ASSERT(HELLO_RESERVED + 8 == SR_HELLO_BYTES, "HELLO ABI");
SR_STATIC_ASSERT(OPEN_RESERVED + 4 == SR_OPEN_BYTES, "OPEN ABI");
SR_STATIC_ASSERT(OPENED_RESULT + 4 == SR_OPENED_BYTES, "OPENED ABI");
SR_STATIC_ASSERT(SR_FIELD_UNAUTHENTIC + 1 == SR_STATUS_FIELDS, "STATUS ABI");

int sr_frame_cut(struct sr_frame *frame, const unsigned char *data, size_t bytes)
{
	uint32_t whole;

	if (bytes < sizeof whole)
		return -EAGAIN;

	whole = sr_get32(data + AT_BYTES);
	if (whole < SR_FRAME_HEADER_BYTES || whole > SR_FRAME_BYTES_MAX)
		return -EPROTO;
	if (bytes < whole)
		return -EAGAIN;

	frame->bytes = whole;
	frame->session = sr_get32(data + AT_SESSION);
	frame->epoch = sr_get32(data + AT_EPOCH);
	frame->kind = sr_get32(data + AT_KIND);
	frame->payload = data + SR_FRAME_HEADER_BYTES;
	frame->payload_bytes = whole - SR_FRAME_HEADER_BYTES;
	return 0;
}

uint32_t sr_frame_put(unsigned char *out, uint32_t kind, uint32_t session, uint32_t epoch,
		      uint32_t payload_bytes)
{
	uint32_t whole = SR_FRAME_HEADER_BYTES + payload_bytes;

	sr_put32(out + AT_BYTES, whole);
	sr_put32(out + AT_SESSION, session);
	sr_put32(out + AT_EPOCH, epoch);
	sr_put32(out + AT_KIND, kind);
	return whole;
}

void sr_hello_put(unsigned char out[SR_HELLO_BYTES], const struct sr_hello *hello)
{
	sr_put32(out + HELLO_PROTOCOL, hello->protocol);
	sr_put32(out + HELLO_CREDITS, hello->credit_records);
	sr_put32(out + HELLO_SLOT_BYTES, hello->slot_bytes_max);
	sr_put32(out + HELLO_WRITE_BYTES, hello->write_bytes_max);
	sr_put32(out + HELLO_SESSIONS, hello->sessions_max);
	sr_put32(out + HELLO_FEATURES, hello->features);
	sr_put64(out + HELLO_BOOT_ID, hello->boot_id[0]);
	sr_put64(out + HELLO_BOOT_ID + 8, hello->boot_id[1]);
	sr_put64(out + HELLO_RESERVED, 0);
}

int sr_hello_get(struct sr_hello *hello, const struct sr_frame *frame)
{
	const unsigned char *p = frame->payload;

	if (frame->payload_bytes != SR_HELLO_BYTES)
		return -EPROTO;

	hello->protocol = sr_get32(p + HELLO_PROTOCOL);
	hello->credit_records = sr_get32(p + HELLO_CREDITS);
	hello->slot_bytes_max = sr_get32(p + HELLO_SLOT_BYTES);
	hello->write_bytes_max = sr_get32(p + HELLO_WRITE_BYTES);
	hello->sessions_max = sr_get32(p + HELLO_SESSIONS);
	hello->features = sr_get32(p + HELLO_FEATURES);
	hello->boot_id[0] = sr_get64(p + HELLO_BOOT_ID);
	hello->boot_id[1] = sr_get64(p + HELLO_BOOT_ID + 8);
	return 0;
}

void sr_open_put(unsigned char out[SR_OPEN_BYTES], const struct sr_open_request *open)
{
	sr_put64(out + OPEN_TOKEN, open->token[0]);
	sr_put64(out + OPEN_TOKEN + 8, open->token[1]);
	sr_put64(out + OPEN_FIRST, open->first);
	sr_put64(out + OPEN_NEXT, open->next);
	sr_put32(out + OPEN_DEPTH, open->depth);
	sr_put32(out + OPEN_SLOT_BYTES, open->slot_bytes);
	sr_put32(out + OPEN_UID, open->uid);
	sr_put32(out + OPEN_FLAGS, open->flags);
	sr_put32(out + OPEN_COOKIE, open->cookie);
	sr_put32(out + OPEN_RESERVED, 0);
}

int sr_open_get(struct sr_open_request *open, const struct sr_frame *frame)
{
	const unsigned char *p = frame->payload;

	if (frame->payload_bytes != SR_OPEN_BYTES)
		return -EPROTO;

	open->token[0] = sr_get64(p + OPEN_TOKEN);
	open->token[1] = sr_get64(p + OPEN_TOKEN + 8);
	open->first = sr_get64(p + OPEN_FIRST);
	open->next = sr_get64(p + OPEN_NEXT);
	open->depth = sr_get32(p + OPEN_DEPTH);
	open->slot_bytes = sr_get32(p + OPEN_SLOT_BYTES);
	open->uid = sr_get32(p + OPEN_UID);
	open->flags = sr_get32(p + OPEN_FLAGS);
	open->cookie = sr_get32(p + OPEN_COOKIE);
	return 0;
}

void sr_opened_put(unsigned char out[SR_OPENED_BYTES], const struct sr_opened *opened)
{
	sr_put32(out + OPENED_COOKIE, opened->cookie);
	sr_put32(out + OPENED_RESULT, opened->result);
}

int sr_opened_get(struct sr_opened *opened, const struct sr_frame *frame)
{
	if (frame->payload_bytes != SR_OPENED_BYTES)
		return -EPROTO;

	opened->cookie = sr_get32(frame->payload + OPENED_COOKIE);
	opened->result = sr_get32(frame->payload + OPENED_RESULT);
	return 0;
}
