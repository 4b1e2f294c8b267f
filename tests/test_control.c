/* SPDX-License-Identifier: MIT */
/*
 * The messages that set up a session: what is read is what was written, every other
 * length is refused, and the bytes are those of docs/session.md.
 */
#include <criterion/criterion.h>
#include <openssl/evp.h>

#include "session_rig.h"
#include "sr_control.h"

static unsigned char buffer[SR_CONTROL_BYTES_MAX + 64];

static const struct sr_terms terms = {
	.boot_id = { 0x1111111111111111, 0x2222222222222222 },
	.manifest_version = 7,
	.manifest_hash = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
			   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 },
	.audit_key = { 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a,
		       0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55,
		       0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f },
};

static struct sr_control_begin begin_with_ticket(void)
{
	struct sr_control_begin begin = {
		.has_ticket = true,
		.boot_id = { 0x1111111111111111, 0x2222222222222222 },
		.token = { 3, 4 },
	};

	memset(begin.nonce, 0x55, sizeof begin.nonce);
	memset(begin.binding, 0x66, sizeof begin.binding);
	memset(begin.ticket, 0x77, sizeof begin.ticket);
	return begin;
}

static struct sr_control whole(uint32_t bytes)
{
	struct sr_control message;

	cr_assert_eq(sr_control_whole(&message, buffer, bytes), 0);
	cr_assert_eq(message.bytes, bytes);
	cr_assert_eq(message.data, buffer);
	return message;
}

/* ---- lengths ---- */

static bool length_is_legal(uint32_t kind, uint32_t bytes)
{
	switch (kind) {
	case SR_CONTROL_ATTEST:
		return bytes == 48;
	case SR_CONTROL_DOCUMENT:
		return bytes >= 105 && bytes <= 16384;
	case SR_CONTROL_BEGIN:
		return bytes == 352;
	case SR_CONTROL_BEGUN:
		return bytes == 232;
	case SR_CONTROL_REFUSED:
		return bytes == 16;
	case SR_CONTROL_SEALED:
		return bytes >= 25 && bytes <= 16384;
	default:
		return false;
	}
}

Test(control, eight_bytes_show_whether_a_length_is_that_of_its_kind)
{
	static const uint32_t large[] = { 16385, 65536, 0x7fffffff, 0x80000000, 0xffffffff };
	struct sr_control message;

	for (uint32_t kind = 0; kind < 8; kind++) {
		sr_put32(buffer + 4, kind);
		for (uint32_t bytes = 0; bytes < 17000; bytes++) {
			int want = length_is_legal(kind, bytes) ? -EAGAIN : -EPROTO;

			sr_put32(buffer, bytes);
			cr_assert_eq(sr_control_cut(&message, buffer, 8), want, "%u of kind %u",
				     bytes, kind);
		}
		for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
			sr_put32(buffer, large[i]);
			cr_assert_eq(sr_control_cut(&message, buffer, 8), -EPROTO);
		}
	}
	sr_put32(buffer + 4, 0xffffffff);
	sr_put32(buffer, 48);
	cr_assert_eq(sr_control_cut(&message, buffer, 48), -EPROTO);
}

Test(control, a_message_is_cut_when_all_of_it_is_there_and_not_before)
{
	struct sr_control message = { .kind = 99 };
	unsigned char nonce[32] = { 1 };
	uint32_t bytes = sr_control_attest_put(buffer, nonce);

	cr_assert_eq(bytes, 48);
	for (size_t n = 0; n < bytes; n++) {
		cr_assert_eq(sr_control_cut(&message, buffer, n), -EAGAIN, "%zu", n);
		cr_assert_eq(sr_control_whole(&message, buffer, n), -EPROTO, "%zu", n);
		cr_assert_eq(message.kind, 99);
	}
	cr_assert_eq(sr_control_cut(&message, buffer, bytes + 9), 0);
	cr_assert_eq(message.bytes, bytes);
	cr_assert_eq(message.kind, SR_CONTROL_ATTEST);
	cr_assert_eq(sr_control_whole(&message, buffer, bytes + 1), -EPROTO);
	cr_assert_eq(sr_control_whole(&message, buffer, bytes), 0);
}

/* ---- what is written is what is read ---- */

