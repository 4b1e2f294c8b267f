/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "sr_keyfile.h"
#include "sr_secret.h"
#include "sr_signer.h"

#define STACK_BYTES (128u * 1024u)
#define SEED_BYTES 32u

void sr_signer_config_init(struct sr_signer_config *config)
{
	memset(config, 0, sizeof *config);
	config->sessions_max = 256;
	config->depth_max = SR_DEPTH_DEFAULT;
	config->slot_bytes_max = SR_SUB_BYTES_DEFAULT;
	config->credit_records = 256;
	config->write_bytes_max = SR_WRITE_BYTES_DEFAULT;
}

static int random_bytes(void *out, size_t bytes)
{
	return getrandom(out, bytes, 0) == (ssize_t)bytes ? 0 : -EIO;
}

/* @seed is protected memory: first it blinds the context, then it hedges. */
static int build(struct sr_signer *s, unsigned char *seed, struct sr_reason *why)
{
	struct sr_core_config core = {
		.sessions_max = s->config.sessions_max,
		.depth_max = s->config.depth_max,
		.slot_bytes_max = s->config.slot_bytes_max,
		.unsealed = true,
	};
	struct sr_keyfile_error error;
	int ret;

	if (random_bytes(seed, SEED_BYTES) < 0 || random_bytes(s->boot_id, sizeof s->boot_id) < 0)
		return sr_reason_set(why, -EIO, "the kernel gives no random bytes");
	ret = sr_curve_new(&s->curve, seed);
	if (ret == 0)
		ret = sr_keyring_new(&s->keys);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot set up key memory: %s (memlock limit?)",
				     strerror(-ret));
	ret = sr_keyfile_load_dir(s->keys, s->curve, s->config.keys, &error);
	if (ret < 0)
		return sr_reason_set(why, ret, "%s", error.text);
	if (random_bytes(core.seed, sizeof core.seed) < 0)
		return sr_reason_set(why, -EIO, "the kernel gives no random bytes");
	core.keys = s->keys;
	ret = sr_core_new(&s->core, &core); /* wipes the seed */
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot make a signer of %u sessions: %s",
				     s->config.sessions_max, strerror(-ret));
	return 0;
}

int sr_signer_new(struct sr_signer *signer, const struct sr_signer_config *config,
		  struct sr_reason *why)
{
	struct sr_signer s = { .config = *config };
	void *seed;
	int ret;

	if (!config->keys)
		return sr_reason_set(why, -EINVAL,
				     "--keys DIR is missing: make a key with `sigringctl key "
				     "generate --id 1 --permit ecdsa-sha256 --out DIR/1.key`");
	ret = sr_secret_alloc(&seed, SEED_BYTES);
	if (ret < 0)
		return sr_reason_set(why, ret,
				     "cannot lock memory for keys: %s; raise LimitMEMLOCK= or "
				     "`ulimit -l`",
				     strerror(-ret));
	ret = build(&s, seed, why);
	sr_secret_free(seed, SEED_BYTES);
	if (ret < 0) {
		sr_signer_delete(&s);
		return ret;
	}
	*signer = s;
	return 0;
}

void sr_signer_delete(struct sr_signer *s)
{
	sr_core_delete(s->core);
	sr_keyring_delete(s->keys);
	sr_curve_delete(s->curve);
	memset(s, 0, sizeof *s);
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

	if (prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return sr_reason_set(why, -errno, "cannot forbid core dumps: %s", strerror(errno));
	for (size_t i = 0; i < sizeof stack; i += 4096)
		touch[i] = 0;
	if (mlock(stack, sizeof stack) < 0)
		return sr_reason_set(why, -errno,
				     "cannot lock the stack: %s; raise LimitMEMLOCK= or `ulimit -l`",
				     strerror(errno));
	return 0;
}

void sr_signer_check(struct sr_host_check *check, const struct sr_signer_config *config)
{
	struct sr_signer signer;
	struct sr_reason why = { 0, "" };

	if (sr_signer_harden(&why) < 0 || sr_signer_new(&signer, config, &why) < 0) {
		sr_host_check_line(check, 2, "keys: %s", why.text);
		return;
	}
	sr_host_check_line(check, 0, "keys: %u loaded from %s", sr_keyring_count(signer.keys),
			   config->keys);
	sr_signer_delete(&signer);
}
