/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_agent_state.h"
#include "sr_numa.h"

void sr_agent_config_init(struct sr_agent_config *config)
{
	memset(config, 0, sizeof *config);
	config->listen_mode = 0660;
	config->clients_max = 64;
	config->sessions_max = 256;
	config->conversations_max = 128;
	config->setup_failures_rate = 4;
	config->depth_max = SR_DEPTH_MAX;
	config->slot_bytes_max = SR_SUB_BYTES_MAX;
	config->write_bytes_max = SR_WRITE_BYTES_DEFAULT;
	config->turn_records = 4;
	config->cpu = -1;
	config->wait = SR_WAIT_AUTO;
	config->loops = 2;
	config->huge_pages = true;
	config->mlock = true;
}

static int watch(struct sr_agent *a, int fd, void *tag)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = tag };

	return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int allocate(struct sr_agent *a)
{
	int ret;

	for (unsigned int class = 0; class < 2; class++) {
		a->loop.sessions[class] =
			calloc(a->config.sessions_max, sizeof *a->loop.sessions[class]);
		if (!a->loop.sessions[class])
			return -ENOMEM;
	}
	ret = sr_agent_relay_new(&a->relay, &a->config);
	if (ret < 0)
		return ret;
	ret = a->config.trace_records ? sr_agent_trace_new(&a->trace, a->config.trace_records) : 0;
	if (ret < 0)
		return ret;
	a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	a->wake_fd = sr_doorbell_new();
	a->poll_fd = sr_doorbell_new();
	return a->epoll_fd < 0 || a->wake_fd < 0 || a->poll_fd < 0 ? -EMFILE : 0;
}

int sr_agent_new(struct sr_agent **agent, const struct sr_agent_config *config,
		 struct sr_transport *transport, struct sr_reason *why)
{
	struct sr_agent *a = aligned_alloc(SR_LINE_BYTES, sizeof *a);
	int ret;

	if (!a) {
		transport->ops->destroy(transport);
		return sr_reason_set(why, -ENOMEM, "out of memory");
	}
	memset(a, 0, sizeof *a);
	a->config = *config;
	a->loop.transport = transport;
	a->listen_fd = a->epoll_fd = a->wake_fd = a->poll_fd = -1;
	ret = allocate(a);
	if (ret < 0) {
		(void)sr_reason_set(why, ret, "cannot start: %s", strerror(-ret));
		goto fail;
	}
	a->listen_fd = sr_address_listen(&config->listen, SOCK_SEQPACKET, config->listen_mode, why);
	if (a->listen_fd < 0) {
		ret = a->listen_fd;
		goto fail;
	}
	ret = watch(a, a->listen_fd, &a->listen_fd);
	if (ret == 0)
		ret = watch(a, a->wake_fd, &a->wake_fd);
	if (ret == 0)
		ret = watch(a, sr_agent_relay_fd(a->relay), &a->relay);
	if (ret < 0) {
		(void)sr_reason_set(why, ret, "cannot start: %s", strerror(-ret));
		goto fail;
	}
	*agent = a;
	return 0;
fail:
	sr_agent_delete(a);
	return ret;
}

static void pin(struct sr_agent *a)
{
	cpu_set_t set;

	if (a->config.cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned int)a->config.cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set) < 0 && a->config.log)
			a->config.log(a->config.log_arg, "WARNING: cannot pin the polling thread: "
				      "the CPU does not exist or is not allowed; see --check");
	}
	a->numa_node = sr_numa_node_of_cpu(a->config.cpu >= 0 ? a->config.cpu : sched_getcpu());
	a->wait = sr_wait_resolve(a->config.wait, a->config.loops);
}

/* The cold thread may run wherever this one might before it was pinned. */
static int start_attach(struct sr_agent *a, const cpu_set_t *cpus)
{
	pthread_attr_t attr;
	int ret = pthread_attr_init(&attr);

	if (ret)
		return -ret;
	if (CPU_COUNT(cpus))
		(void)pthread_attr_setaffinity_np(&attr, sizeof *cpus, cpus);
	ret = pthread_create(&a->attach_thread, &attr, sr_agent_attach_main, a);
	(void)pthread_attr_destroy(&attr);
	return -ret;
}

int sr_agent_run(struct sr_agent *a)
{
	cpu_set_t cpus;
	int ret;

	if (sched_getaffinity(0, sizeof cpus, &cpus) < 0)
		CPU_ZERO(&cpus);
	pin(a); /* before the thread is made: it reads node and policy */
	ret = start_attach(a, &cpus);
	if (ret < 0)
		return ret;
	while (!sr_load32_relaxed(&a->stopping))
		if (!sr_agent_loop_turn(a))
			sr_agent_loop_sleep(a);
	sr_doorbell_ring(a->wake_fd);
	(void)pthread_join(a->attach_thread, NULL);
	return 0;
}

void sr_agent_stop(struct sr_agent *a)
{
	sr_store32_relaxed(&a->stopping, 1);
	sr_doorbell_ring(a->poll_fd);
}

void sr_agent_delete(struct sr_agent *a)
{
	int *fds[] = { &a->listen_fd, &a->epoll_fd, &a->wake_fd, &a->poll_fd };

	while (a->clients)
		sr_agent_client_free(a, a->clients);
	sr_agent_relay_delete(a->relay);
	sr_agent_trace_delete(a->trace);
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
	free(a->loop.sessions[0]);
	free(a->loop.sessions[1]);
	a->loop.transport->ops->destroy(a->loop.transport);
	free(a);
}
