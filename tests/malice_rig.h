/* SPDX-License-Identifier: MIT */
/*
 * malice_rig.h - the honest half of the tests with a malicious agent.
 *
 * A referee, which is the test's own process, starts a real signer, an agent that is
 * not to be trusted (malice_agent.h) and two client processes with libsigring. It says
 * in shared memory how many orders it wants of each session and waits for what became
 * of them. The clients check what no attack may change: each submit is answered once,
 * with a status that exists, and an OK is a good signature over what was submitted.
 *
 * Each client draws 32 bytes and puts them into every body. Nobody else ever sees
 * them: what is shared is their masked form (mp_memory.h), so the referee can look for
 * them, in the memory of the agent and in all that it has seen, without having them.
 */
#ifndef MALICE_RIG_H
#define MALICE_RIG_H

#include "mp_memory.h"
#include "mp_traders.h"
#include "sr_frame.h"
#include "sr_record.h"

#define MALICE_CLIENTS 2u
#define MALICE_SESSIONS 2u
#define MALICE_ORDERS 32768u /* of one session in one test */
#define MALICE_DEPTH 64u
#define MALICE_STATUSES 64u
#define MALICE_UNANSWERED 0xffu
#define MALICE_CANARY 64u /* where it lies in a body */

struct malice_session {
	/* the referee's */
	uint32_t flags;       /* SR_SESSION_*, of the next one that is opened */
	uint32_t generation;  /* raised: end the session, open another */
	uint64_t want;        /* orders, in all generations */
	uint64_t deadline_ns; /* of an order, from its submit on; 0: none */
	/* the client's */
	uint32_t tried;  /* the generation that `result` is of */
	int32_t result;  /* of opening it */
	int32_t over;    /* what sr_poll() said last of a session that has ended */
	uint32_t overs;  /* how often */
	uint64_t submitted;
	uint64_t completed;
	struct sr_session_stats stats; /* of the session at hand */
	uint64_t by_status[MALICE_STATUSES];
	uint8_t status[MALICE_ORDERS];
	uint8_t policy[MALICE_ORDERS];
	char why[200];
};

struct malice_client {
	uint32_t stop;   /* the referee's */
	uint32_t ready;  /* the client's */
	uint32_t pid;
	unsigned char hidden[MP_NEEDLE_BYTES];
	struct malice_session sessions[MALICE_SESSIONS];
};

/* The victim's session as its agent knows it. */
struct malice_name {
	uint64_t token[2];
	uint64_t first;
	uint32_t epoch;
	uint32_t id;
};

/* What passes between the referee and the agent. */
struct malice_words {
	uint32_t armed;  /* the referee's: attack from now on */
	uint32_t phase;  /* the referee's: of an attack that has several */
	uint32_t up;     /* the agent's: it listens */
	uint64_t hits;   /* the agent's: times that it did its evil */
	uint32_t ask;    /* the referee's: raised for the signer's counters ... */
	uint32_t told;   /* the agent's: ... and these are from after that */
	uint64_t counters[SR_STATUS_FIELDS];
	uint64_t sealed; /* the agent's: replies of the signer that it saw */
	uint64_t two_replies; /* ... of which so many differed from an earlier one */
	struct malice_name name;
	uint64_t n; /* of the victim's last record with a reply, both as they were sent */
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char reply[SR_CMP_BYTES];
};

struct malice {
	struct malice_words words;
	struct malice_client clients[MALICE_CLIENTS];
};

static struct malice *malice; /* shared by all */
static uint64_t malice_timeout_ns = 3ull * SR_NS_PER_S / 2; /* of opening a session */
static struct mp_rig malice_rig;
static pid_t malice_pids[MALICE_CLIENTS];

/* ---- a client ---- */

struct malice_trader {
	struct malice_session *shared;
	struct sr_session *session;
	uint64_t sender;
};

static unsigned char malice_canary[MP_NEEDLE_BYTES]; /* in a client process alone */
static struct sr_verifier *malice_verifier;