Test(control, attest_is_read_as_it_was_written)
{
	unsigned char nonce[32], got[32];

	memset(nonce, 0xab, sizeof nonce);
	struct sr_control message = whole(sr_control_attest_put(buffer, nonce));
	cr_assert_eq(sr_control_attest_get(got, &message), 0);
	cr_assert_arr_eq(got, nonce, sizeof nonce);
}

Test(control, a_document_is_read_as_it_was_written)
{
	struct sr_control_document got;
	struct sr_control message;

	memset(buffer, 0xcd, sizeof buffer);
	message = whole(sr_control_document_put(buffer, &terms, SR_DOCUMENT_DATA_BYTES_MAX));
	cr_assert_eq(message.bytes, SR_CONTROL_BYTES_MAX);
	cr_assert_eq(sr_control_document_get(&got, &message), 0);
	cr_assert_arr_eq(&got.terms, &terms, sizeof terms);
	cr_assert_eq(got.data, buffer + 104);
	cr_assert_eq(got.bytes, SR_DOCUMENT_DATA_BYTES_MAX);
	cr_assert_eq(got.data[0], 0xcd);

	message = whole(sr_control_document_put(buffer, &terms, 1));
	cr_assert_eq(sr_control_document_get(&got, &message), 0);
	cr_assert_eq(got.bytes, 1);
}

Test(control, begin_is_read_as_it_was_written)
{
	struct sr_control_begin begin = begin_with_ticket(), got;
	unsigned char noise[SR_BEGIN_NOISE_BYTES];
	const unsigned char *at;

	memset(noise, 0x99, sizeof noise);
	for (int ticket = 0; ticket < 2; ticket++) {
		begin.has_ticket = ticket;
		if (!ticket) {
			/* What is no ticket is not sent. */
			(void)sr_control_begin_put(buffer, &begin, noise);
			memset(begin.ticket, 0, sizeof begin.ticket);
		}
		struct sr_control message = whole(sr_control_begin_put(buffer, &begin, noise));

		memset(&got, 0, sizeof got);
		cr_assert_eq(sr_control_begin_get(&got, &at, &message), 0);
		cr_assert_eq(got.has_ticket, begin.has_ticket);
		cr_assert_arr_eq(got.boot_id, begin.boot_id, sizeof got.boot_id);
		cr_assert_arr_eq(got.token, begin.token, sizeof got.token);
		cr_assert_arr_eq(got.nonce, begin.nonce, sizeof got.nonce);
		cr_assert_arr_eq(got.binding, begin.binding, sizeof got.binding);
		cr_assert_arr_eq(got.ticket, begin.ticket, sizeof got.ticket);
		cr_assert_arr_eq(at, noise, sizeof noise);
		begin = begin_with_ticket();
	}
}

Test(control, begun_and_refused_are_read_as_they_were_written)
{
	unsigned char noise[SR_BEGUN_NOISE_BYTES];
	struct sr_control message;
	uint32_t code;

	memset(noise, 0x31, sizeof noise);
	message = whole(sr_control_begun_put(buffer, noise));
	cr_assert_eq(message.kind, SR_CONTROL_BEGUN);
	cr_assert_arr_eq(sr_control_begun_get(&message), noise, sizeof noise);

	message = whole(sr_control_refused_put(buffer, SR_REFUSAL_BUSY));
	cr_assert_eq(sr_control_refused_get(&code, &message), 0);
	cr_assert_eq(code, SR_REFUSAL_BUSY);
}

Test(control, payloads_are_read_as_they_were_written)
{
	struct sr_session_request request = { 1, 2, 3, SR_REQUEST_FLAGS, { 5, 6 } }, request_got;
	struct sr_grant grant = { 1, 2, 3, true, { 6 }, { 7 } }, grant_got;

	memset(&request_got, 0, sizeof request_got);
	memset(&grant_got, 0, sizeof grant_got);
	sr_session_request_put(buffer, &request);
	cr_assert_eq(sr_session_request_get(&request_got, buffer), 0);
	cr_assert_eq(request_got.first, 1);
	cr_assert_eq(request_got.depth, 2);
	cr_assert_eq(request_got.slot_bytes, 3);
	cr_assert_eq(request_got.flags, SR_REQUEST_FLAGS);
	cr_assert(request_got.predecessor[0] == 5 && request_got.predecessor[1] == 6);

	sr_grant_put(buffer, &grant);
	cr_assert_eq(sr_grant_get(&grant_got, buffer), 0);
	cr_assert(grant_got.depth_max == 1 && grant_got.slot_bytes_max == 2 &&
		  grant_got.sessions_max == 3 && grant_got.has_ticket);
	cr_assert_arr_eq(grant_got.ticket, grant.ticket, sizeof grant.ticket);
	cr_assert_arr_eq(grant_got.secret, grant.secret, sizeof grant.secret);

	/* A secret that does not belong to a ticket does not go out. */
	grant.has_ticket = false;
	sr_grant_put(buffer, &grant);
	for (size_t i = 16; i < SR_GRANT_BYTES; i++)
		cr_assert_eq(buffer[i], 0);
}

