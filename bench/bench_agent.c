/* SPDX-License-Identifier: MIT */
/*
 * bench_agent - what the agent adds to the stream that it drives.
 *
 * A trading thread, an agent and a signer are three loops; this measures the
 * agent with two CPUs, so submit, turns of the agent's loop and poll follow one
 * another on one thread, and an echo on the other CPU plays the signer: it answers
 * each DATA frame by a REPLY. The floor is a bare ping-pong of as many bytes, on a
 * Unix stream to the same echo, both ends busy-polling. The agent is the product's,
 * attach thread and all, once for each way of driving the stream; and once over no
 * stream at all, which shows what client and agent cost by themselves.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sigring.h"
#include "sr_agent_state.h"
#include "sr_bench.h"

#define MESSAGE_BYTES 256u
#define BATCH 32u
#define BURST 16u /* records in flight in the burst rows */
#define BATCHES_MAX 64u
#define DATA_BYTES (SR_FRAME_HEADER_BYTES + SR_SUB_BYTES_DEFAULT)
#define REPLY_BYTES (SR_FRAME_HEADER_BYTES + SR_CMP_BYTES)
#define CREDITS 256u
#define BUFFER_BYTES 65536u

enum lane { LANE_BARE, LANE_DIRECT, LANE_URING, LANES, LANE_NONE = LANES, AGENTS };

/* One page that both processes map. */
struct shared {
	SR_ALIGNED(SR_LINE_BYTES) uint64_t order; /* raised: look at this lane alone */
	uint32_t lane;
	uint64_t delay_ns;
	SR_ALIGNED(SR_LINE_BYTES) uint64_t seen; /* the echo's: order that it follows */
	uint32_t connected; /* the echo's: streams that it has accepted */
};

/* The far end of a stream, in the echo; or of no stream, in this process. */
struct echo {
	int fd;
	uint32_t sessions;
	size_t in_bytes;
	size_t out_bytes;
	unsigned char in[BUFFER_BYTES];
	unsigned char out[BUFFER_BYTES];
};

struct agent {
	struct sr_agent *agent;
	struct sr_client *client;
	struct sr_session *session;
	char socket[96];
};

static struct shared *shared;
static char dir[64];
static struct sr_address echo_address;
static struct echo echoes[LANES];
static struct echo near_echo;
static int bare_fd;
static struct agent agents[AGENTS];
static unsigned char message[MESSAGE_BYTES];
static uint64_t number;

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "bench_agent: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* ---- the echo ---- */

static void put_hello(struct echo *e)
{
	struct sr_hello hello = {
		.protocol = SR_PROTOCOL,
		.credit_records = CREDITS,
		.slot_bytes_max = SR_SUB_BYTES_DEFAULT,
		.write_bytes_max = SR_WRITE_BYTES_DEFAULT,
		.sessions_max = 1,
		.features = SR_HELLO_UNSEALED,
		.boot_id = { 1, 1 },
	};
	unsigned char *at = e->out + e->out_bytes;

	e->out_bytes += sr_frame_put(at, SR_FRAME_HELLO, 0, 0, SR_HELLO_BYTES);
	sr_hello_put(at + SR_FRAME_HEADER_BYTES, &hello);
}

static void put_opened(struct echo *e, const struct sr_frame *f)
{
	unsigned char *at = e->out + e->out_bytes;
	struct sr_open_request request;
	struct sr_opened opened = { .result = SR_OPENED_OK };

	if (sr_open_get(&request, f) < 0)
		return;
	opened.cookie = request.cookie;
	e->sessions++;
	e->out_bytes += sr_frame_put(at, SR_FRAME_OPENED, e->sessions, f->epoch, SR_OPENED_BYTES);
	sr_opened_put(at + SR_FRAME_HEADER_BYTES, &opened);
}

static void put_reply(struct echo *e, const struct sr_frame *f)
{
	unsigned char *at = e->out + e->out_bytes;
	unsigned char *record = at + SR_FRAME_HEADER_BYTES;

	e->out_bytes += sr_frame_put(at, SR_FRAME_REPLY, f->session, f->epoch, SR_CMP_BYTES);
	memset(record, 0, SR_CMP_BYTES);
	memcpy(record, f->payload, SR_SLOT_WORD_BYTES);
	record[SR_CMP_KIND] = SR_KIND_UNSEALED;
}