static inline void malice_body(unsigned char body[MP_BODY_BYTES], uint64_t sender, uint64_t number)
{
	mp_body(body, sender, number);
	memcpy(body + MALICE_CANARY, malice_canary, sizeof malice_canary);
}

static inline bool malice_status_defined(uint16_t status)
{
	return status <= SR_VOID || (status >= SR_EXPIRED && status <= SR_LATE);
}

/* What may never happen, whatever the agent does. */
static inline void malice_take(struct malice_trader *t, const struct sr_completion *c)
{
	static const unsigned char nothing[SR_SIG_BYTES];
	struct malice_session *m = t->shared;
	unsigned char body[MP_BODY_BYTES];

	MP_CHECK(c->user_data < m->submitted, "an answer to %llu, which was never submitted",
		 (unsigned long long)c->user_data);
	MP_CHECK(m->status[c->user_data] == MALICE_UNANSWERED, "%llu is answered twice: %s, %s",
		 (unsigned long long)c->user_data, sr_status_name(m->status[c->user_data]),
		 sr_status_name(c->status));
	MP_CHECK(malice_status_defined(c->status), "status %u", c->status);
	if (c->status == SR_OK) {
		malice_body(body, t->sender, c->user_data);
		MP_CHECK(c->sigkind == SR_SIG_ECDSA &&
				 sr_verify_signature(malice_verifier, malice_rig.pubkey,
						     SR_ECDSA_SHA256, body, sizeof body,
						     c->signature, c->recovery_id) == 0,
			 "a wrong signature of %llu", (unsigned long long)c->user_data);
	} else {
		MP_CHECK(c->sigkind == SR_SIG_NONE &&
				 !memcmp(c->signature, nothing, sizeof nothing),
			 "a signature with status %s", sr_status_name(c->status));
	}
	m->status[c->user_data] = (uint8_t)c->status;
	m->policy[c->user_data] = (uint8_t)c->policy;
	m->by_status[c->status]++;
	sr_store_release(&m->completed, m->completed + 1);
}

static inline bool malice_poll(struct malice_trader *t)
{
	struct malice_session *m = t->shared;
	struct sr_completion c[8];
	int n;

	if (!t->session)
		return false;
	n = sr_poll(t->session, c, 8);
	if (n < 0 && n != -ENOTCONN) {
		MP_CHECK(n == -ESTALE || n == -EPROTO || n == -EBADMSG, "sr_poll: %d", n);
		MP_CHECK(m->completed == m->submitted, "sr_poll: %d with %llu unanswered", n,
			 (unsigned long long)(m->submitted - m->completed));
		if (m->over != n)
			m->overs++;
		sr_store32_release((uint32_t *)&m->over, (uint32_t)n);
	} else if (n >= 0) {
		m->over = 0; /* it was opened again */
	}
	for (int i = 0; i < n; i++)
		malice_take(t, &c[i]);
	return n > 0;
}

static inline bool malice_submit(struct malice_trader *t)
{
	struct malice_session *m = t->shared;
	uint64_t want = sr_load_acquire(&m->want);
	bool did = false;

	while (t->session && m->submitted < want) {
		unsigned char body[MP_BODY_BYTES];
		struct sr_request rq = { .key = MP_KEY,
					 .type = SR_ECDSA_SHA256,
					 .body_bytes = sizeof body,
					 .body = body,
					 .user_data = m->submitted };
		int ret;

		MP_CHECK(want <= MALICE_ORDERS, "more orders than there is room for");
		if (m->deadline_ns)
			rq.deadline_ns = sr_now_ns() + m->deadline_ns;
		malice_body(body, t->sender, m->submitted);
		m->status[m->submitted] = MALICE_UNANSWERED;
		ret = sr_submit(t->session, &rq);
		if (ret < 0) {
			MP_CHECK(ret == -EAGAIN || ret == -ENOTCONN || ret == -ESTALE,
				 "sr_submit: %d", ret);
			break;
		}
		did = true;
		sr_store_release(&m->submitted, m->submitted + 1);
	}
	return did;
}

