/* SPDX-License-Identifier: MIT */
/*
 * The handshakes: published vectors through both roles, then what must not work.
 * What is transcribed in tests/vectors/noise.json always runs; the set that it
 * was taken from runs where it is (see tests/test_vectors.c).
 */
#include "session_rig.h"

#include <sys/stat.h>

#include <jansson.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "sr_aead.h"
#include "sr_noise.h"

#define KEY SR_NOISE_KEY_BYTES
#define MESSAGE_MAX SR_NOISE_MESSAGE_MAX

/* One end of a handshake, in protected memory. */
struct end {
	struct sr_noise noise;
	struct sr_noise_keys keys;
	struct sr_noise_pair s;
	unsigned char rs[KEY], ephemeral[KEY], psk[KEY];
	bool has_rs, has_ephemeral, has_psk;
	unsigned char prologue[64];
	size_t prologue_bytes;
};

static struct end *ends; /* the initiator, the responder */

static void setup(void)
{
	ends = rig_secret(2 * sizeof *ends);
}

static void teardown(void)
{
	sr_secret_free(ends, 2 * sizeof *ends);
}

TestSuite(noise, .init = setup, .fini = teardown);
TestSuite(bulk_noise, .init = setup, .fini = teardown);

static int begin(struct end *end, enum sr_noise_pattern pattern)
{
	struct sr_noise_config config = {
		.pattern = pattern,
		.initiator = end == &ends[0],
		.prologue = end->prologue,
		.prologue_bytes = end->prologue_bytes,
		.s = &end->s,
		.rs = end->has_rs ? end->rs : NULL,
		.ephemeral = end->has_ephemeral ? end->ephemeral : NULL,
	};
	int ret = sr_noise_init(&end->noise, &config);

	if (!ret && end->has_psk)
		ret = sr_noise_set_psk(&end->noise, end->psk);
	return ret;
}

/* Both ends of a handshake of our own, with keys that differ by @seed. */
static void begin_both(enum sr_noise_pattern pattern, unsigned char seed)
{
	memset(ends, 0, 2 * sizeof *ends);
	for (unsigned char i = 0; i < 2; i++) {
		struct end *end = &ends[i];

		memset(end->s.secret, 16 + seed + i, KEY);
		cr_assert_eq(sr_noise_pair_make(&end->s, end->s.secret), 0);
		memset(end->ephemeral, 32 + seed + i, KEY);
		memset(end->psk, 77, KEY);
		end->has_ephemeral = i == 0 || pattern != SR_NOISE_X;
		end->has_psk = pattern == SR_NOISE_IKPSK2;
	}
	ends[0].has_rs = true;
	memcpy(ends[0].rs, ends[1].s.pub, KEY);
	cr_assert_eq(begin(&ends[0], pattern), 0);
	cr_assert_eq(begin(&ends[1], pattern), 0);
}

/* ---- published vectors ---- */

static bool maybe(unsigned char *out, size_t room, size_t *bytes, const json_t *entry,
		  const char *side, const char *name)
{
	char full[64];
	const json_t *value;
	size_t got;

	(void)snprintf(full, sizeof full, "%s_%s", side, name);
	value = json_object_get(entry, full);
	if (json_is_array(value)) /* of pre-shared keys */
		value = json_array_get(value, 0);
	if (!value)
		return false;
	got = rig_unhex(out, room, json_string_value(value));
	if (bytes)
		*bytes = got;
	else
		cr_assert_eq(got, room, "%s", full);
	return true;
}

static void load_end(struct end *end, const json_t *entry, const char *side)
{
	memset(end, 0, sizeof *end);
	(void)maybe(end->prologue, sizeof end->prologue, &end->prologue_bytes, entry, side,
		    "prologue");
	cr_assert(maybe(end->s.secret, KEY, NULL, entry, side, "static"));
	cr_assert_eq(sr_noise_pair_make(&end->s, end->s.secret), 0);
	end->has_rs = maybe(end->rs, KEY, NULL, entry, side, "remote_static");
	end->has_ephemeral = maybe(end->ephemeral, KEY, NULL, entry, side, "ephemeral");
	end->has_psk = maybe(end->psk, KEY, NULL, entry, side, "psks");
}