/* ---- reserved bytes, flags, versions ---- */

static int read_any(const struct sr_control *message)
{
	struct sr_control_document document;
	struct sr_control_begin begin;
	const unsigned char *noise;
	unsigned char nonce[32];
	uint32_t code;

	switch (message->kind) {
	case SR_CONTROL_ATTEST:
		return sr_control_attest_get(nonce, message);
	case SR_CONTROL_DOCUMENT:
		return sr_control_document_get(&document, message);
	case SR_CONTROL_BEGIN:
		return sr_control_begin_get(&begin, &noise, message);
	default:
		return sr_control_refused_get(&code, message);
	}
}

static uint32_t write_any(uint32_t kind)
{
	static const unsigned char zeros[SR_BEGIN_NOISE_BYTES];
	struct sr_control_begin begin = begin_with_ticket();

	begin.has_ticket = false;
	switch (kind) {
	case SR_CONTROL_ATTEST:
		return sr_control_attest_put(buffer, zeros);
	case SR_CONTROL_DOCUMENT:
		return sr_control_document_put(buffer, &terms, 9);
	case SR_CONTROL_BEGIN:
		return sr_control_begin_put(buffer, &begin, zeros);
	default:
		return sr_control_refused_put(buffer, SR_REFUSAL_TURN);
	}
}

Test(control, another_version_is_told_apart_from_nonsense)
{
	for (uint32_t kind = SR_CONTROL_ATTEST; kind <= SR_CONTROL_BEGIN; kind++) {
		struct sr_control message = whole(write_any(kind));

		buffer[8] = 2;
		cr_assert_eq(read_any(&message), -EPROTONOSUPPORT);
		buffer[9] = 0x80;
		cr_assert_eq(read_any(&message), -EPROTONOSUPPORT);
		/* And comes first: our reserved bytes may mean something there. */
		buffer[12] = 1;
		cr_assert_eq(read_any(&message), -EPROTONOSUPPORT);
	}
}

Test(control, a_reserved_bit_that_is_set_is_refused)
{
	static const struct {
		uint32_t kind, from, to;
	} reserved[] = { { SR_CONTROL_ATTEST, 10, 16 },
			 { SR_CONTROL_DOCUMENT, 10, 16 },
			 { SR_CONTROL_BEGIN, 11, 16 },
			 { SR_CONTROL_BEGIN, 112, 216 }, /* a ticket, where none was announced */
			 { SR_CONTROL_REFUSED, 12, 16 } };

	for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
		for (uint32_t at = reserved[i].from; at < reserved[i].to; at++) {
			struct sr_control message = whole(write_any(reserved[i].kind));

			cr_assert_eq(read_any(&message), 0);
			buffer[at] = 0x10;
			cr_assert_eq(read_any(&message), -EPROTO, "byte %u of kind %u", at,
				     reserved[i].kind);
		}
	/* An operator has no ticket, and there is no third kind of client. */
	struct sr_control message = whole(write_any(SR_CONTROL_BEGIN));
	for (int flags = 0; flags < 256; flags++) {
		buffer[10] = (unsigned char)flags;
		cr_assert_eq(read_any(&message), flags <= 2 ? 0 : -EPROTO, "%d", flags);
	}
	buffer[10] = 2;
	buffer[112] = 1;
	cr_assert_eq(read_any(&message), -EPROTO);
}

Test(control, a_message_of_another_kind_is_not_read)
{
	struct sr_control message = whole(write_any(SR_CONTROL_ATTEST));

	for (uint32_t kind = SR_CONTROL_DOCUMENT; kind <= SR_CONTROL_REFUSED; kind++) {
		unsigned char nonce[32];

		message.kind = kind;
		cr_assert_eq(sr_control_attest_get(nonce, &message), -EPROTO);
	}
	message.kind = SR_CONTROL_ATTEST;
	struct sr_control_begin begin;
	const unsigned char *noise;
	uint32_t code;

	cr_assert_eq(sr_control_begin_get(&begin, &noise, &message), -EPROTO);
	cr_assert_eq(sr_control_refused_get(&code, &message), -EPROTO);
}