/* Everything in flight is answered first: what is closed is dropped. */
static inline void malice_end(struct sr_client *client, struct malice_trader *t)
{
	if (!t->session)
		return;
	sr_session_abandon(t->session);
	while (malice_poll(t) || t->shared->completed != t->shared->submitted)
		;
	sr_session_close(client, t->session);
	t->session = NULL;
}

static inline void malice_open(struct sr_client *client, struct malice_trader *t)
{
	struct malice_session *m = t->shared;
	uint32_t generation = sr_load32_acquire(&m->generation);
	struct sr_session_options opt = { .flags = m->flags };
	struct sr_reason why = { 0, "" };
	int ret;

	if (generation == m->tried)
		return;
	malice_end(client, t);
	ret = sr_session_open(&t->session, client, &opt, &why);
	(void)snprintf(m->why, sizeof m->why, "%.199s", why.text);
	m->result = ret;
	m->over = 0;
	sr_store32_release(&m->tried, generation);
}

static inline void malice_be_client(void *arg)
{
	struct malice_client *self = arg;
	uint64_t index = (uint64_t)(self - malice->clients);
	struct malice_trader traders[MALICE_SESSIONS];
	struct sr_options opt;
	struct sr_reason why = { 0, "" };
	struct sr_client *client = NULL;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	MP_EQ(getrandom(malice_canary, sizeof malice_canary, 0), sizeof malice_canary, "getrandom");
	for (size_t i = 0; i < sizeof malice_canary; i++)
		self->hidden[i] = malice_canary[i] ^ MP_NEEDLE_MASK;
	MP_EQ(sr_verifier_new(&malice_verifier), 0, "sr_verifier_new");
	malice_rig.who = (unsigned int)index;
	mp_options(&opt, &malice_rig);
	opt.sessions = MALICE_SESSIONS;
	opt.depth = MALICE_DEPTH;
	opt.timeout_ns = malice_timeout_ns;
	while (sr_open(&client, &opt, &why) < 0) {
		MP_CHECK(sr_now_ns() < end_ns, "sr_open: %s", why.text);
		mp_sleep_us(1000);
	}
	for (uint32_t i = 0; i < MALICE_SESSIONS; i++)
		traders[i] = (struct malice_trader){ &self->sessions[i], NULL,
						     1000 + 10 * index + i };
	sr_store32_release(&self->ready, 1);
	while (!sr_load32_acquire(&self->stop)) {
		bool did = sr_service(client, NULL) > 0;

		for (uint32_t i = 0; i < MALICE_SESSIONS; i++) {
			malice_open(client, &traders[i]);
			did |= malice_submit(&traders[i]);
			did |= malice_poll(&traders[i]);
			if (traders[i].session)
				sr_session_stats_get(traders[i].session,
						     &traders[i].shared->stats);
		}
		if (!did)
			mp_sleep_us(20);
	}
	for (uint32_t i = 0; i < MALICE_SESSIONS; i++)
		malice_end(client, &traders[i]);
	sr_close(client);
}

/* ---- the referee ---- */

static inline uint64_t malice_end_ns(void)
{
	return sr_now_ns() + 60ull * SR_NS_PER_S;
}

/* Has somebody failed? He has said why. */
static inline void malice_watch(uint64_t end_ns, const char *what)
{
	for (uint32_t i = 0; i < MALICE_CLIENTS; i++)
		if (malice_pids[i] && !mp_alive(malice_pids[i]))
			mp_join(malice_pids[i], "a client");
	MP_CHECK(mp_alive(malice_rig.agent), "the malicious agent ended");
	MP_CHECK(mp_alive(malice_rig.signer), "the signer ended");
	MP_CHECK(sr_now_ns() < end_ns, "hangs: %s", what);
	mp_sleep_us(200);
}

static inline struct malice_session *malice_of(uint32_t client, uint32_t session)
{
	return &malice->clients[client].sessions[session];
}

