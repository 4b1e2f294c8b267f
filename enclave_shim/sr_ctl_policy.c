/* SPDX-License-Identifier: MIT */
#include "sr_ctl_policy.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sr_clock.h"
#include "sr_ctl_file.h"
#include "sr_ctl_vault.h"
#include "sr_digits.h"
#include "sr_desk.h"
#include "sr_manifest.h"
#include "sr_schema_set.h"
#include "sr_typed_data.h"
#include "sr_venue.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define LINE_BYTES (SR_ORDERS_LINE_MAX + 2u)
#define WARM_MS (UINT64_C(8) * 86400 * 1000) /* longer than any window */

struct work {
	const char *manifest_file;
	const char *orders_file;
	bool cold; /* as after a start */
	struct sr_manifest manifest;
	struct sr_policy_book *book;
	struct sr_desk *desk; /* reads orders as venues have them */
	struct sr_schema_set set;
	struct sr_order_env env;
	struct sr_order order;
	uint64_t time_ms; /* of the order before */
	uint64_t session_full_ns;
	uint64_t allowed;
	uint64_t refused;
	unsigned int line;
	char text[SR_ENVELOPE_BYTES_MAX + 1];
	char line_text[LINE_BYTES];
	char why[SR_ORDERS_WHY_BYTES];
	unsigned char body[SR_SUB_BYTES_MAX];
};

/* A line of the file. */
struct ask {
	uint64_t key;
	uint64_t time_ms;
	const struct sr_venue *venue;
	uint32_t blind; /* or a type that no policy judges */
	uint32_t body_bytes;
};

static const char *const reasons[] = {
	[SR_POLICY_UNKNOWN_KEY] = "the manifest has no such key",
	[SR_POLICY_TYPE_NOT_PERMITTED] = "permit has no action of this venue",
	[SR_POLICY_ACTION] = "permit does not have this action, or schemas this type, or it is "
			     "never signed",
	[SR_POLICY_NETWORK] = "networks does not have this one",
	[SR_POLICY_CHAIN] = "chain_ids does not have this one",
	[SR_POLICY_CONTRACT] = "contracts does not have this one",
	[SR_POLICY_ACCOUNT] = "accounts does not have this one",
	[SR_POLICY_DESTINATION] = "destinations does not have this one",
	[SR_POLICY_FEE] = "builders does not have who takes the fee, or it is above fee_max",
	[SR_POLICY_VALUE] = "more than value_max",
	[SR_POLICY_ASSET] = "assets does not have this one",
	[SR_POLICY_LEVERAGE] = "more than the asset's leverage_max",
	[SR_POLICY_DECIMALS] = "the asset needs price_decimals and size_decimals",
	[SR_POLICY_REDUCE_ONLY] = "it could open a position, and reduce_only is not false",
	[SR_POLICY_SIZE] = "above the asset's size_max, or 0 without whole_position",
	[SR_POLICY_MARKET_ORDER] = "its price binds nobody, and market_orders is not true",
	[SR_POLICY_PRICE_BAND] = "not within the asset's price_min and price_max",
	[SR_POLICY_VENUE_RULES] = "the venue would refuse its price or size; see size_decimals, tick",
	[SR_POLICY_NOTIONAL] = "above the asset's notional_max, or it cannot be known",
	[SR_POLICY_EXPIRY] = "it has expired, never does, or later than expiry_max_ms",
	[SR_POLICY_VENUE_NONCE] = "not above the last one, or not as venue_nonce says",
	[SR_POLICY_CLOCK] = "the nonce leads the time by more than a second",
	[SR_POLICY_SESSION_RATE] = "the session has no tokens left: rate",
	[SR_POLICY_KEY_RATE] = "the key has no tokens left: rate",
	[SR_POLICY_WINDOW] = "more than window allows was signed in it",
	[SR_POLICY_EXPOSURE] = "more than unexpired_notional_max would be signed and not expired",
};

