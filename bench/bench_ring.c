/* SPDX-License-Identifier: MIT */
/*
 * bench_ring - what the ring adds to what the machine gives.
 *
 * Two processes, one CPU each. A message goes to the other side, which copies it
 * to private memory and answers; both spin, or sleep in the kernel where the row
 * says so. The floor is a cache line a direction that is written by one side and
 * polled by the other. The rings are the product's: regions made, sealed and
 * joined as at an attach, sr_slot.h for every access, the next slot for each
 * message, the copy judged. Sockets and pipes carry 256 bytes each way.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sr_attach.h"
#include "sr_bench.h"
#include "sr_record.h"
#include "sr_region.h"

#define MESSAGE_BYTES 256u
#define BATCH 64u
#define STREAM_BATCH 20000u
#define BATCH_MAX 200u
#define SLOT_BYTES_MAX 384u

/* One page that both processes map: orders to the peer, and the lines that are
 * the floor. Everything written by one side has a line of its own. */
struct shared {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t order; /* raised: measure what follows */
	uint32_t row;
	uint32_t count;
	uint64_t delay_ns;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t done; /* the peer's: order that is finished */
	SR_ALIGNED(SR_LINE_BYTES) uint64_t ping;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t pong;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t both;
};

/* One side's view of a pair of regions. */
struct ring {
	struct sr_geometry submission;
	struct sr_geometry completion;
	struct sr_region own;
	struct sr_region other;
	struct sr_slots out;
	struct sr_slots in;
	uint64_t word; /* of the next message */
};

/* One side's descriptors of a socket or a pair of pipes. */
struct wire {
	int in;
	int out;
};

enum { RING_DEFAULT, RING_EVEN, RINGS };
enum { WIRE_STREAM, WIRE_SEQPACKET, WIRE_TCP, WIRE_PIPE, WIRES };

static struct shared *shared;
static struct ring rings[RINGS] = {
	[RING_DEFAULT] = { .submission = { 1, SR_DEPTH_DEFAULT, SR_SUB_BYTES_DEFAULT },
			   .completion = { 1, SR_DEPTH_DEFAULT, SR_CMP_BYTES } },
	[RING_EVEN] = { .submission = { 1, SR_DEPTH_DEFAULT, MESSAGE_BYTES },
			.completion = { 1, SR_DEPTH_DEFAULT, MESSAGE_BYTES } },
};
static struct wire wires[WIRES];
static uint64_t line_number; /* private: both sides count alike */
static uint64_t both_number;
static SR_ALIGNED(SR_LINE_BYTES) unsigned char request[SLOT_BYTES_MAX];
static SR_ALIGNED(SR_LINE_BYTES) unsigned char reply[SLOT_BYTES_MAX];

#define ALWAYS_INLINE static inline __attribute__((always_inline))
/*
 * The two ends of a row. Hot, because the peer never returns, so that the compiler
 * takes all that it calls for cold and copies by `rep movs`: 50 ns a message. Of
 * its own and aligned, because where a spin of three instructions falls in a line
 * of code moves the floor by a tenth, from one build to the next.
 */
#define HOT static __attribute__((noinline, hot, aligned(128)))

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "bench_ring: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void hold(uint64_t delay_ns)
{
	if (SR_UNLIKELY(delay_ns))
		sr_bench_spin(delay_ns);
}

ALWAYS_INLINE void idle(bool pause)
{
	if (pause)
		sr_pause();
}

/* ---- the floor ---- */

ALWAYS_INLINE void lines_ask(uint32_t count, bool pause)
{
	while (count--) {
		sr_store_release(&shared->ping, ++line_number);
		while (sr_load_acquire(&shared->pong) != line_number)
			idle(pause);
	}
}

ALWAYS_INLINE void lines_serve(uint32_t count, uint64_t delay_ns, bool pause)
{
	while (count--) {
		line_number++;
		while (sr_load_acquire(&shared->ping) != line_number)
			idle(pause);
		hold(delay_ns);
		sr_store_release(&shared->pong, line_number);
	}
}

HOT void lines_ask_spin(uint32_t count)
{
	lines_ask(count, false);
}