/* Answers what is whole of the input; whatever is none of ours is passed over. */
static void echo_frames(struct echo *e, uint64_t delay_ns)
{
	struct sr_frame f;
	size_t at = 0;

	while (sr_frame_cut(&f, e->in + at, e->in_bytes - at) == 0 &&
	       sizeof e->out - e->out_bytes >= REPLY_BYTES) {
		if (f.kind == SR_FRAME_DATA) {
			if (delay_ns)
				sr_bench_spin(delay_ns);
			put_reply(e, &f);
		} else if (f.kind == SR_FRAME_OPEN) {
			put_opened(e, &f);
		}
		at += f.bytes;
	}
	e->in_bytes -= at;
	memmove(e->in, e->in + at, e->in_bytes);
}

/* The bare lane: so many bytes in, so many out, nothing looked at. */
static void echo_bare(struct echo *e, uint64_t delay_ns)
{
	while (e->in_bytes >= DATA_BYTES) {
		if (delay_ns)
			sr_bench_spin(delay_ns);
		memcpy(e->out + e->out_bytes, e->in, SR_SLOT_WORD_BYTES);
		e->out_bytes += REPLY_BYTES;
		e->in_bytes -= DATA_BYTES;
		memmove(e->in, e->in + DATA_BYTES, e->in_bytes);
	}
}

