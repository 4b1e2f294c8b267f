/* SPDX-License-Identifier: MIT */
/*
 * bench_flood - what a flood of handshakes does to a session that trades.
 *
 * A sigring-local of the benchmark's own on the second CPU, a sealed session on the
 * first, orders evenly spaced, their latencies from when they were due: an order that a
 * slow one has held up is slow as well. A round has a window without a flood and one with
 * it. In a flood another process begins conversations through the agent at a steady rate:
 * each asks for a document and answers it with a handshake that is not authentic, which is
 * the dearest that a stranger can make the signer do. It keeps going when it is refused. In
 * a quiet window it is asleep, and nothing of a flood is left to do.
 *
 * The flooding process and the threads that it keeps busy run where the scheduler puts
 * them: with fewer than four cores they take turns with the two loops, and the figure
 * says more of the scheduler than of the signer. So switches are no disturbance in a flood,
 * only in a quiet window. Nonces are made beforehand, for all windows.
 */
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sr_attach.h"
#include "sr_control.h"
#include "sr_local_rig.h"
#include "sr_tails.h"

#define ORDERS 1000u /* of a window: ten lie beyond its p99 */
#define ORDERS_TEST 8u
#define SPACING_NS (100u * SR_NS_PER_US)
#define SETTLE_NS (50u * SR_NS_PER_MS) /* what a flood leaves to do is done; one is under way */
#define READY_NS (60u * SR_NS_PER_S)
#define MESSAGE_BYTES 256u

enum { QUIET, FLOOD, KINDS };
enum { ROW_QUIET, ROW_FLOOD, ROW_QUIET_P99, ROW_FLOOD_P99, ROWS };

/* Shared with the flooding process. */
struct flood {
	uint64_t on;
	uint64_t idle;       /* asleep until it is told again */
	uint64_t begun;      /* conversations */
	uint64_t documents;
	uint64_t handshakes; /* that the signer answered; it refuses them all */
	uint64_t turned_away;
};

static struct {
	uint32_t rate;
	struct sr_client *client;
	struct sr_session *session;
	struct sr_histogram samples[ROWS]; /* of the first KINDS */
	struct flood *flood;
	int wake; /* an eventfd on which the flooding process sleeps */
	uint64_t number;
	unsigned char message[MESSAGE_BYTES];
	pid_t flooder;
} run = { .rate = 1000, .wake = -1 };

/* ---- the flood ---- */

static ssize_t next_packet(int sock, unsigned char *data, size_t room)
{
	struct timeval patience = { .tv_sec = 1 };

	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return recv(sock, data, room, 0);
}

/* As far as the signer lets it come. */
static void converse(struct flood *f)
{
	static unsigned char message[SR_CONTROL_BYTES_MAX], noise[SR_BEGIN_NOISE_BYTES];
	unsigned char nonce[SR_CONTROL_NONCE_BYTES], out[SR_BEGIN_BYTES];
	struct sr_control_begin begin = { .token = { 1, ++f->begun } };
	struct sr_control_document document;
	union sr_attach_message attach;
	struct sr_control control;
	int sock = sr_attach_connect(rig.socket);
	ssize_t n;

	if (sock < 0)
		return;
	(void)fcntl(sock, F_SETFL, fcntl(sock, F_GETFL) & ~O_NONBLOCK);
	memset(nonce, (int)f->begun, sizeof nonce);
	sr_put64(nonce, f->begun);
	if (sr_attach_send(sock, &attach, SR_ATTACH_CONTROL, NULL, 0) ||
	    send(sock, out, sr_control_attest_put(out, nonce), MSG_NOSIGNAL) < 0)
		goto end;
	n = next_packet(sock, message, sizeof message);
	if (n <= 0 || sr_control_whole(&control, message, (size_t)n) ||
	    control.kind != SR_CONTROL_DOCUMENT || sr_control_document_get(&document, &control)) {
		f->turned_away++;
		goto end;
	}
	f->documents++;
	memcpy(begin.boot_id, document.terms.boot_id, sizeof begin.boot_id);
	memcpy(begin.nonce, nonce, sizeof begin.nonce);
	if (sr_document_hash(begin.binding, document.data, document.bytes))
		goto end;
	memset(noise, 9, sizeof noise);
	sr_put64(noise, f->begun);
	if (send(sock, out, sr_control_begin_put(out, &begin, noise), MSG_NOSIGNAL) > 0 &&
	    next_packet(sock, message, sizeof message) > 0)
		f->handshakes++;
end:
	(void)close(sock);
}

static void flood_main(const struct sr_bench *b)
{
	uint64_t step_ns = SR_NS_PER_S / run.rate, told;

	sr_bench_child();
	(void)sched_setaffinity(0, sizeof b->allowed, &b->allowed);
	for (;;) {
		uint64_t at_ns;

		/* Pairs with the acquire in flood_stop(): what it counts is complete. */
		sr_store_release(&run.flood->idle, 1);
		if (read(run.wake, &told, sizeof told) != sizeof told)
			_exit(1);
		for (at_ns = sr_now_ns(); sr_load_relaxed(&run.flood->on); at_ns += step_ns) {
			uint64_t now_ns = sr_now_ns();

			if (now_ns < at_ns)
				(void)usleep((useconds_t)((at_ns - now_ns) / 1000));
			converse(run.flood);
		}
	}
}

