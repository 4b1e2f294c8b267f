/* SPDX-License-Identifier: MIT */
/*
 * What goes to the Nitro security module and what comes back, byte by byte: the
 * encoding of aws-nitro-enclaves-nsm-api, written out here by hand from its types.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "sr_nsm.h"

static struct sr_nsm_message message;

#define assert_sent(text)                                               \
	do {                                                            \
		cr_assert_eq(message.bytes, sizeof(text) - 1);          \
		cr_assert_arr_eq(message.data, text, sizeof(text) - 1); \
	} while (0)

static const struct sr_nsm_message *answer(const char *text, size_t bytes)
{
	memset(&message, 0xee, sizeof message);
	message.bytes = bytes;
	memcpy(message.data, text, bytes);
	return &message;
}
#define ANSWER(text) answer(text, sizeof(text) - 1)

#define PCR16 "0123456789abcdef"
#define PCR48 PCR16 PCR16 PCR16
#define PCR64 PCR48 PCR16

/* Names as they go over: a text string's head and the text. */
#define DESCRIBE_NSM "\x6b" "DescribeNSM"
#define GET_RANDOM "\x69" "GetRandom"
#define ATTESTATION "\x6b" "Attestation"
#define DESCRIBE_PCR "\x6b" "DescribePCR"
#define EXTEND_PCR "\x69" "ExtendPCR"
#define LOCK_PCR "\x67" "LockPCR"
#define ERROR "\x65" "Error"
#define DATA "\x64" "data"
#define DIGEST "\x66" "digest"
#define DOCUMENT "\x68" "document"

/* ---- requests ---- */

Test(nsm, calls_without_arguments_are_their_name)
{
	sr_nsm_put_describe(&message);
	assert_sent(DESCRIBE_NSM);
	sr_nsm_put_random(&message);
	assert_sent(GET_RANDOM);
}

Test(nsm, attestation_has_three_fields_that_may_be_null)
{
	static const unsigned char large[1025];
	struct sr_evidence_request request = { 0 };

	cr_assert_eq(sr_nsm_put_attest(&message, &request), 0);
	assert_sent("\xa1" ATTESTATION "\xa3\x69user_data\xf6\x65nonce\xf6\x6apublic_key\xf6");
	request.user_data = (const unsigned char *)"";
	request.nonce = (const unsigned char *)"abc";
	request.nonce_bytes = 3;
	request.public_key = (const unsigned char *)"abcdefghijklmnopqrstuvwxyz";
	request.public_key_bytes = 26;
	cr_assert_eq(sr_nsm_put_attest(&message, &request), 0);
	assert_sent("\xa1" ATTESTATION "\xa3\x69user_data\x40\x65nonce\x43"
		    "abc"
		    "\x6apublic_key\x58\x1a"
		    "abcdefghijklmnopqrstuvwxyz");
	request = (struct sr_evidence_request){ large, 512, large, 512, large, 1024 };
	cr_assert_eq(sr_nsm_put_attest(&message, &request), 0);
	cr_assert_eq(message.bytes, 2 + 11 + 1 + 10 + 3 + 512 + 6 + 3 + 512 + 11 + 3 + 1024);
	cr_assert_arr_eq(message.data + 14 + 10, "\x59\x02\x00", 3);
	cr_assert(message.bytes <= SR_NSM_REQUEST_BYTES_MAX);
}

/* RFC 8949 section 3: a length is as short as it can be. */
Test(nsm, lengths_are_written_as_short_as_they_can_be)
{
	static const unsigned char zeros[256];
	static const struct {
		size_t bytes;
		const char *head;
	} lengths[] = { { 0, "\x40" },       { 23, "\x57" },      { 24, "\x58\x18" },
			{ 127, "\x58\x7f" }, { 128, "\x58\x80" }, { 255, "\x58\xff" },
			{ 256, "\x59\x01" } };

	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		struct sr_evidence_request request = { .user_data = zeros,
						       .user_data_bytes = lengths[i].bytes };

		cr_assert_eq(sr_nsm_put_attest(&message, &request), 0);
		cr_assert_arr_eq(message.data + 24, lengths[i].head, strlen(lengths[i].head));
	}
}

