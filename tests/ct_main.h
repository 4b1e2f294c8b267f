/* SPDX-License-Identifier: MIT */
/*
 * ct_main.h - what the constant-time programs share.
 *
 * Secrets are marked as undefined memory; memcheck then reports each jump and each
 * address that depends on one. A program works with them and, with --control,
 * branches on one of them once and succeeds only when that is reported. It says
 * nothing without valgrind, and so fails there, unless it is told --no-valgrind.
 */
#ifndef CT_MAIN_H
#define CT_MAIN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define REQUIRE(condition)                                                                   \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "%s: line %d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

static inline void hide(void *mem, size_t bytes)
{
	(void)VALGRIND_MAKE_MEM_UNDEFINED(mem, bytes);
}

/* Returns whether this is the control run; ends the program where it would say
 * nothing. */
static inline bool ct_begin(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--no-valgrind"))
		return false;
	if (!RUNNING_ON_VALGRIND) {
		fprintf(stderr, "%s: says nothing without valgrind; run it as: make ct\n", argv[0]);
		exit(1);
	}
#ifndef SR_CT
	fprintf(stderr, "%s: built without SR_CT, so nothing is declassified; run: make ct\n",
		argv[0]);
	exit(1);
#endif
	return argc > 1 && !strcmp(argv[1], "--control");
}

/* @what: "... depend on no secret". Returns the exit code. */
static inline int ct_end(bool control, const char *what)
{
	unsigned int reported = VALGRIND_COUNT_ERRORS;

	if (control)
		printf("%s ct: a branch on a secret is reported\n", reported ? "ok" : "not ok");
	else
		printf("%s ct: %s (%u reports)\n", reported ? "not ok" : "ok", what, reported);
	return control == (reported != 0) ? 0 : 1;
}

#endif /* CT_MAIN_H */
