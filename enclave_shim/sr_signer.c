/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sr_clock.h"
#include "sr_getrandom.h"
#include "sr_hazard.h"
#include "sr_heap.h"
#include "sr_secret.h"
#include "sr_signer.h"
#include "sr_signer_options.h"
#include "sr_timestamp.h"

#define STACK_BYTES (128u * 1024u)
#define SEED_BYTES 32u
#define PLACE_HEAP_BYTES 8704u /* of OpenSSL's: 8403 were seen, mp_porter.c looks */
#define WATCH_TURNS 4096u /* idle turns between two looks at what to log */

void sr_signer_config_init(struct sr_signer_config *config)
{
	memset(config, 0, sizeof *config);
	config->sessions_max = 256;
	config->depth_max = SR_DEPTH_DEFAULT;
	config->slot_bytes_max = SR_SUB_BYTES_DEFAULT;
	config->credit_records = 256;
	config->write_bytes_max = SR_WRITE_BYTES_DEFAULT;
	config->pool_slots = 4096;
	config->pool_low_percent = 50;
	config->cpu = -1;
	config->pool_batch = SR_BATCH_MAX;
	config->ticket_life_s = 3600;
}

static bool needs_pool(const struct sr_keyring *keys)
{
	for (uint32_t i = 0; i < sr_keyring_places(keys); i++)
		if (sr_nonce_pooled(sr_keyring_info(keys, i)->nonce_mode))
			return true;
	return false;
}

static int load_keys(struct sr_signer *s, struct sr_reason *why)
{
	void *seed;
	int ret = sr_secret_alloc(&seed, SEED_BYTES);

	if (ret == 0)
		ret = sr_getrandom.get(sr_getrandom.arg, seed, SEED_BYTES);
	if (ret == 0)
		ret = sr_curve_new(&s->curve, seed);
	if (ret == 0)
		ret = sr_keyring_new(&s->keys);
	sr_secret_free(seed, SEED_BYTES);
	if (ret < 0)
		return sr_reason_set(why, ret,
				     "cannot set up key memory: %s; raise LimitMEMLOCK= or "
				     "`ulimit -l`",
				     strerror(-ret));
	return s->config.keys ? s->config.ground->load_keys(s->keys, s->curve, s->config.keys, why) :
				0;
}

static uint32_t pool_low(const struct sr_signer_config *c)
{
	return (uint32_t)(((uint64_t)c->pool_slots * c->pool_low_percent + 99) / 100);
}

static uint64_t trace_counter(void *arg)
{
	(void)arg;
	return sr_counter_read();
}

static uint64_t trace_clock(void *arg)
{
	(void)arg;
	return sr_now_ns();
}

static void set_trace(struct sr_signer *s, struct sr_trace_config *trace)
{
	if (!s->config.trace_slots)
		return;
	sr_counter_describe(&s->counter);
	trace->slots = s->config.trace_slots;
	trace->now = s->counter.kind == SR_COUNTER_CLOCK ? trace_clock : trace_counter;
}

static int make_core(struct sr_signer *s, bool pool, struct sr_reason *why)
{
	const struct sr_signer_config *c = &s->config;
	struct sr_core_config core = {
		.sign = { .keys = s->keys, .entropy = &sr_getrandom },
		.sessions_max = c->sessions_max,
		.depth_max = c->depth_max,
		.slot_bytes_max = c->slot_bytes_max,
		.clear = c->ground->clear,
		.snapshot_allowed = c->allow_snapshot,
		.admissions_max = c->operators ? SR_PORTER_WAITING_MAX : 0,
	};
	int ret;

	set_trace(s, &core.trace);

	if (pool) {
		core.sign.pool_low = pool_low(c);
		if (c->pool_batch > c->pool_slots ||
		    core.sign.pool_low > c->pool_slots - c->pool_batch + 1)
			return sr_reason_set(why, -EINVAL,
					     "of pool-slots %u, pool-low %u %% and pool-batch %u do "
					     "not fit together: lower one of the two, or raise the "
					     "slots",
					     c->pool_slots, c->pool_low_percent, c->pool_batch);
		core.sign.pool_slots = c->pool_slots;
		core.sign.pool_batch = c->pool_batch;
	}
	ret = sr_core_new(&s->core, &core);
	if (ret == -EIO)
		return sr_reason_set(why, ret, "the kernel's random bytes, OpenSSL's generator or its "
					       "hash fail their first test");
	if (ret < 0)
		return sr_reason_set(why, ret,
				     "cannot make a signer of %u sessions and %u presignatures: %s; "
				     "raise LimitMEMLOCK= or `ulimit -l`, or lower the numbers",
				     c->sessions_max, core.sign.pool_slots, strerror(-ret));
	return 0;
}