Test(nsm, fields_above_their_limits_are_not_sent)
{
	static const unsigned char large[1025];
	static const struct sr_evidence_request bad[] = {
		{ .nonce = large, .nonce_bytes = 513 },
		{ .user_data = large, .user_data_bytes = 513 },
		{ .public_key = large, .public_key_bytes = 1025 },
		{ .public_key = large, .public_key_bytes = 0 },
	};

	message.bytes = 7;
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(sr_nsm_put_attest(&message, &bad[i]), -EINVAL, "%zu", i);
	cr_assert_eq(sr_nsm_put_pcr(&message, 32), -EINVAL);
	cr_assert_eq(sr_nsm_put_lock(&message, 32), -EINVAL);
	cr_assert_eq(sr_nsm_put_extend(&message, 32, large, 1), -EINVAL);
	cr_assert_eq(sr_nsm_put_extend(&message, 0, large, 0), -EINVAL);
	cr_assert_eq(sr_nsm_put_extend(&message, 0, large, 513), -EINVAL);
	cr_assert_eq(message.bytes, 7, "untouched");
}

Test(nsm, registers_are_named_by_number)
{
	cr_assert_eq(sr_nsm_put_pcr(&message, 0), 0);
	assert_sent("\xa1" DESCRIBE_PCR "\xa1\x65index\x00");
	cr_assert_eq(sr_nsm_put_lock(&message, 31), 0);
	assert_sent("\xa1" LOCK_PCR "\xa1\x65index\x18\x1f");
	cr_assert_eq(sr_nsm_put_extend(&message, 16, (const unsigned char *)"xyz", 3), 0);
	assert_sent("\xa1" EXTEND_PCR "\xa2\x65index\x10" DATA "\x43xyz");
}

/* ---- responses ---- */

#define DESCRIBED DESCRIBED_AS("\x19\x01\x02", "\x66i-1234")
#define DESCRIBED_AS(patch, id)                                                  \
	"\xa1" DESCRIBE_NSM "\xa7\x6dversion_major\x01\x6dversion_minor\x18\x20" \
	"\x6dversion_patch" patch "\x69module_id" id "\x68max_pcrs\x18\x20"      \
	"\x6blocked_pcrs\x84\x00\x01\x02\x18\x1f" DIGEST "\x66SHA384"

Test(nsm, describe_is_read)
{
	struct sr_evidence_module info;

	cr_assert_eq(sr_nsm_get_describe(&info, ANSWER(DESCRIBED)), 0);
	cr_assert_eq(info.version_major, 1);
	cr_assert_eq(info.version_minor, 32);
	cr_assert_eq(info.version_patch, 258);
	cr_assert_str_eq(info.id, "i-1234");
	cr_assert_eq(info.pcrs_max, 32);
	cr_assert_eq(info.locked_mask, 0x80000007u);
}

/* Another order, indefinite lengths, a field that we do not know. */
Test(nsm, describe_is_read_however_it_is_put)
{
	struct sr_evidence_module info;

	cr_assert_eq(
		sr_nsm_get_describe(
			&info,
			ANSWER("\xbf" DESCRIBE_NSM "\xbf" DIGEST "\x66SHA384"
			       "\x66"
			       "future\xbf\x61"
			       "a\x82\xc1\x01\xf9\x00\x00\xff\x68max_pcrs\x10"
			       "\x6blocked_pcrs\x9f\xff\x69module_id\x61x\x6dversion_patch\x00"
			       "\x6dversion_minor\x00\x6dversion_major\x1b\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff")),
		0);
	cr_assert_eq(info.version_major, 1);
	cr_assert_eq(info.pcrs_max, 16);
	cr_assert_eq(info.locked_mask, 0);
}

Test(nsm, every_cut_of_a_response_is_refused)
{
	static const char whole[] = DESCRIBED;
	struct sr_evidence_module info;

	for (size_t n = 0; n < sizeof whole - 1; n++)
		cr_assert_eq(sr_nsm_get_describe(&info, answer(whole, n)), -EPROTO, "%zu", n);
	cr_assert_eq(sr_nsm_get_describe(&info, answer(whole, sizeof whole)), -EPROTO,
		     "a byte behind the end");
}

