/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sched.h>

#include "sr_agent_state.h"
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
#define BACKOFF_NS_MIN SR_NS_PER_MS
#define BACKOFF_NS_MAX (250u * SR_NS_PER_MS)
#define SLEEP_NS_MAX (20u * SR_NS_PER_MS)
#define STALL_NS_MAX SR_NS_PER_MS

static void add(uint64_t *counter, uint64_t by)
{
	sr_store_relaxed(counter, sr_load_relaxed(counter) + by);
}

/* The attach thread never waits for us, so it drains its mailbox in the end, and
 * nothing is dropped. */
static void tell(struct sr_agent *a, enum sr_agent_mail kind, void *object, uint32_t value)
{
	struct sr_mail mail = { (uint32_t)kind, value, object };

	while (sr_mailbox_put(&a->to_attach, mail) < 0) {
		if (sr_load32_relaxed(&a->stopping))
			return;
		(void)sched_yield();
	}
	sr_doorbell_ring(a->wake_fd);
}

/* ---- completions ---- */

static bool number_done(const struct sr_agent_session *s, uint64_t n)
{
	return n < s->first_open || s->done[n & (s->depth - 1)];
}

static void publish(struct sr_agent *a, struct sr_agent_session *s, uint64_t n,
		    const unsigned char record[SR_CMP_BYTES])
{
	SR_DCHECK(n - s->first_open < s->depth && !number_done(s, n));
	sr_slot_publish(&s->completion, s->first + n, record);
	sr_slot_ahead(&s->completion, s->first + n);
	if (s->ring_fd >= 0)
		sr_doorbell_publish(&s->client_block->sleeping, s->ring_fd);
	s->done[n & (s->depth - 1)] = 1;
	while (s->done[s->first_open & (s->depth - 1)]) {
		s->done[s->first_open & (s->depth - 1)] = 0;
		s->first_open++;
	}
	add(&s->block->answered, 1);
	add(&a->counters.replies, 1);
}

/* Completes number n by the agent's own word. */
static void give(struct sr_agent *a, struct sr_agent_session *s, uint64_t n, enum sr_status status)
{
	unsigned char record[SR_CMP_BYTES] = { 0 };

	record[SR_CMP_KIND] = SR_KIND_AGENT;
	record[SR_CMP_STATUS] = (unsigned char)status;
	publish(a, s, n, record);
	add(&s->block->given, 1);
	add(status == SR_EXPIRED ? &a->counters.expired : &a->counters.given, 1);
}

/* ---- sessions ---- */

static void set_state(struct sr_agent_session *s, enum sr_link_state state)
{
	sr_store32_relaxed(&s->block->state, (uint32_t)state);
}

static void unroute(struct sr_agent *a, const struct sr_agent_session *s)
{
	if (s->id && a->loop.route[SR_SESSION_INDEX(s->id)] == s)
		a->loop.route[SR_SESSION_INDEX(s->id)] = NULL;
}

/* The client broke his region: nothing of it is read any more. */
static void condemn(struct sr_agent *a, struct sr_agent_session *s)
{
	s->phase = SR_AGENT_HOSTILE;
	tell(a, SR_MAIL_HOSTILE, s, 0);
}

/*
 * The signer has forgotten the session, or was started anew: what was published
 * and not answered gets its last word. NOT_SENT only for what this agent knows
 * never to have left.
 */
static void lose(struct sr_agent *a, struct sr_agent_session *s)
{
	uint64_t end = s->first_open + s->depth;
	uint64_t n;

	unroute(a, s);
	s->id = 0;
	s->phase = SR_AGENT_LOST;
	for (n = s->first_open; n != end; n++) {
		int ret;

		if (number_done(s, n))
			continue;
		ret = sr_slot_look(&s->submission, s->first + n);
		if (ret == -EPROTO) {
			condemn(a, s);
			return;
		}
		if (ret == -EAGAIN)
			break;
		give(a, s, n, n < s->forwarded_max ? SR_UNKNOWN : SR_NOT_SENT);
	}
	s->next_send = n > s->first_open ? n : s->first_open;
	set_state(s, SR_LINK_LOST);
	tell(a, SR_MAIL_LOST, s, 0);
}

static void remove_session(struct sr_agent *a, struct sr_agent_session *s)
{
	struct sr_agent_loop *l = &a->loop;
	unsigned int class = s->flags & SR_OPEN_PRIORITY ? 0 : 1;

	for (uint32_t i = 0; i < l->session_count[class]; i++)
		if (l->sessions[class][i] == s) {
			l->sessions[class][i] = l->sessions[class][--l->session_count[class]];
			break;
		}
	unroute(a, s);
	s->held = false;
}

