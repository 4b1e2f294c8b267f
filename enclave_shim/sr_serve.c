/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_note_limit.h"
#include "sr_serve.h"

#define IN_BYTES (64u * 1024u)
#define ACCEPT_TURNS 256u
#define IDLE_TURNS 256u /* before a blocking loop goes to sleep */
#define SLEEP_MS 100
#define QUIET_TURNS 4096u /* of a stranger's silence, until he is listened to rarely */
#define QUIET_EVERY 32u   /* turns then */
#define SILENT_NS (2 * SR_NS_PER_S) /* an agent speaks twice a second */
#define NOTES_AT_ONCE 128u /* about who comes and goes */

struct stream {
	int fd; /* -1 when free */
	uint64_t heard; /* turn in which bytes came last */
	uint64_t seen;  /* `heard` when that was last looked at, */
	uint64_t seen_ns; /* and when it was another than before */
	struct sr_port *port;
};

struct sr_serve {
	struct sr_serve_config config;
	struct sr_signer *signer;
	enum sr_wait_policy wait;
	int listen_fd;
	uint32_t stopping;
	uint64_t turns;
	uint32_t idle_turns;
	struct sr_note_limit note_limit; /* of who comes and goes */
	size_t send_bytes_max;
	struct stream streams[SR_SERVE_STREAMS_MAX];
	unsigned char in[IN_BYTES];
};

void sr_serve_config_init(struct sr_serve_config *config)
{
	memset(config, 0, sizeof *config);
	config->listen_mode = 0660;
	config->turn_records = 1;
	config->cpu = -1;
}

static void note(struct sr_serve *s, const char *text)
{
	if (s->config.log)
		s->config.log(s->config.log_arg, text);
}

/* Of streams: strangers can make as many as they like, and a console that is slow to take
 * lines holds up whoever writes them. */
static void note_stream(struct sr_serve *s, const char *text)
{
	uint64_t left_out;
	char line[160];

	if (!sr_note_limit_take(&s->note_limit, NOTES_AT_ONCE, sr_now_ns(), &left_out))
		return;
	if (left_out)
		(void)snprintf(line, sizeof line, "%s (and %llu lines before that were not logged)",
			       text, (unsigned long long)left_out);
	note(s, left_out ? line : text);
}

static void take_place(struct sr_serve *s)
{
	cpu_set_t set;

	if (s->config.cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned int)s->config.cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set) < 0)
			note(s, "WARNING: cannot pin the signing thread: the CPU does not exist or "
				"is not allowed; see --check");
	}
	s->wait = sr_wait_resolve(s->config.wait, s->config.loops);
}

int sr_serve_new(struct sr_serve **serve, const struct sr_serve_config *config,
		 struct sr_signer *signer, struct sr_reason *why)
{
	struct sr_serve *s = calloc(1, sizeof *s);
	int ret = 0;

	if (!s)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	s->config = *config;
	s->signer = signer;
	s->listen_fd = -1;
	s->send_bytes_max = signer->config.write_bytes_max;
	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++)
		s->streams[i].fd = -1;
	for (uint32_t i = 0; ret == 0 && i < SR_SERVE_STREAMS_MAX; i++)
		ret = sr_signer_port(signer, &s->streams[i].port, i);
	if (ret < 0)
		(void)sr_reason_set(why, ret, "cannot make a port: %s", strerror(-ret));
	if (ret == 0) {
		s->listen_fd = sr_address_listen(&config->listen, SOCK_STREAM, config->listen_mode,
						 why);
		ret = s->listen_fd < 0 ? s->listen_fd : 0;
	}
	if (ret < 0) {
		sr_serve_delete(s);
		return ret;
	}
	take_place(s);
	*serve = s;
	return 0;
}

static void drop_stream(struct sr_serve *s, struct stream *t, const char *why)
{
	(void)close(t->fd);
	t->fd = -1;
	sr_port_end(t->port);
	note_stream(s, why);
}

/* Who is to make room when all places are taken: whoever has been silent for longest of
 * those of whom no record was ever answered. Anybody may connect where there are no
 * permissions (AF_VSOCK); so he who carries for somebody with rights makes room for nobody
 * as long as he speaks, and an agent does so twice a second. NULL: there is no room. */
static struct stream *who_makes_room(struct sr_serve *s)
{
	struct stream *stranger = NULL, *proven = &s->streams[0];

	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++) {
		struct stream *t = &s->streams[i];

		if (!sr_port_proven(t->port)) {
			if (!stranger || t->heard < stranger->heard)
				stranger = t;
		} else if (t->heard < proven->heard) {
			proven = t;
		}
	}
	if (stranger)
		return stranger;
	return sr_now_ns() - proven->seen_ns > SILENT_NS ? proven : NULL;
}