Test(nsm, a_response_with_a_wrong_value_is_refused)
{
	/* The offset of a byte in DESCRIBED, and what it is made. */
	static const struct {
		const char *before;
		unsigned char value;
	} wrong[] = {
		{ "version_major", 0x20 },
		{ "version_minor", 0x1a },
		{ "module_id", 0x60 },
		{ "module_id", 0x46 },
		{ "max_pcrs", 0xf6 },
		{ "locked_pcrs", 0xa2 },
		{ "digest", 0x46 },
		{ "SHA38", '5' },
		{ "module_id\x66i-123", 0x1b },
		{ "\x02\x18", 0x20 },
		{ "DescribeNSM", 0xa8 },
		{ "DescribeNSM", 0x87 },
		{ "DescribeNS", 'X' },
		{ "version_mino", 'x' },
		{ "\x6dversion_m", 'i' },
	};
	static const char whole[] = DESCRIBED;
	struct sr_evidence_module info;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		size_t length = strlen(wrong[i].before);
		unsigned char *at;

		(void)ANSWER(DESCRIBED);
		at = memmem(message.data, sizeof whole - 1, wrong[i].before, length);
		cr_assert_not_null(at, "%zu", i);
		at[length] = wrong[i].value;
		memset(&info, 0xa5, sizeof info);
		cr_assert_eq(sr_nsm_get_describe(&info, &message), -EPROTO, "%zu", i);
		cr_assert_eq(info.pcrs_max, 0xa5a5, "untouched");
	}
}

Test(nsm, numbers_and_names_have_limits)
{
	struct sr_evidence_module info;

	cr_assert_eq(sr_nsm_get_describe(&info, ANSWER(DESCRIBED_AS("\x19\xff\xff", "\x61x"))), 0);
	cr_assert_eq(sr_nsm_get_describe(&info,
					 ANSWER(DESCRIBED_AS("\x1a\x00\x01\x00\x00", "\x61x"))),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_describe(&info, ANSWER(DESCRIBED_AS("\x00", "\x60"))), -EPROTO);
	cr_assert_eq(sr_nsm_get_describe(&info,
					 ANSWER(DESCRIBED_AS("\x00", "\x78\x80" PCR64 PCR64))),
		     0);
	cr_assert_eq(strlen(info.id), 128);
	cr_assert_eq(sr_nsm_get_describe(&info,
					 ANSWER(DESCRIBED_AS("\x00", "\x78\x81" PCR64 PCR64 "x"))),
		     -EPROTO);
}