static int flood_start(void)
{
	const uint64_t one = 1;

	sr_store_relaxed(&run.flood->idle, 0);
	sr_store_relaxed(&run.flood->on, 1);
	return write(run.wake, &one, sizeof one) == sizeof one ? 0 : -errno;
}

static void flood_stop(void)
{
	sr_store_relaxed(&run.flood->on, 0);
	/* Pairs with the release in flood_main(). */
	while (!sr_load_acquire(&run.flood->idle))
		(void)usleep(1000);
}

/* ---- the session ---- */

static int once(void)
{
	struct sr_request request = {
		.key = 1,
		.type = SR_ECDSA_SHA256,
		.body_bytes = MESSAGE_BYTES,
		.body = run.message,
		.user_data = ++run.number,
	};
	struct sr_completion c;
	int ret;

	sr_put64(run.message, run.number);
	ret = sr_submit(run.session, &request);
	if (ret < 0)
		return ret;
	while ((ret = sr_poll(run.session, &c, 1)) == 0)
		;
	if (ret < 0)
		return ret;
	if (c.status != SR_OK || c.user_data != run.number)
		return -EBADMSG;
	return 0;
}

static void await_due(uint64_t due_ns)
{
	while (sr_now_ns() < due_ns)
		sr_pause();
}

/*
 * @values: @count latencies, from when each order of the window was due.
 * @best: the shortest from its submit, which nothing before it has held up.
 */
static int window(uint32_t kind, double *values, double *best, uint32_t count, uint64_t delay_ns)
{
	uint64_t start_ns = sr_now_ns() + SPACING_NS, best_ns = UINT64_MAX;
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++) {
		uint64_t due_ns = start_ns + i * SPACING_NS, sent_ns, end_ns, took_ns;

		await_due(due_ns);
		sent_ns = sr_now_ns();
		ret = once();
		sr_bench_spin(delay_ns);
		end_ns = sr_now_ns();
		took_ns = end_ns - due_ns;
		best_ns = end_ns - sent_ns < best_ns ? end_ns - sent_ns : best_ns;
		values[i] = (double)took_ns;
		(void)!sr_histogram_add(&run.samples[kind], took_ns);
	}
	*best = (double)best_ns;
	return ret;
}

static int flooded(struct sr_bench *b, double *values, double *best, uint32_t count,
		   uint64_t delay_ns)
{
	struct sr_bench_watch from = sr_bench_look(b);
	int ret = flood_start();

	(void)usleep(SETTLE_NS / 1000);
	if (!ret)
		ret = window(FLOOD, values, best, count, delay_ns);
	flood_stop();
	(void)usleep(SETTLE_NS / 1000);
	sr_bench_excuse(b, &from);
	return ret;
}

/* The first two rows are windows; the others are the same windows' p99. */
static int measure(struct sr_bench *b, uint32_t at)
{
	uint32_t count = b->selftest ? ORDERS_TEST : ORDERS;
	uint64_t delay_ns = (int)at == b->delay_row ? b->delay_ns : 0;
	uint64_t begun = run.flood->begun;
	double values[ORDERS], best = 0;
	int ret;

	if (at >= KINDS)
		return 0;
	ret = at == FLOOD ? flooded(b, values, &best, count, delay_ns) :
			    window(QUIET, values, &best, count, delay_ns);
	if (ret < 0)
		return ret;
	if (at == QUIET && run.flood->begun != begun)
		return -EBUSY;
	b->rows[at].now = sr_bench_rank(values, count, SR_BENCH_SHARE_ALL / 2);
	b->rows[at].best = best;
	b->rows[at].tree = sr_bench_tree(b->peer);
	if (b->row_count > KINDS) {
		b->rows[KINDS + at].now = sr_bench_rank(values, count, 99000);
		b->rows[KINDS + at].tree = b->rows[at].tree;
	}
	return 0;
}

/* ---- set-up ---- */

static uint32_t pool_slots(const struct sr_bench *b)
{
	uint64_t wanted = b->selftest ? 4096 : (uint64_t)b->rounds * SR_BENCH_TRIES * KINDS * ORDERS;
	uint32_t slots = 4096;

	while (slots < wanted && slots < 262144)
		slots *= 2;
	return slots;
}

static int open_session(struct sr_reason *why)
{
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = rig.socket;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = READY_NS;
	opt.stale_ns = 60u * SR_NS_PER_S;
	opt.identity = rig.identity;
	opt.trust = rig.trust;
	ret = sr_open(&run.client, &opt, why);
	return ret ? ret : sr_session_open(&run.session, run.client, NULL, why);
}

