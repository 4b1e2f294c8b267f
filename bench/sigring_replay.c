/* SPDX-License-Identifier: MIT */
/*
 * sigring-replay - the example engine: replays a file of orders through
 * libsigring and checks every signature that comes back.
 *
 * One trading thread owns the session. It touches nothing but memory while it
 * runs: results have their place before the first order goes out. A second
 * thread does the library's cold work. Verification comes after the run,
 * because one check costs more than ten signatures.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <jansson.h>

#include "sigring.h"
#include "sr_histogram.h"
#include "sr_orders.h"
#include "sr_verify.h"

#define PROGRAM "sigring-replay"
#define NS_PER_S 1000000000u
#define NS_PER_US 1000u

#define EXIT_ALL_GOOD 0
#define EXIT_NOT_ALL_GOOD 1
#define EXIT_BAD_INPUT 2
#define EXIT_NO_AGENT 3

#define COUNT_MAX 10000000u
#define RATE_MAX 10000000u
#define DEADLINE_US_MAX 3600000000u
#define PATIENCE_S_MAX 3600u
#define KEYS_MAX 1024u
#define POLL_MAX 64
#define THREADS_MAX 256u
#define VERIFY_CHUNK 64u
#define COMPLAINTS_MAX 10u     /* bad signatures named one by one */
#define SERVICE_NS 2000000u    /* between two steps of the cold thread */
#define WAIT_NS_MAX 10000000u  /* longest stay in one sr_wait() */
#define TROUBLE_NAP_NS 200000u /* between looks while there is no agent */
#define IDLE_SPIN_NS 100000u   /* a sleeper gets up this early and spins */

struct settings {
	const char *orders;
	const char *socket;
	const char *public_keys;
	const char *identity;
	const char *trust;
	const char *out;
	const char *wait;
	uint64_t count;
	uint64_t rate; /* orders a second; 0 = as fast as they are answered */
	uint64_t in_flight;
	uint64_t deadline_us;
	uint64_t patience_s;
	uint64_t slot_bytes;
	uint64_t cpu;
	bool priority;
	bool unsealed;
	bool keep_going;
	bool json;
	bool help;
	bool version;
};

#define CPU_ANY UINT64_MAX

/* The command line: parsed by this table, and --help is printed from it. */
enum option_kind { OPTION_TEXT, OPTION_NUMBER, OPTION_FLAG };

static const struct option_row {
	const char *name;
	const char *argument;
	const char *help;
	enum option_kind kind;
	size_t offset;
	uint64_t min, max;
} option_table[] = {
/* clang-format off */
#define TEXT(name, argument, member, help) \
	{ name, argument, help, OPTION_TEXT, offsetof(struct settings, member), 0, 0 }
#define NUMBER(name, argument, member, min, max, help) \
	{ name, argument, help, OPTION_NUMBER, offsetof(struct settings, member), min, max }
#define FLAG(name, member, help) \
	{ name, NULL, help, OPTION_FLAG, offsetof(struct settings, member), 0, 0 }
	/* clang-format on */
	TEXT("--public", "FILE", public_keys,
	     "public keys, a line each: ID COMPRESSED-HEX (required)"),
	TEXT("--socket", "PATH", socket,
	     "the agent's socket (default: $SIGRING_SOCKET, else " SR_SOCKET_DEFAULT ")"),
	TEXT("--identity", "FILE", identity,
	     "key pair of sigringctl identity new (default: $SIGRING_IDENTITY)"),
	TEXT("--trust", "FILE", trust, "the signers that are believed (default: $SIGRING_TRUST)"),
	FLAG("--unsealed", unsealed, "records in clear, whoever answers: for development"),
	NUMBER("--count", "N", count, 1, COUNT_MAX,
	       "orders to send; the file is repeated (default: the file once)"),
	NUMBER("--rate", "R", rate, 0, RATE_MAX, "orders a second; 0 is flat out (default: 0)"),
	NUMBER("--in-flight", "N", in_flight, 1, SR_DEPTH_MAX,
	       "requests that may be unanswered at once (default: 1)"),
	NUMBER("--deadline-us", "N", deadline_us, 1, DEADLINE_US_MAX,
	       "deadline of each order after its submit (default: none)"),
	NUMBER("--patience-s", "N", patience_s, 1, PATIENCE_S_MAX,
	       "give the session up when nothing moves for so long (default: 10)"),
	NUMBER("--slot-bytes", "N", slot_bytes, SR_SUB_BYTES_MIN, SR_SUB_BYTES_MAX,
	       "size of a submission slot (default: 384, bodies up to 336)"),
	FLAG("--priority", priority, "a priority session, drained before others"),
	TEXT("--wait", "POLICY", wait, "spin, yield, block or auto (default: auto)"),
	NUMBER("--cpu", "N", cpu, 0, CPU_SETSIZE - 1, "pin the trading thread to this CPU"),
	FLAG("--keep-going", keep_going, "skip wrong order lines; the exit status is still 2"),
	FLAG("--json", json, "print one JSON object and no text"),
	TEXT("--out", "FILE", out, "write one JSON line for each result"),
	FLAG("--help", help, "print this"),
	FLAG("--version", version, "print the versions of program and library"),
#undef TEXT
#undef NUMBER
#undef FLAG
};

