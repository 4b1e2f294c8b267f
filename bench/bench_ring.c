/* SPDX-License-Identifier: MIT */
/*
 * bench_ring - what the ring adds to what the machine gives.
 *
 * Two processes, one CPU each. A message goes to the other side, which copies it
 * to private memory and answers; both spin, or sleep in the kernel where the row
 * says so. The floor is a cache line a direction that is written by one side and
 * polled by the other. The rings are the product's: regions made, sealed and
 * joined as at an attach, sr_slot.h for every access, the next slot for each
 * message, the copy judged. Sockets and pipes (sr_ring_wires.h) carry as many bytes
 * each way as the ring's slots have. Each round trip, and each rate one way
 * (sr_ring_flows.h), is also given as a multiple of the raw line of its own rounds.
 */
#include "sr_ring_rows.h"

#include <sys/random.h>
#include <sys/wait.h>

#include "sr_attach.h"

#define BATCH 64u
#define STREAM_BATCH 20000u
#define BATCH_MAX 200u
#define SHARED 1.25 /* slowed down so much by the other CPU: they share what it needs */

static bool all, vsock, with_peers, sqpoll;
static int uring_far[URINGS]; /* the other side's ends; -1: none */

static bool few_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) < URING_SQPOLL_CPUS;
}

static bool is_walk(const struct row *row)
{
	return row->kind == KIND_WALK || row->kind == KIND_WALK_BOTH;
}

static uint32_t batch_of(const struct sr_bench *b, const struct row *row)
{
	if (b->selftest)
		return 1;
	switch (row->kind) {
	case KIND_RING_RATE:
	case KIND_LINES_FLOW:
	case KIND_RING_FLOW:
	case KIND_PEER_FLOW:
		return STREAM_BATCH;
	case KIND_BELL_FLOW:
	case KIND_WIRE_FLOW:
	case KIND_URING_FLOW:
		return STREAM_BATCH / 10;
	case KIND_WALK:
	case KIND_WALK_BOTH:
		return walks[WALK_CACHE].lines / WALK_STEPS; /* once through all */
	default: /* where the kernel's threads have no CPU, a message takes milliseconds */
		return row->kind == KIND_URING && row->of == URING_SQPOLL && few_cpus() ? 1 : BATCH;
	}
}

static int measure(struct sr_bench *b, uint32_t at)
{
	struct sr_bench_row *row = &b->rows[at];
	uint32_t batch = batch_of(b, &table[at]);
	uint32_t batches = b->selftest ? 8 : (table[at].batches + 3) / 4;
	bool rate = row->unit == SR_BENCH_PER_S;
	double values[BATCH_MAX];
	uint64_t order = shared->order + 1;
	struct sr_bench_watch from = { 0 };

	if (is_kernel(&table[at]))
		from = sr_bench_look(b);
	shared->row = at;
	shared->orders = batches + 1;
	shared->count = batch;
	shared->delay_ns = b->delay_row == (int)at ? b->delay_ns : 0;
	sr_store_relaxed(&shared->worked, 0);
	sr_store_release(&shared->order, order); /* pairs with the acquire in peer_main() */
	ask(&table[at], batch); /* warms caches and predictors */
	for (uint32_t i = 0; i < batches; i++) {
		uint64_t start_ns;
		double took_ns;

		if (is_walk(&table[at]) && table[at].of == WALK_CACHE && !b->selftest)
			walk_prepare(&walks[WALK_CACHE]);
		start_ns = sr_now_ns();
		ask(&table[at], batch);
		took_ns = (double)(sr_now_ns() - start_ns);
		values[i] = rate ? 1e9 * batch / took_ns : took_ns / batch;
	}
	sr_store_release(&shared->worked, 1); /* pairs with serve() */
	while (sr_load_acquire(&shared->done) != order) /* pairs with peer_main() */
		sr_pause();
	if (is_kernel(&table[at]))
		sr_bench_excuse(b, &from);
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

static _Noreturn void peer_main(const struct sr_bench *b, const struct wire far[WIRES], int sock)
{
	uint64_t order = 0;

	sr_bench_child();
	if (sr_bench_pin(b->cpus[1]) < 0)
		die("cannot pin");
	memcpy(wires, far, sizeof wires);
	for (int i = 0; i < RINGS; i++)
		ring_join(&rings[i], sock, false);
	for (int i = 0; i < URINGS; i++) {
		int ret = uring_far[i] < 0 ? 0 : uring_make(i, uring_far[i]);

		if (ret < 0) {
			errno = -ret;
			die("io_uring");
		}
	}
	if (all && !(stream = walk_map(MEMORY_BYTES)))
		die("memory to read");
	for (;;) {
		/* Pairs with the release in measure(): row, count and delay are set. */
		while (sr_load_acquire(&shared->order) == order)
			sr_pause();
		order++;
		serve(&table[shared->row], shared->orders, shared->count, shared->delay_ns);
		sr_store_release(&shared->done, order); /* pairs with measure() */
	}
}

/* Beside this program. */
static void find_peers(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof "peers.so");

	path[n > 0 ? n : 0] = '\0';
	if (strrchr(path, '/'))
		memcpy(strrchr(path, '/') + 1, "peers.so", sizeof "peers.so");
	if (peers_open(path) < 0)
		(void)fprintf(stderr, "bench_ring: no %s: bench/peers/build.sh makes it\n", path);
}

