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

#define STACK_BYTES (128u * 1024u)
#define SEED_BYTES 32u
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
	};
	int ret;

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

static int build(struct sr_signer *s, struct sr_reason *why)
{
	bool pool;
	int ret = 0;

	if (!s->config.ground->clear)
		ret = s->config.ground->open(&s->module, &s->evidence, why);
	if (ret == 0)
		ret = load_keys(s, why);

	if (ret < 0)
		return ret;
	pool = needs_pool(s->keys);
	if (pool && s->config.ground->snapshots && !s->config.allow_snapshot) {
		ret = sr_hazard_snapshot("/sys", why);
		if (ret < 0)
			return ret;
	}
	ret = sr_getrandom.get(sr_getrandom.arg, (unsigned char *)s->boot_id, sizeof s->boot_id);
	if (ret < 0)
		return sr_reason_set(why, ret, "the kernel gives no random bytes");
	ret = make_core(s, pool, why);
	if (ret == 0 && pool)
		ret = start_pool(s, why);
	return ret;
}

int sr_signer_new(struct sr_signer *signer, const struct sr_signer_config *config,
		  struct sr_reason *why)
{
	struct sr_signer s = { .config = *config };
	int ret;

	if (!config->keys && config->ground->load_keys)
		return sr_reason_set(why, -EINVAL,
				     "--keys DIR is missing: make a key with `sigringctl key "
				     "generate --id 1 --permit ecdsa-sha256 --out DIR/1.key`");
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
	sr_refill_stop(s->refill);
	sr_core_delete(s->core);
	sr_keyring_delete(s->keys);
	sr_curve_delete(s->curve);
	s->config.ground->close(s->module);
	memset(s, 0, sizeof *s);
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

int sr_signer_harden(struct sr_reason *why)
{
	struct rlimit none = { 0, 0 };
	unsigned char stack[STACK_BYTES];
	volatile unsigned char *touch = stack;
	int ret;

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return sr_reason_set(why, -errno, "cannot forbid core dumps: %s", strerror(errno));
	ret = sr_heap_protect();
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
	return SR_HEAP_BYTES + (uint64_t)c->pool_slots * 192u + (1u << 20);
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

void sr_signer_check(struct sr_host_check *check, const struct sr_signer_config *config)
{
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };

	if (sr_signer_harden(&why) < 0 || sr_signer_new(&signer, config, &why) < 0) {
		sr_host_check_line(check, 2, "keys: %s", why.text);
		return;
	}
	if (config->keys)
		sr_host_check_line(check, 0, "keys: %u loaded from %s",
				   sr_keyring_count(signer.keys), config->keys);
	if (sr_core_pool(signer.core))
		sr_host_check_line(check, 0,
				   "pool: %u presignatures were made; refilled %s%s",
				   config->pool_slots,
				   signer.refill ? "by a thread" : "in idle turns",
				   config->allow_snapshot ?
					   "; this machine is vouched for by --allow-snapshot" :
					   "");
	sr_signer_delete(&signer);
}
