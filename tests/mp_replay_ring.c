/* SPDX-License-Identifier: MIT */
/*
 * Venues' vectors through the ring: sigring-replay, an agent and a signer, sealed, with the
 * vectors' own keys and a manifest that permits them (tests/vectors/replay_ring.json). Keys
 * sign as RFC 6979 says, so digest and signature are those of tests/vectors/replay.json.
 *
 * A signer takes no nonce of another year. Where the venue's is a time, the order comes
 * without one, and what comes back is compared with what --offline signs at the nonce that
 * the signer gave; that --offline is right about the vector is tests/mp_replay.c's to say.
 */
#include "mp_traders.h"

#define SAMPLES_MAX 100u
#define SLOT_BYTES "1024"

static struct {
	struct mp_rig rig;
	json_t *sample, *vectors;
	json_t *lines[SAMPLES_MAX];
	json_t *results[SAMPLES_MAX + 1]; /* by line, from 1 */
	size_t count;
	char orders[400], out[400], public[400], log[400];
} run;

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static json_t *load(const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);

	MP_CHECK(root, "%s:%d: %s", path, error.line, error.text);
	return root;
}

static const json_t *sample_at(size_t i)
{
	return json_array_get(json_object_get(run.sample, "samples"), i);
}

static const json_t *vector_of(const json_t *sample)
{
	const json_t *group = json_object_get(run.vectors, text_of(sample, "group"));
	const json_t *vector;
	size_t i;

	json_array_foreach(group, i, vector)
		if (!strcmp(text_of(vector, "id"), text_of(sample, "id")))
			return vector;
	mp_fail("there is no vector %s of %s", text_of(sample, "id"), text_of(sample, "group"));
}

/* The member of a line that is named "a" or "a.b". */
static void nonce_set(json_t *line, const char *path, uint64_t nonce)
{
	const char *point = strchr(path, '.');
	char name[32];

	if (point) {
		(void)snprintf(name, sizeof name, "%.*s", (int)(point - path), path);
		line = json_object_get(line, name);
		path = point + 1;
	}
	MP_CHECK(json_object_get(line, path), "no %s in the line", path);
	(void)json_object_set_new(line, path, json_integer((json_int_t)nonce));
}

static json_t *line_make(const json_t *sample)
{
	json_t *line = json_deep_copy(json_object_get(vector_of(sample), "line"));
	const json_t *schema = json_object_get(sample, "schema");
	const char *nonce = text_of(sample, "nonce");

	MP_CHECK(line, "no line");
	(void)json_object_set(line, "key", json_object_get(sample, "key"));
	if (schema) {
		if (!json_object_get(line, "schema"))
			(void)json_object_set_new(line, "schema", json_object());
		(void)json_object_set(json_object_get(line, "schema"), "id",
				      (json_t *)(uintptr_t)schema);
	}
	if (nonce[0])
		nonce_set(line, nonce, 0);
	return line;
}

static void lines_write(void)
{
	FILE *file = fopen(run.orders, "we");

	MP_CHECK(file, "no %s", run.orders);
	for (size_t i = 0; i < run.count; i++) {
		MP_EQ(json_dumpf(run.lines[i], file, JSON_COMPACT), 0, "json_dumpf");
		(void)fputc('\n', file);
	}
	MP_EQ(fclose(file), 0, run.orders);
}

static void keys_write(void)
{
	const json_t *secret;
	const char *id;

	json_object_foreach(json_object_get(run.sample, "secrets"), id, secret) {
		char path[400];
		const char *argv[] = { "sigringctl", "key", "public", path, NULL };
		FILE *file;

		(void)snprintf(path, sizeof path, "%s/%s.key", run.rig.keys, id);
		file = fopen(path, "we");
		MP_CHECK(file && !fchmod(fileno(file), 0600), "no %s", path);
		(void)fprintf(file, "sigring-key 1\nid %s\npermit bip340\nuid any\nsecret %s\n",
			      id, json_string_value(secret));
		MP_EQ(fclose(file), 0, path);
		MP_EQ(mp_run(argv, run.public), 0, "sigringctl key public");
	}
}

