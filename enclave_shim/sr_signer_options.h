/* SPDX-License-Identifier: MIT */
/*
 * sr_signer_options.h - the options that both programs with a signer have.
 */
#ifndef SR_SIGNER_OPTIONS_H
#define SR_SIGNER_OPTIONS_H

#include "sr_config.h"
#include "sr_frame.h"
#include "sr_signer.h"

/* Rows of an option table; @c is a struct sr_signer_config. */
#define SR_SIGNER_OPTIONS(c)                                                                       \
	{ "keys", "DIR", "directory of *.key files", sr_set_text, &(c).keys, 0, 0 },               \
	{ "signer-sessions-max", "N", "sessions that the signer keeps (256)", sr_set_u32,           \
	  &(c).sessions_max, 1, SR_SESSIONS_MAX },                                                 \
	{ "signer-depth-max", "N", "depth of a session at the signer (256)", sr_set_pow2,           \
	  &(c).depth_max, SR_DEPTH_MIN, SR_DEPTH_MAX },                                            \
	{ "signer-slot-bytes-max", "N", "submission slot at the signer (384)", sr_set_lines,         \
	  &(c).slot_bytes_max, SR_SUB_BYTES_MIN, SR_SUB_BYTES_MAX },                               \
	{ "credits", "N", "records on the way to the signer at once (256)", sr_set_u32,            \
	  &(c).credit_records, 1, 4096 },                                                          \
	{ "signer-write-bytes-max", "N", "longest write of the signer (4096)", sr_set_u32,         \
	  &(c).write_bytes_max, 512, SR_WRITE_BYTES_MAX }

#endif /* SR_SIGNER_OPTIONS_H */
