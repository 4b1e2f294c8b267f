/* SPDX-License-Identifier: MIT */
/*
 * sr_signer_options.h - the options that all programs with a signer have.
 */
#ifndef SR_SIGNER_OPTIONS_H
#define SR_SIGNER_OPTIONS_H

#include "sr_batch.h"
#include "sr_config.h"
#include "sr_frame.h"
#include "sr_signer.h"

SR_BEGIN_DECLS
int sr_set_version(void *target, const char *value, const struct sr_option *o,
		   struct sr_reason *why);
int sr_set_refill(void *target, const char *value, const struct sr_option *o,
		  struct sr_reason *why);
SR_END_DECLS

/* Rows of an option table; @c is a struct sr_signer_config. */
#define SR_SIGNER_OPTIONS(c)                                                                       \
	{ "operators", "FILE", "public keys of those whose signatures count", sr_set_text,         \
	  &(c).operators, 0, 0 },                                                                  \
	{ "operators-needed", "K", "how many of them must sign", sr_set_u32,                       \
	  &(c).operators_needed, 1, SR_OPERATORS_MAX },                                            \
	{ "manifest", "FILE", "who may have what signed, as the operators have signed it",         \
	  sr_set_text, &(c).manifest, 0, 0 },                                                      \
	{ "manifest-min", "VERSION", "refuse a manifest of a lower version", sr_set_version,       \
	  &(c).manifest_min, 0, 0 },                                                               \
	{ "ticket-life", "SECONDS", "for how long a session opens the next; 0: never (3600)",      \
	  sr_set_u32, &(c).ticket_life_s, 0, SR_TICKET_LIFE_NS_MAX / UINT64_C(1000000000) },       \
	{ "signer-sessions-max", "N", "sessions that the signer keeps (256)", sr_set_u32,           \
	  &(c).sessions_max, 1, SR_SESSIONS_MAX },                                                 \
	{ "signer-depth-max", "N", "depth of a session at the signer (256)", sr_set_pow2,           \
	  &(c).depth_max, SR_DEPTH_MIN, SR_DEPTH_MAX },                                            \
	{ "signer-slot-bytes-max", "N", "submission slot at the signer (384)", sr_set_lines,         \
	  &(c).slot_bytes_max, SR_SUB_BYTES_MIN, SR_SUB_BYTES_MAX },                               \
	{ "credits", "N", "records on the way to the signer at once (256)", sr_set_u32,            \
	  &(c).credit_records, 1, 4096 },                                                          \
	{ "signer-write-bytes-max", "N", "longest write of the signer (4096)", sr_set_u32,         \
	  &(c).write_bytes_max, 512, SR_WRITE_BYTES_MAX },                                         \
	{ "pool-slots", "N", "presignatures kept, if a key uses them (4096)", sr_set_pow2,         \
	  &(c).pool_slots, SR_POOL_SLOTS_MIN, SR_POOL_SLOTS_MAX },                                 \
	{ "pool-low", "PERCENT", "refill when fewer are left (50)", sr_set_u32,                    \
	  &(c).pool_low_percent, 1, 100 },                                                         \
	{ "pool-batch", "N", "presignatures made at once (256)", sr_set_u32, &(c).pool_batch, 2,    \
	  SR_BATCH_MAX },                                                                          \
	{ "refill", "WHO", "auto, thread, or idle turns of the signing thread (auto)",             \
	  sr_set_refill, &(c).refill, 0, 0 },                                                      \
	{ "trace", "N", "for measuring: keep stamps of the last N records (0)",                    \
	  sr_set_pow2_or_0, &(c).trace_slots, SR_TRACE_SLOTS_MIN, SR_TRACE_SLOTS_MAX }

/* Those that only a signer on a host has. */
#define SR_HOST_OPTIONS(c)                                                                         \
	{ "keys", "DIR", "directory of *.key files", sr_set_text, &(c).keys, 0, 0 },               \
	{ "trust-out", "FILE", "write there what clients have to believe", sr_set_text,            \
	  &(c).trust_out, 0, 0 },                                                                  \
	{ "allow-snapshot", NULL, "presignatures although this machine might be a snapshot",       \
	  sr_set_true, &(c).allow_snapshot, 0, 0 }

#endif /* SR_SIGNER_OPTIONS_H */