static struct stream *make_place(struct sr_serve *s)
{
	struct stream *t;

	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++)
		if (s->streams[i].fd < 0)
			return &s->streams[i];
	t = who_makes_room(s);
	if (t)
		drop_stream(s, t, "too many connections: the one silent for longest was cut off");
	return t;
}

static bool accept_stream(struct sr_serve *s)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct stream *t;

	if (fd < 0)
		return false;
	t = make_place(s);
	if (!t) {
		(void)close(fd);
		note_stream(s, "too many connections, all of agents at work: the newest was refused");
		return true;
	}
	t->fd = fd;
	t->heard = s->turns;
	t->seen = t->heard;
	t->seen_ns = sr_now_ns();
	sr_port_begin(t->port);
	note_stream(s, "an agent connected");
	return true;
}

/* Turns are no measure of time, and a clock for each read would be one for each order. */
static void look_who_speaks(struct sr_serve *s)
{
	uint64_t now_ns = sr_now_ns();

	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++) {
		struct stream *t = &s->streams[i];

		if (t->seen != t->heard)
			t->seen_ns = now_ns;
		t->seen = t->heard;
	}
}

/* A system call a turn for each of them is what a stranger who only holds places would
 * cost those who sign. */
static bool is_quiet(const struct sr_serve *s, const struct stream *t)
{
	return !sr_port_proven(t->port) && s->turns - t->heard > QUIET_TURNS &&
	       s->turns % QUIET_EVERY != 0;
}

static bool read_stream(struct sr_serve *s, struct stream *t)
{
	ssize_t n = recv(t->fd, s->in, sizeof s->in, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	t->heard = s->turns;
	if (n <= 0)
		drop_stream(s, t, "an agent hung up; its sessions wait to be resumed");
	else if (sr_signer_feed(s->signer, t->port, s->in, (size_t)n) < 0)
		drop_stream(s, t, "an agent broke the frame protocol and was cut off");
	return true;
}

static bool write_stream(struct sr_serve *s, struct stream *t)
{
	const void *data;
	size_t bytes = sr_port_output(t->port, &data);
	ssize_t n;

	if (bytes == 0)
		return false;
	if (bytes > s->send_bytes_max)
		bytes = s->send_bytes_max;
	n = send(t->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0) {
		drop_stream(s, t, "an agent hung up; its sessions wait to be resumed");
		return true;
	}
	sr_port_sent(t->port, (size_t)n);
	return true;
}

static bool turn(struct sr_serve *s)
{
	bool did = false;

	sr_signer_work(s->signer);
	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++) {
		struct stream *t = &s->streams[i];

		if (t->fd < 0)
			continue;
		if (!is_quiet(s, t))
			did |= read_stream(s, t);
		if (t->fd < 0)
			continue;
		did |= sr_port_sign(t->port, s->config.turn_records) > 0;
		did |= write_stream(s, t);
	}
	if (s->turns++ % ACCEPT_TURNS == 0) {
		look_who_speaks(s);
		did |= accept_stream(s);
	}
	return did;
}

static void sleep_on_fds(struct sr_serve *s)
{
	struct pollfd fds[SR_SERVE_STREAMS_MAX + 1];
	nfds_t count = 0;

	fds[count++] = (struct pollfd){ .fd = s->listen_fd, .events = POLLIN };
	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++) {
		const void *data;
		short events = POLLIN;

		if (s->streams[i].fd < 0)
			continue;
		if (sr_port_output(s->streams[i].port, &data))
			events |= POLLOUT;
		fds[count++] = (struct pollfd){ .fd = s->streams[i].fd, .events = events };
	}
	(void)poll(fds, count, SLEEP_MS);
	s->turns += ACCEPT_TURNS - s->turns % ACCEPT_TURNS; /* the next turn accepts */
}

static void idle(struct sr_serve *s)
{
	/* Who yields does so between two pieces of refilling as well. */
	if (sr_signer_idle(s->signer) && s->wait != SR_WAIT_YIELD) {
		s->idle_turns = 0;
		return;
	}
	switch (s->wait) {
	case SR_WAIT_BLOCK:
		if (s->idle_turns++ > IDLE_TURNS)
			sleep_on_fds(s);
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

void sr_serve_run(struct sr_serve *s)
{
	while (!sr_load32_relaxed(&s->stopping)) {
		if (turn(s))
			s->idle_turns = 0;
		else
			idle(s);
	}
}

void sr_serve_stop(struct sr_serve *s)
{
	sr_store32_relaxed(&s->stopping, 1);
}

void sr_serve_delete(struct sr_serve *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < SR_SERVE_STREAMS_MAX; i++) {
		if (s->streams[i].fd >= 0)
			(void)close(s->streams[i].fd);
		sr_port_delete(s->streams[i].port);
	}
	if (s->listen_fd >= 0)
		(void)close(s->listen_fd);
	free(s);
}