struct vector_message {
	unsigned char payload[MESSAGE_MAX], ciphertext[MESSAGE_MAX];
	size_t payload_bytes, ciphertext_bytes;
};

static void load_message(struct vector_message *m, const json_t *entry)
{
	m->payload_bytes = rig_unhex(m->payload, sizeof m->payload,
				     json_string_value(json_object_get(entry, "payload")));
	m->ciphertext_bytes = rig_unhex(m->ciphertext, sizeof m->ciphertext,
					json_string_value(json_object_get(entry, "ciphertext")));
}

static void check_handshake_message(struct end *from, struct end *to,
				    const struct vector_message *m)
{
	unsigned char message[MESSAGE_MAX], payload[MESSAGE_MAX];
	size_t bytes = 0;

	cr_assert_eq(sr_noise_write(&from->noise, message, &bytes, sizeof message, m->payload,
				    m->payload_bytes),
		     0);
	cr_assert_eq(bytes, m->ciphertext_bytes);
	cr_assert_arr_eq(message, m->ciphertext, bytes);
	cr_assert_eq(sr_noise_read(&to->noise, payload, &bytes, sizeof payload, m->ciphertext,
				   m->ciphertext_bytes),
		     0);
	cr_assert_eq(bytes, m->payload_bytes);
	cr_assert_arr_eq(payload, m->payload, bytes);
}

static void check_transport_message(const unsigned char send[KEY], const unsigned char receive[KEY],
				    uint64_t n, const struct vector_message *m)
{
	unsigned char out[MESSAGE_MAX], tag[SR_AEAD_TAG_BYTES];
	const unsigned char *sealed = m->ciphertext;
	size_t bytes = m->payload_bytes;
	struct sr_aead seal, open;

	cr_assert_eq(m->ciphertext_bytes, bytes + sizeof tag);
	cr_assert_eq(sr_aead_init(&seal, SR_AEAD_SEAL, send), 0);
	cr_assert_eq(sr_aead_init(&open, SR_AEAD_OPEN, receive), 0);
	cr_assert_eq(sr_aead_seal(&seal, out, tag, n, NULL, 0, m->payload, bytes), 0);
	cr_assert_arr_eq(out, sealed, bytes);
	cr_assert_arr_eq(tag, sealed + bytes, sizeof tag);
	cr_assert_eq(sr_aead_open(&open, out, sealed + bytes, n, NULL, 0, sealed, bytes), 0);
	cr_assert_arr_eq(out, m->payload, bytes);
	sr_aead_wipe(&seal);
	sr_aead_wipe(&open);
}

static void check_finish(const json_t *entry)
{
	unsigned char h[KEY];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(sr_noise_finish(&ends[i].noise, &ends[i].keys), 0);
	cr_assert_arr_eq(ends[0].keys.ck, ends[1].keys.ck, KEY);
	cr_assert_arr_eq(ends[0].keys.rs, ends[1].s.pub, KEY);
	cr_assert_arr_eq(ends[1].keys.rs, ends[0].s.pub, KEY);
	(void)rig_unhex(h, KEY, json_string_value(json_object_get(entry, "handshake_hash")));
	for (int i = 0; i < 2; i++)
		cr_assert_arr_eq(ends[i].keys.h, h, KEY, "handshake hash");
}

static const char *const names[] = {
	[SR_NOISE_IK] = "Noise_IK_25519_AESGCM_SHA256",
	[SR_NOISE_IKPSK2] = "Noise_IKpsk2_25519_AESGCM_SHA256",
	[SR_NOISE_X] = "Noise_X_25519_AESGCM_SHA256",
};