Test(nsm, random_bytes_are_read)
{
	unsigned char random[SR_NSM_RANDOM_BYTES_MAX];
	char large[2 + 9 + 1 + 7 + 3 + 257] = "\xa1" GET_RANDOM "\xa1\x66random\x59\x01\x00";
	size_t bytes;

	cr_assert_eq(sr_nsm_get_random(random, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x43xyz")),
		     0);
	cr_assert_eq(bytes, 3);
	cr_assert_arr_eq(random, "xyz", 3);
	cr_assert_eq(sr_nsm_get_random(random, &bytes, answer(large, sizeof large - 1)), 0);
	cr_assert_eq(bytes, 256);
	large[21] = 1;
	cr_assert_eq(sr_nsm_get_random(random, &bytes, answer(large, sizeof large)), -EPROTO);
	cr_assert_eq(sr_nsm_get_random(random, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x40")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_random(random, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x63xyz")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_random(random, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x5f\x43xyz\xff")),
		     -EPROTO);
	/* 31, the mark of such a string, is no length. */
	cr_assert_eq(sr_nsm_get_random(random, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x5f" PCR16
					      "0123456789abcde")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_random(random, &bytes, ANSWER("\xa1" GET_RANDOM "\xa0")), -EPROTO);
	cr_assert_eq(
		sr_nsm_get_random(random, &bytes,
				  ANSWER("\xa1" GET_RANDOM "\xa2\x66random\x41x\x66random\x41y")),
		-EPROTO);
	cr_assert_eq(sr_nsm_get_random(random, &bytes, ANSWER(GET_RANDOM)), -EPROTO);
	cr_assert_eq(bytes, 256, "untouched");
}

Test(nsm, a_document_is_read_up_to_its_limit)
{
	static const char head[] = "\xa1" ATTESTATION "\xa1" DOCUMENT "\x59\x2f\xe6";
	static unsigned char document[SR_EVIDENCE_DOC_BYTES_MAX];
	static char whole[SR_NSM_RESPONSE_BYTES_MAX];
	size_t bytes;

	memcpy(whole, head, sizeof head - 1);
	memset(whole + sizeof head - 1, 'd', sizeof whole - sizeof head + 1);
	cr_assert_eq(sizeof head - 1 + 0x2fe6, sizeof whole);
	cr_assert_eq(sr_nsm_get_attest(document, &bytes, answer(whole, sizeof whole)), 0);
	cr_assert_eq(bytes, 0x2fe6);
	cr_assert(document[0] == 'd' && document[0x2fe5] == 'd');
	message.data[25]++;
	message.bytes = sizeof message.data + 1;
	cr_assert_eq(sr_nsm_get_attest(document, &bytes, &message), -EPROTO);
	cr_assert_eq(sr_nsm_get_attest(document, &bytes,
				       ANSWER("\xa1" ATTESTATION "\xa1" DOCUMENT "\x40")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_attest(document, &bytes,
				       ANSWER("\xa1" GET_RANDOM "\xa1\x66random\x43xyz")),
		     -EPROTO, "the answer to another call");
}

Test(nsm, registers_are_read)
{
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];
	bool locked = false;

	cr_assert_eq(sr_nsm_get_pcr(pcr, &locked,
				    ANSWER("\xa1" DESCRIBE_PCR "\xa2\x64lock\xf5" DATA
					   "\x58\x30" PCR48)),
		     0);
	cr_assert(locked);
	cr_assert_arr_eq(pcr, PCR48, 48);
	cr_assert_eq(sr_nsm_get_pcr(pcr, &locked,
				    ANSWER("\xa1" DESCRIBE_PCR "\xa2" DATA "\x58\x30" PCR48
					   "\x64lock\xf4")),
		     0);
	cr_assert(!locked);
	cr_assert_eq(sr_nsm_get_pcr(pcr, &locked,
				    ANSWER("\xa1" DESCRIBE_PCR "\xa2\x64lock\xf6" DATA
					   "\x58\x30" PCR48)),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_pcr(pcr, &locked,
				    ANSWER("\xa1" DESCRIBE_PCR "\xa2\x64lock\xf5" DATA
					   "\x58\x20" PCR16 PCR16)),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER("\xa1" EXTEND_PCR "\xa1" DATA "\x58\x30" PCR48)),
		     0);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER("\xa1" EXTEND_PCR "\xa1" DATA "\x50" PCR16)),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER(LOCK_PCR)), 0);
	cr_assert_eq(sr_nsm_get_lock(ANSWER(LOCK_PCR "\x00")), -EPROTO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\x68"
					    "LockPCRs")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\x47"
					    "LockPCR")),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("")), -EPROTO);
}

Test(nsm, what_the_module_refuses_is_an_errno)
{
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];

	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6fInvalidArgument")), -EINVAL);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6cInvalidIndex")), -ERANGE);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6fInvalidResponse")), -EBADMSG);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER("\xa1" ERROR "\x6dReadOnlyIndex")), -EROFS);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x70InvalidOperation")), -EOPNOTSUPP);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6e"
					    "BufferTooSmall")),
		     -ENOBUFS);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6dInputTooLarge")), -EMSGSIZE);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x6dInternalError")), -EREMOTEIO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x63New")), -EREMOTEIO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa1" ERROR "\x01")), -EPROTO);
	cr_assert_eq(sr_nsm_get_lock(ANSWER("\xa2" ERROR "\x63New")), -EPROTO);
}

#define EXTENDED(extra) "\xa1" EXTEND_PCR "\xa2\x61x" extra DATA "\x58\x30" PCR48

Test(nsm, nesting_is_bounded)
{
	static char deep[4096] = "\xa1" EXTEND_PCR "\xa2\x61x";
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];

	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER(EXTENDED("\x81\x81\x81\x81\x00"))), 0);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER(EXTENDED("\x81\x81\x81\x81\x81\x00"))), -EPROTO);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER(EXTENDED("\xc1\xc1\xc1\xc1\xc1\x00"))), -EPROTO);
	memset(deep + 14, 0x81, sizeof deep - 14);
	cr_assert_eq(sr_nsm_get_extend(pcr, answer(deep, sizeof deep)), -EPROTO);
	memset(deep + 14, 0xc1, sizeof deep - 14);
	cr_assert_eq(sr_nsm_get_extend(pcr, answer(deep, sizeof deep)), -EPROTO);
}

