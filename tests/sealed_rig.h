/* SPDX-License-Identifier: MIT */
/* sealed_rig.h - what the tests of sealed sessions at the core share: a core that
 * admits them, and clients that seal and open. */
#ifndef SEALED_RIG_H
#define SEALED_RIG_H

#include "signer_rig.h"
#include "sr_core_state.h"

#define STREAM 3u
#define EPOCH 10u
#define FIRST (UINT64_MAX - 2) /* so that words wrap in every test */
#define TRADER 62u             /* the identity that may use KEY */
#define KEY 20u
#define KEY_OTHERS 21u /* every user, and another identity */
#define ADMISSIONS 3u
#define SESSIONS 4u
#define BITS (8u * RIG_SLOT)
#define RATCHET (1ull << SR_SEAL_EPOCH_SHIFT)

/* The client's side of a session. In protected memory. */
struct client {
	struct sr_seal requests, replies;
	struct sr_noise_keys keys;
	struct sr_admission_terms terms;
	uint32_t id;
	uint32_t epoch, stream;
};

struct secrets {
	struct client clients[8];
	struct sr_task task;
	unsigned char key[32];
};

static struct rig rig;
static struct secrets *secrets;
static struct client *a, *b;
static unsigned char record[512], reply[SR_CMP_BYTES], opened[SR_CMP_BYTES];

static inline void add_key(uint32_t id, uint32_t identity, bool any_uid)
{
	struct sr_key_info info = {
		.id = id,
		.nonce_mode = SR_NONCE_HEDGED,
		.permissions = RIG_ALL_TYPES,
		.any_uid = any_uid,
		.identities = 1ull << identity,
	};
	unsigned char seckey[SR_SECKEY_BYTES];

	memset(seckey, 0x2a, sizeof seckey);
	cr_assert_eq(sr_keyring_add(rig.keys, rig.curve, &info, seckey), 0);
}

static inline struct client *client_new(uint64_t name)
{
	struct client *c = &secrets->clients[name];

	memset(&c->keys, (int)(name + 1), sizeof c->keys);
	c->terms = (struct sr_admission_terms){
		.token = { name, 77 },
		.first = FIRST,
		.depth = RIG_DEPTH,
		.slot_bytes = RIG_SLOT,
		.identity = TRADER,
	};
	c->epoch = EPOCH;
	c->stream = STREAM;
	return c;
}

static inline void client_seals(struct client *c)
{
	struct sr_seal_config config = {
		.keys = &c->keys,
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_SEAL,
		.first = c->terms.first,
		.record_bytes = c->terms.slot_bytes,
		.depth = c->terms.depth,
	};

	sr_seal_wipe(&c->requests);
	sr_seal_wipe(&c->replies);
	cr_assert_eq(sr_seal_init(&c->requests, &config), 0);
	config.direction = SR_SEAL_COMPLETION;
	config.way = SR_AEAD_OPEN;
	config.record_bytes = SR_CMP_BYTES;
	cr_assert_eq(sr_seal_init(&c->replies, &config), 0);
}

/* A task for the core, with its result. What it holds is still to be wiped. */
static inline int run_task(enum sr_task_kind kind)
{
	secrets->task.kind = kind;
	secrets->task.result = 1;
	sr_core_task(rig.core, &secrets->task);
	return secrets->task.result;
}

static inline int admit(struct client *c)
{
	int ret;

	client_seals(c);
	cr_assert_eq(sr_admission_make(&secrets->task.admission, &c->terms, &c->keys), 0);
	ret = run_task(SR_TASK_ADMIT);
	sr_task_wipe(&secrets->task);
	return ret;
}

/* For good: the agent's word only takes it off its stream. */
static inline void end_session(const struct client *c)
{
	sr_core_close(rig.core, &rig.core->sessions[SR_SESSION_INDEX(c->id)]);
}

static inline struct sr_open_request open_request(const struct client *c)
{
	return (struct sr_open_request){
		.token = { c->terms.token[0], c->terms.token[1] },
		.first = c->terms.first,
		.depth = c->terms.depth,
		.slot_bytes = c->terms.slot_bytes,
		.uid = RIG_UID,
		.flags = SR_OPEN_SEALED,
	};
}

static inline enum sr_open_result open_session(struct client *c)
{
	struct sr_open_request request = open_request(c);

	return sr_core_open(rig.core, &c->id, &request, c->epoch, c->stream);
}

static inline void start(struct client *c)
{
	cr_assert_eq(admit(c), 0);
	cr_assert_eq(open_session(c), SR_OPENED_OK);
}