Test(control, flags_of_payloads_that_are_unknown_are_refused)
{
	struct sr_session_request request = { 0 };
	struct sr_grant grant = { 0 };

	for (uint32_t bit = 0; bit < 64; bit++) {
		sr_session_request_put(buffer, &request);
		buffer[16 + bit / 8] |= (unsigned char)(1u << bit % 8);
		cr_assert_eq(sr_session_request_get(&request, buffer), bit < 2 ? 0 : -EPROTO, "%u", bit);
		memset(&request, 0, sizeof request);
	}
	for (uint32_t bit = 0; bit < 32; bit++) {
		sr_grant_put(buffer, &grant);
		buffer[bit / 8] |= (unsigned char)(1u << bit % 8);
		cr_assert_eq(sr_grant_get(&grant, buffer), bit == 1 ? 0 : -EPROTO, "%u", bit);
		memset(&grant, 0, sizeof grant);
	}
	for (uint32_t at = 16; at < 40; at++) {
		sr_grant_put(buffer, &grant);
		buffer[at] = 1;
		cr_assert_eq(sr_grant_get(&grant, buffer), -EPROTO, "%u", at);
	}
}

/* ---- hashes ---- */

static void assert_hex(const unsigned char got[32], const char *hex)
{
	unsigned char want[32];

	(void)rig_unhex(want, sizeof want, hex);
	cr_assert_arr_eq(got, want, sizeof want);
}

/* Computed by another program from the text of sr_control.h. */
Test(control, hashes_and_prologue_are_as_documented)
{
	struct sr_control_begin begin = begin_with_ticket();
	unsigned char hash[32], pcr0[48], prologue[SR_PROLOGUE_BYTES];

	cr_assert_eq(sr_document_hash(hash, (const unsigned char *)"a document", 10), 0);
	assert_hex(hash, "e3aac2cac4e1217dfd8b6b6741986c075bf9897155388540a46a884b2296b2af");
	cr_assert_eq(sr_terms_hash(hash, &terms), 0);
	assert_hex(hash, "7fd5ecb9f040df068f98ac6aa1c8618aa9270a6a69da54f06403e3668f3d3a9b");

	memset(pcr0, 0x88, sizeof pcr0);
	sr_prologue_put(prologue, pcr0, hash, &begin);
	cr_assert_eq(EVP_Digest(prologue, sizeof prologue, hash, NULL, EVP_sha256(), NULL), 1);
	assert_hex(hash, "a792f10211be793d4dfc611d38812d0c0852237b5e9e6af69c7af02e93da2405");
	cr_assert(prologue[16] == 1 && prologue[17] == 0 && prologue[98 + 2] == 1);

	begin.has_ticket = false;
	begin.is_operator = true;
	sr_prologue_put(prologue, pcr0, hash, &begin);
	cr_assert(prologue[16] == 2 && prologue[17] == 0 && prologue[98 + 2] == 2);
}

Test(control, every_bit_of_the_terms_changes_their_hash)
{
	unsigned char before[32], after[32];
	struct sr_terms changed;

	cr_assert_eq(sr_terms_hash(before, &terms), 0);
	for (size_t i = 0; i < sizeof terms; i++) {
		changed = terms;
		((unsigned char *)&changed)[i] ^= 1;
		cr_assert_eq(sr_terms_hash(after, &changed), 0);
		cr_assert(memcmp(before, after, sizeof before) != 0, "byte %zu", i);
	}
}

Test(control, each_refusal_has_a_text_of_its_own)
{
	const char *unknown = sr_refusal_text(SR_REFUSALS);

	cr_assert_not_null(unknown);
	cr_assert_eq(sr_refusal_text(0), unknown);
	cr_assert_eq(sr_refusal_text(UINT32_MAX), unknown);
	for (uint32_t i = 1; i < SR_REFUSALS; i++) {
		cr_assert_null(strchr(sr_refusal_text(i), '\n'));
		for (uint32_t j = 0; j < i; j++)
			cr_assert_str_neq(sr_refusal_text(i), sr_refusal_text(j));
	}
}