static void usage(FILE *to)
{
	fprintf(to,
		"usage:\n"
		"  sigringctl policy check [--cold] MANIFEST ORDERS\n"
		"        what a signer with this manifest would say to each order\n"
		"MANIFEST is the JSON, with or without signatures. ORDERS has one a line, - is "
		"standard input,\n"
		"as its venue's API has it (see sigring-replay(1)) or as the signer gets it:\n"
		"  {\"key\":7,\"venue\":\"hyperliquid\",...,\"time_ms\":1700000000000}\n"
		"  {\"key\":7,\"type\":\"hyperliquid\",\"body\":\"hex\",\"time_ms\":1700000000000}\n"
		"All come in one session, at their times (now, without one), and what is allowed "
		"is spent.\n"
		"The lease holds. --cold: the signer was started at the first order's time.\n");
}

static int fail(const char *file, const char *text)
{
	fprintf(stderr, "sigringctl policy: %s: %s\n", file, text);
	return EXIT_FAILED;
}

static int read_manifest(struct work *w)
{
	struct sr_envelope envelope = { .manifest = w->text };
	struct sr_reason why;
	ssize_t got = sr_ctl_file_read(w->manifest_file, w->text, sizeof w->text);

	if (got < 0)
		return fail(w->manifest_file, strerror((int)-got));
	envelope.manifest_bytes = (size_t)got;
	if (got && w->text[0] == 's' && sr_envelope_open(&envelope, w->text, (size_t)got, &why))
		return fail(w->manifest_file, why.text);
	if (sr_manifest_parse(&w->manifest, envelope.manifest, envelope.manifest_bytes, &why))
		return fail(w->manifest_file, why.text);
	w->set = (struct sr_schema_set){ w->manifest.schemas, w->manifest.schema_count };
	w->env.schemas = &w->set;
	return EXIT_DONE;
}

/* ---- a line ---- */

static const char *take_body(struct work *w, struct ask *ask, const json_t *value)
{
	const char *digits = json_string_value(value);
	size_t bytes = json_string_length(value);

	if (!digits || bytes % 2 || bytes / 2 > sizeof w->body ||
	    sr_digits_get(w->body, digits, bytes / 2))
		return "body is no string of hexadecimal digits, lower case, or too long";
	ask->body_bytes = (uint32_t)bytes / 2;
	return NULL;
}

static const char *take_field(struct work *w, struct ask *ask, const char *name,
			      const json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (!strcmp(name, "body"))
		return take_body(w, ask, value);
	if (!strcmp(name, "type")) {
		ask->venue = json_is_string(value) ? sr_venue_from_name(json_string_value(value)) :
						     NULL;
		return ask->venue ? NULL : "type is no venue";
	}
	if (!strcmp(name, "key")) {
		ask->key = (uint64_t)number;
		return number >= 1 && number <= UINT32_MAX ? NULL : "key is no id";
	}
	if (!strcmp(name, "time_ms")) {
		ask->time_ms = (uint64_t)number;
		return number >= (json_int_t)WARM_MS && number < (json_int_t)1 << 52 ?
			       NULL :
			       "time_ms is no time in milliseconds since 1970";
	}
	return "it has a field that is not key, type, body or time_ms";
}

/* As sigring-replay takes it: of a venue, or blind. */
static const char *read_line(struct work *w, struct ask *ask, json_t *root)
{
	json_t *time_ms = json_object_get(root, "time_ms");
	const char *wrong = time_ms ? take_field(w, ask, "time_ms", time_ms) : NULL;
	struct sr_order_line order;
	char *text;
	int ret;

	if (wrong)
		return wrong;
	(void)json_object_del(root, "time_ms");
	text = json_dumps(root, JSON_COMPACT);
	ret = text ? sr_orders_parse(&order, w->desk, text, strlen(text),
				     sr_body_bytes_max(SR_SUB_BYTES_MAX), w->why) :
		     -ENOMEM;
	free(text);
	if (ret)
		return ret == -EINVAL ? w->why : strerror(-ret);
	ask->key = order.key;
	ask->blind = order.type < SR_TYPE_TYPED_MIN ? order.type : 0;
	ask->venue = sr_venue_find(order.type);
	ask->body_bytes = order.body_bytes;
	if (order.body_bytes)
		memcpy(w->body, order.body, order.body_bytes);
	sr_orders_release(&order);
	return NULL;
}

static const char *read_fields(struct work *w, struct ask *ask, json_t *root)
{
	const char *name, *wrong;
	json_t *value;

	json_object_foreach(root, name, value) {
		wrong = take_field(w, ask, name, value);
		if (wrong)
			return wrong;
	}
	return ask->key && ask->venue && json_object_get(root, "body") ?
		       NULL :
		       "key, type and body are needed";
}