static int start_flooder(const struct sr_bench *b, struct sr_reason *why)
{
	run.wake = eventfd(0, EFD_CLOEXEC);
	if (run.wake < 0)
		return sr_reason_set(why, -errno, "cannot make an eventfd");
	run.flooder = fork();
	if (run.flooder == 0)
		flood_main(b);
	if (run.flooder < 0)
		return sr_reason_set(why, -errno, "cannot start the flood");
	flood_stop();
	return 0;
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	size_t room = (size_t)ORDERS * (b->selftest ? 1 : b->rounds * SR_BENCH_TRIES);
	int ret = rig_find_programs(why);

	(void)sr_bench_row(b, "quiet", "a sealed order, no flood: p50 of a window", SR_BENCH_NS);
	(void)sr_bench_row(b, "flood", "in a flood of handshakes: p50", SR_BENCH_NS);
	if (!b->selftest) { /* which asks each row for a delay of its own */
		(void)sr_bench_row(b, "quiet_p99", "no flood: p99 of a window", SR_BENCH_NS);
		(void)sr_bench_row(b, "flood_p99", "in a flood of handshakes: p99", SR_BENCH_NS);
	}
	run.flood = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ret && run.flood == MAP_FAILED)
		ret = sr_reason_set(why, -ENOMEM, "out of memory");
	for (int i = 0; i < KINDS && !ret; i++)
		ret = sr_histogram_new(&run.samples[i], room);
	if (!ret)
		ret = rig_provision(why);
	if (!ret)
		ret = rig_start(b, pool_slots(b), READY_NS, why);
	if (!ret)
		ret = open_session(why);
	if (!ret)
		ret = start_flooder(b, why);
	(void)signal(SIGCHLD, sr_bench_hung);
	return ret;
}

static void tear_down(struct sr_bench *b)
{
	const pid_t pids[] = { run.flooder, b->peer };

	sr_close(run.client);
	for (size_t i = 0; i < 2; i++)
		if (pids[i] > 0) {
			(void)kill(pids[i], i ? SIGTERM : SIGKILL);
			(void)waitpid(pids[i], NULL, 0);
		}
	rig_remove();
	for (int i = 0; i < KINDS; i++)
		sr_histogram_delete(&run.samples[i]);
}

static int check(struct sr_bench *b, struct sr_reason *why)
{
	const struct flood *f = run.flood;

	if (!sr_bench_tree(b->peer) || !sr_bench_tree(run.flooder))
		return sr_reason_set(why, -EXDEV, "a side is not of this run's processes");
	if (!f->documents)
		return sr_reason_set(why, -EIO, "no conversation of the flood got a document (%llu "
				     "begun)", (unsigned long long)f->begun);
	return rig_check_pool(why);
}

/* ---- the figures ---- */

static void json_flood(const struct sr_bench *b)
{
	const struct flood *f = run.flood;

	(void)printf(",\"flood\":{\"rate\":%u,\"begun\":%llu,\"documents\":%llu,"
		     "\"handshakes\":%llu,\"turned_away\":%llu}", run.rate,
		     (unsigned long long)f->begun, (unsigned long long)f->documents,
		     (unsigned long long)f->handshakes, (unsigned long long)f->turned_away);
	sr_tails_json(b, run.samples, NULL);
}

static void print_samples(const struct sr_bench *b)
{
	const struct flood *f = run.flood;

	sr_tails_print(b, run.samples, NULL, "every order, from when it was due");
	(void)printf("flood: %u conversations a second asked for; %llu begun, %llu documents, %llu "
		     "handshakes, all refused; %llu turned away before; %ld CPUs for two loops and the "
		     "flood's threads; pool-dry 0\n", run.rate, (unsigned long long)f->begun,
		     (unsigned long long)f->documents, (unsigned long long)f->handshakes,
		     (unsigned long long)f->turned_away, sysconf(_SC_NPROCESSORS_ONLN));
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows;
	const struct sr_bench_ratio ratios[] = {
		{ "flood_over_quiet", "p50 in a flood over p50 without", &r[ROW_FLOOD],
		  &r[ROW_QUIET], 0, 0, false },
		{ "flood_over_quiet_p99", "p99 in a flood over p99 without", &r[ROW_FLOOD_P99],
		  &r[ROW_QUIET_P99], 0, 0, false },
	};
	int code = sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);

	if (!b->json)
		print_samples(b);
	return code;
}

static struct sr_bench bench = {
	.name = "bench_flood",
	.notice = "sealed, presigned, an order each 100 us; switches in a flood are no disturbance",
	.rounds = 21,
	.test_delay_ns = 20u * SR_NS_PER_MS,
	.set_up = set_up,
	.measure = measure,
	.check = check,
	.log = rig_show_log,
	.report = report,
	.json_more = json_flood,
	.tear_down = tear_down,
};

static const struct sr_option options[] = {
	SR_BENCH_OPTIONS(bench),
	{ "rate", "N", "conversations a second (1000)", sr_set_u32, &run.rate, 1, 100000 },
};

static const struct sr_program program = {
	.name = "bench_flood",
	.purpose = "A sealed session's latency with and without a flood of handshakes.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
