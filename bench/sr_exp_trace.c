/* SPDX-License-Identifier: MIT */
#include "sr_exp_trace.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 5000

/* ---- joining ---- */

void sr_exp_join_events(struct sr_exp_order *orders, uint32_t count, uint64_t first,
			const struct sr_traced_event *events, uint32_t event_count,
			uint32_t *unwritten, uint32_t *pending)
{
	for (uint32_t i = 0; i < event_count; i++) {
		uint64_t at = events[i].at_kind >> 2, index = events[i].seq - first;

		switch (events[i].at_kind & 3) {
		case SR_TRACED_PICKED:
			if (index >= count || *pending == count)
				break;
			orders[index].picked = at;
			unwritten[(*pending)++] = (uint32_t)index;
			break;
		case SR_TRACED_WRITTEN:
			while (*pending)
				orders[unwritten[--*pending]].written = at;
			break;
		case SR_TRACED_RECEIVED:
			if (index < count)
				orders[index].received = at;
			break;
		default:
			break;
		}
	}
}

void sr_exp_join_entries(struct sr_exp_order *orders, uint32_t count, uint64_t first,
			 const struct sr_trace_entry *entries, uint32_t entry_count)
{
	for (uint32_t i = 0; i < entry_count; i++) {
		uint64_t index = entries[i].seq - first;

		if (index < count)
			memcpy(orders[index].at, entries[i].at, sizeof entries[i].at);
	}
}

static int overflow(struct sr_reason *why, const char *whose)
{
	return sr_reason_set(why, -EOVERFLOW,
			     "the %s's trace was written over before it was read: start it with a "
			     "longer --trace, or measure shorter --segment",
			     whose);
}

/* ---- the agent's ---- */

static int ask_agent(struct sr_exp_traces *t, int sock, uint64_t from, struct sr_reason *why)
{
	size_t room = sizeof *t->traced + SR_TRACED_EVENTS_MAX * sizeof(struct sr_traced_event);
	union sr_attach_message m = { .trace = { .from = from } };
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t n = -1;

	if (sr_attach_send(sock, &m, SR_ATTACH_TRACE, NULL, 0) == 0 && poll(&p, 1, ANSWER_MS) > 0)
		n = recv(sock, t->traced, room, MSG_DONTWAIT);
	if (n == (ssize_t)sizeof m.refused && t->traced->header.type == SR_ATTACH_REFUSED) {
		memcpy(&m.refused, t->traced, sizeof m.refused);
		return sr_attach_refusal_reason(why, m.refused.code);
	}
	if (n < (ssize_t)sizeof *t->traced || t->traced->header.magic != SR_ATTACH_MAGIC ||
	    t->traced->header.type != SR_ATTACH_TRACED ||
	    t->traced->count > SR_TRACED_EVENTS_MAX || !t->traced->ticks_per_s ||
	    (size_t)n != sizeof *t->traced + t->traced->count * sizeof(struct sr_traced_event))
		return sr_reason_set(why, -EPROTO, "the agent at %s does not tell its trace",
				     t->socket);
	return 0;
}

static int connect_agent(const struct sr_exp_traces *t, struct sr_reason *why)
{
	int sock = sr_attach_connect(t->socket);

	return sock < 0 ? sr_reason_set(why, sock, "no agent at %s: %s", t->socket,
					strerror(-sock)) :
			  sock;
}

static int skip_agent(struct sr_exp_traces *t, struct sr_reason *why)
{
	int sock = connect_agent(t, why);
	int ret;

	if (sock < 0)
		return sock;
	ret = ask_agent(t, sock, UINT64_MAX, why);
	(void)close(sock);
	if (ret == 0)
		t->agent_next = t->traced->next;
	return ret;
}

static int join_agent(struct sr_exp_traces *t, struct sr_exp_order *orders, uint32_t count,
		      uint64_t first, struct sr_reason *why)
{
	const struct sr_traced_event *events = (const void *)(t->traced + 1);
	int sock = connect_agent(t, why);
	uint32_t pending = 0;
	int ret = 0;

	if (sock < 0)
		return sock;
	do {
		ret = ask_agent(t, sock, t->agent_next, why);
		if (ret == 0 && t->traced->first != t->agent_next)
			ret = overflow(why, "agent");
		if (ret)
			break;
		sr_exp_join_events(orders, count, first, events, t->traced->count, t->unwritten,
				   &pending);
		t->agent_next += t->traced->count;
	} while (t->traced->count && t->agent_next < t->traced->next);
	(void)close(sock);
	return ret;
}

