/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "sr_client.h"
#include "sr_clock.h"

#define BACKOFF_NS_MIN SR_NS_PER_MS
#define BACKOFF_NS_MAX (200u * SR_NS_PER_MS)
#define STEADY_NS (100u * SR_NS_PER_MS)

/* Regions that no session looks at any more, but for the newest. */
static void drop_unused(struct sr_client *c)
{
	struct sr_completions **at = &c->completions;

	while (*at) {
		struct sr_completions *old = *at;

		if (old->users || (old == c->completions && c->phase == SR_ATTACH_UP)) {
			at = &old->older;
			continue;
		}
		*at = old->older;
		sr_region_drop(&old->region);
		free(old);
	}
}

void sr_client_hangup(struct sr_client *c)
{
	if (c->sock >= 0)
		(void)close(c->sock);
	c->sock = -1;
	c->phase = SR_ATTACH_DOWN;
	sr_setup_stop(c, NULL);
	for (uint32_t i = 0; i < c->opt.sessions; i++)
		sr_phase_hangup(&c->sessions[i]);
}

static int fail(struct sr_client *c, int error)
{
	uint64_t now_ns = sr_now_ns();

	/* An agent that dies at once after each connect, or each attach, must not be
	 * hammered: only one that was there for a while resets the back-off. */
	if (c->phase == SR_ATTACH_UP && now_ns - c->up_ns >= STEADY_NS)
		c->backoff_ns = 0;
	sr_client_hangup(c);
	c->backoff_ns = c->backoff_ns ? c->backoff_ns * 2 : BACKOFF_NS_MIN;
	if (c->backoff_ns > BACKOFF_NS_MAX)
		c->backoff_ns = BACKOFF_NS_MAX;
	c->retry_ns = now_ns + c->backoff_ns;
	return error;
}

int sr_client_lost(struct sr_client *c, struct sr_reason *why, int error)
{
	if (error == -EPROTO)
		return fail(c, sr_reason_set(why, error, "the agent at %s broke the protocol",
					     c->socket));
	return fail(c, sr_reason_set(why, -ENOTCONN, "the agent at %s hung up", c->socket));
}

static int start(struct sr_client *c, struct sr_reason *why)
{
	union sr_attach_message m;
	int sock;
	int ret;

	if (sr_now_ns() < c->retry_ns)
		return -ENOTCONN;
	sock = sr_attach_connect(c->socket);
	if (sock == -EACCES)
		return fail(c, sr_reason_set(why, sock,
					     "no permission to connect to %s: join the group "
					     "that owns the socket",
					     c->socket));
	if (sock == -EAGAIN)
		return fail(c, sr_reason_set(why, -ENOTCONN,
					     "more wait at %s than the agent has taken: is it stopped?",
					     c->socket));
	if (sock < 0)
		return fail(c, sr_reason_set(why, sock,
					     "no agent at %s (%s): start sigring-agent or "
					     "sigring-local, or name its socket",
					     c->socket, strerror(-sock)));
	c->sock = sock;
	memset(&m, 0, sizeof m);
	m.hello.abi_major = SR_ABI_MAJOR;
	m.hello.abi_minor = SR_ABI_MINOR;
	m.hello.layout_hash = sr_layout_hash();
	m.hello.sessions = c->opt.sessions;
	m.hello.depth = c->opt.depth;
	m.hello.slot_bytes = c->opt.slot_bytes;
	m.hello.features = c->features;
	m.hello.attach_epoch = ++c->attach_epoch;
	m.hello.now_ns = c->hello_ns = sr_now_ns();
	ret = sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0);
	/* Who is refused at once finds the reason in his socket. */
	if (ret < 0 && ret != -EPIPE && ret != -ECONNRESET)
		return sr_client_lost(c, why, ret);
	c->phase = SR_ATTACH_SENT_HELLO;
	return 1;
}

static int take_offer(struct sr_client *c, const struct sr_attach_offer *offer,
		      struct sr_reason *why)
{
	union sr_attach_message m;
	int ret;