#define OPTIONS (sizeof option_table / sizeof option_table[0])

struct public_key {
	uint32_t id;
	unsigned char bytes[33];
};

enum verdict { NOT_CHECKED = 0, GOOD, BAD };

/* One for each order sent; the order is that of the file, repeated. */
struct result {
	unsigned char signature[SR_SIG_BYTES];
	uint64_t latency_ns;  /* from submit; holds the time of submit until then */
	uint64_t intended_ns; /* latency from the moment that the rate had in mind */
	uint16_t status;
	uint16_t policy;
	uint8_t recovery_id;
	uint8_t sigkind;
	uint8_t completions; /* must end up as 1 */
	uint8_t verdict;
};

struct replay {
	struct settings set;
	struct sr_orders orders;
	struct public_key *keys;
	uint32_t key_count;
	uint32_t *key_of; /* index into keys, for each order of the file */
	struct result *results;
	struct sr_client *client;
	struct sr_session *session;
	enum sr_wait_policy wait;
	bool no_more;      /* nothing can be submitted any more */
	int session_error; /* errno that ended the session; 0 = none */

	/* The timed run. */
	uint64_t start_ns, end_ns;
	uint64_t submitted, completed;
	uint64_t moved_ns; /* when something was submitted or completed last */
	bool trouble;      /* no agent at the moment */
	bool gave_up;

	/* What must stay 0: each submit has one completion, in order. */
	uint64_t strays, duplicates, misordered, missing;

	uint64_t signed_ok, verified;
	uint64_t verify_ns;
	unsigned int threads;
	struct sr_histogram submit, intended;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S),
			       .tv_nsec = (long)(ns % NS_PER_S) };

	(void)nanosleep(&ts, NULL);
}

/* ---- options ---- */

static void print_help(FILE *out)
{
	fprintf(out,
		"usage: %s --public FILE [options] ORDERS.jsonl\n"
		"Sign the orders of a file through a sigring agent and verify every signature.\n\n",
		PROGRAM);
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option_row *row = &option_table[i];
		int used = fprintf(out, "  %s%s%s", row->name, row->argument ? " " : "",
				   row->argument ? row->argument : "");

		fprintf(out, "%*s %s\n", used < 22 ? 22 - used : 0, "", row->help);
	}
	fprintf(out,
		"\nexit status: 0 all signed and verified; 1 not all; 2 wrong options or orders; "
		"3 no agent\n");
}

static int complain(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s%s (--help lists the options)\n", PROGRAM, what, detail);
	return -EINVAL;
}

static int store_number(const struct option_row *row, const char *value, struct settings *set)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || number < row->min ||
	    number > row->max) {
		fprintf(stderr,
			"%s: %s takes a whole number from %" PRIu64 " to %" PRIu64 ", not \"%s\"\n",
			PROGRAM, row->name, row->min, row->max, value);
		return -EINVAL;
	}
	memcpy((char *)set + row->offset, &number, sizeof number);
	return 0;
}

static const struct option_row *find_option(const char *argument, size_t name_bytes)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(option_table[i].name) == name_bytes &&
		    !memcmp(option_table[i].name, argument, name_bytes))
			return &option_table[i];
	return NULL;
}

/* One option at argv[*at], and its value from "=value" or the next argument. */
static int store_option(struct settings *set, int argc, char **argv, int *at)
{
	const char *argument = argv[*at];
	size_t name_bytes = strcspn(argument, "=");
	const struct option_row *row = find_option(argument, name_bytes);
	const char *value = argument[name_bytes] ? argument + name_bytes + 1 : NULL;
	bool yes = true;

	if (!row)
		return complain("unknown option ", argument);
	if (row->kind == OPTION_FLAG) {
		if (value)
			return complain("no value belongs to ", row->name);
		memcpy((char *)set + row->offset, &yes, sizeof yes);
		return 0;
	}
	if (!value && *at + 1 == argc)
		return complain("a value is missing behind ", row->name);
	if (!value)
		value = argv[++*at];
	if (row->kind == OPTION_NUMBER)
		return store_number(row, value, set);
	memcpy((char *)set + row->offset, &value, sizeof value);
	return 0;
}

static int read_options(struct settings *set, int argc, char **argv)
{
	*set = (struct settings){ .in_flight = 1,
				  .patience_s = 10,
				  .slot_bytes = SR_SUB_BYTES_DEFAULT,
				  .cpu = CPU_ANY,
				  .wait = "auto" };
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			int err = store_option(set, argc, argv, &i);

			if (err)
				return err;
		} else if (set->orders) {
			return complain("one file of orders, not also ", argv[i]);
		} else {
			set->orders = argv[i];
		}
	}
	if (set->help || set->version)
		return 0;
	if (!set->orders)
		return complain("no file of orders", "");
	if (!set->public_keys)
		return complain("--public FILE is required: every signature is verified "
				"(`sigringctl key public` prints the file)",
				"");
	if (sr_wait_from_name(set->wait) < 0)
		return complain("--wait is spin, yield, block or auto, not ", set->wait);
	if (set->slot_bytes % SR_LINE_BYTES)
		return complain("--slot-bytes is a multiple of 128", "");
	return 0;
}