HOT void lines_serve_spin(uint32_t count, uint64_t delay_ns)
{
	lines_serve(count, delay_ns, false);
}

HOT void lines_ask_pause(uint32_t count)
{
	lines_ask(count, true);
}

HOT void lines_serve_pause(uint32_t count, uint64_t delay_ns)
{
	lines_serve(count, delay_ns, true);
}

HOT void one_ask(uint32_t count)
{
	while (count--) {
		sr_store_release(&shared->both, both_number + 1);
		both_number += 2;
		while (sr_load_acquire(&shared->both) != both_number)
			;
	}
}

HOT void one_serve(uint32_t count, uint64_t delay_ns)
{
	while (count--) {
		while (sr_load_acquire(&shared->both) != both_number + 1)
			;
		hold(delay_ns);
		both_number += 2;
		sr_store_release(&shared->both, both_number);
	}
}

/* ---- rings ---- */

ALWAYS_INLINE void await(const struct ring *r, uint64_t word, bool pause)
{
	int ret;

	while ((ret = sr_slot_look(&r->in, word)) == -EAGAIN) {
		sr_slot_expect(&r->in, word);
		idle(pause);
	}
	if (SR_UNLIKELY(ret < 0)) {
		errno = -ret;
		die("ring");
	}
}

static void check_reply(uint64_t word)
{
	if (SR_UNLIKELY(sr_get64(reply + SR_CMP_BODY) != word)) {
		errno = EBADMSG;
		die("a reply is not the request's");
	}
}

ALWAYS_INLINE void ring_ask(struct ring *r, uint32_t count, bool pause)
{
	while (count--) {
		uint64_t word = r->word++;

		sr_put64(request + SR_SUB_BODY, word);
		sr_slot_publish(&r->out, word, request);
		await(r, word, pause);
		sr_slot_copy(&r->in, word, reply);
		check_reply(word);
	}
}

ALWAYS_INLINE void answer(struct ring *r, uint64_t word, uint64_t delay_ns)
{
	sr_slot_copy(&r->in, word, request);
	hold(delay_ns);
	sr_put64(reply + SR_CMP_BODY, sr_get64(request + SR_SUB_BODY));
	sr_slot_publish(&r->out, word, reply);
}

ALWAYS_INLINE void ring_serve(struct ring *r, uint32_t count, uint64_t delay_ns, bool pause)
{
	while (count--) {
		uint64_t word = r->word++;

		await(r, word, pause);
		answer(r, word, delay_ns);
	}
}

HOT void ring_ask_spin(struct ring *r, uint32_t count)
{
	ring_ask(r, count, false);
}

HOT void ring_serve_spin(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_serve(r, count, delay_ns, false);
}

HOT void ring_ask_pause(struct ring *r, uint32_t count)
{
	ring_ask(r, count, true);
}

HOT void ring_serve_pause(struct ring *r, uint32_t count, uint64_t delay_ns)
{
	ring_serve(r, count, delay_ns, true);
}

/* As many in flight as the depth allows; the credit rule is the client's own. */
HOT void ring_flood(struct ring *r, uint32_t count)
{
	uint64_t sent = 0, answered = 0;
	uint64_t first = r->word;

	while (answered < count) {
		if (sent < count && sent - answered <= r->out.mask) {
			sr_put64(request + SR_SUB_BODY, first + sent);
			sr_slot_publish(&r->out, first + sent, request);
			sent++;
		}
		while (answered < sent && sr_slot_look(&r->in, first + answered) == 0) {
			sr_slot_copy(&r->in, first + answered, reply);
			check_reply(first + answered);
			answered++;
		}
	}
	r->word = first + count;
}

/* ---- sockets and pipes ---- */

static void wire_mode(struct wire *w, int kind, bool busy)
{
	int fds[] = { w->in, w->out };

	(void)kind;
	for (int i = 0; i < 2; i++)
		if (fcntl(fds[i], F_SETFL, busy ? O_NONBLOCK : 0) < 0)
			die("fcntl");
}

