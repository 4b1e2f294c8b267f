/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sr_client.h"
#include "sr_clock.h"

/* Every client of the process, for the fork handler. Cold. */
static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sr_client *clients;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	(void)pthread_mutex_lock(&clients_lock);
}

static void parent_after_fork(void)
{
	(void)pthread_mutex_unlock(&clients_lock);
}

/* The regions are not mapped here, and the socket is the parent's: a child that
 * answered on it, or that held it open after the parent's death, would lie. */
static void child_after_fork(void)
{
	for (struct sr_client *c = clients; c; c = c->next_client) {
		if (c->sock >= 0)
			(void)close(c->sock);
		c->sock = -1;
		if (c->talk && c->talk->sock >= 0) {
			(void)close(c->talk->sock);
			c->talk->sock = -1;
		}
		c->poisoned = true;
		for (uint32_t i = 0; i < c->opt.sessions; i++) {
			struct sr_session_full *s = &c->sessions[i];

			s->head.usable = 0;
			s->abandoned = false;
			s->ended = 0;
			s->link = s->link_seen;
			sr_session_detach(s);
		}
	}
	(void)pthread_mutex_unlock(&clients_lock);
}

static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

/* One mapping for all that the trading threads touch in private. */
static size_t arena_bytes(const struct sr_options *o)
{
	size_t one = o->depth * sizeof(struct sr_pending) + o->slot_bytes;

	return sr_align_up(one, SR_LINE_BYTES) * o->sessions;
}

static int allocate(struct sr_client *c, struct sr_reason *why)
{
	size_t bytes = arena_bytes(&c->opt);
	size_t each = bytes / c->opt.sessions;
	void *mem;

	c->sessions = aligned_alloc(SR_LINE_BYTES, c->opt.sessions * sizeof *c->sessions);
	if (!c->sessions)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	memset(c->sessions, 0, c->opt.sessions * sizeof *c->sessions);
	for (uint32_t i = 0; i < c->opt.sessions; i++) {
		c->sessions[i].next.wait_fd = c->sessions[i].next.ring_fd = -1;
		c->sessions[i].wait_fd_next = c->sessions[i].ring_fd_next = -1;
	}
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	c->arena = mem;
	for (uint32_t i = 0; i < c->opt.sessions; i++) {
		struct sr_session_full *s = &c->sessions[i];

		s->index = i;
		s->staging = (unsigned char *)mem + i * each;
		s->pending = (struct sr_pending *)(void *)(s->staging + c->opt.slot_bytes);
		sr_session_detach(s);
	}
	return 0;
}

static void register_client(struct sr_client *c)
{
	(void)pthread_once(&fork_once, watch_forks);
	(void)pthread_mutex_lock(&clients_lock);
	c->next_client = clients;
	clients = c;
	(void)pthread_mutex_unlock(&clients_lock);
}

static void unregister_client(const struct sr_client *c)
{
	(void)pthread_mutex_lock(&clients_lock);
	for (struct sr_client **at = &clients; *at; at = &(*at)->next_client)
		if (*at == c) {
			*at = c->next_client;
			break;
		}
	(void)pthread_mutex_unlock(&clients_lock);
}

static void nap(const struct sr_client *c)
{
	struct pollfd p[2] = {
		{ .fd = c->sock, .events = POLLIN }, /* one below 0 is passed over */
		{ .fd = c->talk ? c->talk->sock : -1, .events = POLLIN },
	};

	(void)poll(p, 2, 1);
}

/* A peer that is missing may be starting: worth another try until time is up. */
static bool worth_a_try(int error)
{
	return error == -ENOTCONN || error == -ENOENT || error == -ECONNREFUSED;
}

static int attach(struct sr_client *c, struct sr_reason *why)
{
	uint64_t end_ns = sr_ns_after(sr_now_ns(), c->opt.timeout_ns);
	struct sr_reason last = { -ETIMEDOUT, "the agent does not answer: is it stopped?" };

	while (c->phase != SR_ATTACH_UP) {
		struct sr_reason now = { 0, "" };
		int ret = sr_client_step(c, &now);

		if (ret < 0 && now.error)
			last = now;
		if (ret < 0 && !worth_a_try(ret))
			break;
		if (sr_now_ns() > end_ns)
			break;
		if (ret <= 0)
			nap(c);
	}
	if (c->phase == SR_ATTACH_UP)
		return 0;
	if (why)
		*why = last;
	return last.error;
}

