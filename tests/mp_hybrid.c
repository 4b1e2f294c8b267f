/* SPDX-License-Identifier: MIT */
/*
 * A signer behind the proxy of a hypervisor: `CONNECT <port>`, `OK <number>`. The proxy
 * is ours and leads to Unix sockets PATH_PORT, as vhost-device-vsock leads to a guest;
 * agent and signer are the programs as they are shipped.
 */
#include <pthread.h>
#include <sys/un.h>

#include "mp_traders.h"

#define PORT 5000u

static struct mp_rig rig;
static char path[200];
static char hybrid[240];
static char control[240];
static pid_t proxy;

enum manner { SAYS_THE_PORT, SAYS_ITS_OWN, SAYS_NOTHING };

static enum manner manner;

struct pair {
	int host;
	int guest;
};

/* What comes on one end goes out at the other; false at its end. */
static bool pump(int from, int to)
{
	char data[4096];
	ssize_t n = recv(from, data, sizeof data, 0);

	for (ssize_t done = 0, k; done < n; done += k) {
		k = send(to, data + done, (size_t)(n - done), MSG_NOSIGNAL);
		if (k < 0)
			return false;
	}
	return n > 0;
}

static int guest_connect(unsigned int port)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof un.sun_path, "%.90s_%u", path, port);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&un, sizeof un) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static bool begin_pair(struct pair *p)
{
	char line[40] = "";
	unsigned int port = 0;
	size_t n = 0;

	while (n < sizeof line - 1 && recv(p->host, line + n, 1, 0) == 1 && line[n++] != '\n')
		;
	if (sscanf(line, "CONNECT %u\n", &port) != 1)
		return false;
	if (manner == SAYS_NOTHING)
		pause();
	p->guest = guest_connect(port);
	if (p->guest < 0)
		return false;
	n = (size_t)snprintf(line, sizeof line, "OK %u\n",
			     manner == SAYS_ITS_OWN ? 1073741824u + port : port);
	return send(p->host, line, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void *run_pair(void *arg)
{
	struct pair p = { .host = (int)(intptr_t)arg, .guest = -1 };

	if (begin_pair(&p)) {
		struct pollfd fds[2] = { { .fd = p.host, .events = POLLIN },
					 { .fd = p.guest, .events = POLLIN } };

		while (poll(fds, 2, -1) > 0)
			if ((fds[0].revents && !pump(p.host, p.guest)) ||
			    (fds[1].revents && !pump(p.guest, p.host)))
				break;
	}
	(void)close(p.host);
	if (p.guest >= 0)
		(void)close(p.guest);
	return NULL;
}

static void proxy_main(void *arg)
{
	int listener = (int)(intptr_t)arg;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pthread_t thread;

		MP_CHECK(fd >= 0, "accept: %s", strerror(errno));
		MP_EQ(pthread_create(&thread, NULL, run_pair, (void *)(intptr_t)fd), 0, "a thread");
		MP_EQ(pthread_detach(thread), 0, "pthread_detach");
	}
}

static void start_proxy(enum manner how)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(un.sun_path, sizeof un.sun_path, "%.100s", path);
	(void)unlink(path);
	MP_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&un, sizeof un) == 0 && listen(fd, 64) == 0,
		 "the proxy cannot listen: %s", strerror(errno));
	manner = how;
	proxy = mp_fork(proxy_main, (void *)(intptr_t)fd);
	(void)close(fd);
}

/* The guest's ports are files; the agent and the clients only know the proxy. */
static void make_rig(void)
{
	size_t n = 0;

	mp_rig_new_sealed(&rig, true);
	(void)snprintf(path, sizeof path, "%.150s/vm.vsock", rig.dir);
	(void)snprintf(rig.stream, sizeof rig.stream, "unix:%.160s_%u", path, PORT);
	(void)snprintf(control, sizeof control, "unix:%.160s_%u", path, PORT + 1);
	(void)snprintf(hybrid, sizeof hybrid, "hybrid:%.160s:%u", path, PORT);
	while (rig.signer_args[n])
		n++;
	rig.signer_args[n++] = "--control";
	rig.signer_args[n] = control;
	rig.agent_args[0] = "--signer";
	rig.agent_args[1] = hybrid;
}

static void end(struct sr_client *client)
{
	MP_EQ(mp_counter(&rig, "signer", "ended_hostile"), 0, "sessions ended by the signer");
	sr_close(client);
	mp_rig_stop(&rig);
	mp_signal(&proxy, SIGKILL);
}