/* The ends of io_uring that are ours, and a socket for each of the other side's. Where
 * the kernel refuses a kind, its rows say so. */
static void set_up_urings(struct sr_bench *b)
{
	static char why[URINGS][64];
	int fds[2];

	for (int kind = 0; kind < URINGS; kind++) {
		const char *missing = NULL;
		int ret = 0;

		uring_far[kind] = -1;
		if (kind == URING_SQPOLL && !sqpoll && few_cpus())
			missing = "polls on two more CPUs: 4 are needed (or --sqpoll)";
		else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
			die("cannot make a pair of sockets");
		else if ((ret = uring_make(kind, fds[0])) < 0) {
			(void)snprintf(why[kind], sizeof why[kind], "io_uring: %s", strerror(-ret));
			missing = why[kind];
		} else {
			uring_far[kind] = fds[1];
		}
		for (uint32_t i = 0; i < b->row_count; i++)
			if ((table[i].kind == KIND_URING || table[i].kind == KIND_URING_FLOW) &&
			    table[i].of == (uint32_t)kind)
				b->rows[i].missing = missing;
	}
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	struct wire far[WIRES];
	int fds[2];

	(void)why;
	if (with_peers)
		find_peers();
	for (uint32_t i = 0; i < (all ? ROWS : ROW_MORE); i++)
		(void)sr_bench_row(b, table[i].key, table[i].text,
				   is_rate(&table[i]) ? SR_BENCH_PER_S : SR_BENCH_NS);
	for (uint32_t i = 0; i < b->row_count; i++)
		if (is_peer(&table[i]) && !peers[table[i].of].peer)
			b->rows[i].missing = with_peers ? "not built (bench/peers/build.sh)" :
							  "not asked for (--peers)";
	if (!vsock)
		b->rows[ROW_VSOCK].missing = b->rows[ROW_VSOCK_BLOCK].missing =
			"only inside a guest (--vsock)";
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		die("cannot start");
	for (int i = 0; i < RINGS; i++)
		if (getrandom(&rings[i].word, sizeof rings[i].word, 0) < 0)
			die("getrandom");
	wires_make(far, vsock);
	for (uint32_t i = 0; i < b->row_count; i++)
		if (table[i].kind == KIND_WIRE || table[i].kind == KIND_WIRE_BLOCK ||
		    table[i].kind == KIND_WIRE_FLOW)
			b->rows[i].missing = table[i].of == WIRE_TCP ? tcp_missing :
					     table[i].of == WIRE_URING ? uring_missing :
									 b->rows[i].missing;
	set_up_urings(b);
	if (all && walks_make(b->selftest) < 0)
		die("memory to walk through");
	(void)signal(SIGCHLD, sr_bench_hung);
	b->peer = fork();
	if (b->peer < 0)
		die("fork");
	if (b->peer == 0)
		peer_main(b, far, fds[1]);
	for (int i = 0; i < RINGS; i++)
		ring_join(&rings[i], fds[0], true);
	return 0;
}

