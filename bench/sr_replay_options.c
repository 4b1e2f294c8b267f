/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 10000000u
#define RATE_MAX 10000000u
#define DEADLINE_US_MAX 3600000000u
#define PATIENCE_S_MAX 3600u

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
	{ name, argument, help, OPTION_TEXT, offsetof(struct sr_replay_settings, member), 0, 0 }
#define NUMBER(name, argument, member, min, max, help) \
	{ name, argument, help, OPTION_NUMBER, offsetof(struct sr_replay_settings, member), min, max }
#define FLAG(name, member, help) \
	{ name, NULL, help, OPTION_FLAG, offsetof(struct sr_replay_settings, member), 0, 0 }
	/* clang-format on */
	TEXT("--public", "FILE", public_keys,
	     "public keys, a line each: ID COMPRESSED-HEX (unless --offline)"),
	TEXT("--socket", "PATH", socket,
	     "the agent's socket (default: $SIGRING_SOCKET, else " SR_SOCKET_DEFAULT ")"),
	TEXT("--identity", "FILE", identity,
	     "key pair of sigringctl identity new (default: $SIGRING_IDENTITY)"),
	TEXT("--trust", "FILE", trust, "the signers that are believed (default: $SIGRING_TRUST)"),
	FLAG("--offline", offline, "sign in this process, without ring, agent or policy"),
	TEXT("--keys", "PATH", private_keys,
	     "with --offline: a key file, or a directory with such files"),
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

void sr_replay_help_print(FILE *out)
{
	fprintf(out,
		"usage: %s --public FILE [options] ORDERS.jsonl\n"
		"       %s --offline --keys PATH [options] ORDERS.jsonl\n"
		"Sign the orders of a file through a sigring agent and verify every signature.\n\n",
		SR_REPLAY_PROGRAM, SR_REPLAY_PROGRAM);
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
	fprintf(stderr, "%s: %s%s (--help lists the options)\n", SR_REPLAY_PROGRAM, what, detail);
	return -EINVAL;
}

static int store_number(const struct option_row *row, const char *value,
			struct sr_replay_settings *set)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || number < row->min ||
	    number > row->max) {
		fprintf(stderr,
			"%s: %s takes a whole number from %" PRIu64 " to %" PRIu64 ", not \"%s\"\n",
			SR_REPLAY_PROGRAM, row->name, row->min, row->max, value);
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
static int store_option(struct sr_replay_settings *set, int argc, char **argv, int *at)
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

int sr_replay_options_read(struct sr_replay_settings *set, int argc, char **argv)
{
	*set = (struct sr_replay_settings){ .in_flight = 1,
					    .patience_s = 10,
					    .slot_bytes = SR_SUB_BYTES_DEFAULT,
					    .cpu = SR_REPLAY_CPU_ANY,
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
	if (set->offline != (set->private_keys != NULL))
		return complain("--offline and --keys belong together", "");
	if (set->offline && set->public_keys)
		return complain("--public is not for --offline: key files have both halves", "");
	if (!set->offline && !set->public_keys)
		return complain("--public FILE is required: every signature is verified "
				"(`sigringctl key public` prints the file)",
				"");
	if (sr_wait_from_name(set->wait) < 0)
		return complain("--wait is spin, yield, block or auto, not ", set->wait);
	if (set->offline && set->slot_bytes == SR_SUB_BYTES_DEFAULT)
		set->slot_bytes = SR_SUB_BYTES_MAX;
	if (set->slot_bytes % SR_LINE_BYTES)
		return complain("--slot-bytes is a multiple of 128", "");
	return 0;
}
