/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_doorbell.h"

int sr_doorbell_new(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void sr_doorbell_ring(int fd)
{
	uint64_t one = 1;

	/* EAGAIN means that it has been rung already. */
	(void)!write(fd, &one, sizeof one);
}

void sr_doorbell_clear(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof count);
}

void sr_doorbell_wait(int fd, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / SR_NS_PER_S),
			       .tv_nsec = (long)(timeout_ns % SR_NS_PER_S) };

	if (ppoll(&p, 1, &ts, NULL) > 0)
		sr_doorbell_clear(fd);
}