/* ---- input ---- */

static void print_refused(void *arg, uint32_t line, const char *what)
{
	const char *path = arg;

	fprintf(stderr, "%s:%" PRIu32 ": %s\n", path, line, what);
}

static int load_orders(struct replay *rp)
{
	const struct settings *set = &rp->set;
	FILE *file = fopen(set->orders, "re");
	int err;

	if (!file) {
		fprintf(stderr, "%s: %s: %s\n", PROGRAM, set->orders, strerror(errno));
		return -EINVAL;
	}
	err = sr_orders_read(&rp->orders, file, sr_body_bytes_max((uint32_t)set->slot_bytes),
			     set->keep_going, print_refused, (void *)(uintptr_t)set->orders);
	(void)fclose(file);
	if (err) {
		fprintf(stderr, "%s: %s: %s\n", PROGRAM, set->orders, strerror(-err));
		return err;
	}
	if (rp->orders.bad && !set->keep_going) {
		fprintf(stderr, "%s: nothing was signed (--keep-going skips wrong lines)\n",
			PROGRAM);
		return -EINVAL;
	}
	if (!rp->orders.count) {
		fprintf(stderr, "%s: %s: no order in it\n", PROGRAM, set->orders);
		return -EINVAL;
	}
	return 0;
}

/* `ID COMPRESSED-HEX`; returns what is wrong with the line, or NULL. */
static const char *parse_key(struct sr_verifier *verifier, struct public_key *key, char *line)
{
	unsigned char address[20];
	char *save, *id, *hex, *end;
	unsigned long number;

	id = strtok_r(line, " \t\r\n", &save);
	hex = strtok_r(NULL, " \t\r\n", &save);
	if (!hex || strtok_r(NULL, " \t\r\n", &save))
		return "not `ID COMPRESSED-HEX`";
	errno = 0;
	number = strtoul(id, &end, 10);
	if (errno || *end || id[0] < '0' || id[0] > '9' || !number || number > UINT32_MAX)
		return "key id is not in 1 .. 4294967295";
	if (strlen(hex) != 66 || sr_orders_unhex(key->bytes, hex, 66))
		return "public key is not 66 hex digits (33 bytes, compressed)";
	if (sr_verify_address(verifier, address, key->bytes, 33))
		return "public key is no point of secp256k1";
	key->id = (uint32_t)number;
	return NULL;
}

static const struct public_key *find_key(const struct replay *rp, uint32_t id)
{
	for (uint32_t i = 0; i < rp->key_count; i++)
		if (rp->keys[i].id == id)
			return &rp->keys[i];
	return NULL;
}

static int read_keys(struct replay *rp, struct sr_verifier *verifier, FILE *file)
{
	const char *path = rp->set.public_keys;
	char line[512];

	for (uint32_t number = 1; fgets(line, sizeof line, file); number++) {
		struct public_key key;
		const char *wrong;

		if (line[0] == '#' || line[strspn(line, " \t\r\n")] == 0)
			continue;
		wrong = parse_key(verifier, &key, line);
		if (!wrong && find_key(rp, key.id))
			wrong = "this key id was given before";
		if (!wrong && rp->key_count == KEYS_MAX)
			wrong = "too many keys";
		if (wrong) {
			fprintf(stderr, "%s:%" PRIu32 ": %s\n", path, number, wrong);
			return -EINVAL;
		}
		rp->keys[rp->key_count++] = key;
	}
	return ferror(file) ? -EIO : 0;
}

static int load_keys(struct replay *rp)
{
	struct sr_verifier *verifier;
	FILE *file = fopen(rp->set.public_keys, "re");
	int err;

	if (!file) {
		fprintf(stderr, "%s: %s: %s (`sigringctl key public` prints it)\n", PROGRAM,
			rp->set.public_keys, strerror(errno));
		return -EINVAL;
	}
	rp->keys = calloc(KEYS_MAX, sizeof *rp->keys);
	err = rp->keys ? sr_verifier_new(&verifier) : -ENOMEM;
	if (err) {
		fprintf(stderr, "%s: %s\n", PROGRAM,
			err == -ENOSYS ? "this OpenSSL has no secp256k1" : strerror(-err));
		(void)fclose(file);
		return err;
	}
	err = read_keys(rp, verifier, file);
	sr_verifier_delete(verifier);
	(void)fclose(file);
	return err;
}

static int match_keys(struct replay *rp)
{
	rp->key_of = calloc(rp->orders.count, sizeof *rp->key_of);
	if (!rp->key_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < rp->orders.count; i++) {
		const struct sr_order_line *o = &rp->orders.list[i];
		const struct public_key *key = find_key(rp, o->key);

		if (!key) {
			fprintf(stderr,
				"%s:%" PRIu32 ": key %" PRIu32
				" has no public key in %s, so it could not be verified\n",
				rp->set.orders, o->line, o->key, rp->set.public_keys);
			return -EINVAL;
		}
		rp->key_of[i] = (uint32_t)(key - rp->keys);
	}
	return 0;
}