static void return_session(struct sr_agent *a, struct sr_agent_session *s)
{
	if (s->held)
		remove_session(a, s);
	tell(a, SR_MAIL_CLOSED, s, 0);
}

/* A session that was never open: the attach thread takes it back with the result,
 * or, if it has asked for it already, with the answer to that. */
static void refuse_session(struct sr_agent *a, struct sr_agent_session *s,
			   enum sr_attach_result result)
{
	remove_session(a, s);
	tell(a, SR_MAIL_OPENED, s, result);
}

/* ---- output ---- */

/* Records leave SR_AGENT_CONTROL_BYTES for control frames, which therefore
 * always fit in practice. */
static unsigned char *frame_room(struct sr_agent_loop *l, uint32_t payload_bytes, size_t reserve)
{
	size_t need = SR_FRAME_HEADER_BYTES + payload_bytes + reserve;

	return need <= sizeof l->out - l->out_bytes ? l->out + l->out_bytes : NULL;
}

static bool put_control(struct sr_agent_loop *l, uint32_t kind, uint32_t session, uint32_t epoch,
			const unsigned char *payload, uint32_t bytes)
{
	unsigned char *at = frame_room(l, bytes, 0);

	if (!at)
		return false;
	l->out_bytes += sr_frame_put(at, kind, session, epoch, bytes);
	if (bytes)
		memcpy(at + SR_FRAME_HEADER_BYTES, payload, bytes);
	return true;
}

/*
 * A sealed session is known by its token, before and after it was bound: to resume it
 * is the same OPEN, and SR_OPEN_RESUME, which only clear ones need, goes unread.
 */
static void put_open(struct sr_agent *a, struct sr_agent_session *s)
{
	struct sr_agent_loop *l = &a->loop;
	unsigned char payload[SR_OPEN_BYTES];
	struct sr_open_request open = {
		.token = { s->token[0], s->token[1] },
		.first = s->first,
		.next = s->first_open,
		.depth = (uint32_t)s->depth,
		.slot_bytes = (uint32_t)s->submission.slot_bytes,
		.uid = s->uid,
		.flags = (s->flags & (SR_OPEN_PRIORITY | SR_OPEN_SEALED)) |
			 ((s->flags & SR_OPEN_RESUME) || s->was_bound ? SR_OPEN_RESUME : 0),
		.cookie = l->cookie + 1,
	};

	sr_open_put(payload, &open);
	/* The signer cuts off who asks on without reading; END keeps its room. */
	if (l->asked == l->asked_max ||
	    !frame_room(l, sizeof payload, SR_AGENT_CONTROL_BYTES) ||
	    !put_control(l, SR_FRAME_OPEN, 0, s->epoch, payload, sizeof payload))
		return;
	l->asked++;
	s->cookie = ++l->cookie;
	s->phase = SR_AGENT_BINDING;
}

static void stream_down(struct sr_agent *a, int error);

static int flush(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;

	sr_agent_trace_written(a->trace);
	while (l->out_sent < l->out_bytes) {
		size_t left = l->out_bytes - l->out_sent;
		ssize_t n;

		if (left > l->write_bytes_max)
			left = l->write_bytes_max;
		n = l->transport->ops->send(l->transport, l->out + l->out_sent, left);
		if (n == -EAGAIN)
			return -EAGAIN;
		if (n < 0) {
			stream_down(a, (int)n);
			return (int)n;
		}
		l->out_sent += (size_t)n;
		add(&a->counters.writes, 1);
		add(&a->counters.written_bytes, (uint64_t)n);
	}
	l->out_bytes = l->out_sent = 0;
	return 0;
}

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

	if (number_done(s, n)) { /* after a reconnect: answered in the meantime */
		s->next_send++;
		return 1;
	}
	ret = sr_slot_look(&s->submission, s->first + n);
	if (ret < 0) {
		if (ret == -EPROTO)
			condemn(a, s);
		else if (l->session_count[0] + l->session_count[1] <= EXPECT_SESSIONS_MAX)
			sr_slot_expect(&s->submission, s->first + n);
		return 0;
	}
	at = frame_room(l, bytes, SR_AGENT_CONTROL_BYTES);
	if (!at || (l->out_bytes && l->out_bytes + SR_FRAME_HEADER_BYTES + bytes >
					    l->write_bytes_max))
		return 0;
	/* Copied whole, then looked at; the slot may change under us. */
	sr_slot_copy(&s->submission, s->first + n, at + SR_FRAME_HEADER_BYTES);
	s->next_send = n + 1;
	if (expired(s, n, at + SR_FRAME_HEADER_BYTES, now_ns)) {
		give(a, s, n, SR_EXPIRED);
		return 1;
	}
	l->out_bytes += sr_frame_put(at, SR_FRAME_DATA, s->id, s->epoch, bytes);
	l->in_flight++;
	sr_agent_trace_picked(a->trace, s->first + n);
	if (n < s->forwarded_max) {
		add(&s->block->resent, 1);
		add(&a->counters.resent, 1);
	} else {
		s->forwarded_max = n + 1;
	}
	add(&s->block->forwarded, 1);
	add(&a->counters.forwarded, 1);
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
		condemn(a, s);
	if (ret < 0)
		return false;
	give(a, s, s->next_send++, SR_SESSION_LOST);
	return true;
}