/* Sockets are told by a flag a call, as the agent does; pipes by their mode. */
static void wire_put(const struct wire *w, int kind, bool busy, const void *data)
{
	size_t done = 0;

	while (done < MESSAGE_BYTES) {
		const char *at = (const char *)data + done;
		ssize_t n = kind == WIRE_PIPE ? write(w->out, at, MESSAGE_BYTES - done) :
						send(w->out, at, MESSAGE_BYTES - done,
						     (busy ? MSG_DONTWAIT : 0) | MSG_NOSIGNAL);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			die("send");
	}
}

static void wire_get(const struct wire *w, int kind, bool busy, void *data)
{
	size_t done = 0;

	while (done < MESSAGE_BYTES) {
		char *at = (char *)data + done;
		ssize_t n = kind == WIRE_PIPE ? read(w->in, at, MESSAGE_BYTES - done) :
						recv(w->in, at, MESSAGE_BYTES - done,
						     busy ? MSG_DONTWAIT : 0);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			die("recv");
	}
}

static void wire_ask(int kind, bool busy, uint32_t count)
{
	struct wire *w = &wires[kind];

	if (kind == WIRE_PIPE)
		wire_mode(w, kind, busy);
	while (count--) {
		uint64_t number = ++line_number;

		sr_put64(request, number);
		wire_put(w, kind, busy, request);
		wire_get(w, kind, busy, reply);
		if (sr_get64(reply) != number) {
			errno = EBADMSG;
			die("a reply is not the request's");
		}
	}
}

static void wire_serve(int kind, bool busy, uint32_t count, uint64_t delay_ns)
{
	struct wire *w = &wires[kind];

	if (kind == WIRE_PIPE)
		wire_mode(w, kind, busy);
	while (count--) {
		line_number++; /* keeps the two sides' counts alike */
		wire_get(w, kind, busy, request);
		hold(delay_ns);
		wire_put(w, kind, busy, request);
	}
}

/* ---- the rows ---- */

enum row {
	ROW_LINES, ROW_LINES_PAUSE, ROW_ONE_LINE,
	ROW_EVEN, ROW_DEFAULT, ROW_EVEN_PAUSE, ROW_DEFAULT_PAUSE,
	ROW_STREAM, ROW_SEQPACKET, ROW_TCP, ROW_PIPE,
	ROW_STREAM_BLOCK, ROW_SEQPACKET_BLOCK, ROW_TCP_BLOCK, ROW_PIPE_BLOCK,
	ROW_FLOOD, ROWS,
};

#define FIRST_WIRE ROW_STREAM
#define WIRE_ROWS (2 * WIRES)

static const struct {
	const char *key;
	const char *text;
	uint32_t batches; /* in a round */
} table[ROWS] = {
	[ROW_LINES] = { "line", "raw cache line, one a direction", 160 },
	[ROW_LINES_PAUSE] = { "line_pause", "raw cache line, with a pause in the spin", 160 },
	[ROW_ONE_LINE] = { "line_shared", "raw cache line, one for both directions", 160 },
	[ROW_EVEN] = { "ring_256", "ring, slots of 256 out and 256 back", 160 },
	[ROW_DEFAULT] = { "ring_384", "ring, slots of 384 out and 128 back (default)", 160 },
	[ROW_EVEN_PAUSE] = { "ring_256_pause", "ring 256/256, with a pause in the spin", 160 },
	[ROW_DEFAULT_PAUSE] = { "ring_384_pause", "ring 384/128, with a pause in the spin", 160 },
	[ROW_STREAM] = { "unix_stream", "AF_UNIX stream, busy-polling", 16 },
	[ROW_SEQPACKET] = { "unix_seqpacket", "AF_UNIX seqpacket, busy-polling", 16 },
	[ROW_TCP] = { "tcp", "TCP loopback, busy-polling", 12 },
	[ROW_PIPE] = { "pipe", "two pipes, busy-polling", 16 },
	[ROW_STREAM_BLOCK] = { "unix_stream_block", "AF_UNIX stream, blocking", 6 },
	[ROW_SEQPACKET_BLOCK] = { "unix_seqpacket_block", "AF_UNIX seqpacket, blocking", 6 },
	[ROW_TCP_BLOCK] = { "tcp_block", "TCP loopback, blocking", 6 },
	[ROW_PIPE_BLOCK] = { "pipe_block", "two pipes, blocking", 6 },
	[ROW_FLOOD] = { "ring_rate", "ring 384/128, up to 256 in flight", 3 },
};