/* Linux lends more than it has and kills for it later: ask before. */
static size_t bytes_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t kib = SIZE_MAX / 1024;
	char line[128];

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
			break;
	if (file)
		(void)fclose(file);
	return kib * 1024;
}

/* Every page that the run will write to is there before it starts. */
static int make_room(struct replay *rp)
{
	size_t bytes = rp->set.count * sizeof *rp->results;
	size_t later = rp->set.count * 2 * sizeof(uint64_t); /* two histograms */
	void *memory = MAP_FAILED;

	if (bytes + later < bytes_available())
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "%s: no memory for %" PRIu64 " results (%zu MiB): lower --count\n",
			PROGRAM, rp->set.count, bytes >> 20);
		return -ENOMEM;
	}
	rp->results = memory;
	return 0;
}

/* ---- the timed run: nothing here allocates or makes a system call, but for
 * waiting as --wait says ---- */

static uint64_t due_ns(const struct replay *rp)
{
	if (!rp->set.rate)
		return rp->start_ns;
	return rp->start_ns + rp->submitted * NS_PER_S / rp->set.rate;
}

static bool may_submit(const struct replay *rp)
{
	return rp->submitted < rp->set.count && !rp->session_error && !rp->no_more &&
	       !rp->gave_up && !interrupted;
}

static bool window_open(const struct replay *rp)
{
	return rp->submitted - rp->completed < rp->set.in_flight;
}

/* Returns whether an order went out. */
static bool submit_next(struct replay *rp)
{
	const struct sr_order_line *o = &rp->orders.list[rp->submitted % rp->orders.count];
	struct sr_request request = { .key = o->key,
				      .type = o->type,
				      .body_bytes = o->body_bytes,
				      .body = o->body,
				      .user_data = rp->submitted };
	struct result *r = &rp->results[rp->submitted];
	uint64_t due = due_ns(rp), now = now_ns();
	int err;

	if (now < due)
		return false;
	if (rp->set.deadline_us)
		request.deadline_ns = now + rp->set.deadline_us * NS_PER_US;
	r->latency_ns = now;
	r->intended_ns = rp->set.rate ? due : now;
	err = sr_submit(rp->session, &request);
	if (!err) {
		rp->submitted++;
		rp->moved_ns = now;
		rp->trouble = false;
		return true;
	}
	if (err == -ENOTCONN)
		rp->trouble = true;
	else if (err != -EAGAIN)
		rp->no_more = true; /* what was published before is still answered */
	return false;
}

static void account(struct replay *rp, const struct sr_completion *c, uint64_t now)
{
	struct result *r;

	if (c->user_data >= rp->submitted) {
		rp->strays++;
		return;
	}
	r = &rp->results[c->user_data];
	if (r->completions) {
		rp->duplicates++;
		return;
	}
	if (c->user_data != rp->completed || c->number != c->user_data)
		rp->misordered++;
	r->completions = 1;
	r->latency_ns = now - r->latency_ns;
	r->intended_ns = now - r->intended_ns;
	r->status = c->status;
	r->policy = c->policy;
	r->recovery_id = c->recovery_id;
	r->sigkind = c->sigkind;
	memcpy(r->signature, c->signature, sizeof r->signature);
	rp->completed++;
}

/* Returns how many completions were taken. */
static int take(struct replay *rp)
{
	struct sr_completion completions[POLL_MAX];
	int n = sr_poll(rp->session, completions, POLL_MAX);

	if (n > 0) {
		uint64_t now = now_ns();

		for (int i = 0; i < n; i++)
			account(rp, &completions[i], now);
		rp->moved_ns = now;
		rp->trouble = false;
		return n;
	}
	rp->trouble = n == -ENOTCONN;
	if (n < 0 && n != -ENOTCONN)
		rp->session_error = -n;
	return 0;
}

static void wait_until(const struct replay *rp, uint64_t due, uint64_t now)
{
	if (rp->wait != SR_WAIT_SPIN && due - now > 2 * IDLE_SPIN_NS)
		sleep_ns(due - now - IDLE_SPIN_NS);
	else if (rp->wait != SR_WAIT_SPIN)
		(void)sched_yield();
	else
		sr_pause();
}

static void pass_time(struct replay *rp)
{
	uint64_t now = now_ns(), due = may_submit(rp) ? due_ns(rp) : UINT64_MAX;
	bool outstanding = rp->submitted > rp->completed;

	if ((outstanding || rp->trouble) && now - rp->moved_ns > rp->set.patience_s * NS_PER_S &&
	    !rp->gave_up) {
		rp->gave_up = true; /* each outstanding one is answered UNKNOWN now */
		sr_session_abandon(rp->session);
	} else if (rp->trouble) {
		sleep_ns(TROUBLE_NAP_NS);
	} else if (outstanding) {
		uint64_t longest = WAIT_NS_MAX;

		if (window_open(rp) && due > now && due - now < longest)
			longest = due - now;
		/* Time-out or not, the loop looks at everything again. */
		(void)!sr_wait(rp->session, longest);
	} else if (due > now) {
		wait_until(rp, due, now);
		rp->moved_ns = now; /* nothing was due: that is no standstill */
	}
}