/* Without a stream only deadlines go on. */
static bool expire_head(struct sr_agent *a, struct sr_agent_session *s, uint64_t *now_ns)
{
	uint64_t n = s->next_send > s->forwarded_max ? s->next_send : s->forwarded_max;
	unsigned char record[SR_SUB_BYTES_MAX];

	if (n - s->first_open >= s->depth || number_done(s, n) ||
	    sr_slot_look(&s->submission, s->first + n) < 0)
		return false;
	sr_slot_copy(&s->submission, s->first + n, record);
	if (!expired(s, n, record, now_ns))
		return false;
	give(a, s, n, SR_EXPIRED);
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
			put_open(a, s);
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
	    !put_control(l, SR_FRAME_END, s->id, s->epoch, NULL, 0))
		return false;
	return_session(a, s);
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

/* ---- input ---- */

static void take_hello(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_hello hello;
	bool same;

	if (l->hello || sr_hello_get(&hello, f) < 0 || hello.protocol != SR_PROTOCOL ||
	    hello.credit_records == 0) {
		stream_down(a, -EPROTO);
		return;
	}
	same = l->known_boot && hello.boot_id[0] == l->boot_id[0] &&
	       hello.boot_id[1] == l->boot_id[1];
	if (l->known_boot && !same)
		tell(a, SR_MAIL_NEW_BOOT, NULL, 0);
	for (unsigned int class = 0; class < 2 && !same; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++)
			if (l->sessions[class][i]->was_bound &&
			    l->sessions[class][i]->phase == SR_AGENT_UNBOUND)
				lose(a, l->sessions[class][i]);
	l->hello = true;
	l->known_boot = true;
	memcpy(l->boot_id, hello.boot_id, sizeof l->boot_id);
	l->credits = hello.credit_records;
	l->asked_max = SR_ASKED_MAX(hello.sessions_max);
	l->write_bytes_max = a->config.write_bytes_max;
	if (hello.write_bytes_max && hello.write_bytes_max < l->write_bytes_max)
		l->write_bytes_max = hello.write_bytes_max;
	l->up_ns = l->answered_ns = sr_now_ns();
	sr_store_relaxed(&a->counters.credits, l->credits);
	sr_store_relaxed(&a->counters.boot_id[0], l->boot_id[0]);
	sr_store_relaxed(&a->counters.boot_id[1], l->boot_id[1]);
	sr_store_relaxed(&a->counters.takes_clear, hello.features & SR_HELLO_UNSEALED);
	sr_store_relaxed(&a->counters.up, 1);
	add(&a->counters.streams, 1);
	tell(a, SR_MAIL_STREAM_UP, NULL, hello.features);
}

static struct sr_agent_session *find_cookie(struct sr_agent_loop *l, uint32_t cookie)
{
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++)
			if (l->sessions[class][i]->phase == SR_AGENT_BINDING &&
			    l->sessions[class][i]->cookie == cookie)
				return l->sessions[class][i];
	return NULL;
}

static enum sr_attach_result attach_result(uint32_t opened)
{
	switch (opened) {
	case SR_OPENED_FULL:
		return SR_RESULT_FULL;
	case SR_OPENED_SIZES:
		return SR_RESULT_SIZES;
	case SR_OPENED_UNSEALED:
		return SR_RESULT_UNSEALED;
	default:
		return SR_RESULT_GONE;
	}
}

