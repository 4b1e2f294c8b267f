/* SPDX-License-Identifier: MIT */
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sr_attach.h"

static const uint16_t message_bytes[] = {
	[SR_ATTACH_HELLO] = sizeof(struct sr_attach_hello),
	[SR_ATTACH_OFFER] = sizeof(struct sr_attach_offer),
	[SR_ATTACH_REGION] = sizeof(struct sr_attach_region),
	[SR_ATTACH_WELCOME] = sizeof(struct sr_attach_region),
	[SR_ATTACH_READY] = sizeof(struct sr_attach_bare),
	[SR_ATTACH_OPEN] = sizeof(struct sr_attach_open),
	[SR_ATTACH_OPENED] = sizeof(struct sr_attach_opened),
	[SR_ATTACH_CLOSE] = sizeof(struct sr_attach_index),
	[SR_ATTACH_CLOSED] = sizeof(struct sr_attach_index),
	[SR_ATTACH_REFUSED] = sizeof(struct sr_attach_refused),
	[SR_ATTACH_STATUS] = sizeof(struct sr_attach_bare),
	[SR_ATTACH_CONTROL] = sizeof(struct sr_attach_bare),
	[SR_ATTACH_TRACE] = sizeof(struct sr_attach_trace),
};

#define TYPES (sizeof message_bytes / sizeof message_bytes[0])
#define FDS_MAX 2

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

int sr_attach_send(int sock, union sr_attach_message *message, enum sr_attach_type type,
		   const int *fds, int fd_count)
{
	union control control;
	struct iovec iov = { message, message_bytes[type] };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	message->header.magic = SR_ATTACH_MAGIC;
	message->header.type = (uint16_t)type;
	message->header.bytes = message_bytes[type];
	if (fd_count > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof control);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)fd_count * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Every descriptor of a message, wanted or not, is ours to close. */
static int take_fds(struct msghdr *msg, int fds[2])
{
	int count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (count < FDS_MAX)
				fds[count++] = fd;
			else
				(void)close(fd);
		}
	}
	return count;
}

static bool message_valid(const union sr_attach_message *m, ssize_t n, int flags)
{
	return !(flags & (MSG_TRUNC | MSG_CTRUNC)) && (size_t)n >= sizeof m->header &&
	       m->header.magic == SR_ATTACH_MAGIC && m->header.type > 0 &&
	       m->header.type < TYPES && m->header.bytes == (size_t)n &&
	       message_bytes[m->header.type] == (size_t)n;
}

int sr_attach_recv(int sock, union sr_attach_message *message, int fds[2], int *fd_count)
{
	union sr_attach_message m;
	union control control;
	struct iovec iov = { &m, sizeof m };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	int got[FDS_MAX];
	bool reset = false;
	int count;
	ssize_t n;

	/* A peer that hung up with messages of ours unread shows as one ECONNRESET,
	 * in front of what he had said: a refusal, mostly. */
	for (;;) {
		n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n >= 0 || (errno != EINTR && (errno != ECONNRESET || reset)))
			break;
		reset = errno == ECONNRESET;
	}
	if (n < 0)
		return -errno;
	count = take_fds(&msg, got);
	if (n == 0 || !message_valid(&m, n, msg.msg_flags)) {
		while (count > 0)
			(void)close(got[--count]);
		return n == 0 ? -ECONNRESET : -EPROTO;
	}
	*message = m;
	*fd_count = count;
	memcpy(fds, got, (size_t)count * sizeof(int));
	return 0;
}

int sr_attach_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock;
	int ret;

	if (strlen(path) >= sizeof addr.sun_path)
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (connect(sock, (const struct sockaddr *)&addr, sizeof addr) < 0) {
		ret = -errno;
		(void)close(sock);
		return ret;
	}
	return sock;
}

int sr_attach_refusal_reason(struct sr_reason *why, uint32_t code)
{
	switch (code) {
	case SR_REFUSED_VERSION:
		return sr_reason_set(why, -EPROTO,
				     "the agent was built for another version of the region "
				     "layout: install the same version of agent and library");
	case SR_REFUSED_UID:
		return sr_reason_set(why, -EACCES,
				     "the agent does not admit user %u: add `allow-uid %u` to its "
				     "configuration and restart it",
				     (unsigned int)getuid(), (unsigned int)getuid());
	case SR_REFUSED_SIZES:
		return sr_reason_set(why, -EPROTO,
				     "the agent does not accept this depth, slot size or number of "
				     "sessions: see its depth-max and slot-bytes-max");
	case SR_REFUSED_CLIENTS:
		return sr_reason_set(why, -EDQUOT,
				     "too many processes are attached: raise clients-max in the "
				     "agent's configuration, or end one");
	case SR_REFUSED_SESSIONS:
		return sr_reason_set(why, -EDQUOT,
				     "too many sessions over all processes: raise sessions-max in "
				     "the agent's configuration, or ask for fewer");
	case SR_REFUSED_CLOCK:
		return sr_reason_set(why, -EPROTO,
				     "this process' monotonic clock differs from the agent's by "
				     "more than a second: run both in one time namespace");
	case SR_REFUSED_SEALS:
		return sr_reason_set(why, -EPROTO, "the agent wants a sealed region");
	case SR_REFUSED_NOT_MEMFD:
		return sr_reason_set(why, -EPROTO, "the agent wants a memfd");
	case SR_REFUSED_REGION:
		return sr_reason_set(why, -EPROTO,
				     "the agent found another size, magic number or geometry in "
				     "the region than was agreed");
	case SR_REFUSED_MEMORY:
		return sr_reason_set(why, -ENOMEM,
				     "the agent has no memory for another region, or its memlock "
				     "limit is reached: raise LimitMEMLOCK= in its unit");
	case SR_REFUSED_BUSY:
		return sr_reason_set(why, -EBUSY,
				     "the agent carries no more set-ups of sessions for user %u at "
				     "present, because too many have failed or are under way: wait "
				     "some seconds; why they failed is in the signer's log",
				     (unsigned int)getuid());
	case SR_REFUSED_TRACE:
		return sr_reason_set(why, -EACCES,
				     "the agent keeps no trace (start it with --trace), or gives it "
				     "only to root and to its own user");
	default:
		return sr_reason_set(why, -EPROTO, "the agent refused the attach (code %u)", code);
	}
}

int sr_result_reason(struct sr_reason *why, uint32_t result)
{
	switch (result) {
	case SR_RESULT_NO_SIGNER:
		return sr_reason_set(why, -ENOTCONN,
				     "the agent has no connection to a signer: start "
				     "sigring-signer, or look at `sigringctl status`");
	case SR_RESULT_GONE:
		return sr_reason_set(why, -ESTALE,
				     "the signer does not know the session, or does not any more: it "
				     "was restarted, or another agent has taken the session over, "
				     "or its set-up was never completed");
	case SR_RESULT_FULL:
		return sr_reason_set(why, -EDQUOT,
				     "the signer has no room for another session: raise its "
				     "sessions-max");
	case SR_RESULT_SIZES:
		return sr_reason_set(why, -EPROTO,
				     "the signer does not accept this depth or slot size: see its "
				     "depth-max and slot-bytes-max");
	case SR_RESULT_UNSEALED:
		return sr_reason_set(why, -EPROTO, "the signer does not accept records in clear");
	case SR_RESULT_BUSY:
		return sr_reason_set(why, -EPROTO, "the agent has this session open already");
	default:
		return sr_reason_set(why, -EPROTO, "unassigned result %u from the agent", result);
	}
}
