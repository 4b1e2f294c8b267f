/* SPDX-License-Identifier: MIT */
/*
 * bench_flood - what a flood of handshakes does to a session that trades.
 *
 * A sigring-local of the benchmark's own on the second CPU, a sealed session on the
 * first, one order in flight; windows with and without a flood alternate. In a flood
 * another process begins conversations through the agent at a steady rate: each asks
 * for a document and answers it with a handshake that is not authentic, which is the
 * dearest that a stranger can make the signer do. It keeps going when it is refused.
 *
 * The flooding process and the threads that it keeps busy run where the scheduler puts
 * them: with fewer than four cores they take turns with the two loops, and the figure
 * says more of the scheduler than of the signer.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sr_attach.h"
#include "sr_control.h"
#include "sr_histogram.h"
#include "sr_local_rig.h"

#define WINDOW_NS (300u * SR_NS_PER_MS)
#define READY_NS (30u * SR_NS_PER_S)
#define SAMPLES_MAX (1u << 22)
#define MESSAGE_BYTES 256u

enum { QUIET, FLOOD, KINDS };

/* Shared with the flooding process. */
struct flood {
	uint64_t on;
	uint64_t begun;      /* conversations */
	uint64_t documents;
	uint64_t handshakes; /* that the signer answered; it refuses them all */
	uint64_t turned_away;
};

static struct {
	uint32_t windows;
	uint32_t rate;
	int cpus[2];
	struct sr_client *client;
	struct sr_session *session;
	struct sr_histogram samples[KINDS];
	struct flood *flood;
	uint64_t number;
	unsigned char message[MESSAGE_BYTES];
	pid_t local, flooder;
	struct sr_bench bench; /* for its count of what disturbs */
} run = { .windows = 10, .rate = 1000 };

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