	if (offer->attach_epoch != c->attach_epoch)
		return sr_client_lost(c, why, -EPROTO);
	c->numa_node = offer->numa_node;
	c->agent_pid = offer->agent_pid;
	c->wait = sr_wait_resolve((enum sr_wait_policy)c->opt.wait, offer->loops);
	if (!c->submission.base) {
		uint32_t flags = (c->opt.flags & SR_OPT_NO_HUGE_PAGES ? 0 : SR_REGION_TRY_HUGE) |
				 (c->opt.flags & SR_OPT_NO_MLOCK ? 0 : SR_REGION_MLOCK);

		ret = sr_region_create(&c->submission, SR_REGION_SUBMISSION,
				       &c->submission_geometry, flags, c->numa_node, why);
		if (ret < 0)
			return fail(c, ret);
	}
	memset(&m, 0, sizeof m);
	m.region.region_bytes = c->submission.bytes;
	m.region.notes = c->submission.notes;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_REGION, &c->submission.fd, 1);
	if (ret < 0)
		return sr_client_lost(c, why, ret);
	c->phase = SR_ATTACH_SENT_REGION;
	return 1;
}

static int take_welcome(struct sr_client *c, int fd, struct sr_reason *why)
{
	struct sr_geometry g = { c->opt.sessions, c->opt.depth, SR_CMP_BYTES };
	struct sr_completions *fresh = calloc(1, sizeof *fresh);
	union sr_attach_message m;
	int ret;

	if (!fresh)
		return fail(c, sr_reason_set(why, -ENOMEM, "out of memory"));
	ret = sr_region_join(&fresh->region, SR_REGION_COMPLETION, &g, fd, why);
	if (ret < 0) {
		free(fresh);
		return fail(c, ret);
	}
	fresh->older = c->completions;
	c->completions = fresh;
	ret = sr_attach_send(c->sock, &m, SR_ATTACH_READY, NULL, 0);
	if (ret < 0)
		return sr_client_lost(c, why, ret);
	c->phase = SR_ATTACH_UP;
	c->up_ns = sr_now_ns();
	return 1;
}

/* An agent that had no time for us for so long takes our clock for a slow one. */
static int take_refusal(struct sr_client *c, uint32_t code, struct sr_reason *why)
{
	if (code == SR_REFUSED_CLOCK && sr_now_ns() - c->hello_ns > SR_CLOCK_SKEW_NS_MAX)
		return fail(c, sr_reason_set(why, -ENOTCONN,
					     "the agent at %s took more than a second to answer: "
					     "is the machine overloaded?",
					     c->socket));
	return fail(c, sr_attach_refusal_reason(why, code));
}

static int take_message(struct sr_client *c, struct sr_reason *why)
{
	union sr_attach_message m;
	int fds[2];
	int count = 0;
	int ret = sr_attach_recv(c->sock, &m, fds, &count);
	int want;

	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return sr_client_lost(c, why, ret);
	if (m.header.type == SR_ATTACH_OPENED && c->phase == SR_ATTACH_UP)
		return sr_phase_opened(c, &m.opened, fds, count, why);
	want = m.header.type == SR_ATTACH_WELCOME ? 1 : 0;
	if (count == want) {
		switch (m.header.type) {
		case SR_ATTACH_REFUSED:
			return take_refusal(c, m.refused.code, why);
		case SR_ATTACH_OFFER:
			if (c->phase == SR_ATTACH_SENT_HELLO)
				return take_offer(c, &m.offer, why);
			break;
		case SR_ATTACH_WELCOME:
			if (c->phase != SR_ATTACH_SENT_REGION)
				break;
			ret = take_welcome(c, fds[0], why);
			(void)close(fds[0]);
			return ret;
		case SR_ATTACH_CLOSED:
			if (sr_phase_closed(c, m.index.index))
				return 1;
			break;
		default:
			break;
		}
	}
	while (count > 0)
		(void)close(fds[--count]);
	return sr_client_lost(c, why, -EPROTO);
}

int sr_client_step(struct sr_client *c, struct sr_reason *why)
{
	int ret = c->phase == SR_ATTACH_DOWN ? start(c, why) : take_message(c, why);
	int did = ret > 0;

	for (uint32_t i = 0; i < c->opt.sessions; i++) {
		int r = sr_phase_step(c, &c->sessions[i], why);

		if (r < 0 && ret >= 0)
			ret = r;
		did |= r > 0;
	}
	drop_unused(c);
	if (ret < 0)
		return ret;
	return did;
}