/* The rig's trader stands in it, and its operator signs it. */
static void manifest_write(void)
{
	json_t *manifest = json_object_get(run.sample, "manifest");
	json_t *identities = json_object_get(manifest, "identities");
	char operator[400], *pair = mp_read_file(run.rig.identities[0]), *at, *text;
	const char *argv[] = { "sigringctl", "manifest",        "sign", "--operator",
			       operator,     run.rig.manifest, NULL };

	(void)snprintf(operator, sizeof operator, "%s/operator.pair", run.rig.dir);
	at = strstr(pair, "public ");
	MP_CHECK(at && strlen(at) >= 71, "no public key of the trader");
	at[71] = '\0';
	(void)json_object_set_new(json_array_get(identities, 0), "public_key",
				  json_string(at + 7));
	text = json_dumps(manifest, JSON_INDENT(1));
	mp_write_file(run.rig.manifest, text);
	MP_EQ(mp_run(argv, run.rig.signer_log), 0, "sigringctl manifest sign");
	free(text);
	free(pair);
}

static void results_read(void)
{
	char *text = mp_read_file(run.out), *save;

	for (size_t i = 1; i <= run.count; i++) {
		json_decref(run.results[i]);
		run.results[i] = NULL;
	}
	for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		json_t *result = json_loads(at, 0, NULL);
		json_int_t line = json_integer_value(json_object_get(result, "line"));

		MP_CHECK(line > 0 && (size_t)line <= run.count && !run.results[line],
			 "not a line of ours, or twice: %s", at);
		run.results[line] = result;
	}
	free(text);
}

static void begin(bool split)
{
	const char **more = split ? run.rig.signer_args : run.rig.agent_args;

	mp_rig_new_sealed(&run.rig, split);
	while (*more)
		more++;
	more[0] = "--signer-slot-bytes-max"; /* an order of Derive's has 385 bytes */
	more[1] = SLOT_BYTES;
	(void)snprintf(run.orders, sizeof run.orders, "%s/orders.jsonl", run.rig.dir);
	(void)snprintf(run.out, sizeof run.out, "%s/results.jsonl", run.rig.dir);
	(void)snprintf(run.public, sizeof run.public, "%s/keys.public", run.rig.dir);
	(void)snprintf(run.log, sizeof run.log, "%s/replay.log", run.rig.dir);
	run.sample = load("tests/vectors/replay_ring.json");
	run.vectors = load("tests/vectors/replay.json");
	run.count = json_array_size(json_object_get(run.sample, "samples"));
	MP_CHECK(run.count > 0 && run.count <= SAMPLES_MAX, "%zu samples", run.count);
	for (size_t i = 0; i < run.count; i++)
		run.lines[i] = line_make(sample_at(i));
	keys_write();
	manifest_write();
	lines_write();
}

static int replay(const char *const *argv)
{
	int status = mp_run(argv, run.log);

	results_read();
	return status;
}

static void replay_ring(void)
{
	const char *argv[] = { "sigring-replay", "--socket",            run.rig.socket,
			       "--public",       run.public,            "--identity",
			       run.rig.identities[0], "--trust",        run.rig.trust,
			       "--wait",         "yield",               "--slot-bytes",
			       SLOT_BYTES,       "--patience-s",        "150",
			       "--out",          run.out,               run.orders,
			       NULL };

	mp_rig_start(&run.rig);
	MP_EQ(replay(argv), 1, "the exit status, for some are denied");
	mp_rig_stop(&run.rig);
}

static void replay_offline(void)
{
	const char *argv[] = { "sigring-replay", "--offline", "--keys",   run.rig.keys,
			       "--out",          run.out,     run.orders, NULL };

	MP_EQ(replay(argv), 0, "the exit status");
}

static void same(const json_t *a, const json_t *b, const char *name, const char *id)
{
	MP_CHECK(json_equal(json_object_get(a, name), json_object_get(b, name)) &&
			 json_object_get(a, name),
		 "%s: %s differs from the one signed offline", id, name);
}

static void signed_check(const json_t *sample, const json_t *result)
{
	const json_t *vector = vector_of(sample);
	const char *id = text_of(sample, "id");
	char rs[129];

	MP_CHECK(!strcmp(text_of(result, "status"), "OK"), "%s: %s %s", id,
		 text_of(result, "status"), text_of(result, "policy"));
	MP_CHECK(json_is_true(json_object_get(result, "verified")), "%s is not verified", id);
	if (text_of(sample, "nonce")[0])
		return;
	if (text_of(vector, "digest")[0])
		MP_CHECK(!strcmp(text_of(vector, "digest"), text_of(result, "digest")),
			 "%s: digest is %s", id, text_of(result, "digest"));
	(void)snprintf(rs, sizeof rs, "%s%s", text_of(result, "r"), text_of(result, "s"));
	MP_CHECK(!strcmp(rs, text_of(vector, "signature")), "%s: signature is %s", id, rs);
	if (json_object_get(vector, "recid"))
		MP_EQ(json_integer_value(json_object_get(result, "recid")),
		      json_integer_value(json_object_get(vector, "recid")), id);
}