static void check_vector(const json_t *entry, enum sr_noise_pattern pattern)
{
	const size_t handshake = pattern == SR_NOISE_X ? 1 : 2;
	const json_t *messages = json_object_get(entry, "messages"), *message;
	static struct vector_message m;
	uint64_t sent[2] = { 0 };
	size_t i;

	load_end(&ends[0], entry, "init");
	load_end(&ends[1], entry, "resp");
	cr_assert_eq(begin(&ends[0], pattern), 0);
	cr_assert_eq(begin(&ends[1], pattern), 0);
	cr_assert_gt(json_array_size(messages), handshake);
	json_array_foreach(messages, i, message) {
		size_t from = pattern == SR_NOISE_X ? 0 : i % 2;

		load_message(&m, message);
		if (i < handshake)
			check_handshake_message(&ends[from], &ends[!from], &m);
		if (i + 1 == handshake)
			check_finish(entry);
		if (i >= handshake)
			check_transport_message(ends[from].keys.send, ends[!from].keys.receive,
						sent[from]++, &m);
	}
}

static size_t check_vectors(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	const json_t *entry;
	size_t i, checked = 0;

	cr_assert_not_null(root, "%s:%d: %s", path, error.line, error.text);
	json_array_foreach(json_object_get(root, "vectors"), i, entry) {
		const char *name = json_string_value(json_object_get(entry, "protocol_name"));

		for (int pattern = 0; pattern < 3; pattern++) {
			if (strcmp(name, names[pattern]))
				continue;
			check_vector(entry, (enum sr_noise_pattern)pattern);
			checked++;
		}
	}
	json_decref(root);
	return checked;
}

Test(noise, vectors_of_cacophony_hold_for_both_roles)
{
	cr_assert_eq(check_vectors("tests/vectors/noise.json"), 3);
}

Test(bulk_noise, vectors_of_cacophony_hold_for_both_roles)
{
	const char *folder = getenv("SIGRING_VECTORS");
	struct stat st;
	char path[512];

	(void)snprintf(path, sizeof path, "%s/noise/cacophony_25519_subset.json",
		       folder ? folder : "../shared/vectors");
	if (stat(path, &st))
		cr_skip_test("bulk set noise is not there (SIGRING_VECTORS names the folder)");
	cr_assert_eq(check_vectors(path), 3);
}

/* ---- what must not work ---- */

/* The next message, with @payload_bytes of 0x42, from one end into @message. */
static size_t write_from(struct end *end, unsigned char message[MESSAGE_MAX], size_t payload_bytes)
{
	unsigned char payload[SR_NOISE_PAYLOAD_MAX];
	size_t bytes = 0;

	memset(payload, 0x42, sizeof payload);
	cr_assert_eq(sr_noise_write(&end->noise, message, &bytes, MESSAGE_MAX, payload,
				    payload_bytes),
		     0);
	return bytes;
}

static int read_into(struct end *end, const unsigned char *message, size_t bytes)
{
	unsigned char payload[MESSAGE_MAX];
	size_t payload_bytes = 12345;
	int ret;

	memset(payload, 0x5a, sizeof payload);
	ret = sr_noise_read(&end->noise, payload, &payload_bytes, sizeof payload, message, bytes);
	if (ret) {
		cr_assert_eq(payload_bytes, 12345, "untouched on failure");
		for (size_t i = 0; i < sizeof payload; i++)
			cr_assert_eq(payload[i], 0x5a, "untouched on failure");
	}
	return ret;
}

static void check_dead(struct end *end)
{
	static const struct sr_noise wiped;
	unsigned char message[MESSAGE_MAX], peer[KEY];
	size_t bytes;

	cr_assert_eq(memcmp(&end->noise, &wiped, sizeof wiped), 0, "wiped to the last byte");
	cr_assert_eq(sr_noise_write(&end->noise, message, &bytes, sizeof message, NULL, 0),
		     -EINVAL);
	cr_assert_eq(sr_noise_read(&end->noise, message, &bytes, sizeof message, message, 96),
		     -EINVAL);
	cr_assert_eq(sr_noise_set_psk(&end->noise, end->psk), -EINVAL);
	cr_assert_eq(sr_noise_peer(&end->noise, peer), -EINVAL);
	cr_assert_eq(sr_noise_finish(&end->noise, &end->keys), -EINVAL);
}

