/* SPDX-License-Identifier: MIT */
/*
 * engine PUBLIC AFTER LIMIT_S - an engine that outlives its signer, for the tests with an
 * enclave.
 *
 * It submits an order each few milliseconds in one session with SR_SESSION_REOPEN, checks
 * every signature against the key of PUBLIC (a line: ID HEX), and goes on until AFTER
 * orders were signed in a session that was opened again, or LIMIT_S seconds are over. Then
 * it prints one JSON object: what became of its orders, and for how long nothing was
 * signed. Socket, identity and trust file come by environment. Exit code 0: AFTER were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigring.h"
#include "sr_clock.h"
#include "sr_verify.h"

#define PACE_NS (5 * SR_NS_PER_MS)
#define IN_FLIGHT_MAX 32u

struct engine {
	struct sr_client *client;
	struct sr_session *session;
	struct sr_verifier *verifier;
	unsigned char pubkey[33];
	uint32_t key;
	uint64_t submitted, answered;
	uint64_t signed_before, signed_after; /* the session was opened again */
	uint64_t unknown, not_sent, session_lost, draining, other, bad;
	uint64_t last_ns;   /* signature, before */
	uint64_t outage_ns; /* from there to the first one after */
};

static int read_key(struct engine *e, const char *path)
{
	FILE *f = fopen(path, "re");
	char hex[67] = "";
	unsigned int key = 0;
	int fields = f ? fscanf(f, "%u %66s", &key, hex) : 0;

	if (f)
		(void)fclose(f);
	if (fields != 2 || strlen(hex) != 66) {
		(void)fprintf(stderr, "engine: %s has no line ID HEX\n", path);
		return -1;
	}
	e->key = key;
	for (size_t i = 0; i < sizeof e->pubkey; i++) {
		const char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		e->pubkey[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return 0;
}

static int body_put(char body[32], uint64_t number)
{
	return snprintf(body, 32, "order %llu", (unsigned long long)number);
}

static int submit(struct engine *e)
{
	char body[32];
	struct sr_request request = { .key = e->key,
				      .type = SR_ECDSA_SHA256,
				      .body_bytes = (uint16_t)body_put(body, e->submitted),
				      .body = body,
				      .user_data = e->submitted };
	int ret = sr_submit(e->session, &request);

	e->submitted += ret == 0;
	return ret;
}

static void take_signed(struct engine *e, const struct sr_completion *c)
{
	struct sr_session_stats stats;
	uint64_t now_ns = sr_now_ns();
	char body[32];
	size_t bytes = (size_t)body_put(body, c->user_data);

	if (c->sigkind != SR_SIG_ECDSA ||
	    sr_verify_signature(e->verifier, e->pubkey, SR_ECDSA_SHA256, (unsigned char *)body,
				bytes, c->signature, c->recovery_id))
		e->bad++;
	sr_session_stats_get(e->session, &stats);
	if (stats.reopened == 0) {
		if (e->signed_before++ == 0)
			(void)fprintf(stderr, "engine: the first order is signed\n");
		e->last_ns = now_ns;
	} else if (e->signed_after++ == 0) {
		e->outage_ns = now_ns - e->last_ns;
	}
}

static void take(struct engine *e, const struct sr_completion *c)
{
	e->answered++;
	switch (c->status) {
	case SR_OK:
		take_signed(e, c);
		break;
	case SR_UNKNOWN:
		e->unknown++;
		break;
	case SR_NOT_SENT:
		e->not_sent++;
		break;
	case SR_SESSION_LOST:
		e->session_lost++;
		break;
	default:
		if (c->status == SR_DENIED && c->policy == SR_POLICY_DRAINING)
			e->draining++;
		else
			e->other++;
	}
}

/* While the session is lost its submits fail, and sr_service() sees to another. */
static void trade(struct engine *e, uint64_t after, uint64_t end_ns)
{
	uint64_t due_ns = sr_now_ns();

	while (e->signed_after < after && sr_now_ns() < end_ns) {
		struct sr_completion c;

		while (sr_poll(e->session, &c, 1) == 1)
			take(e, &c);
		if (sr_now_ns() >= due_ns && e->submitted - e->answered < IN_FLIGHT_MAX) {
			(void)submit(e);
			due_ns = sr_now_ns() + PACE_NS;
		}
		(void)sr_service(e->client, NULL);
		(void)nanosleep(&(struct timespec){ .tv_nsec = SR_NS_PER_MS }, NULL);
	}
	/* What is under way still has its answer to come. */
	while (e->answered < e->submitted && sr_now_ns() < end_ns) {
		struct sr_completion c;

		if (sr_poll(e->session, &c, 1) == 1)
			take(e, &c);
		else
			(void)sr_service(e->client, NULL);
	}
}

static void put(const char *name, uint64_t number, const char *end)
{
	(void)printf("\"%s\":%llu%s", name, (unsigned long long)number, end);
}

static void report(const struct engine *e)
{
	(void)printf("{");
	put("before", e->signed_before, ",");
	put("after", e->signed_after, ",");
	put("unknown", e->unknown, ",");
	put("not_sent", e->not_sent, ",");
	put("session_lost", e->session_lost, ",");
	put("draining", e->draining, ",");
	put("other", e->other, ",");
	put("bad", e->bad, ",");
	put("unanswered", e->submitted - e->answered, ",");
	put("outage_ms", e->outage_ns / SR_NS_PER_MS, "}\n");
}

int main(int argc, char **argv)
{
	struct sr_session_options session = { .flags = SR_SESSION_REOPEN };
	struct sr_reason why = { 0, "" };
	struct sr_options opt;
	struct engine e = { 0 };
	uint64_t after, limit_s;

	if (argc != 4 || read_key(&e, argv[1]) || sr_verifier_new(&e.verifier))
		return 2;
	after = strtoull(argv[2], NULL, 10);
	limit_s = strtoull(argv[3], NULL, 10);
	sr_options_init(&opt);
	opt.wait = SR_WAIT_YIELD;
	opt.timeout_ns = 60 * SR_NS_PER_S;
	if (sr_open(&e.client, &opt, &why) ||
	    sr_session_open(&e.session, e.client, &session, &why)) {
		(void)fprintf(stderr, "engine: %s\n", why.text);
		return 3;
	}
	trade(&e, after, sr_now_ns() + limit_s * SR_NS_PER_S);
	report(&e);
	sr_close(e.client);
	sr_verifier_delete(e.verifier);
	return e.signed_after >= after ? 0 : 1;
}