static void flood_main(void)
{
	uint64_t step_ns = SR_NS_PER_S / run.rate, at_ns = 0;

	sr_bench_child();
	for (;;) {
		uint64_t now_ns = sr_now_ns();

		if (!sr_load_relaxed(&run.flood->on)) {
			(void)usleep(1000);
			at_ns = 0;
			continue;
		}
		if (at_ns == 0)
			at_ns = now_ns;
		if (now_ns < at_ns)
			(void)usleep((useconds_t)((at_ns - now_ns) / 1000));
		at_ns += step_ns;
		converse(run.flood);
	}
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

static int window(uint32_t kind)
{
	uint64_t end_ns = sr_now_ns() + WINDOW_NS, begin_ns;
	int ret = 0;

	sr_store_relaxed(&run.flood->on, kind == FLOOD);
	while (ret >= 0 && (begin_ns = sr_now_ns()) < end_ns) {
		ret = once();
		(void)!sr_histogram_add(&run.samples[kind], sr_now_ns() - begin_ns);
	}
	sr_store_relaxed(&run.flood->on, 0);
	return ret < 0 ? ret : 0;
}

/* ---- set-up ---- */

static int start_local(struct sr_reason *why)
{
	char cpu[16];
	char *const argv[] = { "sigring-local", "--socket", rig.socket, "--keys", rig.keys,
			       "--cpu", cpu, "--wait", "spin", "--allow-snapshot", "--pool-slots",
			       "262144", "--pool-low", "1", "--refill", "idle", "--operators",
			       rig.operators, "--operators-needed", "1", "--manifest", rig.manifest,
			       "--trust-out", rig.trust, NULL };
	struct sr_options opt;
	int ret;

	(void)snprintf(cpu, sizeof cpu, "%d", run.cpus[1]);
	run.local = start("sigring-local", argv, NULL, 0);
	if (run.local < 0)
		return sr_reason_set(why, -errno, "cannot start sigring-local");
	ret = rig_await_trust(READY_NS, why);
	if (ret < 0)
		return ret;
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

static int set_up(struct sr_reason *why)
{
	int ret = sr_bench_cpus(run.cpus, why);

	if (!ret)
		ret = rig_find_programs(why);
	run.flood = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ret && run.flood == MAP_FAILED)
		ret = sr_reason_set(why, -ENOMEM, "out of memory");
	for (int i = 0; i < KINDS && !ret; i++)
		ret = sr_histogram_new(&run.samples[i], SAMPLES_MAX);
	if (!ret)
		ret = rig_provision(why);
	if (!ret)
		ret = start_local(why);
	if (ret)
		return ret;
	run.flooder = fork();
	if (run.flooder == 0)
		flood_main();
	if (run.flooder < 0 || sr_bench_pin(run.cpus[0]) < 0)
		return sr_reason_set(why, -EIO, "cannot start the flood");
	return 0;
}

static void tear_down(void)
{
	const pid_t pids[] = { run.flooder, run.local };

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

static void report(void)
{
	static const char *const names[KINDS] = { "quiet", "flood" };
	static const uint32_t shares[] = { 50000, 99000, 99900 };
	struct sr_machine machine;
	double at[KINDS][3];

	sr_machine_get(&machine);
	(void)printf("bench_flood %s: sealed, presigned, one order in flight; %u + %u windows of %u ms\n",
		     SR_VERSION, run.windows, run.windows, (unsigned int)(WINDOW_NS / SR_NS_PER_MS));
	sr_bench_print_machine(&machine, "");
	for (int kind = 0; kind < KINDS; kind++) {
		for (int i = 0; i < 3; i++)
			at[kind][i] =
				(double)sr_histogram_percentile(&run.samples[kind], shares[i]) / 1e3;
		(void)printf("  %s: p50 %.2f, p99 %.2f, p99.9 %.2f us\n", names[kind], at[kind][0],
			     at[kind][1], at[kind][2]);
	}
	(void)printf("  flood over quiet: p50 %.2f, p99 %.2f, p99.9 %.2f\n",
		     at[FLOOD][0] / at[QUIET][0], at[FLOOD][1] / at[QUIET][1],
		     at[FLOOD][2] / at[QUIET][2]);
	(void)printf("  no window was thrown away: a flood is a disturbance; steal %.0f ms, context "
		     "switches: %llu voluntary, %llu involuntary\n",
		     (double)run.bench.steal_ns / 1e6, (unsigned long long)run.bench.voluntary,
		     (unsigned long long)run.bench.involuntary);
	(void)printf("  %llu conversations of %u a second asked for: %llu documents, %llu "
		     "handshakes, all refused; %llu turned away before\n",
		     (unsigned long long)run.flood->begun, run.rate,
		     (unsigned long long)run.flood->documents,
		     (unsigned long long)run.flood->handshakes,
		     (unsigned long long)run.flood->turned_away);
}

static const struct sr_option options[] = {
	{ "windows", "N", "windows of each kind (10)", sr_set_u32, &run.windows, 1, 1000 },
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
	struct sr_reason why = { 0, "" };
	struct sr_bench_watch from;
	int ret = sr_config_args(&program, argc, argv, &why);

	if (ret >= 0)
		ret = ret < argc ? sr_reason_set(&why, -EINVAL, "unexpected argument `%s`",
						 argv[ret]) : set_up(&why);
	if (ret < 0 && !why.error)
		(void)sr_reason_set(&why, ret, "%s", strerror(-ret));
	memcpy(run.bench.cpus, run.cpus, sizeof run.cpus);
	run.bench.peer = run.local;
	from = sr_bench_look(&run.bench);
	for (uint32_t i = 0; i < 2 * run.windows && ret >= 0; i++)
		ret = window(i & 1);
	(void)sr_bench_disturbed(&run.bench, &from);
	if (ret >= 0 && (!sr_bench_tree(run.local) || !sr_bench_tree(run.flooder)))
		ret = sr_reason_set(&why, -EXDEV, "no ratio: a side is not of this run's processes");
	if (ret >= 0)
		report();
	else
		rig_show_log();
	tear_down();
	if (ret < 0)
		(void)fprintf(stderr, "bench_flood: %s\n", why.error ? why.text : strerror(-ret));
	return ret < 0 ? (why.error == -EINVAL ? 2 : 1) : 0;
}