static void ask(uint32_t row, uint32_t count)
{
	switch ((enum row)row) {
	case ROW_LINES:
		lines_ask_spin(count);
		break;
	case ROW_LINES_PAUSE:
		lines_ask_pause(count);
		break;
	case ROW_ONE_LINE:
		one_ask(count);
		break;
	case ROW_EVEN:
		ring_ask_spin(&rings[RING_EVEN], count);
		break;
	case ROW_DEFAULT:
		ring_ask_spin(&rings[RING_DEFAULT], count);
		break;
	case ROW_EVEN_PAUSE:
		ring_ask_pause(&rings[RING_EVEN], count);
		break;
	case ROW_DEFAULT_PAUSE:
		ring_ask_pause(&rings[RING_DEFAULT], count);
		break;
	case ROW_FLOOD:
		ring_flood(&rings[RING_DEFAULT], count);
		break;
	default:
		wire_ask((int)(row - FIRST_WIRE) % WIRES, row - FIRST_WIRE < WIRES, count);
		break;
	}
}

static void serve(uint32_t row, uint32_t count, uint64_t delay_ns)
{
	switch ((enum row)row) {
	case ROW_LINES:
		lines_serve_spin(count, delay_ns);
		break;
	case ROW_LINES_PAUSE:
		lines_serve_pause(count, delay_ns);
		break;
	case ROW_ONE_LINE:
		one_serve(count, delay_ns);
		break;
	case ROW_EVEN:
		ring_serve_spin(&rings[RING_EVEN], count, delay_ns);
		break;
	case ROW_DEFAULT:
	case ROW_FLOOD:
		ring_serve_spin(&rings[RING_DEFAULT], count, delay_ns);
		break;
	case ROW_EVEN_PAUSE:
		ring_serve_pause(&rings[RING_EVEN], count, delay_ns);
		break;
	case ROW_DEFAULT_PAUSE:
		ring_serve_pause(&rings[RING_DEFAULT], count, delay_ns);
		break;
	default:
		wire_serve((int)(row - FIRST_WIRE) % WIRES, row - FIRST_WIRE < WIRES, count,
			   delay_ns);
		break;
	}
}

static int measure(struct sr_bench *b, uint32_t at)
{
	struct sr_bench_row *row = &b->rows[at];
	uint32_t batch = b->selftest ? 1 : at == ROW_FLOOD ? STREAM_BATCH : BATCH;
	uint32_t batches = b->selftest ? 8 : table[at].batches;
	bool rate = row->unit == SR_BENCH_PER_S;
	double values[BATCH_MAX];
	uint64_t order = shared->order + 1;

	shared->row = at;
	shared->count = batch * (batches + 1);
	shared->delay_ns = b->delay_row == (int)at ? b->delay_ns : 0;
	sr_store_release(&shared->order, order); /* pairs with the acquire in peer_main() */
	ask(at, batch); /* warms caches and predictors */
	for (uint32_t i = 0; i < batches; i++) {
		uint64_t start_ns = sr_now_ns();
		double took_ns;

		ask(at, batch);
		took_ns = (double)(sr_now_ns() - start_ns);
		values[i] = rate ? 1e9 * batch / took_ns : took_ns / batch;
	}
	while (sr_load_acquire(&shared->done) != order) /* pairs with peer_main() */
		sr_pause();
	row->now = sr_bench_rank(values, batches, SR_BENCH_SHARE_ALL / 2);
	row->best = values[rate ? batches - 1 : 0];
	row->tree = sr_bench_tree(b->peer);
	return 0;
}

/* ---- setting up ---- */