static void run(struct replay *rp)
{
	rp->start_ns = now_ns();
	rp->moved_ns = rp->start_ns;
	while (may_submit(rp) || (rp->completed < rp->submitted && !rp->session_error)) {
		bool moved = take(rp) > 0;

		while (may_submit(rp) && window_open(rp) && submit_next(rp))
			moved = true;
		if (!moved)
			pass_time(rp);
	}
	/* A session that ended on submit still owes what was published before;
	 * and a completion too many would be seen here. */
	while (take(rp) > 0)
		;
	rp->end_ns = now_ns();
	rp->missing = rp->submitted - rp->completed;
}

/* ---- the cold thread ---- */

struct cold {
	struct sr_client *client;
	uint32_t stop;
};

/*
 * Does the library's cold work at a nice of 19: on a machine with as many busy
 * loops as CPUs it then takes an idle slice and does not preempt the trading
 * thread at each of its wake-ups.
 */
static void *cold_loop(void *arg)
{
	struct cold *cold = arg;
	int last = 0;

	(void)setpriority(PRIO_PROCESS, 0, 19);
	/* Pairs with the release in open_and_run(). */
	while (!sr_load32_acquire(&cold->stop)) {
		struct sr_reason why = { .error = 0 };
		int ret = sr_service(cold->client, &why);

		if (ret < 0 && why.text[0] && why.error != last) {
			fprintf(stderr, "%s: %s\n", PROGRAM, why.text);
			last = why.error;
		} else if (ret >= 0 && last) {
			fprintf(stderr, "%s: attached again\n", PROGRAM);
			last = 0;
		}
		sleep_ns(SERVICE_NS);
	}
	return NULL;
}

static int start_cold(pthread_t *thread, struct cold *cold, const cpu_set_t *cpus)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	/* Not where --cpu has pinned the trading thread, if there is another. */
	err = pthread_attr_setaffinity_np(&attr, sizeof *cpus, cpus);
	if (!err)
		err = pthread_create(thread, &attr, cold_loop, cold);
	(void)pthread_attr_destroy(&attr);
	return -err;
}

static int pin(uint64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set)) {
		fprintf(stderr, "%s: --cpu %" PRIu64 ": %s\n", PROGRAM, cpu, strerror(errno));
		return -EINVAL;
	}
	return 0;
}

static int open_session(struct replay *rp)
{
	struct sr_session_options session = { .flags = rp->set.priority ? SR_SESSION_PRIORITY : 0 };
	struct sr_client_stats stats;
	struct sr_reason why = { .error = 0 };
	struct sr_options opt;
	int err;

	sr_options_init(&opt);
	opt.socket = rp->set.socket;
	opt.identity = rp->set.identity;
	opt.trust = rp->set.trust;
	opt.flags = rp->set.unsealed ? SR_OPT_UNSEALED : 0;
	opt.slot_bytes = (uint32_t)rp->set.slot_bytes;
	opt.wait = (uint32_t)sr_wait_from_name(rp->set.wait);
	while (opt.depth < rp->set.in_flight)
		opt.depth *= 2;
	err = sr_open(&rp->client, &opt, &why);
	if (!err)
		err = sr_session_open(&rp->session, rp->client, &session, &why);
	if (err) {
		fprintf(stderr, "%s: %s\n", PROGRAM, why.text[0] ? why.text : strerror(-err));
		return err;
	}
	sr_client_stats_get(rp->client, &stats);
	rp->wait = (enum sr_wait_policy)stats.wait; /* what auto has come to */
	return 0;
}

static void print_plan(const struct replay *rp)
{
	const struct settings *set = &rp->set;
	struct sr_client_stats stats;

	if (set->json)
		return;
	sr_client_stats_get(rp->client, &stats);
	printf("%s: %" PRIu32 " orders in the file, %" PRIu64 " to send, ", set->orders,
	       rp->orders.count, set->count);
	if (set->rate)
		printf("%" PRIu64 " a second", set->rate);
	else
		printf("flat out");
	printf(", %" PRIu64 " in flight\n", set->in_flight);
	printf("agent: pid %" PRIu32 ", NUMA node %" PRId32 ", %s pages; waiting: %s\n",
	       stats.agent_pid, stats.numa_node, stats.huge_pages ? "2 MiB" : "4 KiB",
	       sr_wait_name(rp->wait));
	(void)fflush(stdout);
}