/* Open a session, in place of the one before. Returns what sr_session_open() does. */
static inline int malice_try_open(uint32_t client, uint32_t session, uint32_t flags)
{
	struct malice_session *m = malice_of(client, session);
	uint32_t generation = m->generation + 1;
	uint64_t end_ns = malice_end_ns();

	m->flags = flags;
	sr_store32_release(&m->generation, generation);
	while (sr_load32_acquire(&m->tried) != generation)
		malice_watch(end_ns, "opening a session");
	return m->result;
}

static inline void malice_must_open(uint32_t client, uint32_t session, uint32_t flags)
{
	uint64_t end_ns = malice_end_ns();
	int ret;

	/* Too many that failed before are forgiven in time. */
	while ((ret = malice_try_open(client, session, flags)) == -ENOTCONN || ret == -ETIMEDOUT ||
	       ret == -EDQUOT)
		malice_watch(end_ns, malice_of(client, session)->why);
	MP_CHECK(ret == 0, "an honest set-up fails: %s", malice_of(client, session)->why);
}

static inline void malice_order(uint32_t client, uint32_t session, uint64_t count)
{
	struct malice_session *m = malice_of(client, session);

	sr_store_release(&m->want, m->want + count);
}

/* All that was wanted has been answered. */
static inline void malice_settle(uint32_t client, uint32_t session)
{
	struct malice_session *m = malice_of(client, session);
	uint64_t end_ns = malice_end_ns();

	while (sr_load_acquire(&m->completed) != m->want)
		malice_watch(end_ns, "a submit without an answer");
}

/* The status of the order that was wanted last. */
static inline uint8_t malice_last(uint32_t client, uint32_t session)
{
	const struct malice_session *m = malice_of(client, session);

	return m->status[m->want - 1];
}

static inline uint8_t malice_one(uint32_t client, uint32_t session)
{
	malice_order(client, session, 1);
	malice_settle(client, session);
	return malice_last(client, session);
}

/* Orders of which each must be signed. */
static inline void malice_all_ok(uint32_t client, uint32_t session, uint64_t count)
{
	const struct malice_session *m = malice_of(client, session);
	uint64_t from = m->want;

	malice_order(client, session, count);
	malice_settle(client, session);
	for (uint64_t n = from; n < m->want; n++)
		MP_CHECK(m->status[n] == SR_OK, "order %llu of client %u, session %u is %s",
			 (unsigned long long)n, client, session, sr_status_name(m->status[n]));
}

/* The others go on: a second session of the same client, and another client. */
static inline void malice_others_go_on(uint64_t count)
{
	malice_order(0, 1, count);
	malice_all_ok(1, 0, count);
	malice_all_ok(0, 1, 0);
	MP_EQ(malice_of(0, 1)->over, 0, "how the other session has ended");
	MP_EQ(malice_of(1, 0)->over, 0, "how the other client's session has ended");
	MP_EQ(malice_of(0, 1)->by_status[SR_OK], malice_of(0, 1)->submitted,
	      "what was signed of the other session");
	MP_EQ(malice_of(1, 0)->by_status[SR_OK], malice_of(1, 0)->submitted,
	      "what was signed of the other client's session");
}

static inline uint64_t malice_sum(enum sr_status status)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < MALICE_CLIENTS; c++)
		for (uint32_t s = 0; s < MALICE_SESSIONS; s++)
			sum += malice_of(c, s)->by_status[status];
	return sum;
}

static inline uint64_t malice_submitted(void)
{
	uint64_t sum = 0;

	for (uint32_t c = 0; c < MALICE_CLIENTS; c++)
		for (uint32_t s = 0; s < MALICE_SESSIONS; s++)
			sum += malice_of(c, s)->submitted;
	return sum;
}

/* As it is now. Asked for at once: the agent itself asks twice a second. */
static inline long long malice_counter(enum sr_status_field field)
{
	struct malice_words *w = &malice->words;
	uint64_t end_ns = malice_end_ns();
	uint32_t ask = w->ask + 1;

	sr_store32_release(&w->ask, ask);
	while (sr_load32_acquire(&w->told) != ask)
		malice_watch(end_ns, "the signer's counters");
	return (long long)w->counters[field];
}

#endif /* MALICE_RIG_H */