static struct sr_client *client_new(const struct sr_options *opt)
{
	struct sr_client *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->opt = *opt;
	c->opt.socket = c->opt.identity = c->opt.trust = NULL;
	memcpy(c->socket, opt->socket, strlen(opt->socket) + 1);
	c->sock = -1;
	c->numa_node = -1;
	c->submission.fd = -1;
	c->submission_geometry =
		(struct sr_geometry){ opt->sessions, opt->depth, opt->slot_bytes };
	c->features = c->opt.wait == SR_WAIT_BLOCK ? SR_FEATURE_DOORBELL : 0;
	return c;
}

int sr_open(struct sr_client **client, const struct sr_options *given, struct sr_reason *why)
{
	struct sr_options opt;
	struct sr_client *c;
	int ret = sr_client_options(&opt, given, why);

	if (ret < 0)
		return ret;
	c = client_new(&opt);
	if (!c)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	if (opt.identity)
		ret = sr_client_seal(c, opt.identity, opt.trust, why);
	if (ret == 0)
		ret = allocate(c, why);
	if (ret == 0) {
		register_client(c); /* whole enough for a fork to walk it */
		ret = attach(c, why);
	}
	if (ret < 0) {
		sr_close(c);
		return ret;
	}
	*client = c;
	return 0;
}

/* A sealed session begins with a conversation, one in clear with OPEN. */
static void prepare_seal(struct sr_client *c, struct sr_session_full *s)
{
	s->secrets = c->secrets ? &c->secrets->sessions[s->index] : NULL;
	s->unproven = s->again = s->has_past = s->past_lied = false;
	s->backoff_ns = 0;
	s->phase = s->secrets ? SR_PHASE_SETUP : SR_PHASE_OPEN_SEND;
}

static void prepare(struct sr_client *c, struct sr_session_full *s,
		    const struct sr_session_options *opt)
{
	memset(&s->stats, 0, sizeof s->stats);
	s->flags = opt ? opt->flags : 0;
	s->fixed_first = opt ? opt->first : 0;
	s->submission = sr_region_slots(&c->submission, s->index);
	s->own_block = sr_region_block(&c->submission, s->index);
	s->head.depth = c->opt.depth;
	s->head.body_bytes_max = sr_body_bytes_max(c->opt.slot_bytes);
	s->head.usable = 0;
	s->ended = 0;
	s->abandoned = true; /* until the link is up: nothing can be submitted */
	s->stale_ns = c->opt.stale_ns;
	s->wait = c->wait;
	s->reopening = false;
	s->retry_ns = 0;
	s->result = SR_RESULT_OK;
	prepare_seal(c, s);
}

/* Those in use, and those of a session that has not come up yet. */
static void close_doorbells(struct sr_session_full *s)
{
	int *fds[] = { &s->next.wait_fd, &s->next.ring_fd, &s->wait_fd_next, &s->ring_fd_next };

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
}

/* Lets go of a session whose trading thread has stopped using it. */
static void give_back(struct sr_client *c, struct sr_session_full *s)
{
	bool told = s->phase == SR_PHASE_UP || s->phase == SR_PHASE_OPEN_WAIT ||
		    s->phase == SR_PHASE_RESUME_WAIT || s->phase == SR_PHASE_FIRST_WAIT ||
		    s->phase == SR_PHASE_CLOSE_SEND;

	sr_setup_stop(c, s);
	if (s->secrets) {
		/* The signer keeps it until its successor begins, or its place is wanted. */
		if (s->phase == SR_PHASE_UP || s->phase == SR_PHASE_PARKING ||
		    s->phase == SR_PHASE_RESUME_SEND || s->phase == SR_PHASE_RESUME_WAIT)
			memcpy(s->predecessor, s->token, sizeof s->predecessor);
		sr_seal_wipe(&s->secrets->requests);
		sr_seal_wipe(&s->secrets->replies);
	}
	if (s->completions)
		s->completions->users--;
	s->completions = NULL;
	close_doorbells(s);
	s->head.usable = 0;
	s->link = (s->link | 1) + 1; /* down; even, so that the next one comes up odd */
	sr_session_detach(s);
	s->reopening = s->again = false;
	if (c->phase != SR_ATTACH_UP)
		s->phase = SR_PHASE_FREE;
	else if (s->phase != SR_PHASE_CLOSE_WAIT)
		s->phase = told ? SR_PHASE_CLOSE_SEND : SR_PHASE_FREE;
}