static int open_and_run(struct replay *rp)
{
	struct cold cold = { .stop = 0 };
	pthread_t thread;
	cpu_set_t before;
	int err;

	if (sched_getaffinity(0, sizeof before, &before))
		return -errno;
	if (rp->set.cpu != CPU_ANY && pin(rp->set.cpu))
		return -EINVAL;
	err = open_session(rp);
	if (err) {
		sr_close(rp->client);
		return err == -EINVAL ? err : -ENOTCONN;
	}
	print_plan(rp);
	cold.client = rp->client;
	err = start_cold(&thread, &cold, &before);
	if (err) {
		fprintf(stderr, "%s: no thread: %s\n", PROGRAM, strerror(-err));
		sr_close(rp->client);
		return err;
	}
	run(rp);
	sr_store32_release(&cold.stop, 1); /* pairs with the acquire in cold_loop() */
	(void)pthread_join(thread, NULL);
	sr_session_close(rp->client, rp->session);
	sr_close(rp->client);
	(void)sched_setaffinity(0, sizeof before, &before);
	return 0;
}

/* ---- verification ---- */

struct verification {
	struct replay *rp;
	uint64_t next; /* first result that nobody has taken */
	uint64_t verified;
	uint64_t bad;
	uint64_t no_verifier;
};

static bool right_kind(uint16_t type, uint8_t sigkind)
{
	return sigkind == (type == SR_BIP340 ? SR_SIG_BIP340 : SR_SIG_ECDSA);
}

static void check_one(struct verification *v, struct sr_verifier *verifier, uint64_t i)
{
	struct replay *rp = v->rp;
	uint32_t index = (uint32_t)(i % rp->orders.count);
	const struct sr_order_line *o = &rp->orders.list[index];
	struct result *r = &rp->results[i];
	int err = -EBADMSG;

	if (r->completions != 1 || r->status != SR_OK)
		return;
	if (right_kind(o->type, r->sigkind))
		err = sr_verify_signature(verifier, rp->keys[rp->key_of[index]].bytes, o->type,
					  o->body, o->body_bytes, r->signature, r->recovery_id);
	r->verdict = err ? BAD : GOOD;
	if (!err) {
		__atomic_fetch_add(&v->verified, 1, __ATOMIC_RELAXED);
	} else if (__atomic_fetch_add(&v->bad, 1, __ATOMIC_RELAXED) < COMPLAINTS_MAX) {
		fprintf(stderr,
			"%s:%" PRIu32 ": signature %" PRIu64 " does NOT verify (key %" PRIu32
			", %s)\n",
			rp->set.orders, o->line, i, o->key, sr_type_name(o->type));
	}
}