/* Is there a CPU that no polling loop is on? */
static bool cpu_to_spare(unsigned int loops)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) == 0 && (unsigned int)CPU_COUNT(&set) > loops;
}

static int start_pool(struct sr_signer *s, struct sr_reason *why)
{
	bool spare = cpu_to_spare(s->config.loops);
	int ret;

	ret = sr_pool_fill(sr_core_pool(s->core));
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot make presignatures: a check or the kernel's "
					       "random bytes failed");
	if (s->config.refill == SR_REFILL_IDLE ||
	    (s->config.refill == SR_REFILL_AUTO && !spare && !s->config.sleeps))
		return 0;
	ret = sr_refill_start(&s->refill, sr_core_pool(s->core), spare ? s->config.cpu : -1,
			      !spare);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot start the thread that refills: %s",
				     strerror(-ret));
	return 0;
}

/* Is there to be a pool, and may there be? What the files of keys say does not count
 * beside a manifest, and what that will say is not known yet. */
static int judge_pool(const struct sr_signer *s, bool *pool, struct sr_reason *why)
{
	const struct sr_signer_config *c = &s->config;
	struct sr_reason hazard = { 0 };
	int ret = 0;

	*pool = c->operators || needs_pool(s->keys);
	if (*pool && c->ground->snapshots && !c->allow_snapshot)
		ret = sr_hazard_snapshot("/sys", &hazard);
	if (ret == 0)
		return 0;
	if (!c->operators)
		return sr_reason_set(why, ret, "%s", hazard.text);
	*pool = false;
	return 0;
}

static int make_porter(struct sr_signer *s, bool pool, struct sr_reason *why)
{
	const struct sr_signer_config *c = &s->config;
	const struct sr_porter_config porter = {
		.ground = c->ground,
		.module = s->module,
		.evidence = s->evidence,
		.operators = c->operators,
		.operators_needed = c->operators_needed,
		.manifest = c->manifest,
		.manifest_min = c->manifest_min,
		.trust_out = c->trust_out,
		.ticket_life_s = c->ticket_life_s,
		.pool = pool,
		.counter = s->counter,
		.trial = c->trial,
		.console = c->console,
		.control = c->control,
		.control_mode = c->control_mode,
		.boot_id = { s->boot_id[0], s->boot_id[1] },
		.unix_ms = s->unix_ms,
		.clock_ns = s->clock_ns,
		.depth_max = c->depth_max,
		.slot_bytes_max = c->slot_bytes_max,
		.sessions_max = c->sessions_max,
		.write_bytes_max = c->write_bytes_max,
		.not_on_cpu = c->cpu,
		.log = c->log,
		.log_arg = c->log_arg,
	};
	int ret = sr_porter_new(&s->porter, &porter, s->core, why);

	if (ret < 0)
		return ret;
	s->post = sr_porter_post(s->porter);
	ret = sr_porter_start(s->porter);
	return ret < 0 ? sr_reason_set(why, ret, "cannot start the control thread: %s",
				       strerror(-ret)) :
			 0;
}

/* Asked once: from then on the signer's own clock counts. */
static int set_clock(struct sr_signer *s, struct sr_reason *why)
{
	int ret = sr_timestamp_get(&s->evidence, &s->unix_ms);

	if (ret < 0)
		return sr_reason_set(why, ret, "the security module does not say what time it is: %s",
				     strerror(-ret));
	s->clock_ns = sr_now_ns();
	sr_signer_clock(s);
	return 0;
}

static int build(struct sr_signer *s, struct sr_reason *why)
{
	const struct sr_signer_config *c = &s->config;
	bool pool;
	int ret = c->operators ? c->ground->open(&s->module, &s->evidence, why) : 0;

	if (ret == 0)
		ret = load_keys(s, why);
	if (ret == 0)
		ret = judge_pool(s, &pool, why);
	if (ret < 0)
		return ret;
	ret = sr_getrandom.get(sr_getrandom.arg, (unsigned char *)s->boot_id, sizeof s->boot_id);
	if (ret < 0)
		return sr_reason_set(why, ret, "the kernel gives no random bytes");
	ret = make_core(s, pool, why);
	if (ret == 0 && pool)
		ret = start_pool(s, why);
	if (ret == 0 && c->operators)
		ret = set_clock(s, why);
	if (ret == 0 && c->operators)
		ret = make_porter(s, pool, why);
	return ret;
}