static struct sr_session_full *find_free(struct sr_client *c)
{
	for (uint32_t i = 0; i < c->opt.sessions; i++)
		if (c->sessions[i].phase == SR_PHASE_FREE)
			return &c->sessions[i];
	return NULL;
}

int sr_session_open(struct sr_session **session, struct sr_client *c,
		    const struct sr_session_options *opt, struct sr_reason *why)
{
	uint64_t end_ns = sr_ns_after(sr_now_ns(), c->opt.timeout_ns);
	const struct sr_reason slow = { -ETIMEDOUT, "the agent does not answer: is it stopped?" };
	struct sr_reason last = slow;
	struct sr_session_full *s = NULL;

	if (c->poisoned)
		return sr_reason_set(why, -EPERM, "a forked child must open a client of its own");
	do {
		struct sr_reason now = { 0, "" };
		int ret;

		if (!s) {
			s = find_free(c);
			last = slow;
			if (s)
				prepare(c, s, opt);
			else
				(void)sr_reason_set(&last, -EDQUOT,
						    "all %u sessions are open: ask for more at "
						    "sr_open", c->opt.sessions);
		}
		ret = sr_client_step(c, &now);
		if (ret < 0 && now.error)
			last = now;
		if (s && s->phase == SR_PHASE_UP) {
			sr_session_adopt(s);
			*session = &s->head;
			return 0;
		}
		if (s && s->phase == SR_PHASE_FREE) {
			if (s->result != SR_RESULT_NO_SIGNER) {
				give_back(c, s); /* its keys */
				return sr_result_reason(why, s->result);
			}
			(void)sr_result_reason(&last, s->result);
			s->retry_ns = sr_now_ns() + SR_NS_PER_MS;
			s->phase = SR_PHASE_OPEN_SEND;
		}
		if (ret < 0 && !worth_a_try(ret))
			break;
		if (ret <= 0)
			nap(c);
	} while (sr_now_ns() < end_ns);
	if (s)
		give_back(c, s);
	if (why)
		*why = last;
	return last.error;
}

void sr_session_close(struct sr_client *c, struct sr_session *session)
{
	struct sr_session_full *s = sr_full(session);

	if (c->poisoned)
		return;
	give_back(c, s);
	(void)sr_client_step(c, NULL);
}

int sr_service(struct sr_client *c, struct sr_reason *why)
{
	if (c->poisoned)
		return sr_reason_set(why, -EPERM, "a forked child must open a client of its own");
	return sr_client_step(c, why);
}

void sr_reattach(struct sr_client *c)
{
	if (c->poisoned || c->phase == SR_ATTACH_DOWN)
		return;
	sr_client_hangup(c);
	c->retry_ns = 0;
}

void sr_close(struct sr_client *c)
{
	if (!c)
		return;
	unregister_client(c);
	if (c->sock >= 0)
		(void)close(c->sock);
	for (uint32_t i = 0; c->sessions && i < c->opt.sessions; i++)
		close_doorbells(&c->sessions[i]);
	while (c->completions) {
		struct sr_completions *old = c->completions;

		c->completions = old->older;
		if (!c->poisoned)
			sr_region_drop(&old->region);
		free(old);
	}
	if (!c->poisoned)
		sr_region_drop(&c->submission);
	else if (c->submission.fd >= 0)
		(void)close(c->submission.fd);
	if (c->arena)
		(void)munmap(c->arena, arena_bytes(&c->opt));
	sr_client_unseal(c);
	free(c->sessions);
	free(c);
}

void sr_client_stats_get(const struct sr_client *c, struct sr_client_stats *stats)
{
	memset(stats, 0, sizeof *stats);
	stats->attached = c->phase == SR_ATTACH_UP && !c->poisoned; /* else: not mapped */
	stats->attach_epoch = c->attach_epoch;
	stats->numa_node = c->numa_node;
	stats->agent_pid = c->agent_pid;
	stats->wait = (uint32_t)c->wait;
	stats->huge_pages = c->submission.base && !(c->submission.notes & SR_NOTE_NO_HUGE_PAGES);
	for (uint32_t i = 0; i < c->opt.sessions; i++)
		stats->sessions += c->sessions[i].phase == SR_PHASE_UP;
	if (stats->attached) {
		uint64_t beat_ns = sr_load_relaxed(
			&sr_region_beat(&c->completions->region)->heartbeat_ns);
		uint64_t now_ns = sr_now_ns();

		stats->heartbeat_age_ns = now_ns > beat_ns ? now_ns - beat_ns : 0;
	}
}

const char *sr_version(void)
{
	return SR_VERSION;
}
