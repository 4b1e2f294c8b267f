/* SPDX-License-Identifier: MIT */
/*
 * sr_config.h - options of a program, from one table: the command line, the
 * configuration file, --help and the list in the man page are the same names.
 *
 *	--sessions-max 64          sessions-max 64        # in a file
 *
 * A file is read where --config stands; later options override earlier ones.
 */
#ifndef SR_CONFIG_H
#define SR_CONFIG_H

#include "sr_base.h"
#include "sr_reason.h"

struct sr_option {
	const char *name;     /* without the dashes */
	const char *argument; /* its name in the help; NULL: a switch */
	const char *help;
	int (*set)(void *target, const char *value, const struct sr_option *option,
		   struct sr_reason *why);
	void *target;
	uint64_t min; /* for sr_set_u32 */
	uint64_t max;
};

struct sr_program {
	const char *name;
	const char *purpose;  /* one line */
	const char *operands; /* for the usage line, may be "" */
	const struct sr_option *options;
	size_t option_count;
};

SR_BEGIN_DECLS

/*
 * sr_config_args - take the options of a command line.
 *
 * Handles --help and --version (prints, exits 0) and --config FILE.
 * Returns the index of the first operand, or -EINVAL with a reason.
 */
SR_WARN_UNUSED int sr_config_args(const struct sr_program *program, int argc, char **argv,
				  struct sr_reason *why);

/* sr_config_file - take a file of `name value` lines; errors name file and line. */
SR_WARN_UNUSED int sr_config_file(const struct sr_program *program, const char *path,
				  struct sr_reason *why);

/* sr_program_fail - print a reason; returns the exit code, 2 for wrong usage. */
int sr_program_fail(const struct sr_program *program, const struct sr_reason *why);

/* sr_program_log - print a line of a cold event; @program is a struct sr_program. */
void sr_program_log(void *program, const char *text);

/* sr_config_number - a decimal number within bounds. 0, or -EINVAL. */
SR_WARN_UNUSED int sr_config_number(const char *value, uint64_t min, uint64_t max,
				    uint64_t *number);

/* Setters. Targets: uint32_t, bool, const char *, int, enum sr_wait_policy,
 * struct sr_address. */
int sr_set_u32(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_pow2(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_pow2_or_0(void *target, const char *value, const struct sr_option *o,
		     struct sr_reason *why);
int sr_set_lines(void *target, const char *value, const struct sr_option *o,
		 struct sr_reason *why); /* a multiple of SR_LINE_BYTES */
int sr_set_true(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_false(void *target, const char *value, const struct sr_option *o,
		 struct sr_reason *why);
int sr_set_text(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_cpu(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_wait(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);
int sr_set_address(void *target, const char *value, const struct sr_option *o,
		   struct sr_reason *why);
int sr_set_socket(void *target, const char *value, const struct sr_option *o,
		  struct sr_reason *why);
int sr_set_mode(void *target, const char *value, const struct sr_option *o, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_CONFIG_H */