static void bind_session(struct sr_agent *a, struct sr_agent_session *s, uint32_t id)
{
	a->loop.route[SR_SESSION_INDEX(id)] = s;
	s->id = id;
	s->phase = SR_AGENT_BOUND;
	s->was_bound = true;
	s->next_send = s->first_open; /* everything unanswered goes again */
	set_state(s, SR_LINK_OPEN);
	if (!s->announced) {
		s->announced = true;
		tell(a, SR_MAIL_OPENED, s, SR_RESULT_OK);
	}
}

static void take_opened(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_opened opened;
	struct sr_agent_session *s;

	if (sr_opened_get(&opened, f) < 0) {
		stream_down(a, -EPROTO);
		return;
	}
	l->asked -= l->asked > 0;
	s = find_cookie(l, opened.cookie);
	if (!s || s->closing) {
		/* The client left meanwhile; the signer must not keep it. */
		if (opened.result == SR_OPENED_OK)
			(void)put_control(l, SR_FRAME_END, f->session, f->epoch, NULL, 0);
		if (s)
			s->phase = SR_AGENT_LOST;
		return;
	}
	if (opened.result == SR_OPENED_OK && f->session &&
	    !l->route[SR_SESSION_INDEX(f->session)]) {
		bind_session(a, s, f->session);
		return;
	}
	if (opened.result == SR_OPENED_OK) /* two of our sessions under one number */
		(void)put_control(l, SR_FRAME_END, f->session, f->epoch, NULL, 0);
	if (s->announced)
		lose(a, s);
	else
		refuse_session(a, s, opened.result == SR_OPENED_OK ? SR_RESULT_BUSY :
								     attach_result(opened.result));
}

static struct sr_agent_session *find_session(struct sr_agent_loop *l, const struct sr_frame *f)
{
	struct sr_agent_session *s = l->route[SR_SESSION_INDEX(f->session)];

	return s && s->id == f->session && s->epoch == f->epoch ? s : NULL;
}

static void take_credit(struct sr_agent_loop *l, uint32_t count)
{
	l->in_flight -= count < l->in_flight ? count : l->in_flight;
}

static void take_reply(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_agent_session *s = find_session(l, f);
	uint64_t n;

	if (f->payload_bytes != SR_CMP_BYTES) {
		stream_down(a, -EPROTO);
		return;
	}
	take_credit(l, 1);
	if (!s) {
		add(&a->counters.ignored, 1);
		return;
	}
	n = sr_get64(f->payload) - s->first;
	if (n - s->first_open >= s->depth || n >= s->next_send || number_done(s, n)) {
		add(&a->counters.ignored, 1);
		return;
	}
	if (s->phase != SR_AGENT_BOUND)
		return;
	sr_agent_trace_received(a->trace, s->first + n); /* first: who has popped finds it */
	publish(a, s, n, f->payload);
}

static void take_status(struct sr_agent *a, const struct sr_frame *f)
{
	uint32_t fields = f->payload_bytes / 8;

	a->loop.asked -= a->loop.asked > 0;
	add(&a->counters.told, 1);
	for (uint32_t i = 0; i < fields && i < SR_STATUS_FIELDS; i++)
		sr_store_relaxed(&a->counters.signer[i], sr_get64(f->payload + 8 * (size_t)i));
}

static void take_frame(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_session *s;

	if (!a->loop.hello && f->kind != SR_FRAME_HELLO) {
		stream_down(a, -EPROTO);
		return;
	}
	switch (f->kind) {
	case SR_FRAME_REPLY:
		take_reply(a, f);
		break;
	case SR_FRAME_CREDIT:
		if (f->payload_bytes == SR_CREDIT_BYTES)
			take_credit(&a->loop, sr_get32(f->payload));
		else
			stream_down(a, -EPROTO);
		break;
	case SR_FRAME_HELLO:
		take_hello(a, f);
		break;
	case SR_FRAME_OPENED:
		take_opened(a, f);
		break;
	case SR_FRAME_END:
		s = find_session(&a->loop, f);
		if (s)
			lose(a, s);
		break;
	case SR_FRAME_STATUS:
		take_status(a, f);
		break;
	default:
		stream_down(a, -EPROTO);
	}
}

