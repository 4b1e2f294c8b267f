/* SPDX-License-Identifier: MIT */
/*
 * sr_signer.h - a signer put together: keys from files, a core, a boot id.
 *
 * What sigring-local and sigring-enclave have in common. Everything is allocated
 * here, before the first record.
 */
#ifndef SR_SIGNER_H
#define SR_SIGNER_H

#include "sr_base.h"
#include "sr_core.h"
#include "sr_host.h"
#include "sr_keyring.h"
#include "sr_port.h"
#include "sr_reason.h"

struct sr_signer_config {
	const char *keys;        /* directory of *.key files */
	uint32_t sessions_max;
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	uint32_t credit_records; /* granted to each stream */
	uint32_t write_bytes_max;
};

struct sr_signer {
	struct sr_signer_config config;
	struct sr_curve *curve;
	struct sr_keyring *keys;
	struct sr_core *core;
	uint64_t boot_id[2]; /* random at each start */
};

SR_BEGIN_DECLS

void sr_signer_config_init(struct sr_signer_config *config);

/*
 * sr_signer_new - load the keys and make the core.
 *
 * Returns 0 or -errno with a reason; nothing is left then.
 */
SR_WARN_UNUSED int sr_signer_new(struct sr_signer *signer, const struct sr_signer_config *config,
				 struct sr_reason *why);
void sr_signer_delete(struct sr_signer *signer);

/* sr_signer_port - a port for stream number @stream. 0, or -ENOMEM. */
SR_WARN_UNUSED int sr_signer_port(const struct sr_signer *signer, struct sr_port **port,
				  uint32_t stream);

/*
 * sr_signer_harden - before any secret is read: no core dumps, no ptrace, and the
 * calling thread's stack, where curve arithmetic runs, is locked. 0 or -errno.
 */
SR_WARN_UNUSED int sr_signer_harden(struct sr_reason *why);

/* sr_signer_check - one line of --check: would the keys load? Makes nothing. */
void sr_signer_check(struct sr_host_check *check, const struct sr_signer_config *config);

SR_END_DECLS

#endif /* SR_SIGNER_H */