static void *verify_loop(void *arg)
{
	struct verification *v = arg;
	uint64_t count = v->rp->submitted;
	struct sr_verifier *verifier;
	uint64_t at;

	if (sr_verifier_new(&verifier)) {
		__atomic_fetch_add(&v->no_verifier, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	while ((at = __atomic_fetch_add(&v->next, VERIFY_CHUNK, __ATOMIC_RELAXED)) < count)
		for (uint64_t i = at; i < count && i < at + VERIFY_CHUNK; i++)
			check_one(v, verifier, i);
	sr_verifier_delete(verifier);
	return NULL;
}

/* On every CPU that we may use; what a thread that did not start leaves undone,
 * the others do. */
static void verify(struct replay *rp)
{
	struct verification v = { .rp = rp };
	pthread_t threads[THREADS_MAX];
	uint64_t start = now_ns();
	unsigned int wanted = 1, started = 0;
	cpu_set_t cpus;

	if (!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) > 1)
		wanted = (unsigned int)CPU_COUNT(&cpus);
	if (wanted > THREADS_MAX)
		wanted = THREADS_MAX;
	while (started + 1 < wanted && !pthread_create(&threads[started], NULL, verify_loop, &v))
		started++;
	(void)verify_loop(&v);
	for (unsigned int i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	if (v.no_verifier)
		fprintf(stderr, "%s: %" PRIu64 " threads could not start verifying\n", PROGRAM,
			v.no_verifier);
	rp->verified = v.verified;
	rp->verify_ns = now_ns() - start;
	rp->threads = started + 1;
}

/* ---- what came out ---- */

static int collect(struct replay *rp)
{
	if (sr_histogram_new(&rp->submit, rp->set.count) ||
	    sr_histogram_new(&rp->intended, rp->set.count))
		return -ENOMEM;
	for (uint64_t i = 0; i < rp->submitted; i++) {
		const struct result *r = &rp->results[i];

		if (r->completions != 1 || r->status != SR_OK)
			continue;
		rp->signed_ok++;
		if (sr_histogram_add(&rp->submit, r->latency_ns) ||
		    sr_histogram_add(&rp->intended, r->intended_ns))
			return -ENOSPC;
	}
	return 0;
}

static const struct {
	const char *name;
	uint32_t share;
} percentiles[] = {
	{ "p50", 50000 }, { "p90", 90000 }, { "p99", 99000 }, { "p99.9", 99900 }, { "max", 100000 }
};

#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

static double percentile_us(struct sr_histogram *h, uint32_t share)
{
	return (double)sr_histogram_percentile(h, share) / 1e3;
}

static double seconds(const struct replay *rp)
{
	return (double)(rp->end_ns - rp->start_ns) / 1e9;
}

static uint64_t broken_promises(const struct replay *rp)
{
	return rp->strays + rp->duplicates + rp->misordered + rp->missing;
}

/* Whatever went wrong, on stderr, in every mode. */
static void print_trouble(const struct replay *rp)
{
	if (broken_promises(rp))
		fprintf(stderr,
			"%s: BROKEN: each submit must have exactly one completion, in order: "
			"%" PRIu64 " missing, %" PRIu64 " twice, %" PRIu64 " out of order, %" PRIu64
			" never submitted\n",
			PROGRAM, rp->missing, rp->duplicates, rp->misordered, rp->strays);
	if (rp->gave_up)
		fprintf(stderr,
			"%s: nothing moved for %" PRIu64 " s: gave the session up "
			"(--patience-s)\n",
			PROGRAM, rp->set.patience_s);
	else if (rp->session_error == ESTALE)
		fprintf(stderr,
			"%s: the session was lost: the signer or the agent's link to it "
			"started anew\n",
			PROGRAM);
	else if (rp->session_error == EPROTO)
		fprintf(stderr, "%s: the agent broke the shared region: the session is over\n",
			PROGRAM);
	else if (rp->session_error)
		fprintf(stderr, "%s: the session ended: %s\n", PROGRAM,
			strerror(rp->session_error));
	if (interrupted)
		fprintf(stderr, "%s: interrupted\n", PROGRAM);
	if (rp->submitted < rp->set.count)
		fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " orders were not submitted\n",
			PROGRAM, rp->set.count - rp->submitted, rp->set.count);
}

/* Counts by status, and by policy code under DENIED. */
static json_t *statuses(const struct replay *rp, bool policies)
{
	json_t *counts = json_object();

	for (uint64_t i = 0; counts && i < rp->submitted; i++) {
		const struct result *r = &rp->results[i];
		const char *name = policies ? sr_policy_name(r->policy) : sr_status_name(r->status);
		json_t *count;

		if (r->completions != 1 || (policies && r->status != SR_DENIED))
			continue;
		count = json_object_get(counts, name);
		if (count)
			(void)json_integer_set(count, json_integer_value(count) + 1);
		else
			(void)json_object_set_new(counts, name, json_integer(1));
	}
	return counts;
}

static void print_counts(const char *title, json_t *counts)
{
	const char *name;
	json_t *count;

	if (json_object_size(counts)) {
		printf("%s:", title);
		json_object_foreach(counts, name, count)
			printf(" %s %" JSON_INTEGER_FORMAT, name, json_integer_value(count));
		putchar('\n');
	}
	json_decref(counts);
}

static void print_percentiles(const char *title, struct sr_histogram *h)
{
	printf("%-28s", title);
	for (size_t i = 0; i < PERCENTILES; i++)
		printf(" %9.1f", percentile_us(h, percentiles[i].share));
	putchar('\n');
}

static void print_text(struct replay *rp)
{
	printf("%" PRIu64 " of %" PRIu64 " orders answered in %.3f s: %.0f a second\n",
	       rp->completed, rp->set.count, seconds(rp), (double)rp->completed / seconds(rp));
	print_counts("statuses", statuses(rp, false));
	print_counts("denied for", statuses(rp, true));
	printf("%" PRIu64 " signatures verified by OpenSSL on %u threads in %.1f s\n\n",
	       rp->verified, rp->threads, (double)rp->verify_ns / 1e9);
	printf("%-28s", "latency of the signed, us");
	for (size_t i = 0; i < PERCENTILES; i++)
		printf(" %9s", percentiles[i].name);
	putchar('\n');
	print_percentiles("from submit (main figure)", &rp->submit);
	if (rp->set.rate)
		print_percentiles("from the intended send time", &rp->intended);
	printf("\nfrom submit:\n");
	sr_histogram_print(&rp->submit, stdout);
	printf("signed %" PRIu64 ", verified %" PRIu64 ", failed %" PRIu64
	       ", p50 %.1f us, p99 %.1f us, p99.9 %.1f us\n",
	       rp->signed_ok, rp->verified, rp->set.count - rp->verified,
	       percentile_us(&rp->submit, 50000), percentile_us(&rp->submit, 99000),
	       percentile_us(&rp->submit, 99900));
}

static json_t *percentiles_json(struct sr_histogram *h)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < PERCENTILES; i++)
		(void)json_object_set_new(object, percentiles[i].name,
					  json_real(percentile_us(h, percentiles[i].share)));
	return object;
}