/* As at an attach: each side makes the region that it writes, and sends it. */
static void ring_join(struct ring *r, int sock, bool asking)
{
	const struct sr_geometry *own = asking ? &r->submission : &r->completion;
	const struct sr_geometry *other = asking ? &r->completion : &r->submission;
	enum sr_region_kind kind = asking ? SR_REGION_SUBMISSION : SR_REGION_COMPLETION;
	union sr_attach_message m;
	struct sr_reason why = { 0, "" };
	int fds[2];
	int count = 0;
	int ret = sr_region_create(&r->own, kind, own, SR_REGION_TRY_HUGE | SR_REGION_MLOCK, -1,
				   &why);

	if (ret == 0) {
		r->out = sr_region_slots(&r->own, 0);
		sr_slots_reset(&r->out, r->word);
		memset(&m, 0, sizeof m);
		ret = sr_attach_send(sock, &m, SR_ATTACH_WELCOME, &r->own.fd, 1);
	}
	if (ret == 0)
		while ((ret = sr_attach_recv(sock, &m, fds, &count)) == -EAGAIN)
			(void)sched_yield();
	if (ret == 0)
		ret = sr_region_join(&r->other,
				     asking ? SR_REGION_COMPLETION : SR_REGION_SUBMISSION, other,
				     fds[0], &why);
	if (ret < 0) {
		(void)fprintf(stderr, "bench_ring: %s\n", why.text[0] ? why.text : strerror(-ret));
		_exit(1);
	}
	(void)close(fds[0]);
	r->in = sr_region_slots(&r->other, 0);
}

static int tcp_pair(int fds[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	int ret = -1;

	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0 && fds[0] >= 0 &&
	    bind(listener, (struct sockaddr *)(void *)&a, sizeof a) == 0 &&
	    listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)(void *)&a, &bytes) == 0 &&
	    connect(fds[0], (struct sockaddr *)(void *)&a, sizeof a) == 0)
		ret = fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (listener >= 0)
		(void)close(listener);
	if (ret < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		(void)setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return 0;
}

static void wires_make(struct wire far[WIRES])
{
	int fds[2], back[2];
	const int types[] = { [WIRE_STREAM] = SOCK_STREAM, [WIRE_SEQPACKET] = SOCK_SEQPACKET };

	for (int kind = WIRE_STREAM; kind <= WIRE_TCP; kind++) {
		int ret = kind == WIRE_TCP ? tcp_pair(fds) :
					     socketpair(AF_UNIX, types[kind] | SOCK_CLOEXEC, 0, fds);

		if (ret < 0)
			die("cannot make a pair of sockets");
		wires[kind] = (struct wire){ fds[0], fds[0] };
		far[kind] = (struct wire){ fds[1], fds[1] };
	}
	if (pipe2(fds, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0)
		die("cannot make a pipe");
	wires[WIRE_PIPE] = (struct wire){ back[0], fds[1] };
	far[WIRE_PIPE] = (struct wire){ fds[0], back[1] };
}

static _Noreturn void peer_main(const struct sr_bench *b, const struct wire far[WIRES], int sock)
{
	uint64_t order = 0;

	sr_bench_child();
	if (sr_bench_pin(b->cpus[1]) < 0)
		die("cannot pin");
	memcpy(wires, far, sizeof wires);
	for (int i = 0; i < RINGS; i++)
		ring_join(&rings[i], sock, false);
	for (;;) {
		/* Pairs with the release in measure(): row, count and delay are set. */
		while (sr_load_acquire(&shared->order) == order)
			sr_pause();
		order++;
		serve(shared->row, shared->count, shared->delay_ns);
		sr_store_release(&shared->done, order); /* pairs with measure() */
	}
}

static void set_up(struct sr_bench *b)
{
	struct wire far[WIRES];
	int fds[2];

	for (uint32_t i = 0; i < ROWS; i++)
		(void)sr_bench_row(b, table[i].key, table[i].text,
				   i == ROW_FLOOD ? SR_BENCH_PER_S : SR_BENCH_NS);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		die("cannot start");
	for (int i = 0; i < RINGS; i++)
		if (getrandom(&rings[i].word, sizeof rings[i].word, 0) < 0)
			die("getrandom");
	wires_make(far);
	(void)signal(SIGCHLD, sr_bench_hung);
	b->peer = fork();
	if (b->peer < 0)
		die("fork");
	if (b->peer == 0)
		peer_main(b, far, fds[1]);
	for (int i = 0; i < RINGS; i++)
		ring_join(&rings[i], fds[0], true);
}

static void tear_down(const struct sr_bench *b)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)kill(b->peer, SIGKILL);
	(void)waitpid(b->peer, NULL, 0);
}