static bool receive(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	ssize_t n = l->transport->ops->recv(l->transport, l->in + l->in_bytes,
					    sizeof l->in - l->in_bytes);
	size_t at = 0;
	struct sr_frame f;
	int ret = 0;

	if (n == -EAGAIN)
		return false;
	if (n < 0) {
		stream_down(a, (int)n);
		return true;
	}
	sr_agent_trace_bytes(a->trace);
	l->in_bytes += (size_t)n;
	while (l->up && (ret = sr_frame_cut(&f, l->in + at, l->in_bytes - at)) == 0) {
		take_frame(a, &f);
		at += f.bytes;
	}
	if (!l->up)
		return true;
	if (ret == -EPROTO) {
		stream_down(a, ret);
		return true;
	}
	l->in_bytes -= at;
	memmove(l->in, l->in + at, l->in_bytes);
	return true;
}

/* ---- the stream ---- */

static void stream_down(struct sr_agent *a, int error)
{
	struct sr_agent_loop *l = &a->loop;

	if (!l->up)
		return;
	l->transport->ops->hangup(l->transport);
	if (l->hello)
		tell(a, SR_MAIL_STREAM_DOWN, NULL, (uint32_t)-error);
	l->up = l->hello = false;
	l->in_bytes = l->out_bytes = l->out_sent = 0;
	l->in_flight = 0;
	l->asked = 0;
	sr_store_relaxed(&a->counters.up, 0);
	/* A stream that comes up and dies at once must back off as well: only one
	 * that has lived for STEADY_NS resets it. */
	l->backoff_ns = l->backoff_ns ? l->backoff_ns * 2 : BACKOFF_NS_MIN;
	if (l->backoff_ns > BACKOFF_NS_MAX)
		l->backoff_ns = BACKOFF_NS_MAX;
	l->retry_ns = sr_now_ns() + l->backoff_ns;
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = l->session_count[class]; i-- > 0;) {
			struct sr_agent_session *s = l->sessions[class][i];

			/* A hostile one's too: on the next stream it may be another's. */
			unroute(a, s);
			s->id = 0;
			if (s->phase != SR_AGENT_BOUND && s->phase != SR_AGENT_BINDING)
				continue;
			s->phase = SR_AGENT_UNBOUND;
			set_state(s, SR_LINK_NO_SIGNER);
			if (!s->announced && !(s->flags & SR_OPEN_RESUME) && !s->closing)
				refuse_session(a, s, SR_RESULT_NO_SIGNER);
		}
}

static bool connect_stream(struct sr_agent *a)
{
	struct sr_agent_loop *l = &a->loop;
	uint64_t now_ns = sr_now_ns();
	int ret;

	if (now_ns < l->retry_ns)
		return false;
	ret = l->transport->ops->connect(l->transport);
	if (ret == -EAGAIN)
		return false;
	if (ret < 0) {
		l->backoff_ns = l->backoff_ns ? l->backoff_ns * 2 : BACKOFF_NS_MIN;
		if (l->backoff_ns > BACKOFF_NS_MAX)
			l->backoff_ns = BACKOFF_NS_MAX;
		l->retry_ns = now_ns + l->backoff_ns;
		return false;
	}
	l->up = true;
	return true;
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
			return_session(a, s);
		return;
	}
	/* A client attached long ago may not have been beaten for since. */
	sr_store_relaxed(&sr_region_beat(&s->client->completion)->heartbeat_ns, sr_now_ns());
	s->held = true;
	/* The attach thread counts sessions: there is room. */
	SR_ASSERT(l->session_count[class] < a->config.sessions_max);
	l->sessions[class][l->session_count[class]++] = s;
	if (!(l->up && l->hello) && !(s->flags & SR_OPEN_RESUME))
		refuse_session(a, s, SR_RESULT_NO_SIGNER);
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
		add(&a->counters.credit_stalls, 1);
	if (l->hello && now_ns - l->up_ns > STEADY_NS)
		l->backoff_ns = 0;
	if (l->hello && is_replaced(a, now_ns))
		stream_down(a, -EHOSTDOWN);
	if (l->hello && now_ns - l->status_ns > STATUS_NS && l->out_bytes == 0 &&
	    l->asked < l->asked_max && put_control(l, SR_FRAME_STATUS, 0, 0, NULL, 0)) {
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
		return connect_stream(a);
	return look && receive(a);
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
	blocked = l->out_bytes && flush(a) < 0;
	did |= turn_class(a, 0, blocked, &now_ns);
	did |= turn_class(a, 1, blocked, &now_ns);
	if (l->up && l->out_bytes && !blocked)
		(void)flush(a);
	if (sr_load_relaxed(&a->counters.turns) % BEAT_TURNS == 0)
		beat(a);
	add(&a->counters.turns, 1);
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