/* What is wrong with it, or NULL. */
static const char *read_ask(struct work *w, struct ask *ask, json_t *root)
{
	const char *wrong;

	if (!json_is_object(root))
		return "it is no object";
	wrong = json_object_get(root, "venue") || json_object_get(root, "scheme") ?
			read_line(w, ask, root) :
			read_fields(w, ask, root);
	if (wrong)
		return wrong;
	return ask->time_ms < w->time_ms ? "it comes before the one in front of it" : NULL;
}

/* ---- verdicts ---- */

/* The time of the first is that of the start, or long after it. */
static void set_time(struct work *w, uint64_t time_ms)
{
	if (!w->time_ms) {
		uint64_t start_ms = w->cold ? time_ms : time_ms - WARM_MS;

		sr_policy_time(w->book, start_ms * SR_NS_PER_MS, start_ms);
		sr_policy_obey(w->book, &w->manifest.policy);
		sr_policy_lease(w->book, UINT64_MAX);
		for (uint32_t i = 0; i < w->manifest.policy.count && !w->cold; i++)
			sr_policy_seed(w->book, i, 0, 0);
	}
	w->time_ms = time_ms;
	sr_policy_time(w->book, time_ms * SR_NS_PER_MS, time_ms);
}

static void print_denied(struct work *w, uint32_t code, const char *where)
{
	bool known = code < sizeof reasons / sizeof reasons[0] && reasons[code];

	w->refused++;
	printf("DENIED %u %s%s: %s\n", code, sr_policy_name(code), where,
	       known ? reasons[code] : "see docs/operations.md");
}

static void print_verdict(struct work *w, const struct sr_policy_verdict *verdict)
{
	char where[32] = "";

	if (verdict->code) {
		if (w->order.view.leg_count > 1 && verdict->code >= SR_POLICY_ASSET &&
		    verdict->code <= SR_POLICY_NOTIONAL)
			(void)snprintf(where, sizeof where, ", leg %u", verdict->leg);
		print_denied(w, verdict->code, where);
		return;
	}
	w->allowed++;
	printf("OK");
	if (verdict->nonce)
		printf(" nonce %llu%s", (unsigned long long)verdict->nonce,
		       verdict->nonce_given ? " given" : "");
	if (verdict->notional)
		printf(" notional %llu.%06llu",
		       (unsigned long long)(verdict->notional / 1000000u),
		       (unsigned long long)(verdict->notional % 1000000u));
	printf("\n");
}

static void print_bad(const struct work *w, const struct ask *ask)
{
	bool typed = ask->venue->type == SR_TYPE_TYPED_DATA && ask->body_bytes >= SR_TYPED_MESSAGE;

	if (typed && !sr_schema_find(&w->set, sr_get32(w->body + SR_TYPED_SCHEMA)))
		printf("BAD_REQUEST: the manifest has no schema of this id; an order's schema.id "
		       "says which it is\n");
	else
		printf("BAD_REQUEST: this is no body of %s\n", ask->venue->name);
}

static void judge(struct work *w, const struct ask *ask)
{
	struct sr_policy_verdict verdict;
	int index = sr_policy_index(w->book, (uint32_t)ask->key);
	int ret;

	if (index < 0) {
		print_denied(w, SR_POLICY_UNKNOWN_KEY, "");
		return;
	}
	if (ask->blind && w->manifest.keys[index].permissions >> ask->blind & 1) {
		w->allowed++;
		printf("OK blind: no policy judges it\n");
		return;
	}
	if (ask->blind || !sr_policy_permits(w->book, (uint32_t)index, ask->venue->type)) {
		print_denied(w, SR_POLICY_TYPE_NOT_PERMITTED, "");
		return;
	}
	ret = sr_order_decode(&w->order, ask->venue->type, w->body, ask->body_bytes, &w->env);
	if (ret == -EPERM) {
		print_denied(w, SR_POLICY_ACTION, "");
		return;
	}
	if (ret) {
		w->refused++;
		print_bad(w, ask);
		return;
	}
	(void)sr_policy_judge(w->book, &verdict, (uint32_t)index, &w->order, w->session_full_ns);
	print_verdict(w, &verdict);
	if (!verdict.code)
		sr_policy_spend(w->book, &verdict, &w->session_full_ns);
}