/* ---- the figures ---- */

/* A pipe is no socket, and no stream to an enclave; it has a ratio of its own. */
static const struct sr_bench_row *best_socket(const struct sr_bench *b)
{
	const struct sr_bench_row *best = &b->rows[FIRST_WIRE];

	for (uint32_t i = FIRST_WIRE; i < FIRST_WIRE + WIRE_ROWS; i++)
		if ((i - FIRST_WIRE) % WIRES != WIRE_PIPE &&
		    sr_bench_of(&b->rows[i], SR_BENCH_SHARE_ALL / 2) <
		    sr_bench_of(best, SR_BENCH_SHARE_ALL / 2))
			best = &b->rows[i];
	return best;
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows, *wire = best_socket(b);
	const struct sr_bench_ratio ratios[] = {
		{ "ring_256_over_line", "ring 256/256 over the raw cache line", &r[ROW_EVEN],
		  &r[ROW_LINES], 1.3, 1.15, false },
		{ "ring_384_over_line", "ring 384/128 over the raw cache line", &r[ROW_DEFAULT],
		  &r[ROW_LINES], 1.3, 1.15, false },
		{ "ring_256_over_line_pause", "the first, both with a pause",
		  &r[ROW_EVEN_PAUSE], &r[ROW_LINES_PAUSE], 0, 0, false },
		{ "ring_384_over_line_pause", "the second, both with a pause",
		  &r[ROW_DEFAULT_PAUSE], &r[ROW_LINES_PAUSE], 0, 0, false },
		{ "socket_over_ring_256", "best socket over ring 256/256", wire,
		  &r[ROW_EVEN], 8, 10, true },
		{ "socket_over_ring_384", "best socket over ring 384/128", wire,
		  &r[ROW_DEFAULT], 8, 10, true },
		{ "pipe_over_ring_384", "two pipes, busy-polling, over ring 384/128", &r[ROW_PIPE],
		  &r[ROW_DEFAULT], 0, 0, false },
	};
	double rate = sr_bench_of(&r[ROW_FLOOD], SR_BENCH_SHARE_ALL / 2);
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (b->json)
		return code;
	(void)printf("best socket: %s\n", wire->text);
	(void)printf("rate: %.2f million messages of %u bytes a second = %.2f GB/s; as slots, both "
		     "ways, %.2f GB/s\n", rate / 1e6, MESSAGE_BYTES, rate * MESSAGE_BYTES / 1e9,
		     rate * (SR_SUB_BYTES_DEFAULT + SR_CMP_BYTES) / 1e9);
	(void)printf("pages: %s\n", rings[0].own.notes & SR_NOTE_NO_HUGE_PAGES ?
		     "4 KiB, for want of 2 MiB ones" : "2 MiB");
	return code;
}

static struct sr_bench bench = { .name = "bench_ring", .notice = SR_UNSEALED_NOTICE, .rounds = 21, .measure = measure };

static const struct sr_option options[] = { SR_BENCH_OPTIONS(bench) };

static const struct sr_program program = {
	.name = "bench_ring",
	.purpose = "Round trips of the ring, of a cache line and of sockets, interleaved.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	struct sr_reason why = { 0, "" };
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : sr_bench_begin(&bench, &why);
	if (ret < 0)
		return sr_bench_fail(&bench, ret, &why);
	set_up(&bench);
	ret = sr_bench_delay(&bench, &why);
	if (ret == 0 && bench.selftest)
		ret = sr_bench_selftest(&bench);
	else if (ret == 0)
		ret = sr_bench_run(&bench);
	tear_down(&bench);
	if (ret < 0)
		return sr_bench_fail(&bench, ret, &why);
	return bench.selftest ? ret : report(&bench);
}