/* Reads the handshake's last message at the other end, altered at one bit. */
static void check_flips(enum sr_noise_pattern pattern, bool second)
{
	unsigned char first[MESSAGE_MAX], message[MESSAGE_MAX];
	size_t first_bytes, bytes;

	begin_both(pattern, 0);
	first_bytes = bytes = write_from(&ends[0], first, 8);
	memcpy(message, first, bytes);
	if (second) {
		cr_assert_eq(read_into(&ends[1], first, first_bytes), 0);
		bytes = write_from(&ends[1], message, 8);
	}
	for (size_t bit = 0; bit < 8 * bytes; bit++) {
		struct end *reader = second ? &ends[0] : &ends[1];

		begin_both(pattern, 0);
		if (second)
			(void)write_from(&ends[0], first, 8);
		message[bit / 8] ^= (unsigned char)(1 << bit % 8);
		/* RFC 7748 masks the top bit of a public key; the hash has it. */
		cr_assert_eq(read_into(reader, message, bytes), -EBADMSG, "bit %zu", bit);
		message[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (bit % 64 == 0)
			check_dead(reader);
	}
}

Test(noise, every_flipped_bit_of_every_message_is_refused)
{
	check_flips(SR_NOISE_IK, false);
	check_flips(SR_NOISE_IK, true);
	check_flips(SR_NOISE_IKPSK2, true);
	check_flips(SR_NOISE_X, false);
}

Test(noise, failure_leaves_openssls_error_queue_empty)
{
	unsigned char message[MESSAGE_MAX] = { 0 };

	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(read_into(&ends[1], message, 96), -EBADMSG);
	cr_assert_eq(ERR_peek_error(), 0);
}

/* Points of order 1, 2, 4 and 8 on the curve and its twist, and p - 1, p, p + 1:
 * cr.yp.to/ecdh.html, "small order". */
static const char *const small_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

Test(noise, all_zero_shared_secrets_are_refused)
{
	for (size_t i = 0; i < sizeof small_order / sizeof small_order[0]; i++) {
		unsigned char message[MESSAGE_MAX] = { 0 }, out[MESSAGE_MAX] = { 7 };
		size_t bytes = 12345;

		/* From an ephemeral key: es of the reader. */
		begin_both(SR_NOISE_IK, 0);
		(void)rig_unhex(message, KEY, small_order[i]);
		cr_assert_eq(read_into(&ends[1], message, 96), -EBADMSG);
		check_dead(&ends[1]);

		/* From a static key: es of the writer, who has nothing to authenticate. */
		begin_both(SR_NOISE_IK, 0);
		(void)rig_unhex(ends[0].rs, KEY, small_order[i]);
		cr_assert_eq(begin(&ends[0], SR_NOISE_IK), 0);
		cr_assert_eq(sr_noise_write(&ends[0].noise, out, &bytes, sizeof out, NULL, 0),
			     -EBADMSG, "point %zu", i);
		cr_assert(bytes == 12345 && out[0] == 7, "untouched on failure");
		check_dead(&ends[0]);
	}
}

Test(noise, lengths_are_judged_before_the_message)
{
	unsigned char message[MESSAGE_MAX + 1] = { 0 }, payload[8];
	size_t bytes;

	for (size_t length = 0; length < 96; length++) {
		begin_both(SR_NOISE_IK, 0);
		cr_assert_eq(read_into(&ends[1], message, length), -EMSGSIZE);
	}
	check_dead(&ends[1]);
	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(read_into(&ends[1], message, sizeof message), -EMSGSIZE);
	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(read_into(&ends[1], message, SIZE_MAX), -EMSGSIZE);

	begin_both(SR_NOISE_IK, 0);
	(void)write_from(&ends[0], message, 9);
	cr_assert_eq(sr_noise_read(&ends[1].noise, payload, &bytes, sizeof payload, message, 105),
		     -EMSGSIZE, "more payload than room");
	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(read_into(&ends[1], message, 96 + SR_NOISE_PAYLOAD_MAX + 1), -EMSGSIZE);
}

Test(noise, truncated_and_lengthened_messages_are_refused)
{
	unsigned char message[MESSAGE_MAX];

	for (size_t length = 96; length < 120; length++) {
		begin_both(SR_NOISE_IK, 0);
		cr_assert_eq(write_from(&ends[0], message, 8), 104);
		cr_assert_eq(read_into(&ends[1], message, length), length == 104 ? 0 : -EBADMSG);
	}
}

Test(noise, longest_payload_fits_and_one_byte_more_does_not)
{
	unsigned char message[MESSAGE_MAX], payload[SR_NOISE_PAYLOAD_MAX + 1] = { 0 };
	size_t bytes;

	begin_both(SR_NOISE_IK, 0);
	bytes = write_from(&ends[0], message, SR_NOISE_PAYLOAD_MAX);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	bytes = write_from(&ends[1], message, SR_NOISE_PAYLOAD_MAX);
	cr_assert_eq(read_into(&ends[0], message, bytes), 0);

	begin_both(SR_NOISE_IK, 0);
	bytes = 12345;
	cr_assert_eq(sr_noise_write(&ends[0].noise, message, &bytes, sizeof message, payload,
				    sizeof payload),
		     -EMSGSIZE);
	cr_assert_eq(bytes, 12345);
	check_dead(&ends[0]);
	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(sr_noise_write(&ends[0].noise, message, &bytes, 103, payload, 8), -EMSGSIZE);
}

Test(noise, messages_out_of_turn_end_the_handshake)
{
	unsigned char message[MESSAGE_MAX], second[MESSAGE_MAX];
	size_t bytes;

	begin_both(SR_NOISE_IK, 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(sr_noise_write(&ends[0].noise, second, &bytes, sizeof second, NULL, 0),
		     -EINVAL);
	check_dead(&ends[0]);
	cr_assert_eq(sr_noise_write(&ends[1].noise, second, &bytes, sizeof second, NULL, 0),
		     -EINVAL);
	check_dead(&ends[1]);

	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(read_into(&ends[0], message, 104), -EINVAL);

	begin_both(SR_NOISE_IK, 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	cr_assert_eq(read_into(&ends[1], message, bytes), -EINVAL, "message 1 again");

	begin_both(SR_NOISE_X, 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(sr_noise_finish(&ends[1].noise, &ends[1].keys), -EINVAL, "not read yet");
	cr_assert_eq(read_into(&ends[1], message, bytes), -EINVAL);
}

Test(noise, there_is_no_message_after_the_last)
{
	unsigned char message[MESSAGE_MAX];
	size_t bytes;

	for (int i = 0; i < 2; i++) {
		begin_both(SR_NOISE_IK, 0);
		bytes = write_from(&ends[0], message, 8);
		cr_assert_eq(read_into(&ends[1], message, bytes), 0);
		bytes = write_from(&ends[1], message, 8);
		cr_assert_eq(read_into(&ends[0], message, bytes), 0);
		cr_assert_eq(sr_noise_write(&ends[i].noise, message, &bytes, sizeof message, NULL,
					    0),
			     -EINVAL);
		check_dead(&ends[i]);
		cr_assert_eq(read_into(&ends[!i], message, 104), -EINVAL);
		check_dead(&ends[!i]);
	}

	begin_both(SR_NOISE_X, 0);
	ends[1].has_ephemeral = true;
	cr_assert_eq(begin(&ends[1], SR_NOISE_X), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	cr_assert_eq(sr_noise_write(&ends[1].noise, message, &bytes, sizeof message, NULL, 0),
		     -EINVAL);
}

Test(noise, what_the_ends_do_not_share_is_refused)
{
	unsigned char message[MESSAGE_MAX];
	size_t bytes;

	/* another prologue */
	begin_both(SR_NOISE_IK, 0);
	ends[1].prologue_bytes = 1;
	cr_assert_eq(begin(&ends[1], SR_NOISE_IK), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), -EBADMSG);

	/* another pattern */
	begin_both(SR_NOISE_IK, 0);
	ends[1].has_ephemeral = false;
	cr_assert_eq(begin(&ends[1], SR_NOISE_X), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), -EBADMSG);

	/* another responder than the one that is meant */
	begin_both(SR_NOISE_IK, 0);
	bytes = write_from(&ends[0], message, 8);
	memset(ends[1].s.secret, 99, KEY);
	cr_assert_eq(sr_noise_pair_make(&ends[1].s, ends[1].s.secret), 0);
	cr_assert_eq(begin(&ends[1], SR_NOISE_IK), 0);
	cr_assert_eq(read_into(&ends[1], message, bytes), -EBADMSG);

	/* another shared secret, which message 2 shows */
	begin_both(SR_NOISE_IKPSK2, 0);
	ends[1].psk[31] ^= 1;
	cr_assert_eq(begin(&ends[1], SR_NOISE_IKPSK2), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	bytes = write_from(&ends[1], message, 8);
	cr_assert_eq(read_into(&ends[0], message, bytes), -EBADMSG);
}

Test(noise, replayed_message_1_yields_nothing_that_works)
{
	unsigned char first[MESSAGE_MAX], second[MESSAGE_MAX];
	struct sr_noise_keys honest;
	size_t first_bytes, bytes;

	begin_both(SR_NOISE_IK, 0);
	first_bytes = write_from(&ends[0], first, 8);
	cr_assert_eq(read_into(&ends[1], first, first_bytes), 0);
	bytes = write_from(&ends[1], second, 8);
	cr_assert_eq(read_into(&ends[0], second, bytes), 0);
	cr_assert_eq(sr_noise_finish(&ends[0].noise, &honest), 0);

	/* The responder takes it; his fresh ephemeral makes other keys of it. */
	memset(ends[1].ephemeral, 111, KEY);
	cr_assert_eq(begin(&ends[1], SR_NOISE_IK), 0);
	cr_assert_eq(read_into(&ends[1], first, first_bytes), 0);
	(void)write_from(&ends[1], second, 8);
	cr_assert_eq(sr_noise_finish(&ends[1].noise, &ends[1].keys), 0);
	cr_assert_neq(memcmp(ends[1].keys.receive, honest.send, KEY), 0);
	cr_assert_neq(memcmp(ends[1].keys.ck, honest.ck, KEY), 0);
}

Test(noise, shared_secret_is_asked_for_before_message_2)
{
	unsigned char message[MESSAGE_MAX];
	size_t bytes;

	/* A responder may set it when message 1 has said whose it is. */
	begin_both(SR_NOISE_IKPSK2, 0);
	ends[1].has_psk = false;
	cr_assert_eq(begin(&ends[1], SR_NOISE_IKPSK2), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	cr_assert_eq(sr_noise_set_psk(&ends[1].noise, ends[1].psk), 0);
	cr_assert_eq(sr_noise_set_psk(&ends[1].noise, ends[1].psk), -EINVAL, "once");
	bytes = write_from(&ends[1], message, 8);
	cr_assert_eq(read_into(&ends[0], message, bytes), 0);

	/* Without it there is no message 2. */
	begin_both(SR_NOISE_IKPSK2, 0);
	ends[1].has_psk = false;
	cr_assert_eq(begin(&ends[1], SR_NOISE_IKPSK2), 0);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	cr_assert_eq(sr_noise_write(&ends[1].noise, message, &bytes, sizeof message, NULL, 0),
		     -EINVAL);

	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(sr_noise_set_psk(&ends[0].noise, ends[0].psk), -EINVAL, "not in IK");
}

Test(noise, peer_is_known_once_its_key_has_been_authenticated)
{
	unsigned char message[MESSAGE_MAX], peer[KEY] = { 1 };
	size_t bytes;

	begin_both(SR_NOISE_IK, 0);
	cr_assert_eq(sr_noise_peer(&ends[1].noise, peer), -EAGAIN);
	cr_assert_eq(peer[0], 1);
	bytes = write_from(&ends[0], message, 8);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	cr_assert_eq(sr_noise_peer(&ends[1].noise, peer), 0);
	cr_assert_arr_eq(peer, ends[0].s.pub, KEY);
	cr_assert_eq(sr_noise_peer(&ends[0].noise, peer), 0);
	cr_assert_arr_eq(peer, ends[1].s.pub, KEY);
}

Test(noise, incomplete_configs_are_refused)
{
	begin_both(SR_NOISE_IK, 0);
	ends[0].has_rs = false;
	cr_assert_eq(begin(&ends[0], SR_NOISE_IK), -EINVAL);
	ends[0].has_rs = true;
	ends[0].has_ephemeral = false;
	cr_assert_eq(begin(&ends[0], SR_NOISE_IK), -EINVAL);
	cr_assert_eq(begin(&ends[0], SR_NOISE_X), -EINVAL);
	ends[1].has_ephemeral = false;
	cr_assert_eq(begin(&ends[1], SR_NOISE_IK), -EINVAL);
	ends[1].has_rs = true;
	cr_assert_eq(begin(&ends[1], SR_NOISE_X), -EINVAL);
	ends[0].has_ephemeral = true;
	cr_assert_eq(begin(&ends[0], (enum sr_noise_pattern)3), -EINVAL);
	ends[0].prologue_bytes = SR_NOISE_PROLOGUE_MAX + 1;
	cr_assert_eq(begin(&ends[0], SR_NOISE_IK), -EINVAL);
	check_dead(&ends[0]);
}

Test(noise, blob_gives_keys_for_one_way_only)
{
	static const unsigned char zeros[KEY];
	unsigned char message[MESSAGE_MAX];
	size_t bytes;

	begin_both(SR_NOISE_X, 0);
	bytes = write_from(&ends[0], message, 32);
	cr_assert_eq(bytes, 128);
	cr_assert_eq(read_into(&ends[1], message, bytes), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(sr_noise_finish(&ends[i].noise, &ends[i].keys), 0);
	cr_assert_arr_eq(ends[0].keys.send, ends[1].keys.receive, KEY);
	cr_assert_arr_eq(ends[0].keys.receive, zeros, KEY);
	cr_assert_arr_eq(ends[1].keys.send, zeros, KEY);
	cr_assert_neq(memcmp(ends[0].keys.send, zeros, KEY), 0);
	check_dead(&ends[0]);
}

/* ---- export ---- */

static void openssl_hkdf(unsigned char out[KEY], const unsigned char salt[KEY],
			 const unsigned char input[KEY], unsigned char *info, size_t info_bytes)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
	unsigned char key[KEY], salt_copy[KEY];
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 6),
		OSSL_PARAM_octet_string(OSSL_KDF_PARAM_KEY, key, KEY),
		OSSL_PARAM_octet_string(OSSL_KDF_PARAM_SALT, salt_copy, KEY),
		OSSL_PARAM_octet_string(OSSL_KDF_PARAM_INFO, info, info_bytes),
		OSSL_PARAM_END,
	};

	memcpy(key, input, KEY);
	memcpy(salt_copy, salt, KEY);
	cr_assert_eq(EVP_KDF_derive(ctx, out, KEY, params), 1);
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
}

Test(noise, export_is_hkdf_of_chaining_key_and_hash)
{
	unsigned char info[] = "sigring ticket\0\1\2\3", out[KEY], expected[KEY];
	struct sr_noise_keys *keys = &ends[0].keys;

	for (unsigned char i = 0; i < KEY; i++) {
		keys->ck[i] = i;
		keys->h[i] = (unsigned char)(32 + i);
	}
	/* By Python's hmac and hashlib. */
	(void)rig_unhex(expected, KEY,
			"bee313490b4198109e37bb58f4a45248e750f8662ce5b117a716594c1f397232");
	cr_assert_eq(sr_noise_export(keys, out, "sigring ticket", NULL, 0), 0);
	cr_assert_arr_eq(out, expected, KEY);

	openssl_hkdf(expected, keys->h, keys->ck, info, sizeof info - 1);
	cr_assert_eq(sr_noise_export(keys, out, "sigring ticket", info + 15, 3), 0);
	cr_assert_arr_eq(out, expected, KEY);
}

Test(noise, export_bounds_label_and_context)
{
	unsigned char out[KEY] = { 1 }, context[65] = { 0 };
	char label[65];

	memset(label, 'x', sizeof label);
	label[64] = 0;
	cr_assert_eq(sr_noise_export(&ends[0].keys, out, label, NULL, 0), -EINVAL);
	cr_assert_eq(sr_noise_export(&ends[0].keys, out, "", NULL, 0), -EINVAL);
	cr_assert_eq(sr_noise_export(&ends[0].keys, out, label + 1, context, 65), -EINVAL);
	cr_assert_eq(out[0], 1);
	cr_assert_eq(sr_noise_export(&ends[0].keys, out, label + 1, context, 64), 0);
}
