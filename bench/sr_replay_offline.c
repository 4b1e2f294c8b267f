/* SPDX-License-Identifier: MIT */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sr_desk.h"
#include "sr_offline.h"

/* The public halves are what signatures are verified against. */
static int keys_take(struct sr_replay *rp, const struct sr_offline *offline)
{
	struct sr_replay_key key;

	rp->keys = calloc(SR_REPLAY_KEYS_MAX, sizeof *rp->keys);
	if (!rp->keys)
		return -ENOMEM;
	while (rp->key_count < SR_REPLAY_KEYS_MAX &&
	       !sr_offline_key(offline, rp->key_count, &key.id, key.bytes))
		rp->keys[rp->key_count++] = key;
	return 0;
}

int sr_replay_offline_load(struct sr_replay *rp)
{
	struct sr_reason why = { .error = 0 };
	int err = sr_offline_new(&rp->offline, rp->set.private_keys, &why);

	if (err) {
		fprintf(stderr, "%s: %s\n", SR_REPLAY_PROGRAM, why.text);
		return err;
	}
	return keys_take(rp, rp->offline);
}

static int sign_one(struct sr_replay *rp, uint64_t i)
{
	const struct sr_order_line *o = &rp->orders.list[i % rp->orders.count];
	struct sr_replay_result *r = &rp->results[i];
	unsigned char digest[32] = { 0 };
	int err;

	if (o->type != SR_BIP340 && sr_desk_digest(rp->orders.desk, digest, o, 0))
		return -EIO;
	err = sr_offline_sign(rp->offline, r->signature, &r->recovery_id, o, digest);
	if (err)
		return err;
	r->status = SR_OK;
	r->sigkind = o->type == SR_BIP340 ? SR_SIG_BIP340 : SR_SIG_ECDSA;
	r->completions = 1;
	return 0;
}

int sr_replay_offline_run(struct sr_replay *rp)
{
	int err = 0;

	rp->start_ns = sr_replay_now_ns();
	while (!err && rp->submitted < rp->set.count && !sr_replay_interrupted) {
		err = sign_one(rp, rp->submitted);
		if (!err)
			rp->submitted++;
	}
	rp->completed = rp->submitted;
	rp->end_ns = sr_replay_now_ns();
	if (err)
		fprintf(stderr, "%s: order %" PRIu64 " was not signed: %s\n", SR_REPLAY_PROGRAM,
			rp->submitted, strerror(-err));
	return err;
}

void sr_replay_offline_end(struct sr_replay *rp)
{
	sr_offline_delete(rp->offline);
	rp->offline = NULL;
}