/* ---- the signer's ---- */

static int ask_signer(struct sr_exp_traces *t, struct sr_command_traced *traced, uint64_t from,
		      struct sr_reason *why)
{
	unsigned char body[SR_COMMAND_TRACE_BYTES];
	struct sr_command_result result;
	int ret;

	sr_command_trace_put(body, from);
	ret = sr_ctl_session_command(t->session, &result, SR_COMMAND_TRACE, body, sizeof body, why);
	if (ret == 0 &&
	    sr_command_traced_get(traced, t->entries, result.body, result.body_bytes))
		ret = sr_reason_set(why, -EPROTO, "the signer's trace makes no sense");
	return ret;
}

static int skip_signer(struct sr_exp_traces *t, struct sr_command_traced *traced,
		       struct sr_reason *why)
{
	int ret = ask_signer(t, traced, UINT64_MAX, why);

	if (ret == 0)
		t->signer_next = traced->next;
	return ret;
}

static int join_signer(struct sr_exp_traces *t, struct sr_exp_order *orders, uint32_t count,
		       uint64_t first, struct sr_reason *why)
{
	struct sr_command_traced traced;
	int ret;

	do {
		ret = ask_signer(t, &traced, t->signer_next, why);
		if (ret == 0 && traced.first != t->signer_next)
			ret = overflow(why, "signer");
		if (ret)
			return ret;
		sr_exp_join_entries(orders, count, first, t->entries, traced.count);
		t->signer_next += traced.count;
	} while (traced.count && t->signer_next < traced.next);
	return 0;
}

/* ---- both ---- */

static int learn_clocks(struct sr_exp_traces *t, struct sr_reason *why)
{
	struct sr_command_traced traced;
	struct sr_counter agent;
	int ret;

	sr_counter_describe(&t->clocks.host);
	ret = skip_agent(t, why);
	if (ret)
		return ret;
	agent = (struct sr_counter){ .domain = { t->traced->domain[0], t->traced->domain[1] },
				     .ticks_per_s = t->traced->ticks_per_s,
				     .kind = t->traced->counter };
	if (!sr_counter_same(&agent, &t->clocks.host))
		return sr_reason_set(why, -EXDEV,
				     "the agent stamps by another counter than this process: run "
				     "both under one kernel");
	ret = skip_signer(t, &traced, why);
	if (ret)
		return ret;
	t->clocks.signer = traced.counter;
	t->clocks.one = sr_counter_same(&t->clocks.signer, &t->clocks.host);
	if (t->clocks.one) /* and one rate: the two measurements of it differ a little */
		t->clocks.signer.ticks_per_s = t->clocks.host.ticks_per_s;
	return 0;
}

int sr_exp_traces_open(struct sr_exp_traces *t, const char *socket,
		       const struct sr_ctl_where *where, uint32_t room, struct sr_reason *why)
{
	int ret;

	memset(t, 0, sizeof *t);
	t->socket = socket;
	t->room = room;
	t->unwritten = calloc(room, sizeof *t->unwritten);
	t->traced = malloc(sizeof *t->traced +
			   SR_TRACED_EVENTS_MAX * sizeof(struct sr_traced_event));
	if (!t->unwritten || !t->traced)
		ret = sr_reason_set(why, -ENOMEM, "no memory for %u orders", room);
	else
		ret = sr_ctl_session_open(&t->session, where, why);
	if (ret == 0)
		ret = learn_clocks(t, why);
	if (ret)
		sr_exp_traces_close(t);
	return ret;
}

void sr_exp_traces_close(struct sr_exp_traces *t)
{
	sr_ctl_session_close(t->session);
	free(t->unwritten);
	free(t->traced);
	memset(t, 0, sizeof *t);
}

int sr_exp_traces_join(struct sr_exp_traces *t, struct sr_exp_order *orders, uint32_t count,
		       uint64_t first, struct sr_reason *why)
{
	int ret;

	if (count > t->room)
		return sr_reason_set(why, -EOVERFLOW, "%u orders at once, room for %u", count,
				     t->room);
	ret = join_agent(t, orders, count, first, why);
	return ret ? ret : join_signer(t, orders, count, first, why);
}