static int judge_line(struct work *w)
{
	struct timespec now;
	struct ask ask = { 0 };
	const char *wrong;
	json_error_t error;
	json_t *root = json_loads(w->line_text, JSON_REJECT_DUPLICATES, &error);

	(void)clock_gettime(CLOCK_REALTIME, &now);
	ask.time_ms = (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / SR_NS_PER_MS;
	wrong = root ? read_ask(w, &ask, root) : error.text;
	if (wrong) {
		fprintf(stderr, "sigringctl policy: %s:%u: %s\n", w->orders_file, w->line, wrong);
	} else {
		set_time(w, ask.time_ms);
		printf("%u: key %u %s: ", w->line, (uint32_t)ask.key,
		       ask.blind ? sr_type_name(ask.blind) : ask.venue->name);
		judge(w, &ask);
	}
	json_decref(root);
	return wrong ? EXIT_FAILED : EXIT_DONE;
}

static int judge_file(struct work *w, FILE *file)
{
	int ret = EXIT_DONE;

	while (!ret && fgets(w->line_text, sizeof w->line_text, file)) {
		w->line++;
		if (!strchr(w->line_text, '\n') && !feof(file))
			ret = fail(w->orders_file, "a line is too long");
		else if (w->line_text[0] != '\n')
			ret = judge_line(w);
	}
	if (!ret && ferror(file))
		ret = fail(w->orders_file, strerror(errno));
	return ret;
}

static int run_check(struct work *w)
{
	bool in = !strcmp(w->orders_file, "-");
	FILE *file;
	int ret = read_manifest(w);

	if (ret)
		return ret;
	file = in ? stdin : fopen(w->orders_file, "re");
	if (!file)
		return fail(w->orders_file, strerror(errno));
	ret = judge_file(w, file);
	if (!in)
		(void)fclose(file);
	if (!ret)
		printf("%llu allowed, %llu refused\n", (unsigned long long)w->allowed,
		       (unsigned long long)w->refused);
	if (fflush(stdout) && !ret)
		ret = fail("standard output", strerror(errno));
	return ret ? ret : w->refused ? EXIT_FAILED : EXIT_DONE;
}

/* ---- the command line ---- */

static int parse_options(struct work *w, int argc, char **argv)
{
	static const struct option known[] = {
		{ "cold", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int letter;

	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (letter != 'c')
			return EXIT_USAGE;
		w->cold = true;
	}
	if (argc - optind != 2)
		return EXIT_USAGE;
	w->manifest_file = argv[optind];
	w->orders_file = argv[optind + 1];
	return EXIT_DONE;
}

int sr_ctl_policy(int argc, char **argv)
{
	struct work *w;
	int ret;

	if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (argc < 2 || strcmp(argv[1], "check") != 0) {
		usage(stderr);
		return EXIT_USAGE;
	}
	w = calloc(1, sizeof *w);
	if (!w || sr_policy_book_new(&w->book) || sr_desk_new(&w->desk) ||
	    sr_hasher_new(&w->env.hasher)) {
		if (w) {
			sr_desk_delete(w->desk);
			sr_policy_book_delete(w->book);
		}
		free(w);
		return fail("check", "no memory");
	}
	ret = parse_options(w, argc - 1, argv + 1);
	if (ret == EXIT_USAGE)
		usage(stderr);
	else
		ret = run_check(w);
	sr_hasher_delete(w->env.hasher);
	sr_desk_delete(w->desk);
	sr_policy_book_delete(w->book);
	free(w);
	return ret;
}

int sr_ctl_policy_say(int argc, char **argv)
{
	char noun[] = "policy";
	char **more = calloc((size_t)argc + 2, sizeof *more);
	int ret;

	if (!more)
		return fail(argv[0], "no memory");
	if (argc >= 2 && !strcmp(argv[1], "--help")) {
		printf("usage:\n");
		sr_ctl_vault_usage(stdout, noun);
		free(more);
		return EXIT_DONE;
	}
	more[0] = noun;
	memcpy(more + 1, argv, (size_t)argc * sizeof *more);
	ret = sr_ctl_vault(argc + 1, more);
	free(more);
	return ret;
}