static void echo_flush(struct echo *e)
{
	size_t done = 0;

	while (done < e->out_bytes) {
		ssize_t n = send(e->fd, e->out + done, e->out_bytes - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			_exit(0); /* the benchmark is over */
	}
	e->out_bytes = 0;
}

/* Hot: the echo never returns, which the compiler takes for cold. */
static __attribute__((noinline, hot)) void echo_turn(enum lane lane, uint64_t delay_ns)
{
	struct echo *e = &echoes[lane];
	ssize_t n = recv(e->fd, e->in + e->in_bytes, sizeof e->in - e->in_bytes, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		_exit(0);
	e->in_bytes += (size_t)n;
	if (lane == LANE_BARE)
		echo_bare(e, delay_ns);
	else
		echo_frames(e, delay_ns);
	echo_flush(e);
}

static void echo_accept(int listener, uint32_t *connected)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (*connected == LANES)
		die("too many streams");
	echoes[*connected].fd = fd;
	if (*connected != LANE_BARE)
		put_hello(&echoes[*connected]);
	echo_flush(&echoes[*connected]);
	sr_store32_release(&shared->connected, ++*connected);
}

/* While nothing is measured it accepts: the order of connecting is the lane's. */
static _Noreturn void echo_main(const struct sr_bench *b, int listener)
{
	enum lane lane = LANE_NONE;
	uint32_t connected = 0;
	uint64_t order = 0;

	sr_bench_child();
	if (sr_bench_pin(b->cpus[1]) < 0)
		die("cannot pin");
	for (;;) {
		uint64_t now = sr_load_acquire(&shared->order); /* pairs with follow() */

		if (now != order) {
			order = now;
			lane = (enum lane)shared->lane;
			sr_store_release(&shared->seen, order); /* pairs with follow() */
		}
		if (lane == LANE_NONE) {
			echo_accept(listener, &connected);
			for (uint32_t i = LANE_DIRECT; i < connected; i++)
				echo_turn((enum lane)i, 0);
		} else {
			echo_turn(lane, shared->delay_ns);
		}
	}
}

static void follow(enum lane lane, uint64_t delay_ns)
{
	uint64_t order = shared->order + 1;

	shared->lane = lane;
	shared->delay_ns = delay_ns;
	sr_store_release(&shared->order, order); /* pairs with the acquire in echo_main() */
	while (sr_load_acquire(&shared->seen) != order) /* pairs with its release */
		sr_pause();
}

/* ---- a transport without a stream: the echo is called ---- */

static uint64_t near_delay_ns;

static int near_connect(struct sr_transport *t)
{
	(void)t;
	put_hello(&near_echo);
	return 0;
}

static ssize_t near_send(struct sr_transport *t, const void *data, size_t bytes)
{
	(void)t;
	if (bytes > sizeof near_echo.in - near_echo.in_bytes)
		return -EAGAIN;
	memcpy(near_echo.in + near_echo.in_bytes, data, bytes);
	near_echo.in_bytes += bytes;
	echo_frames(&near_echo, near_delay_ns);
	return (ssize_t)bytes;
}

static ssize_t near_recv(struct sr_transport *t, void *data, size_t bytes)
{
	size_t n = near_echo.out_bytes < bytes ? near_echo.out_bytes : bytes;

	(void)t;
	if (n == 0)
		return -EAGAIN;
	memcpy(data, near_echo.out, n);
	near_echo.out_bytes -= n;
	memmove(near_echo.out, near_echo.out + n, near_echo.out_bytes);
	return (ssize_t)n;
}

static void near_nothing(struct sr_transport *t)
{
	(void)t;
}

static int near_wait_fd(const struct sr_transport *t)
{
	(void)t;
	return -1;
}

static const struct sr_transport_ops near_ops = {
	.name = "none",
	.connect = near_connect,
	.send = near_send,
	.recv = near_recv,
	.hangup = near_nothing,
	.wait_fd = near_wait_fd,
	.destroy = near_nothing,
};
static struct sr_transport near_transport = { .ops = &near_ops, .cheap_recv = true };

/* ---- agents ---- */

static void *open_main(void *arg)
{
	struct agent *a = arg;
	struct sr_reason why = { 0, "" };
	struct sr_options opt;
	int ret;

	sr_options_init(&opt);
	opt.socket = a->socket;
	opt.flags = SR_OPT_UNSEALED;
	opt.wait = SR_WAIT_SPIN;
	opt.timeout_ns = 10ull * SR_NS_PER_S;
	opt.stale_ns = SR_BENCH_HANG_S * (uint64_t)SR_NS_PER_S; /* it turns in its rows only */
	ret = sr_open(&a->client, &opt, &why);
	if (ret == 0)
		ret = sr_session_open(&a->session, a->client, NULL, &why);
	if (ret < 0) {
		(void)fprintf(stderr, "bench_agent: %s\n", why.text);
		_exit(1);
	}
	return NULL;
}

/* The loop's thread must be this one from the first turn on, so the client is the
 * one that is opened from another thread. */
static int agent_start(struct agent *a, const char *name, struct sr_transport *transport)
{
	struct sr_agent_config config;
	struct sr_reason why = { 0, "" };
	char text[sizeof a->socket + 8];
	pthread_t opener;
	int ret;

	(void)snprintf(a->socket, sizeof a->socket, "%s/%s.sock", dir, name);
	(void)snprintf(text, sizeof text, "unix:%s", a->socket);
	sr_agent_config_init(&config);
	config.uids[config.uid_count++] = (uint32_t)geteuid();
	config.wait = SR_WAIT_SPIN;
	ret = sr_address_parse(&config.listen, text, &why);
	if (ret == 0)
		ret = sr_agent_new(&a->agent, &config, transport, &why);
	if (ret < 0) {
		(void)fprintf(stderr, "bench_agent: %s\n", why.text);
		return ret;
	}
	a->agent->wait = SR_WAIT_SPIN;
	a->agent->numa_node = -1;
	if (pthread_create(&a->agent->attach_thread, NULL, sr_agent_attach_main, a->agent) ||
	    pthread_create(&opener, NULL, open_main, a))
		return -EAGAIN;
	while (pthread_tryjoin_np(opener, NULL) == EBUSY)
		if (!sr_agent_loop_turn(a->agent))
			(void)sched_yield();
	return 0;
}

static void agent_stop(struct agent *a)
{
	if (!a->agent)
		return;
	sr_close(a->client);
	sr_agent_stop(a->agent);
	sr_doorbell_ring(a->agent->wake_fd);
	(void)pthread_join(a->agent->attach_thread, NULL);
	sr_agent_delete(a->agent);
	(void)unlink(a->socket);
}

/* ---- the rows ---- */

enum row { ROW_BARE, ROW_DIRECT, ROW_URING, ROW_BARE_BURST, ROW_DIRECT_BURST, ROW_URING_BURST,
	   ROW_NEAR, ROW_IDLE, ROWS };

static const struct {
	const char *key;
	const char *text;
	enum lane lane;
	uint32_t burst;
	uint32_t batches;
} table[ROWS] = {
	[ROW_BARE] = { "bare", "bare ping-pong, 400 bytes out, 144 back", LANE_BARE, 1, 32 },
	[ROW_DIRECT] = { "direct", "client and agent, send and recv", LANE_DIRECT, 1, 32 },
	[ROW_URING] = { "uring", "client and agent, io_uring", LANE_URING, 1, 32 },
	[ROW_BARE_BURST] = { "bare_16", "bare, 16 at once, a record", LANE_BARE, BURST, 8 },
	[ROW_DIRECT_BURST] = { "direct_16", "send and recv, 16 at once, a record", LANE_DIRECT, BURST,
			       8 },
	[ROW_URING_BURST] = { "uring_16", "io_uring, 16 at once, a record", LANE_URING, BURST, 8 },
	[ROW_NEAR] = { "alone", "client and agent alone, without a stream", LANE_NONE, 1, 64 },
	[ROW_IDLE] = { "idle", "an idle turn of the agent", LANE_NONE, 1, 64 },
};

static void bare_ask(uint32_t burst)
{
	static unsigned char out[BURST * DATA_BYTES], in[BURST * REPLY_BYTES];
	size_t bytes = (size_t)burst * DATA_BYTES, want = (size_t)burst * REPLY_BYTES;
	size_t sent = 0, got = 0;

	sr_put64(out, ++number);
	while (sent < bytes || got < want) {
		size_t left = bytes - sent;
		ssize_t n;

		if (left > SR_WRITE_BYTES_DEFAULT)
			left = SR_WRITE_BYTES_DEFAULT;
		n = left ? send(bare_fd, out + sent, left, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno != EAGAIN)
			die("send");
		n = recv(bare_fd, in + got, want - got, MSG_DONTWAIT);
		if (n > 0)
			got += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			die("recv");
	}
	if (burst == 1 && sr_get64(in) != number) {
		errno = EBADMSG;
		die("a reply is not the request's");
	}
}

static void agent_ask(struct agent *a, uint32_t burst)
{
	struct sr_completion completions[BURST];
	struct sr_request request = { .key = 1, .type = SR_ECDSA_SHA256,
				      .body_bytes = MESSAGE_BYTES, .body = message };
	uint64_t first = number + 1;
	uint32_t got = 0;

	for (uint32_t i = 0; i < burst; i++) {
		request.user_data = ++number;
		sr_put64(message, number);
		if (sr_submit(a->session, &request) < 0)
			die("sr_submit");
	}
	while (got < burst) {
		int n;

		(void)sr_agent_loop_turn(a->agent);
		n = sr_poll(a->session, completions, BURST);
		for (int i = 0; i < n; i++)
			if (completions[i].status != SR_OK ||
			    completions[i].user_data != first + got++) {
				errno = EBADMSG;
				die("a completion is wrong");
			}
		if (n < 0) {
			errno = -n;
			die("sr_poll");
		}
	}
}

static __attribute__((noinline, hot)) void ask(uint32_t at, uint32_t count)
{
	while (count--) {
		if (at == ROW_IDLE)
			(void)sr_agent_loop_turn(agents[LANE_NONE].agent);
		else if (table[at].lane == LANE_BARE)
			bare_ask(table[at].burst);
		else
			agent_ask(&agents[table[at].lane], table[at].burst);
	}
}

/* An idle turn has no other side: its delay is ours. */
static uint64_t idle_delay_ns(const struct sr_bench *b, uint32_t at)
{
	return at == ROW_IDLE && b->delay_row == ROW_IDLE ? b->delay_ns : 0;
}

static int measure(struct sr_bench *b, uint32_t at)
{
	struct sr_bench_row *row = &b->rows[at];
	uint64_t delay_ns = b->delay_row == (int)at ? b->delay_ns : 0;
	uint32_t batch = b->selftest ? 1 : BATCH;
	uint32_t batches = b->selftest ? 4 : table[at].batches;
	double values[BATCHES_MAX];

	if (table[at].lane != LANE_NONE)
		follow(table[at].lane, delay_ns);
	near_delay_ns = at == ROW_NEAR ? delay_ns : 0;
	ask(at, b->selftest ? 1 : 2 * BATCH); /* warms, and gives the agent's heartbeat a turn */
	for (uint32_t i = 0; i < batches; i++) {
		uint64_t start_ns = sr_now_ns();

		ask(at, batch);
		if (idle_delay_ns(b, at))
			sr_bench_spin(batch * idle_delay_ns(b, at));
		values[i] = (double)(sr_now_ns() - start_ns) / batch / table[at].burst;
	}
	row->now = sr_bench_rank(values, batches, SR_BENCH_SHARE_ALL / 2);
	row->best = values[0];
	row->tree = sr_bench_tree(table[at].lane == LANE_NONE ? getpid() : b->peer);
	return 0;
}

/* ---- setting up ---- */

static void await_stream(uint32_t count)
{
	while (sr_load32_acquire(&shared->connected) != count)
		(void)sched_yield();
}

static int set_up_agents(struct sr_bench *b)
{
	struct sr_transport *t;
	int ret = sr_stream_new(&t, &echo_address);

	if (ret == 0)
		ret = agent_start(&agents[LANE_DIRECT], "direct", t);
	if (ret < 0)
		return ret;
	ret = sr_stream_uring_new(&t, &echo_address);
	if (ret < 0)
		b->rows[ROW_URING].missing = b->rows[ROW_URING_BURST].missing =
			"io_uring is absent or forbidden";
	else
		ret = agent_start(&agents[LANE_URING], "uring", t);
	if (ret < 0 && !b->rows[ROW_URING].missing)
		return ret;
	return agent_start(&agents[LANE_NONE], "near", &near_transport);
}

static int set_up(struct sr_bench *b, struct sr_reason *why)
{
	char text[96];
	int listener, ret;

	for (uint32_t i = 0; i < ROWS; i++)
		(void)sr_bench_row(b, table[i].key, table[i].text, SR_BENCH_NS);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return sr_reason_set(why, -errno, "cannot start: %s", strerror(errno));
	ret = sr_bench_folder(dir, sizeof dir, why);
	if (ret < 0)
		return ret;
	(void)snprintf(text, sizeof text, "unix:%s/echo.sock", dir);
	ret = sr_address_parse(&echo_address, text, why);
	if (ret < 0)
		return ret;
	listener = sr_address_listen(&echo_address, SOCK_STREAM, 0600, why);
	if (listener < 0)
		return listener;
	shared->lane = LANE_NONE;
	(void)signal(SIGCHLD, sr_bench_hung);
	b->peer = fork();
	if (b->peer < 0)
		return sr_reason_set(why, -errno, "fork: %s", strerror(errno));
	if (b->peer == 0)
		echo_main(b, listener);
	(void)close(listener);
	bare_fd = sr_address_connect(&echo_address);
	if (bare_fd < 0)
		return sr_reason_set(why, bare_fd, "cannot connect to the echo");
	await_stream(LANE_BARE + 1);
	return set_up_agents(b);
}

static void tear_down(struct sr_bench *b)
{
	char path[96];

	for (int i = 0; i < AGENTS; i++)
		agent_stop(&agents[i]);
	if (b->peer > 0) {
		(void)kill(b->peer, SIGKILL);
		(void)waitpid(b->peer, NULL, 0);
	}
	(void)snprintf(path, sizeof path, "%s/echo.sock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

static int report(const struct sr_bench *b)
{
	const struct sr_bench_row *r = b->rows;
	const struct sr_bench_ratio ratios[] = {
		{ "direct_over_bare", "agent by send and recv over the bare ping-pong",
		  &r[ROW_DIRECT], &r[ROW_BARE], 1.25, 1.1, false },
		{ "uring_over_bare", "agent by io_uring over the bare ping-pong", &r[ROW_URING],
		  &r[ROW_BARE], 0, 0, false },
		{ "uring_over_direct", "io_uring over send and recv", &r[ROW_URING],
		  &r[ROW_DIRECT], 0, 0, false },
		{ "direct_16_over_bare_16", "agent by send and recv over bare, 16 at once",
		  &r[ROW_DIRECT_BURST], &r[ROW_BARE_BURST], 0, 0, false },
		{ "uring_16_over_direct_16", "io_uring over send and recv, 16 at once",
		  &r[ROW_URING_BURST], &r[ROW_DIRECT_BURST], 0, 0, false },
	};

	return sr_bench_end(b, ratios, sizeof ratios / sizeof ratios[0]);
}

static struct sr_bench bench = {
	.name = "bench_agent",
	.notice = SR_UNSEALED_NOTICE,
	.rounds = 21,
	.set_up = set_up,
	.measure = measure,
	.report = report,
	.tear_down = tear_down,
};

static const struct sr_option options[] = { SR_BENCH_OPTIONS(bench) };

static const struct sr_program program = {
	.name = "bench_agent",
	.purpose = "Turns of the agent against a bare ping-pong on the same stream, interleaved.",
	.operands = "",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
	return sr_bench_main(&bench, &program, argc, argv);
}