static void tear_down(struct sr_bench *b)
{
	(void)kill(b->peer, SIGKILL);
	(void)waitpid(b->peer, NULL, 0);
}

/* ---- the figures ---- */

/* Of 256 bytes. A pipe is no socket, and no stream to an enclave; it has a ratio of its own. */
static const struct sr_bench_row *best_socket(const struct sr_bench *b)
{
	const struct sr_bench_row *best = &b->rows[ROW_STREAM];

	for (uint32_t i = ROW_STREAM; i < ROW_RATE; i++)
		if ((table[i].of != WIRE_PIPE || table[i].kind == KIND_URING) &&
		    table[i].kind != KIND_BELL && b->rows[i].count &&
		    sr_bench_of(&b->rows[i], SR_BENCH_SHARE_ALL / 2) <
			    sr_bench_of(best, SR_BENCH_SHARE_ALL / 2))
			best = &b->rows[i];
	return best;
}

/* Of a row over another, in the same rounds; 0 when there is none. */
static double multiple(const struct sr_bench *b, uint32_t over, uint32_t under)
{
	const struct sr_bench_ratio ratio = { .over = &b->rows[over], .under = &b->rows[under] };
	double value = 0;

	return sr_bench_quotient(&value, &ratio) < 0 ? 0 : value;
}

static bool is_trip(uint32_t at)
{
	return table[at].kind < KIND_WORK;
}

/* Of the trips, or of the rates: each as a multiple of the raw line of its own rounds. */
static void json_multiples_of(const struct sr_bench *b, const char *key, bool trips, uint32_t line)
{
	const char *comma = "";

	(void)printf(",\"%s\":{", key);
	for (uint32_t i = 0; i < b->row_count; i++)
		if ((trips ? is_trip(i) : is_rate(&table[i])) && multiple(b, i, line) > 0) {
			(void)printf("%s\"%s\":%.*f", comma, table[i].key, trips ? 2 : 5,
				     multiple(b, i, line));
			comma = ",";
		}
	(void)printf("}");
}

static void json_multiples(const struct sr_bench *b)
{
	(void)printf(",\"interference\":%.2f,\"cache_interference\":%.2f,"
		     "\"memory_over_cache\":%.2f", multiple(b, ROW_WORK_BOTH, ROW_WORK),
		     multiple(b, ROW_WALK_BOTH, ROW_WALK), multiple(b, ROW_WALK_MEMORY, ROW_WALK));
	json_multiples_of(b, "multiples_of_line", true, ROW_LINES);
	if (all)
		json_multiples_of(b, "multiples_of_line_flow", false, ROW_LINES_FLOW);
}

static void print_multiples(const struct sr_bench *b)
{
	(void)printf("round trips as multiples of the raw cache line, one a direction:\n");
	for (uint32_t i = 0; i < b->row_count; i++)
		if (is_trip(i) && multiple(b, i, ROW_LINES) > 0)
			(void)printf("  %-52s %9.2f\n", table[i].text, multiple(b, i, ROW_LINES));
	if (!all)
		return;
	(void)printf("rates as multiples of the raw lines' one way:\n");
	for (uint32_t i = 0; i < b->row_count; i++)
		if (is_rate(&table[i]) && multiple(b, i, ROW_LINES_FLOW) > 0)
			(void)printf("  %-52s %9.4f\n", table[i].text,
				     multiple(b, i, ROW_LINES_FLOW));
}

static const char *cache_verdict(double both, double memory)
{
	if (memory < 2 * SHARED)
		return "nothing can be told: even alone it went to memory";
	return both >= SHARED ? "they share a last cache" : "they share no last cache";
}