/* Which options go together. */
static int judge_config(const struct sr_signer_config *c, struct sr_reason *why)
{
	if (c->operators && !c->operators_needed)
		return sr_reason_set(why, -EINVAL,
				     "--operators-needed K is missing: how many of those in "
				     "--operators must sign");
	if (!c->operators &&
	    (c->operators_needed || c->manifest || c->manifest_min || c->trust_out ||
	     c->control.bytes))
		return sr_reason_set(why, -EINVAL,
				     "--operators-needed, --manifest, --manifest-min, --trust-out "
				     "and --control go with --operators FILE");
	if (c->operators && c->sessions_max > SR_SESSIONS_MAX - SR_PORTER_WAITING_MAX)
		return sr_reason_set(why, -EINVAL,
				     "--signer-sessions-max may be %u at most with --operators",
				     SR_SESSIONS_MAX - SR_PORTER_WAITING_MAX);
	if (!c->operators && c->trace_slots)
		return sr_reason_set(why, -EINVAL,
				     "--trace goes with --operators FILE: nobody else may read it");
	if (!c->operators && !c->ground->clear)
		return sr_reason_set(why, -EINVAL,
				     "--operators FILE is missing: the list of public keys whose "
				     "signatures this signer obeys");
	if (!c->operators && !c->keys)
		return sr_reason_set(why, -EINVAL,
				     "--keys DIR is missing: make a key with `sigringctl key new "
				     "--id 1 --permit ecdsa-sha256 --out DIR/1.key`");
	return 0;
}

int sr_signer_new(struct sr_signer *signer, const struct sr_signer_config *config,
		  struct sr_reason *why)
{
	struct sr_signer s = { .config = *config };
	int ret = judge_config(config, why);

	if (ret < 0)
		return ret;
	ret = build(&s, why);
	if (ret < 0) {
		sr_signer_delete(&s);
		return ret;
	}
	*signer = s;
	return 0;
}

void sr_signer_delete(struct sr_signer *s)
{
	sr_porter_delete(s->porter);
	sr_refill_stop(s->refill);
	sr_core_delete(s->core);
	sr_keyring_delete(s->keys);
	sr_curve_delete(s->curve);
	s->config.ground->close(s->module);
	memset(s, 0, sizeof *s);
}

void sr_signer_open(struct sr_signer *s)
{
	if (s->porter)
		sr_porter_open(s->porter);
}

static void note(const struct sr_signer *s, const char *text)
{
	if (s->config.log)
		s->config.log(s->config.log_arg, text);
}

static void watch(struct sr_signer *s)
{
	struct sr_core_stats now;

	sr_core_stats_get(s->core, &now);
	if (now.check_failed != s->logged.check_failed)
		note(s, "A KEY IS LOCKED: a signature failed its check and was not released. That is "
			"a fault of this machine, or an attack on it; move the key to another one");
	if (now.pool_failed != s->logged.pool_failed)
		note(s, "presignatures were thrown away: a check of them, or of the random bytes, "
			"failed");
	s->logged = now;
}

bool sr_signer_idle(struct sr_signer *s)
{
	struct sr_pool *pool = sr_core_pool(s->core);
	int ret;

	if (s->idle_turns++ % WATCH_TURNS == 0)
		watch(s);
	if (sr_core_idle(s->core))
		return true;
	if (!pool || s->refill || (s->refill_after_ns && sr_now_ns() < s->refill_after_ns))
		return false;
	ret = sr_pool_step(pool);
	s->refill_after_ns = ret < 0 ? sr_now_ns() + SR_NS_PER_S : 0;
	return ret > 0;
}

int sr_signer_port(const struct sr_signer *s, struct sr_port **port, uint32_t stream)
{
	struct sr_port_config config = {
		.core = s->core,
		.stream = stream,
		.credit_records = s->config.credit_records,
		.slot_bytes_max = s->config.slot_bytes_max,
		.sessions_max = s->config.sessions_max,
		.write_bytes_max = s->config.write_bytes_max,
		.boot_id = { s->boot_id[0], s->boot_id[1] },
	};

	return sr_port_new(port, &config);
}

/* OpenSSL's heap takes a power of two. What is on its way to its place is within the
 * spare of a signer without sessions. */