Test(nsm, lengths_are_not_believed)
{
	static char full[SR_NSM_RESPONSE_BYTES_MAX] = "\xa1" EXTEND_PCR "\xa2\x61x\x59\x2f\xee";
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];

	cr_assert_eq(sr_nsm_get_extend(pcr,
				       ANSWER(EXTENDED("\x5b\x40\x00\x00\x00\x00\x00\x00\x00"))),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_extend(pcr,
				       ANSWER(EXTENDED("\x5b\xff\xff\xff\xff\xff\xff\xff\xff"))),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_extend(pcr,
				       ANSWER(EXTENDED("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"))),
		     -EPROTO);
	cr_assert_eq(sr_nsm_get_extend(pcr, ANSWER(EXTENDED("\x1c"))), -EPROTO, "reserved");
	/* A head that is cut off by the end of the buffer itself. */
	full[sizeof full - 1] = 0x7b;
	cr_assert_eq(sr_nsm_get_extend(pcr, answer(full, sizeof full)), -EPROTO);
}

/* ---- the module behind it ---- */

/* Recorded exchanges: what has to be asked, and what is answered then. */
struct exchange {
	const char *request;
	size_t request_bytes;
	const char *response;
	size_t response_bytes;
	int error;
};
#define EXCHANGE(request, response)                                             \
	{                                                                       \
		request, sizeof(request) - 1, response, sizeof(response) - 1, 0 \
	}

static const struct exchange *script;
static size_t script_left;

static int replay(struct sr_nsm *nsm)
{
	cr_assert(script_left > 0);
	cr_assert_eq(nsm->request.bytes, script->request_bytes);
	cr_assert_arr_eq(nsm->request.data, script->request, script->request_bytes);
	memcpy(nsm->response.data, script->response, script->response_bytes);
	nsm->response.bytes = script->response_bytes;
	script_left--;
	return script++->error;
}

static struct sr_nsm nsm;

static void play(const struct exchange *exchanges, size_t count)
{
	nsm = (struct sr_nsm){ .fd = -1, .exchange = replay };
	script = exchanges;
	script_left = count;
}

static bool all_zero(const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i])
			return false;
	return true;
}

Test(nsm, each_call_asks_and_reads_and_leaves_nothing_behind)
{
	static const struct exchange exchanges[] = {
		EXCHANGE(DESCRIBE_NSM, DESCRIBED),
		EXCHANGE("\xa1" ATTESTATION "\xa3\x69user_data\xf6\x65nonce\x41n\x6apublic_key\xf6",
			 "\xa1" ATTESTATION "\xa1" DOCUMENT "\x43xyz"),
		EXCHANGE("\xa1" DESCRIBE_PCR "\xa1\x65index\x03",
			 "\xa1" DESCRIBE_PCR "\xa2\x64lock\xf5" DATA "\x58\x30" PCR48),
		EXCHANGE("\xa1" EXTEND_PCR "\xa2\x65index\x10" DATA "\x41x",
			 "\xa1" EXTEND_PCR "\xa1" DATA "\x58\x30" PCR48),
		EXCHANGE("\xa1" LOCK_PCR "\xa1\x65index\x10", LOCK_PCR),
	};
	static unsigned char document[SR_EVIDENCE_DOC_BYTES_MAX];
	struct sr_evidence_request request = { .nonce = (const unsigned char *)"n",
					       .nonce_bytes = 1 };
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];
	struct sr_evidence source = sr_nsm_evidence(&nsm);
	struct sr_evidence_module info;
	size_t bytes;

	play(exchanges, 5);
	cr_assert_str_eq(source.name, "nsm");
	cr_assert_eq(sr_nsm_describe(&nsm, &info), 0);
	cr_assert_eq(source.attest(source.arg, document, &bytes, &request), 0);
	cr_assert_eq(bytes, 3);
	cr_assert_arr_eq(document, "xyz", 3);
	cr_assert_eq(source.pcr(source.arg, pcr, 3), 0);
	cr_assert_arr_eq(pcr, PCR48, 48);
	cr_assert_eq(sr_nsm_extend(&nsm, pcr, 16, (const unsigned char *)"x", 1), 0);
	cr_assert_eq(sr_nsm_lock(&nsm, 16), 0);
	cr_assert_eq(script_left, 0);
	cr_assert(all_zero(nsm.request.data, sizeof nsm.request.data));
	cr_assert(all_zero(nsm.response.data, sizeof nsm.response.data));
}

