/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sched.h>

#include "sr_agent_session.h"
#include "sr_agent_stream.h"
#include "sr_assert.h"
#include "sr_clock.h"
#include "sr_record.h"

#define IDLE_RECV_TURNS 64u /* an idle receive costs more than a microsecond */
#define EXPECT_SESSIONS_MAX 16u /* more of them are swept faster without */
#define BEAT_TURNS 256u
#define BEAT_NS SR_NS_PER_MS
#define STEADY_NS SR_NS_PER_S
#define STATUS_NS (500u * SR_NS_PER_MS)
#define SILENT_NS (2 * SR_NS_PER_S)
#define SLEEP_NS_MAX (20u * SR_NS_PER_MS)
#define STALL_NS_MAX SR_NS_PER_MS

/* ---- taking submissions ---- */

/*
 * A record that has expired before it was ever forwarded is answered here. What
 * may have been forwarded, by us or by an earlier agent, never is.
 */
static bool expired(const struct sr_agent_session *s, uint64_t n, const unsigned char *record,
		    uint64_t *now_ns)
{
	uint64_t deadline_ns = sr_get64(record + SR_SUB_DEADLINE);

	if (SR_LIKELY(!deadline_ns) || n < s->forwarded_max)
		return false;
	if (!*now_ns)
		*now_ns = sr_now_ns();
	return *now_ns > deadline_ns;
}

/* Copies one record behind the output. 1 = taken, 0 = nothing there, or no room. */
static int take_one(struct sr_agent *a, struct sr_agent_session *s, uint64_t *now_ns)
{
	struct sr_agent_loop *l = &a->loop;
	uint32_t bytes = (uint32_t)s->submission.slot_bytes;
	uint64_t n = s->next_send;
	unsigned char *at;
	int ret;

	if (sr_agent_number_done(s, n)) { /* after a reconnect: answered in the meantime */
		s->next_send++;
		return 1;
	}
	ret = sr_slot_look(&s->submission, s->first + n);
	if (ret < 0) {
		if (ret == -EPROTO)
			sr_agent_condemn(a, s);
		else if (l->session_count[0] + l->session_count[1] <= EXPECT_SESSIONS_MAX)
			sr_slot_expect(&s->submission, s->first + n);
		return 0;
	}
	at = sr_agent_frame_room(l, bytes, SR_AGENT_CONTROL_BYTES);
	if (!at || (l->out_bytes && l->out_bytes + SR_FRAME_HEADER_BYTES + bytes >
					    l->write_bytes_max))
		return 0;
	/* Copied whole, then looked at; the slot may change under us. */
	sr_slot_copy(&s->submission, s->first + n, at + SR_FRAME_HEADER_BYTES);
	s->next_send = n + 1;
	if (expired(s, n, at + SR_FRAME_HEADER_BYTES, now_ns)) {
		sr_agent_give(a, s, n, SR_EXPIRED);
		return 1;
	}
	l->out_bytes += sr_frame_put(at, SR_FRAME_DATA, s->id, s->epoch, bytes);
	l->in_flight++;
	sr_agent_trace_picked(a->trace, s->first + n);
	if (n < s->forwarded_max) {
		sr_agent_count(&s->block->resent, 1);
		sr_agent_count(&a->counters.resent, 1);
	} else {
		s->forwarded_max = n + 1;
	}
	sr_agent_count(&s->block->forwarded, 1);
	sr_agent_count(&a->counters.forwarded, 1);
	return 1;
}

/* A lost session: whatever is still published is answered at once. */
static bool answer_lost(struct sr_agent *a, struct sr_agent_session *s)
{
	int ret;

	if (s->next_send - s->first_open >= s->depth)
		return false;
	ret = sr_slot_look(&s->submission, s->first + s->next_send);
	if (ret == -EPROTO)
		sr_agent_condemn(a, s);
	if (ret < 0)
		return false;
	sr_agent_give(a, s, s->next_send++, SR_SESSION_LOST);
	return true;
}

/* Without a stream only deadlines go on. */
static bool expire_head(struct sr_agent *a, struct sr_agent_session *s, uint64_t *now_ns)
{
	uint64_t n = s->next_send > s->forwarded_max ? s->next_send : s->forwarded_max;
	unsigned char record[SR_SUB_BYTES_MAX];

	if (n - s->first_open >= s->depth || sr_agent_number_done(s, n) ||
	    sr_slot_look(&s->submission, s->first + n) < 0)
		return false;
	sr_slot_copy(&s->submission, s->first + n, record);
	if (!expired(s, n, record, now_ns))
		return false;
	sr_agent_give(a, s, n, SR_EXPIRED);
	s->forwarded_max = n + 1;
	return true;
}