static void orders_go_through_either_kind_of_proxy(void)
{
	for (enum manner how = SAYS_THE_PORT; how <= SAYS_ITS_OWN; how++) {
		struct sr_client *client;
		struct sr_session *session;

		make_rig();
		start_proxy(how);
		mp_rig_start(&rig);
		client = mp_open(&rig, 1, 32);
		session = mp_session(client, 0, 0);
		for (uint64_t n = 0; n < 200; n++)
			mp_order(&rig, client, session, n);
		end(client);
	}
}

/* The guest lives on: the stream comes back, and what was not answered goes again. */
static void proxy_that_dies_loses_nothing(void)
{
	struct sr_client *client;
	struct sr_session *session;
	struct sr_completion c;
	uint64_t n = 0;

	make_rig();
	start_proxy(SAYS_THE_PORT);
	mp_rig_start(&rig);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, 0, 0);
	for (int times = 0; times < 5; times++) {
		for (int i = 0; i < 20; i++)
			MP_EQ(mp_submit(session, 1, n + (uint64_t)i, 0), 0, "sr_submit");
		mp_signal(&proxy, SIGKILL);
		start_proxy(times % 2 ? SAYS_THE_PORT : SAYS_ITS_OWN);
		for (int i = 0; i < 20; i++, n++) {
			mp_next(client, session, &c);
			MP_CHECK(c.status == SR_OK && c.user_data == n, "number %llu is %s",
				 (unsigned long long)c.user_data, sr_status_name(c.status));
			mp_verify(&rig, 1, &c);
		}
	}
	MP_CHECK(mp_signer_counter(&rig, "signed") <= (long long)n + 1,
		 "more was signed than was submitted");
	end(client);
}

/* By itself: we only poll, and have the cold thread's work done. */
static void await_reopened(struct sr_client *client, struct sr_session *session)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	struct sr_session_stats stats;
	struct sr_completion c;

	do {
		MP_CHECK(sr_now_ns() < end_ns, "the session is not opened again");
		MP_CHECK(sr_poll(session, &c, 1) <= 0, "a completion of nothing");
		(void)sr_service(client, NULL);
		mp_sleep_us(500);
		sr_session_stats_get(session, &stats);
	} while (stats.reopened == 0);
}

/* A guest that starts takes its time: until then the proxy hangs up. */
static void guest_that_is_not_up_yet_is_waited_for(void)
{
	struct sr_client *client;
	struct sr_session *session;

	make_rig();
	start_proxy(SAYS_THE_PORT);
	mp_start_agent(&rig);
	mp_sleep_us(300000);
	MP_EQ(mp_counter(&rig, "stream", "up"), 0, "a stream without a guest");
	mp_start_signer(&rig);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, SR_SESSION_REOPEN, 0);
	mp_order(&rig, client, session, 0);
	MP_EQ(mp_counter(&rig, "stream", "up"), 1, "the stream");
	mp_signal(&rig.signer, SIGKILL);
	mp_sleep_us(100000);
	mp_start_signer(&rig);
	await_reopened(client, session);
	mp_order(&rig, client, session, 1);
	end(client);
}

static void proxy_that_says_nothing_is_asked_again(void)
{
	struct sr_client *client;
	struct sr_session *session;

	make_rig();
	start_proxy(SAYS_NOTHING);
	mp_rig_start(&rig);
	mp_sleep_us(500000);
	mp_signal(&proxy, SIGSTOP); /* the agent's connection stays as it is */
	start_proxy(SAYS_ITS_OWN);
	client = mp_open(&rig, 1, 32);
	session = mp_session(client, 0, 0);
	mp_order(&rig, client, session, 0);
	end(client);
}

int main(int argc, char **argv)
{
	static const struct mp_test tests[] = {
		{ "hybrid/orders_go_through_either_kind_of_proxy",
		  orders_go_through_either_kind_of_proxy, 0 },
		{ "hybrid/proxy_that_dies_loses_nothing", proxy_that_dies_loses_nothing, 0 },
		{ "hybrid/guest_that_is_not_up_yet_is_waited_for",
		  guest_that_is_not_up_yet_is_waited_for, 0 },
		{ "hybrid/proxy_that_says_nothing_is_asked_again",
		  proxy_that_says_nothing_is_asked_again, 0 },
	};

	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
