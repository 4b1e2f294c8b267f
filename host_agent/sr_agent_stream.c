/* SPDX-License-Identifier: MIT */
#include "sr_agent_stream.h"

#include "sr_agent_session.h"
#include "sr_clock.h"
#include "sr_record.h"

#define BACKOFF_NS_MIN SR_NS_PER_MS
#define BACKOFF_NS_MAX (250u * SR_NS_PER_MS)

/* ---- output ---- */

bool sr_agent_put_control(struct sr_agent_loop *l, uint32_t kind, uint32_t session, uint32_t epoch,
			  const unsigned char *payload, uint32_t bytes)
{
	unsigned char *at = sr_agent_frame_room(l, bytes, 0);

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
void sr_agent_put_open(struct sr_agent *a, struct sr_agent_session *s)
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
	    !sr_agent_frame_room(l, sizeof payload, SR_AGENT_CONTROL_BYTES) ||
	    !sr_agent_put_control(l, SR_FRAME_OPEN, 0, s->epoch, payload, sizeof payload))
		return;
	l->asked++;
	s->cookie = ++l->cookie;
	s->phase = SR_AGENT_BINDING;
}

int sr_agent_flush(struct sr_agent *a)
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
			sr_agent_stream_down(a, (int)n);
			return (int)n;
		}
		l->out_sent += (size_t)n;
		sr_agent_count(&a->counters.writes, 1);
		sr_agent_count(&a->counters.written_bytes, (uint64_t)n);
	}
	l->out_bytes = l->out_sent = 0;
	return 0;
}

/* ---- input ---- */

static void take_hello(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_hello hello;
	bool same;

	if (l->hello || sr_hello_get(&hello, f) < 0 || hello.protocol != SR_PROTOCOL ||
	    hello.credit_records == 0) {
		sr_agent_stream_down(a, -EPROTO);
		return;
	}
	same = l->known_boot && hello.boot_id[0] == l->boot_id[0] &&
	       hello.boot_id[1] == l->boot_id[1];
	if (l->known_boot && !same)
		sr_agent_tell(a, SR_MAIL_NEW_BOOT, NULL, 0);
	for (unsigned int class = 0; class < 2 && !same; class++)
		for (uint32_t i = 0; i < l->session_count[class]; i++)
			if (l->sessions[class][i]->was_bound &&
			    l->sessions[class][i]->phase == SR_AGENT_UNBOUND)
				sr_agent_lose(a, l->sessions[class][i]);
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
	sr_agent_count(&a->counters.streams, 1);
	sr_agent_tell(a, SR_MAIL_STREAM_UP, NULL, hello.features);
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
	sr_agent_set_state(s, SR_LINK_OPEN);
	if (!s->announced) {
		s->announced = true;
		sr_agent_tell(a, SR_MAIL_OPENED, s, SR_RESULT_OK);
	}
}

static void take_opened(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_loop *l = &a->loop;
	struct sr_opened opened;
	struct sr_agent_session *s;

	if (sr_opened_get(&opened, f) < 0) {
		sr_agent_stream_down(a, -EPROTO);
		return;
	}
	l->asked -= l->asked > 0;
	s = find_cookie(l, opened.cookie);
	if (!s || s->closing) {
		/* The client left meanwhile; the signer must not keep it. */
		if (opened.result == SR_OPENED_OK)
			(void)sr_agent_put_control(l, SR_FRAME_END, f->session, f->epoch, NULL, 0);
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
		(void)sr_agent_put_control(l, SR_FRAME_END, f->session, f->epoch, NULL, 0);
	if (s->announced)
		sr_agent_lose(a, s);
	else
		sr_agent_refuse_session(a, s, opened.result == SR_OPENED_OK ? SR_RESULT_BUSY :
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
		sr_agent_stream_down(a, -EPROTO);
		return;
	}
	take_credit(l, 1);
	if (!s) {
		sr_agent_count(&a->counters.ignored, 1);
		return;
	}
	n = sr_get64(f->payload) - s->first;
	if (n - s->first_open >= s->depth || n >= s->next_send || sr_agent_number_done(s, n)) {
		sr_agent_count(&a->counters.ignored, 1);
		return;
	}
	if (s->phase != SR_AGENT_BOUND)
		return;
	sr_agent_trace_received(a->trace, s->first + n); /* first: who has popped finds it */
	sr_agent_publish(a, s, n, f->payload);
}

static void take_status(struct sr_agent *a, const struct sr_frame *f)
{
	uint32_t fields = f->payload_bytes / 8;

	a->loop.asked -= a->loop.asked > 0;
	sr_agent_count(&a->counters.told, 1);
	for (uint32_t i = 0; i < fields && i < SR_STATUS_FIELDS; i++)
		sr_store_relaxed(&a->counters.signer[i], sr_get64(f->payload + 8 * (size_t)i));
}

static void take_frame(struct sr_agent *a, const struct sr_frame *f)
{
	struct sr_agent_session *s;

	if (!a->loop.hello && f->kind != SR_FRAME_HELLO) {
		sr_agent_stream_down(a, -EPROTO);
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
			sr_agent_stream_down(a, -EPROTO);
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
			sr_agent_lose(a, s);
		break;
	case SR_FRAME_STATUS:
		take_status(a, f);
		break;
	default:
		sr_agent_stream_down(a, -EPROTO);
	}
}

bool sr_agent_receive(struct sr_agent *a)
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
		sr_agent_stream_down(a, (int)n);
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
		sr_agent_stream_down(a, ret);
		return true;
	}
	l->in_bytes -= at;
	memmove(l->in, l->in + at, l->in_bytes);
	return true;
}

/* ---- the stream ---- */

/* A stream that comes up and dies at once must back off as well: only one that has
 * lived for a while resets it (beat() in sr_agent_loop.c). */
static void back_off(struct sr_agent_loop *l, uint64_t now_ns)
{
	l->backoff_ns = l->backoff_ns ? l->backoff_ns * 2 : BACKOFF_NS_MIN;
	if (l->backoff_ns > BACKOFF_NS_MAX)
		l->backoff_ns = BACKOFF_NS_MAX;
	l->retry_ns = now_ns + l->backoff_ns;
}

void sr_agent_stream_down(struct sr_agent *a, int error)
{
	struct sr_agent_loop *l = &a->loop;

	if (!l->up)
		return;
	l->transport->ops->hangup(l->transport);
	if (l->hello)
		sr_agent_tell(a, SR_MAIL_STREAM_DOWN, NULL, (uint32_t)-error);
	l->up = l->hello = false;
	l->in_bytes = l->out_bytes = l->out_sent = 0;
	l->in_flight = 0;
	l->asked = 0;
	sr_store_relaxed(&a->counters.up, 0);
	back_off(l, sr_now_ns());
	for (unsigned int class = 0; class < 2; class++)
		for (uint32_t i = l->session_count[class]; i-- > 0;) {
			struct sr_agent_session *s = l->sessions[class][i];

			/* A hostile one's too: on the next stream it may be another's. */
			sr_agent_unroute(a, s);
			s->id = 0;
			if (s->phase != SR_AGENT_BOUND && s->phase != SR_AGENT_BINDING)
				continue;
			s->phase = SR_AGENT_UNBOUND;
			sr_agent_set_state(s, SR_LINK_NO_SIGNER);
			if (!s->announced && !(s->flags & SR_OPEN_RESUME) && !s->closing)
				sr_agent_refuse_session(a, s, SR_RESULT_NO_SIGNER);
		}
}

bool sr_agent_connect(struct sr_agent *a)
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
		back_off(l, now_ns);
		return false;
	}
	l->up = true;
	return true;
}