/* Orders with the nonces that the signer gave, offline. */
static void given_nonces_check(void)
{
	static json_t *from_ring[SAMPLES_MAX + 1];
	size_t given = 0;

	for (size_t i = 0; i < run.count; i++) {
		const char *nonce = text_of(sample_at(i), "nonce");
		json_int_t value =
			json_integer_value(json_object_get(run.results[i + 1], "nonce"));

		from_ring[i] = json_incref(run.results[i + 1]);
		if (!nonce[0])
			continue;
		MP_CHECK(value > 0, "%s: no nonce was given", text_of(sample_at(i), "id"));
		nonce_set(run.lines[i], nonce, (uint64_t)value);
		given++;
	}
	MP_CHECK(given >= 6, "%zu nonces were given", given);
	lines_write();
	replay_offline();
	for (size_t i = 0; i < run.count; i++) {
		static const char *const names[] = { "digest", "r", "s", "recid", "signature",
						     "post" };
		const char *id = text_of(sample_at(i), "id");

		for (size_t n = 0; n < 6 && text_of(sample_at(i), "nonce")[0]; n++)
			same(from_ring[i], run.results[i + 1], names[n], id);
		json_decref(from_ring[i]);
	}
}

static void sample_run(bool split)
{
	size_t denied = 0;

	begin(split);
	replay_ring();
	for (size_t i = 0; i < run.count; i++) {
		const json_t *sample = sample_at(i), *result = run.results[i + 1];
		const char *why = text_of(sample, "denied");

		MP_CHECK(result, "%s has no result", text_of(sample, "id"));
		if (!why[0]) {
			signed_check(sample, result);
			continue;
		}
		MP_CHECK(!strcmp(text_of(result, "status"), "DENIED") &&
				 !strcmp(text_of(result, "policy"), why),
			 "%s: %s %s, not %s", text_of(sample, "id"), text_of(result, "status"),
			 text_of(result, "policy"), why);
		MP_CHECK(!json_object_get(result, "r"), "a signature of what was denied");
		denied++;
	}
	MP_CHECK(denied >= 3, "%zu were denied", denied);
	given_nonces_check();
}

static void vectors_of_every_venue_through_agent_and_signer(void)
{
	sample_run(true);
}

static void vectors_of_every_venue_through_sigring_local(void)
{
	sample_run(false);
}

/* What an operator is told before is what traders are told then. */
static void policy_check_says_what_the_signer_will(void)
{
	const char *argv[] = { "sigringctl", "policy", "check", run.rig.manifest, run.orders, NULL };
	char *said;

	begin(false);
	MP_EQ(mp_run(argv, run.log), 1, "the exit status, for some are refused");
	said = mp_read_file(run.log);
	for (size_t i = 0; i < run.count; i++) {
		const char *why = text_of(sample_at(i), "denied");
		char line[32], *at, *verdict;

		(void)snprintf(line, sizeof line, "%zu: key ", i + 1);
		at = strstr(said, line);
		MP_CHECK(at && (at == said || at[-1] == '\n'), "nothing about line %zu: %s", i + 1,
			 said);
		verdict = strstr(at, why[0] ? "DENIED" : ": OK");
		MP_CHECK(verdict && verdict < strchr(at, '\n') && strstr(verdict, why) &&
				 strstr(verdict, why) < strchr(at, '\n'),
			 "%s: %.*s", text_of(sample_at(i), "id"), (int)strcspn(at, "\n"), at);
	}
	free(said);
}

#define ROW(name)                             \
	{                                     \
		"replay_ring/" #name, name, 0 \
	}
static const struct mp_test tests[] = {
	ROW(vectors_of_every_venue_through_agent_and_signer),
	ROW(vectors_of_every_venue_through_sigring_local),
	ROW(policy_check_says_what_the_signer_will),
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