Test(nsm, the_register_of_the_boot_is_extended_and_then_locked)
{
	static const struct exchange exchanges[] = {
		EXCHANGE("\xa1" EXTEND_PCR "\xa2\x65index\x10" DATA "\x43xyz",
			 "\xa1" EXTEND_PCR "\xa1" DATA "\x58\x30" PCR48),
		EXCHANGE("\xa1" LOCK_PCR "\xa1\x65index\x10", LOCK_PCR),
		EXCHANGE("\xa1" EXTEND_PCR "\xa2\x65index\x10" DATA "\x43xyz",
			 "\xa1\x65" "Error" "\x6d" "ReadOnlyIndex"),
	};
	struct sr_evidence source = sr_nsm_evidence(&nsm);
	unsigned char pcr[SR_EVIDENCE_PCR_BYTES];

	play(exchanges, 3);
	cr_assert_eq(source.extend(source.arg, pcr, 16, (const unsigned char *)"xyz", 3), 0);
	cr_assert_arr_eq(pcr, PCR48, sizeof pcr);
	cr_assert_eq(source.lock(source.arg, 16), 0);
	cr_assert_eq(source.extend(source.arg, pcr, 16, (const unsigned char *)"xyz", 3), -EROFS);
	cr_assert_eq(script_left, 0);
}

Test(nsm, random_asks_as_often_as_it_takes)
{
#define RANDOM(bytes) EXCHANGE(GET_RANDOM, "\xa1" GET_RANDOM "\xa1\x66random" bytes)
	static const struct exchange exchanges[] = { RANDOM("\x44"
							    "abcd"),
						     RANDOM("\x44"
							    "efgh"),
						     RANDOM("\x44"
							    "ijkl") };
	unsigned char out[10] = { 0 };

	play(exchanges, 3);
	cr_assert_eq(sr_nsm_random(&nsm, out, 9), 0);
	cr_assert_arr_eq(out, "abcdefghi\0", 10);
	cr_assert_eq(script_left, 0);
	cr_assert(all_zero(nsm.response.data, sizeof nsm.response.data));
	play(exchanges, 3);
	cr_assert_eq(sr_nsm_random(&nsm, out, 0), 0);
	cr_assert_eq(script_left, 3);
}

Test(nsm, random_gives_up_and_keeps_nothing)
{
	static struct exchange ones[64];
	static const struct exchange one = RANDOM("\x41z"),
				     refused = EXCHANGE(GET_RANDOM, "\xa1" ERROR "\x63New");
	unsigned char out[64];

	for (size_t i = 0; i < 64; i++)
		ones[i] = one;
	play(ones, 64);
	cr_assert_eq(sr_nsm_random(&nsm, out, sizeof out), -EPROTO);
	cr_assert_eq(script_left, 64 - 16);
	cr_assert(all_zero(out, 16));
	ones[3] = refused;
	play(ones, 64);
	cr_assert_eq(sr_nsm_random(&nsm, out, sizeof out), -EREMOTEIO);
	cr_assert_eq(script_left, 60);
	cr_assert(all_zero(out, 3));
}

Test(nsm, an_error_of_the_device_comes_through)
{
	static const struct exchange broken[] = {
		{ .request = DESCRIBE_NSM, .request_bytes = 12, .response = "", .error = -EMSGSIZE }
	};
	struct sr_evidence_module info;

	play(broken, 1);
	cr_assert_eq(sr_nsm_describe(&nsm, &info), -EMSGSIZE);
}

Test(nsm, without_the_device_there_is_nothing)
{
	cr_assert_eq(sr_nsm_open(&nsm, "/nonexistent/nsm"), -ENOENT);
	if (access(SR_NSM_PATH, F_OK) == 0)
		cr_skip_test("this machine has a " SR_NSM_PATH);
	cr_assert_eq(sr_nsm_open(&nsm, SR_NSM_PATH), -ENOENT);
}

Test(nsm, what_is_no_module_says_so)
{
	struct sr_evidence_module info;
	int fd;

	cr_assert_eq(sr_nsm_open(&nsm, "/dev/null"), 0);
	cr_assert_eq(sr_nsm_describe(&nsm, &info), -ENOTTY);
	cr_assert_eq(sr_nsm_lock(&nsm, 0), -ENOTTY);
	fd = nsm.fd;
	sr_nsm_close(&nsm);
	cr_assert_eq(fcntl(fd, F_GETFD), -1);
	cr_assert_eq(sr_nsm_describe(&nsm, &info), -EBADF);
}
