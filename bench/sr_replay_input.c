/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sr_verify.h"

static void print_refused(void *arg, uint32_t line, const char *what)
{
	struct sr_replay *rp = arg;
	struct sr_replay_refused *more;

	fprintf(stderr, "%s:%" PRIu32 ": %s\n", rp->set.orders, line, what);
	if (!rp->set.out || !rp->set.keep_going)
		return;
	more = realloc(rp->refused, (rp->refused_count + 1u) * sizeof *more);
	if (!more)
		return; /* it was told, and the exit status tells it again */
	rp->refused = more;
	more[rp->refused_count].line = line;
	(void)snprintf(more[rp->refused_count].why, sizeof more->why, "%s", what);
	rp->refused_count++;
}

int sr_replay_orders_load(struct sr_replay *rp)
{
	const struct sr_replay_settings *set = &rp->set;
	FILE *file = fopen(set->orders, "re");
	int err;

	if (!file) {
		fprintf(stderr, "%s: %s: %s\n", SR_REPLAY_PROGRAM, set->orders, strerror(errno));
		return -EINVAL;
	}
	err = sr_orders_read(&rp->orders, file, sr_body_bytes_max((uint32_t)set->slot_bytes),
			     set->keep_going, print_refused, rp);
	(void)fclose(file);
	if (err) {
		fprintf(stderr, "%s: %s: %s\n", SR_REPLAY_PROGRAM, set->orders, strerror(-err));
		return err;
	}
	if (rp->orders.bad && !set->keep_going) {
		fprintf(stderr, "%s: nothing was signed (--keep-going skips wrong lines)\n",
			SR_REPLAY_PROGRAM);
		return -EINVAL;
	}
	if (!rp->orders.count) {
		fprintf(stderr, "%s: %s: no order in it\n", SR_REPLAY_PROGRAM, set->orders);
		return -EINVAL;
	}
	return 0;
}

/* `ID COMPRESSED-HEX`; returns what is wrong with the line, or NULL. */
static const char *parse_key(struct sr_verifier *verifier, struct sr_replay_key *key, char *line)
{
	unsigned char address[20];
	char *save, *id, *hex, *end;
	unsigned long number;

	id = strtok_r(line, " \t\r\n", &save);
	hex = strtok_r(NULL, " \t\r\n", &save);
	if (!hex || strtok_r(NULL, " \t\r\n", &save))
		return "not `ID COMPRESSED-HEX`";
	errno = 0;
	number = strtoul(id, &end, 10);
	if (errno || *end || id[0] < '0' || id[0] > '9' || !number || number > UINT32_MAX)
		return "key id is not in 1 .. 4294967295";
	if (strlen(hex) != 66 || sr_orders_unhex(key->bytes, hex, 66))
		return "public key is not 66 hex digits (33 bytes, compressed)";
	if (sr_verify_address(verifier, address, key->bytes, 33))
		return "public key is no point of secp256k1";
	key->id = (uint32_t)number;
	return NULL;
}

static const struct sr_replay_key *find_key(const struct sr_replay *rp, uint32_t id)
{
	for (uint32_t i = 0; i < rp->key_count; i++)
		if (rp->keys[i].id == id)
			return &rp->keys[i];
	return NULL;
}

static int read_keys(struct sr_replay *rp, struct sr_verifier *verifier, FILE *file)
{
	const char *path = rp->set.public_keys;
	char line[512];

	for (uint32_t number = 1; fgets(line, sizeof line, file); number++) {
		struct sr_replay_key key;
		const char *wrong;

		if (line[0] == '#' || line[strspn(line, " \t\r\n")] == 0)
			continue;
		wrong = parse_key(verifier, &key, line);
		if (!wrong && find_key(rp, key.id))
			wrong = "this key id was given before";
		if (!wrong && rp->key_count == SR_REPLAY_KEYS_MAX)
			wrong = "too many keys";
		if (wrong) {
			fprintf(stderr, "%s:%" PRIu32 ": %s\n", path, number, wrong);
			return -EINVAL;
		}
		rp->keys[rp->key_count++] = key;
	}
	return ferror(file) ? -EIO : 0;
}

int sr_replay_keys_load(struct sr_replay *rp)
{
	struct sr_verifier *verifier;
	FILE *file = fopen(rp->set.public_keys, "re");
	int err;

	if (!file) {
		fprintf(stderr, "%s: %s: %s (`sigringctl key public` prints it)\n",
			SR_REPLAY_PROGRAM, rp->set.public_keys, strerror(errno));
		return -EINVAL;
	}
	rp->keys = calloc(SR_REPLAY_KEYS_MAX, sizeof *rp->keys);
	err = rp->keys ? sr_verifier_new(&verifier) : -ENOMEM;
	if (err) {
		fprintf(stderr, "%s: %s\n", SR_REPLAY_PROGRAM,
			err == -ENOSYS ? "this OpenSSL has no secp256k1" : strerror(-err));
		(void)fclose(file);
		return err;
	}
	err = read_keys(rp, verifier, file);
	sr_verifier_delete(verifier);
	(void)fclose(file);
	return err;
}

int sr_replay_keys_match(struct sr_replay *rp)
{
	rp->key_of = calloc(rp->orders.count, sizeof *rp->key_of);
	if (!rp->key_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < rp->orders.count; i++) {
		const struct sr_order_line *o = &rp->orders.list[i];
		const struct sr_replay_key *key = find_key(rp, o->key);

		if (!key) {
			fprintf(stderr,
				"%s:%" PRIu32 ": key %" PRIu32
				" has no %s key in %s, so it could not be %s\n",
				rp->set.orders, o->line, o->key,
				rp->offline ? "development" : "public",
				rp->offline ? rp->set.private_keys : rp->set.public_keys,
				rp->offline ? "signed" : "verified");
			return -EINVAL;
		}
		rp->key_of[i] = (uint32_t)(key - rp->keys);
	}
	return 0;
}
