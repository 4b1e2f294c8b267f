/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "sr_desk.h"
#include "sr_verify.h"

#define THREADS_MAX 256u
#define VERIFY_CHUNK 64u
#define COMPLAINTS_MAX 10u /* bad signatures named one by one */

struct verification {
	struct sr_replay *rp;
	uint64_t next; /* first result that nobody has taken */
	uint64_t verified;
	uint64_t bad;
	uint64_t no_verifier;
};

static bool right_kind(uint16_t type, uint8_t sigkind)
{
	return sigkind == (type == SR_BIP340 ? SR_SIG_BIP340 : SR_SIG_ECDSA);
}

/*
 * What the venue will compute from the body that is posted: the digest of the line, or with
 * the nonce that the signer gave. One thread's work, and little beside the curve's.
 */
static void digests_make(struct sr_replay *rp)
{
	for (uint64_t i = 0; i < rp->submitted; i++) {
		const struct sr_order_line *o = &rp->orders.list[i % rp->orders.count];
		struct sr_replay_result *r = &rp->results[i];

		if (o->type <= SR_TYPE_BLIND_MAX || r->status != SR_OK || !r->completions)
			continue;
		if (sr_desk_digest(rp->orders.desk, r->digest, o, r->venue_nonce))
			memset(r->digest, 0, sizeof r->digest); /* nothing verifies with it */
	}
}

/* A blind body is hashed by the verifier's own code. */
static int check_signature(struct sr_verifier *verifier, const unsigned char pubkey[33],
			   const struct sr_order_line *o, const struct sr_replay_result *r)
{
	unsigned char recovered[33];
	int err;

	if (o->type <= SR_TYPE_BLIND_MAX)
		return sr_verify_signature(verifier, pubkey, o->type, o->body, o->body_bytes,
					   r->signature, r->recovery_id);
	err = sr_verify_ecdsa(verifier, pubkey, 33, r->digest, r->signature, SR_SIG_BYTES,
			      SR_VERIFY_LOW_S);
	if (!err)
		err = sr_verify_recover(verifier, recovered, r->digest, r->signature,
					r->recovery_id);
	return err ? err : memcmp(recovered, pubkey, 33) ? -EBADMSG : 0;
}

static void check_one(struct verification *v, struct sr_verifier *verifier, uint64_t i)
{
	struct sr_replay *rp = v->rp;
	uint32_t index = (uint32_t)(i % rp->orders.count);
	const struct sr_order_line *o = &rp->orders.list[index];
	struct sr_replay_result *r = &rp->results[i];
	int err = -EBADMSG;

	if (r->completions != 1 || r->status != SR_OK)
		return;
	if (right_kind(o->type, r->sigkind))
		err = check_signature(verifier, rp->keys[rp->key_of[index]].bytes, o, r);
	r->verdict = err ? SR_BAD : SR_GOOD;
	if (!err) {
		__atomic_fetch_add(&v->verified, 1, __ATOMIC_RELAXED);
	} else if (__atomic_fetch_add(&v->bad, 1, __ATOMIC_RELAXED) < COMPLAINTS_MAX) {
		fprintf(stderr,
			"%s:%" PRIu32 ": signature %" PRIu64 " does NOT verify (key %" PRIu32
			", %s)\n",
			rp->set.orders, o->line, i, o->key, sr_desk_type_name(o->type));
	}
}

static void *verify_loop(void *arg)
{
	struct verification *v = arg;
	uint64_t count = v->rp->submitted;
	struct sr_verifier *verifier;
	uint64_t at;

	if (sr_verifier_new(&verifier)) {
		__atomic_fetch_add(&v->no_verifier, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	while ((at = __atomic_fetch_add(&v->next, VERIFY_CHUNK, __ATOMIC_RELAXED)) < count)
		for (uint64_t i = at; i < count && i < at + VERIFY_CHUNK; i++)
			check_one(v, verifier, i);
	sr_verifier_delete(verifier);
	return NULL;
}

/* What a thread that did not start leaves undone, the others do. */
void sr_replay_verify(struct sr_replay *rp)
{
	struct verification v = { .rp = rp };
	pthread_t threads[THREADS_MAX];
	uint64_t start = sr_replay_now_ns();
	unsigned int wanted = 1, started = 0;
	cpu_set_t cpus;

	digests_make(rp);
	if (!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) > 1)
		wanted = (unsigned int)CPU_COUNT(&cpus);
	if (wanted > THREADS_MAX)
		wanted = THREADS_MAX;
	while (started + 1 < wanted && !pthread_create(&threads[started], NULL, verify_loop, &v))
		started++;
	(void)verify_loop(&v);
	for (unsigned int i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	if (v.no_verifier)
		fprintf(stderr, "%s: %" PRIu64 " threads could not start verifying\n",
			SR_REPLAY_PROGRAM, v.no_verifier);
	rp->verified = v.verified;
	rp->verify_ns = sr_replay_now_ns() - start;
	rp->threads = started + 1;
}