static size_t heap_bytes(const struct sr_signer_config *c)
{
	size_t bytes = SR_HEAP_BYTES, wanted = SR_HEAP_BYTES;

	if (c->operators)
		wanted += ((size_t)c->sessions_max + SR_PORTER_WAITING_MAX) * PLACE_HEAP_BYTES;
	while (bytes < wanted)
		bytes *= 2;
	return bytes;
}

int sr_signer_harden(const struct sr_signer_config *config, struct sr_reason *why)
{
	struct rlimit none = { 0, 0 };
	unsigned char stack[STACK_BYTES];
	volatile unsigned char *touch = stack;
	int ret;

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return sr_reason_set(why, -errno, "cannot forbid core dumps: %s", strerror(errno));
	ret = sr_heap_protect(heap_bytes(config));
	if (ret < 0)
		return sr_reason_set(why, ret,
				     ret == -EBUSY ? "OpenSSL was in use before its memory was "
						     "protected" :
						     "cannot lock memory for OpenSSL; raise "
						     "LimitMEMLOCK= or `ulimit -l`");
	for (size_t i = 0; i < sizeof stack; i += 4096)
		touch[i] = 0;
	if (mlock(stack, sizeof stack) < 0)
		return sr_reason_set(why, -errno,
				     "cannot lock the stack: %s; raise LimitMEMLOCK= or `ulimit -l`",
				     strerror(errno));
	return sr_hazard_fork(why);
}

uint64_t sr_signer_locked_bytes(const struct sr_signer_config *c)
{
	/* 192 a presignature; the batch in the making, keys, guards and stacks. */
	uint64_t bytes = heap_bytes(c) + (uint64_t)c->pool_slots * 192u + (1u << 20);

	if (c->operators)
		bytes += sr_porter_locked_bytes() +
			 ((uint64_t)c->sessions_max + SR_PORTER_WAITING_MAX) *
				 sizeof(struct sr_seal_pair);
	return bytes;
}

int sr_set_version(void *target, const char *value, const struct sr_option *o,
		   struct sr_reason *why)
{
	if (sr_config_number(value, 1, SR_MANIFEST_VERSION_MAX, target) < 0)
		return sr_reason_set(why, -EINVAL, "%s must be a version, 1 or higher, not `%s`",
				     o->name, value);
	return 0;
}

int sr_set_refill(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	static const char *const names[] = { "auto", "thread", "idle" };

	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(value, names[i])) {
			*(enum sr_refill_policy *)target = (enum sr_refill_policy)i;
			return 0;
		}
	return sr_reason_set(why, -EINVAL, "%s must be auto, thread or idle, not `%s`", o->name,
			     value);
}

static void check_porter(struct sr_host_check *check, const struct sr_signer *s)
{
	const struct sr_operators *operators = sr_porter_operators(s->porter);
	const struct sr_manifest *manifest = sr_porter_manifest(s->porter);

	sr_host_check_line(check, 0, "operators: %u of the %u in %s", operators->k,
			   operators->count, s->config.operators);
	if (manifest->version)
		sr_host_check_line(check, 0,
				   "manifest: version %llu, identities %u, keys %u",
				   (unsigned long long)manifest->version,
				   manifest->identity_count, manifest->key_count);
	else
		sr_host_check_line(check, 1,
				   "manifest: none; nobody may use any key until operators load "
				   "one");
}

void sr_signer_check(struct sr_host_check *check, const struct sr_signer_config *config)
{
	struct sr_signer_config c = *config;
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };

	/* Another signer may be at work there. */
	memset(&c.control, 0, sizeof c.control);
	c.trust_out = NULL;
	c.log = NULL;
	c.trial = true;
	if (judge_config(config, &why) < 0 || sr_signer_harden(&c, &why) < 0 ||
	    sr_signer_new(&signer, &c, &why) < 0) {
		sr_host_check_line(check, 2, "%s: %s", c.operators ? "signer" : "keys", why.text);
		return;
	}
	if (config->keys)
		sr_host_check_line(check, 0, "keys: %u loaded from %s",
				   sr_keyring_count(signer.keys), config->keys);
	if (signer.porter)
		check_porter(check, &signer);
	if (sr_core_pool(signer.core))
		sr_host_check_line(check, 0,
				   "pool: %u presignatures were made; refilled %s%s",
				   config->pool_slots,
				   signer.refill ? "by a thread" : "in idle turns",
				   config->allow_snapshot ?
					   "; this machine is vouched for by --allow-snapshot" :
					   "");
	else if (signer.porter)
		sr_host_check_line(check, 1,
				   "pool: none; a manifest that wants presignatures is refused "
				   "(--allow-snapshot)");
	sr_signer_delete(&signer);
}