static inline struct sr_core_config config(void)
{
	struct sr_core_config config = rig_config(&rig);

	config.sessions_max = SESSIONS;
	config.admissions_max = ADMISSIONS;
	return config;
}

static inline void sealed_begin(void)
{
	struct sr_core_config core_config;
	void *mem;

	rig_begin(&rig);
	add_key(KEY, TRADER, false);
	add_key(KEY_OTHERS, 1, true);
	sr_core_delete(rig.core);
	core_config = config();
	cr_assert_eq(sr_core_new(&rig.core, &core_config), 0);
	cr_assert_eq(sr_secret_alloc(&mem, sizeof *secrets), 0);
	secrets = mem;
	a = client_new(1);
	b = client_new(2);
	start(a);
}

static inline void sealed_end(void)
{
	for (size_t i = 0; i < 8; i++) {
		sr_seal_wipe(&secrets->clients[i].requests);
		sr_seal_wipe(&secrets->clients[i].replies);
	}
	sr_secret_free(secrets, sizeof *secrets);
	rig_end(&rig);
}

static inline struct sr_core_stats stats(void)
{
	struct sr_core_stats s;

	sr_core_stats_get(rig.core, &s);
	return s;
}

static inline void make_record(unsigned char *out, const struct client *c, uint64_t n,
			       uint32_t key, const void *body, uint16_t bytes)
{
	rig_record(out, c->terms.slot_bytes, c->terms.first + n, key, SR_ECDSA_SHA256, body, bytes);
	out[SR_SUB_KIND] = SR_KIND_SEALED;
}

/* A request numbered n whose body says so, sealed into `record`. */
static inline void seal_number(struct client *c, uint64_t n)
{
	make_record(record, c, n, KEY, &n, sizeof n);
	cr_assert_eq(sr_seal_apply(&c->requests, n, record), 0);
}

static inline enum sr_core_verdict give(const struct client *c)
{
	memset(reply, 0xee, sizeof reply);
	return sr_core_record(rig.core, reply, c->id, c->epoch, c->stream, record,
			      c->terms.slot_bytes);
}

static inline enum sr_core_verdict give_number(struct client *c, uint64_t n)
{
	seal_number(c, n);
	return give(c);
}

/* The client opens what came. `opened` is then the reply with its text in clear. */
static inline void check_reply(struct client *c, uint64_t n, unsigned int status,
			       unsigned int policy, uint64_t accepted)
{
	cr_assert_eq(reply[SR_CMP_KIND], SR_KIND_SEALED);
	cr_assert(sr_all_zero(reply + SR_CMP_STATUS, SR_CMP_BODY - SR_CMP_STATUS));
	cr_assert_eq(sr_get64(reply), c->terms.first + n, "slot word of %llu",
		     (unsigned long long)n);
	memset(opened, 0, sizeof opened);
	cr_assert_eq(sr_seal_open(&c->replies, n, opened + SR_CMP_BODY, reply), 0,
		     "reply %llu is not authentic", (unsigned long long)n);
	cr_assert_eq(rig_status(opened), status, "number %llu: status %u is not %u",
		     (unsigned long long)n, rig_status(opened), status);
	cr_assert_eq(rig_policy(opened), policy);
	cr_assert_eq(rig_accepted(opened), accepted, "number %llu: accepted %llu is not %llu",
		     (unsigned long long)n, (unsigned long long)rig_accepted(opened),
		     (unsigned long long)accepted);
}

static inline void give_and_check(struct client *c, uint64_t n, uint64_t accepted)
{
	cr_assert_eq(give_number(c, n), SR_CORE_REPLY);
	check_reply(c, n, SR_OK, 0, accepted);
}

/* Message 0 of who asks for the session alone. */
static inline void ask_for_session(struct client *c)
{
	memset(record, 0, sizeof record);
	sr_put64(record, c->terms.first);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	cr_assert_eq(sr_seal_apply(&c->requests, 0, record), 0);
	cr_assert_eq(give(c), SR_CORE_REPLY);
	check_reply(c, 0, SR_OK, 0, 1);
	cr_assert_eq(opened[SR_CMP_BODY + SR_REP_SIGKIND], SR_SIG_NONE);
}

/* What that told of the session before. */
static inline uint64_t last(uint32_t field)
{
	return sr_get64(opened + SR_CMP_BODY + field);
}

static inline bool has_signature(void)
{
	return !sr_all_zero(rig_sig(opened), SR_SIG_BYTES);
}

static inline void succeed(struct client *next, const struct client *old)
{
	memcpy(next->terms.predecessor, old->terms.token, sizeof next->terms.predecessor);
}

#endif /* SEALED_RIG_H */