static void put(json_t *object, const char *name, uint64_t number)
{
	(void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

static int print_json(struct replay *rp)
{
	json_t *root = json_object(), *broken = json_object();
	int err;

	put(broken, "missing", rp->missing);
	put(broken, "twice", rp->duplicates);
	put(broken, "out_of_order", rp->misordered);
	put(broken, "never_submitted", rp->strays);
	(void)json_object_set_new(root, "version", json_string(SR_VERSION));
	(void)json_object_set_new(root, "sealed", json_boolean(!rp->set.unsealed));
	(void)json_object_set_new(root, "orders", json_string(rp->set.orders));
	put(root, "orders_in_file", rp->orders.count);
	put(root, "wrong_lines", rp->orders.bad);
	put(root, "count", rp->set.count);
	put(root, "rate", rp->set.rate);
	put(root, "in_flight", rp->set.in_flight);
	put(root, "signed", rp->signed_ok);
	put(root, "verified", rp->verified);
	put(root, "failed", rp->set.count - rp->verified);
	(void)json_object_set_new(root, "seconds", json_real(seconds(rp)));
	(void)json_object_set_new(root, "latency_from_submit_us", percentiles_json(&rp->submit));
	if (rp->set.rate)
		(void)json_object_set_new(root, "latency_from_intended_us",
					  percentiles_json(&rp->intended));
	(void)json_object_set_new(root, "statuses", statuses(rp, false));
	(void)json_object_set_new(root, "denied_for", statuses(rp, true));
	(void)json_object_set_new(root, "broken", broken);
	err = json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(root);
	return err ? -EIO : 0;
}

static void put_hex(json_t *object, const char *name, const unsigned char bytes[32])
{
	char text[65];

	for (int i = 0; i < 32; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	(void)json_object_set_new(object, name, json_string(text));
}

/* What does not apply is left out. */
static json_t *result_json(const struct replay *rp, uint64_t i)
{
	const struct sr_order_line *o = &rp->orders.list[i % rp->orders.count];
	const struct result *r = &rp->results[i];
	const char *status = r->completions ? sr_status_name(r->status) : "MISSING";
	json_t *line = json_object();

	put(line, "number", i);
	if (o->id)
		(void)json_object_set_new(line, "id", json_string(o->id));
	put(line, "line", o->line);
	put(line, "key", o->key);
	(void)json_object_set_new(line, "status", json_string(status));
	if (!r->completions)
		return line;
	put(line, "latency_ns", r->latency_ns);
	if (r->status == SR_DENIED)
		(void)json_object_set_new(line, "policy", json_string(sr_policy_name(r->policy)));
	if (r->status != SR_OK)
		return line;
	put_hex(line, "r", r->signature);
	put_hex(line, "s", r->signature + 32);
	if (r->sigkind == SR_SIG_ECDSA)
		put(line, "recid", r->recovery_id);
	(void)json_object_set_new(line, "verified", json_boolean(r->verdict == GOOD));
	return line;
}

static int write_results(const struct replay *rp)
{
	FILE *file = fopen(rp->set.out, "we");
	int err = 0;

	if (!file)
		goto fail;
	for (uint64_t i = 0; !err && i < rp->submitted; i++) {
		json_t *line = result_json(rp, i);

		err = json_dumpf(line, file, JSON_COMPACT) || putc('\n', file) == EOF;
		json_decref(line);
	}
	if (fclose(file) || err)
		goto fail;
	return 0;
fail:
	fprintf(stderr, "%s: %s: %s\n", PROGRAM, rp->set.out, strerror(errno));
	return -EIO;
}

static int report(struct replay *rp)
{
	int err = collect(rp);

	if (err) {
		fprintf(stderr, "%s: %s\n", PROGRAM, strerror(-err));
		return EXIT_NOT_ALL_GOOD;
	}
	print_trouble(rp);
	if (rp->set.out)
		err = write_results(rp);
	if (!rp->set.json)
		print_text(rp);
	else if (print_json(rp))
		err = -EIO;
	if (fflush(stdout))
		err = -EIO;
	if (err || broken_promises(rp) || rp->verified != rp->set.count)
		return EXIT_NOT_ALL_GOOD;
	return rp->orders.bad ? EXIT_BAD_INPUT : EXIT_ALL_GOOD;
}

static int replay(struct replay *rp)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	int err;

	fprintf(rp->set.json ? stderr : stdout, "%s: records are %s on their way to the signer\n",
		PROGRAM,
		rp->set.unsealed ? "UNSEALED (neither encrypted nor authenticated)" : "sealed");
	(void)fflush(stdout);
	if (load_orders(rp) || load_keys(rp) || match_keys(rp))
		return EXIT_BAD_INPUT;
	if (!rp->set.count)
		rp->set.count = rp->orders.count;
	if (make_room(rp))
		return EXIT_BAD_INPUT;
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGTERM, &interrupt, NULL);
	err = open_and_run(rp);
	if (err)
		return err == -ENOTCONN ? EXIT_NO_AGENT : EXIT_BAD_INPUT;
	verify(rp);
	return report(rp);
}

static void release(struct replay *rp)
{
	sr_histogram_delete(&rp->submit);
	sr_histogram_delete(&rp->intended);
	if (rp->results)
		(void)munmap(rp->results, rp->set.count * sizeof *rp->results);
	free(rp->key_of);
	free(rp->keys);
	sr_orders_free(&rp->orders);
}

int main(int argc, char **argv)
{
	struct replay rp = { .submitted = 0 };
	int status;

	if (read_options(&rp.set, argc, argv))
		return EXIT_BAD_INPUT;
	if (rp.set.help) {
		print_help(stdout);
		return 0;
	}
	if (rp.set.version) {
		printf("%s %s, libsigring %s\n", PROGRAM, SR_VERSION, sr_version());
		return 0;
	}
	status = replay(&rp);
	release(&rp);
	return status;
}
