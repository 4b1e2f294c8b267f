/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "sr_desk.h"

static void put(json_t *object, const char *name, uint64_t number)
{
	(void)json_object_set_new(object, name, json_integer((json_int_t)number));
}

static void put_hex(json_t *object, const char *name, const unsigned char bytes[32])
{
	char text[65];

	for (int i = 0; i < 32; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	(void)json_object_set_new(object, name, json_string(text));
}

/* The typed body, as `sigringctl policy check` takes it. */
static void put_body(json_t *line, const struct sr_order_line *o)
{
	char text[2 * SR_SUB_BYTES_MAX + 1];

	if (o->type <= SR_TYPE_BLIND_MAX)
		return;
	for (uint32_t i = 0; i < o->body_bytes; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", o->body[i]);
	(void)json_object_set_new(line, "body", json_string(text));
}

/* The signature as the venue has it, and what is posted, byte for byte. */
static void put_venue(json_t *line, const struct sr_replay *rp, const struct sr_order_line *o,
		      const struct sr_replay_result *r)
{
	struct sr_desk_text text;
	json_t *signature;

	if (sr_desk_write(rp->orders.desk, &text, o, r->venue_nonce, r->signature,
			  r->recovery_id))
		return;
	signature = json_loadb(text.signature, text.signature_bytes, JSON_DECODE_ANY, NULL);
	if (!signature)
		signature = json_stringn(text.signature, text.signature_bytes);
	(void)json_object_set_new(line, "signature", signature);
	(void)json_object_set_new(line, "post", json_stringn(text.post, text.post_bytes));
}

static void put_signature(json_t *line, const struct sr_replay *rp, const struct sr_order_line *o,
			  const struct sr_replay_result *r)
{
	put_hex(line, "r", r->signature);
	put_hex(line, "s", r->signature + 32);
	if (r->sigkind == SR_SIG_ECDSA) {
		put(line, "recid", r->recovery_id);
		put(line, "v", 27u + r->recovery_id);
	}
	put_venue(line, rp, o, r);
	(void)json_object_set_new(line, "verified", json_boolean(r->verdict == SR_GOOD));
}

/* What does not apply is left out. */
static json_t *result_json(const struct sr_replay *rp, uint64_t i)
{
	const struct sr_order_line *o = &rp->orders.list[i % rp->orders.count];
	const struct sr_replay_result *r = &rp->results[i];
	const char *status = r->completions ? sr_status_name(r->status) : "MISSING";
	json_t *line = json_object();
	unsigned char digest[32];

	put(line, "number", i);
	if (o->id)
		(void)json_object_set_new(line, "id", json_string(o->id));
	put(line, "line", o->line);
	put(line, "key", o->key);
	(void)json_object_set_new(line, "type", json_string(sr_desk_type_name(o->type)));
	(void)json_object_set_new(line, "status", json_string(status));
	put_body(line, o);
	if (!sr_desk_digest(rp->orders.desk, digest, o, r->venue_nonce))
		put_hex(line, "digest", digest);
	if (!r->completions)
		return line;
	if (!rp->offline)
		put(line, "latency_ns", r->latency_ns);
	if (r->status == SR_DENIED) {
		(void)json_object_set_new(line, "policy", json_string(sr_policy_name(r->policy)));
		put(line, "policy_code", r->policy);
	}
	if (r->status == SR_OK && r->venue_nonce)
		put(line, "nonce", r->venue_nonce);
	if (r->status == SR_OK)
		put_signature(line, rp, o, r);
	return line;
}

/* A line that was skipped is not lost without a word. */
static json_t *refused_json(const struct sr_replay_refused *refused)
{
	json_t *line = json_object();

	put(line, "line", refused->line);
	(void)json_object_set_new(line, "status", json_string("REFUSED"));
	(void)json_object_set_new(line, "why", json_string(refused->why));
	return line;
}

static int write_line(FILE *file, json_t *line)
{
	int err = json_dumpf(line, file, JSON_COMPACT) || putc('\n', file) == EOF;

	json_decref(line);
	return err;
}

int sr_replay_results_write(const struct sr_replay *rp)
{
	FILE *file = fopen(rp->set.out, "we");
	int err = 0;

	if (!file)
		goto fail;
	for (uint64_t i = 0; !err && i < rp->submitted; i++)
		err = write_line(file, result_json(rp, i));
	for (uint32_t i = 0; !err && i < rp->refused_count; i++)
		err = write_line(file, refused_json(&rp->refused[i]));
	if (fclose(file) || err)
		goto fail;
	return 0;
fail:
	fprintf(stderr, "%s: %s: %s\n", SR_REPLAY_PROGRAM, rp->set.out, strerror(errno));
	return -EIO;
}
