/* SPDX-License-Identifier: MIT */
/*
 * Two processes and the slots between them, without agent or signer: each message
 * is whole, in its order, and the bytes that its number says. The answer to each
 * gives the slot back, as a completion does.
 */
#include "mp_common.h"
#include "sr_region.h"

#define DEPTH 256u

struct pipe {
	struct sr_slots forth; /* SR_SUB_BYTES_DEFAULT each */
	struct sr_slots back;  /* SR_CMP_BYTES each */
	uint64_t first;
	uint64_t count;
};

static void fill(unsigned char *record, uint32_t bytes, uint64_t n)
{
	for (uint32_t i = 8; i < bytes; i += 8)
		sr_put64(record + i, n * 0x9e3779b97f4a7c15ull + i);
}

static void check(const unsigned char *record, uint32_t bytes, uint64_t word, uint64_t n)
{
	uint64_t wrong = sr_get64(record) ^ word;

	for (uint32_t i = 8; i < bytes; i += 8)
		wrong |= sr_get64(record + i) ^ (n * 0x9e3779b97f4a7c15ull + i);
	MP_CHECK(wrong == 0, "message %llu is not what was published", (unsigned long long)n);
}

/* Gives the core up after a while: the peer may need it. */
static void pause_or_yield(uint32_t *spins)
{
	if (++*spins % 256 == 0)
		(void)sched_yield();
	else
		sr_pause();
}

static void echo(void *arg)
{
	const struct pipe *p = arg;
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char answer[SR_CMP_BYTES];
	uint32_t spins = 0;

	for (uint64_t n = 0; n < p->count;) {
		int ret = sr_slot_look(&p->forth, p->first + n);

		if (ret == -EAGAIN) {
			pause_or_yield(&spins);
			continue;
		}
		MP_EQ(ret, 0, "look");
		sr_slot_copy(&p->forth, p->first + n, record);
		check(record, sizeof record, p->first + n, n);
		fill(answer, sizeof answer, ~n);
		sr_slot_publish(&p->back, p->first + n, answer);
		n++;
	}
}

static void send_all(const struct pipe *p)
{
	unsigned char record[SR_SUB_BYTES_DEFAULT];
	unsigned char answer[SR_CMP_BYTES];
	uint64_t sent = 0;
	uint64_t got = 0;
	uint32_t spins = 0;

	while (got < p->count) {
		bool did = false;
		int ret;

		if (sent < p->count && sent - got < DEPTH) {
			fill(record, sizeof record, sent);
			sr_slot_publish(&p->forth, p->first + sent++, record);
			did = true;
		}
		ret = sr_slot_look(&p->back, p->first + got);
		if (ret == 0) {
			sr_slot_copy(&p->back, p->first + got, answer);
			check(answer, sizeof answer, p->first + got, ~got);
			got++;
			did = true;
		}
		MP_CHECK(ret == 0 || ret == -EAGAIN, "look: %d", ret);
		if (!did)
			pause_or_yield(&spins);
	}
}

struct peer {
	struct pipe pipe;
	struct sr_geometry sub;
	struct sr_geometry cmp;
	int sub_fd; /* the parent's region */
	int sock;
};

/* Lives in a region of its own, and only looks at the other. */
static void peer_main(void *arg)
{
	struct peer *p = arg;
	union sr_attach_message m;
	struct sr_region seen;
	struct sr_region mine;

	MP_EQ(sr_region_join(&seen, SR_REGION_SUBMISSION, &p->sub, p->sub_fd, NULL), 0, "join");
	MP_EQ(sr_region_create(&mine, SR_REGION_COMPLETION, &p->cmp, 0, -1, NULL), 0, "create");
	p->pipe.forth = sr_region_slots(&seen, 0);
	p->pipe.back = sr_region_slots(&mine, 0);
	sr_slots_reset(&p->pipe.back, p->pipe.first);
	memset(&m, 0, sizeof m);
	MP_EQ(sr_attach_send(p->sock, &m, SR_ATTACH_WELCOME, &mine.fd, 1), 0, "send");
	echo(&p->pipe);
}

static void two_processes(uint64_t first, uint64_t count)
{
	struct peer p = { .pipe = { .first = first, .count = count },
			  .sub = { 1, DEPTH, SR_SUB_BYTES_DEFAULT },
			  .cmp = { 1, DEPTH, SR_CMP_BYTES } };
	union sr_attach_message m;
	struct pollfd poller = { .events = POLLIN };
	struct sr_region mine;
	struct sr_region seen;
	int pair[2];
	int fds[2];
	int n = 0;
	pid_t pid;

	MP_EQ(sr_region_create(&mine, SR_REGION_SUBMISSION, &p.sub, 0, -1, NULL), 0, "create");
	p.pipe.forth = sr_region_slots(&mine, 0);
	sr_slots_reset(&p.pipe.forth, first);
	MP_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair: %s",
		 strerror(errno));
	p.sub_fd = mine.fd;
	p.sock = pair[1];
	pid = mp_fork(peer_main, &p);
	poller.fd = pair[0];
	MP_CHECK(poll(&poller, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0,
		 "the peer does not start");
	MP_EQ(sr_attach_recv(pair[0], &m, fds, &n), 0, "recv");
	MP_EQ(n, 1, "descriptors");
	MP_EQ(sr_region_join(&seen, SR_REGION_COMPLETION, &p.cmp, fds[0], NULL), 0, "join");
	p.pipe.back = sr_region_slots(&seen, 0);
	send_all(&p.pipe);
	mp_join(pid, "the peer");
	sr_region_drop(&mine);
	sr_region_drop(&seen);
	(void)close(fds[0]);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

static void many_messages(void)
{
	uint64_t count = mp_long ? 500000000 : 10000000;
	uint64_t begin_ns = sr_now_ns();

	two_processes((uint64_t)0 - count / 2, count);
	(void)printf("# %llu messages there and back, %llu ns each\n", (unsigned long long)count,
		     (unsigned long long)((sr_now_ns() - begin_ns) / count));
}

static void over_each_wrap(void)
{
	two_processes(0x7fffffff, 100000);
	two_processes(0xfffffffe, 100000);
	two_processes(0xfffffffffffffffe, 100000);
}

static const struct mp_test tests[] = {
	{ "messages/ten_million_arrive_whole_and_in_order", many_messages, 0 },
	{ "messages/over_each_wrap", over_each_wrap, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