/* By interference, and what the kernel was told: in a guest the two may differ. */
static void print_shared(const struct sr_bench *b)
{
	double core = multiple(b, ROW_WORK_BOTH, ROW_WORK);
	char threads[64], level2[64], level3[64];

	(void)printf("multiplying on one CPU takes %.2f times as long while the other does: by "
		     "that they %s\n", core, core >= SHARED ? "are siblings of one core" :
							      "are cores of their own");
	if (all) {
		double both = multiple(b, ROW_WALK_BOTH, ROW_WALK);
		double memory = multiple(b, ROW_WALK_MEMORY, ROW_WALK);

		(void)printf("a walk through %u KiB takes %.2f times as long when the other CPU reads "
			     "%zu MiB in between, and one through memory %.2f times: %s\n",
			     walks[WALK_CACHE].lines * WALK_LINE_BYTES >> 10, both,
			     MEMORY_BYTES >> 20, memory, cache_verdict(both, memory));
	}
	topology_read(b->cpus[0], "topology/thread_siblings_list", threads, sizeof threads);
	topology_read(b->cpus[0], "cache/index2/shared_cpu_list", level2, sizeof level2);
	topology_read(b->cpus[0], "cache/index3/shared_cpu_list", level3, sizeof level3);
	(void)printf("topology files of CPU %d: threads of its core: %s; its second cache is of CPUs: "
		     "%s; its third: %s\n", b->cpus[0], threads, level2, level3);
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
		{ "ck_over_ring_256", "ck_ring over ring 256/256", &r[ROW_PEER_CK], &r[ROW_EVEN],
		  with_peers ? 1 : 0, 1.1, true },
		{ "boost_over_ring_256", "boost::lockfree::spsc_queue over ring 256/256",
		  &r[ROW_PEER_BOOST], &r[ROW_EVEN], with_peers ? 1 : 0, 1.1, true },
		{ "dpdk_over_ring_256", "rte_ring (DPDK) over ring 256/256", &r[ROW_PEER_DPDK],
		  &r[ROW_EVEN], peers[PEER_OF(PEER_DPDK, PEER_256)].peer ? 1 : 0, 1.1, true },
		{ "pipe_over_ring_384", "two pipes, busy-polling, over ring 384/128", &r[ROW_PIPE],
		  &r[ROW_DEFAULT], 0, 0, false },
	};
	double rate = sr_bench_of(&r[ROW_RATE], SR_BENCH_SHARE_ALL / 2);
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (b->json)
		return code;
	print_multiples(b);
	print_shared(b);
	(void)printf("best socket: %s\n", wire->text);
	(void)printf("rate: %.2f million messages of %u bytes a second = %.2f GB/s; as slots, both "
		     "ways, %.2f GB/s\n", rate / 1e6, MESSAGE_BYTES, rate * MESSAGE_BYTES / 1e9,
		     rate * (SR_SUB_BYTES_DEFAULT + SR_CMP_BYTES) / 1e9);
	(void)printf("pages: %s\n", rings[0].own.notes & SR_NOTE_NO_HUGE_PAGES ?
		     "4 KiB, for want of 2 MiB ones" : "2 MiB");
	return code;
}

static struct sr_bench bench = { .name = "bench_ring",
				 .notice = SR_UNSEALED_NOTICE,
				 .rounds = 84,
				 .set_up = set_up,
				 .measure = measure,
				 .report = report,
				 .json_more = json_multiples,
				 .tear_down = tear_down };

static const struct sr_option options[] = {
	SR_BENCH_OPTIONS_ROUNDS(bench, "84"),
	{ "all", NULL, "64 and 1024 bytes too, everything one way, and what the CPUs share",
	  sr_set_true, &all, 0, 0 },
	{ "peers", NULL, "rings of other libraries too, as bench/peers/build.sh has built them",
	  sr_set_true, &with_peers, 0, 0 },
	{ "sqpoll", NULL, "io_uring's SQPOLL on fewer than 4 CPUs too: two threads too many",
	  sr_set_true, &sqpoll, 0, 0 },
	{ "vsock", NULL, "AF_VSOCK too, between two processes of this guest: never on a host",
	  sr_set_true, &vsock, 0, 0 },
};

static const struct sr_program program = {
	.name = "bench_ring",
	.purpose = "Round trips of the ring, of a cache line and of sockets, interleaved.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