static bool turn_session(struct sr_agent *a, struct sr_agent_session *s, uint32_t credits,
			 uint64_t *now_ns)
{
	struct sr_agent_loop *l = &a->loop;
	bool did = false;

	switch (s->phase) {
	case SR_AGENT_BOUND:
		if (s->closing)
			break;
		for (uint32_t i = 0; i < a->config.turn_records && l->in_flight < credits; i++) {
			if (s->next_send - s->first_open >= s->depth || !take_one(a, s, now_ns))
				return did;
			did = true;
		}
		return did;
	case SR_AGENT_UNBOUND:
		if (s->closing)
			break;
		if (l->up && l->hello)
			sr_agent_put_open(a, s);
		return expire_head(a, s, now_ns) || s->phase == SR_AGENT_BINDING;
	case SR_AGENT_BINDING:
		return !s->closing && expire_head(a, s, now_ns);
	case SR_AGENT_LOST:
		if (!s->closing)
			return answer_lost(a, s);
		break;
	case SR_AGENT_HOSTILE:
		break;
	}
	return false;
}

/* Sessions that the attach thread wants back: END first, if the signer has it. */
static bool close_session(struct sr_agent *a, struct sr_agent_session *s)
{
	struct sr_agent_loop *l = &a->loop;

	if (s->id && l->up && l->hello &&
	    !sr_agent_put_control(l, SR_FRAME_END, s->id, s->epoch, NULL, 0))
		return false;
	sr_agent_return_session(a, s);
	return true;
}

/*
 * One class of sessions, each in its turn, beginning with another each time. The
 * last eighth of the credits, and at least one where there are two, is kept for
 * the priority class: a burst of orders cannot hold up a cancel.
 */
static bool turn_class(struct sr_agent *a, unsigned int class, bool blocked, uint64_t *now_ns)
{
	struct sr_agent_loop *l = &a->loop;
	uint32_t reserve = l->credits / 8 ? l->credits / 8 : l->credits > 1;
	uint32_t credits = blocked ? 0 : l->credits - (class == 0 ? 0 : reserve);
	bool did = false;

	for (uint32_t i = 0; i < l->session_count[class]; i++) {
		uint32_t at = (l->round[class] + i) % l->session_count[class];
		struct sr_agent_session *s = l->sessions[class][at];

		if (SR_UNLIKELY(s->closing)) {
			did |= close_session(a, s);
			continue;
		}
		did |= turn_session(a, s, credits, now_ns);
	}
	l->round[class]++;
	return did;
}

/* ---- the turn ---- */

static void take_mail(struct sr_agent *a, struct sr_mail mail)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_agent_session *s = mail.object;
	unsigned int class = s->flags & SR_OPEN_PRIORITY ? 0 : 1;

	if (mail.kind == SR_MAIL_CLOSE) {
		s->closing = true;
		if (!s->held)
			sr_agent_return_session(a, s);
		return;
	}
	/* A client attached long ago may not have been beaten for since. */
	sr_store_relaxed(&sr_region_beat(&s->client->completion)->heartbeat_ns, sr_now_ns());
	s->held = true;
	/* The attach thread counts sessions: there is room. */
	SR_ASSERT(l->session_count[class] < a->config.sessions_max);
	l->sessions[class][l->session_count[class]++] = s;
	if (!(l->up && l->hello) && !(s->flags & SR_OPEN_RESUME))
		sr_agent_refuse_session(a, s, SR_RESULT_NO_SIGNER);
}

/*
 * A signer that died with its machine may never hang up. Who is silent alone may be
 * stopped and is waited for; who is silent while another enclave has said that it is up
 * is not.
 */
static bool is_replaced(struct sr_agent *a, uint64_t now_ns)
{
	struct sr_agent_loop *l = &a->loop;
	const struct sr_transport_ops *ops = l->transport->ops;

	if (!l->asked)
		l->answered_ns = now_ns;
	return now_ns - l->answered_ns > SILENT_NS && ops->moved && ops->moved(l->transport);
}

static void beat(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	uint64_t now_ns = sr_now_ns();

	if (now_ns - l->beat_ns < BEAT_NS)
		return;
	l->beat_ns = now_ns;
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++) {
			struct sr_agent_session *s = l->sessions[class][i];

			sr_store_relaxed(&sr_region_beat(&s->client->completion)->heartbeat_ns,
					 now_ns);
		}
	sr_store_relaxed(&a->counters.in_flight, l->in_flight);
	if (l->hello && l->in_flight >= l->credits)
		sr_agent_count(&a->counters.credit_stalls, 1);
	if (l->hello && now_ns - l->up_ns > STEADY_NS)
		l->backoff_ns = 0;
	if (l->hello && is_replaced(a, now_ns))
		sr_agent_stream_down(a, -EHOSTDOWN);
	if (l->hello && now_ns - l->status_ns > STATUS_NS && l->out_bytes == 0 &&
	    l->asked < l->asked_max && sr_agent_put_control(l, SR_FRAME_STATUS, 0, 0, NULL, 0)) {
		l->asked++;
		l->status_ns = now_ns;
	}
}

static bool stream_turn(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	bool look = l->in_flight || l->transport->cheap_recv || !l->hello ||
		    (l->idle_turns + 1) % IDLE_RECV_TURNS == 0; /* not right after work */

	if (!l->up)
		return sr_agent_connect(a);
	return look && sr_agent_receive(a);
}

bool sr_agent_loop_turn(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_mail mail;
	uint64_t now_ns = 0;
	bool blocked;
	bool did = false;

	while (SR_UNLIKELY(sr_mailbox_get(&a->to_loop, &mail) == 0)) {
		take_mail(a, mail);
		did = true;
	}
	did |= stream_turn(a); /* reads before it writes, always */
	/* A stream that takes no more holds up records, and nothing else. */
	blocked = l->out_bytes && sr_agent_flush(a) < 0;
	did |= turn_class(a, 0, blocked, &now_ns);
	did |= turn_class(a, 1, blocked, &now_ns);
	if (l->up && l->out_bytes && !blocked)
		(void)sr_agent_flush(a);
	if (sr_load_relaxed(&a->counters.turns) % BEAT_TURNS == 0)
		beat(a);
	sr_agent_count(&a->counters.turns, 1);
	l->idle_turns = did ? 0 : l->idle_turns + 1;
	return did;
}

/* Everything that could wake us, once more: called with the flags armed. */
static bool anything_published(const struct sr_agent *a)
{
	const struct sr_agent_loop *l = &a->loop;

	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++) {
			const struct sr_agent_session *s = l->sessions[class][i];

			if (s->closing)
				return true;
			if ((s->phase == SR_AGENT_BOUND || s->phase == SR_AGENT_LOST) &&
			    s->next_send - s->first_open < s->depth &&
			    sr_slot_look(&s->submission, s->first + s->next_send) == 0)
				return true;
		}
	return false;
}

#define WAIT_FDS_MAX 256u

/* Sleeping is for hosts that would rather save a core: this path makes system
 * calls and is linear in the sessions. */
static void sleep_on_fds(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	struct pollfd fds[WAIT_FDS_MAX];
	nfds_t count = 0;
	int wait_fd = l->up ? l->transport->ops->wait_fd(l->transport) : -1;
	bool stalled = l->in_flight >= l->credits || l->out_bytes > 0 || !l->up;
	struct timespec ts = { 0, stalled ? (long)STALL_NS_MAX : (long)SLEEP_NS_MAX };

	fds[count++] = (struct pollfd){ .fd = a->poll_fd, .events = POLLIN };
	if (wait_fd >= 0)
		fds[count++] = (struct pollfd){ .fd = wait_fd, .events = POLLIN };
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++) {
			struct sr_agent_session *s = l->sessions[class][i];

			sr_store32_relaxed(&sr_region_beat(&s->client->completion)->sleeping, 1);
			if (s->wait_fd >= 0 && count < WAIT_FDS_MAX)
				fds[count++] = (struct pollfd){ .fd = s->wait_fd,
								.events = POLLIN };
			else if (s->wait_fd < 0 || count == WAIT_FDS_MAX)
				ts.tv_nsec = STALL_NS_MAX; /* a client that cannot ring */
		}
	sr_fence_full(); /* our flags before our second look */
	if ((stalled || !anything_published(a)) && ppoll(fds, count, &ts, NULL) > 0)
		for (nfds_t i = 0; i < count; i++)
			if ((fds[i].revents & POLLIN) && fds[i].fd != wait_fd)
				sr_doorbell_clear(fds[i].fd);
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++)
			sr_store32_relaxed(
				&sr_region_beat(&l->sessions[class][i]->client->completion)->sleeping,
				0);
	l->idle_turns = IDLE_RECV_TURNS - 1; /* the next turn looks at the stream */
	beat(a);
}

void sr_agent_loop_sleep(struct sr_agent *a)
{
	switch (a->wait) {
	case SR_WAIT_BLOCK:
		if (a->loop.idle_turns > BEAT_TURNS)
			sleep_on_fds(a);
		break;
	case SR_WAIT_YIELD:
		(void)sched_yield();
		break;
	case SR_WAIT_AUTO:
	case SR_WAIT_SPIN:
		sr_pause();
		break;
	}
}
