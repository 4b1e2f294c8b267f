/* SPDX-License-Identifier: MIT */
#include "sr_core.h"

#include <stdlib.h>

#include "sr_assert.h"
#include "sr_core_state.h"
#include "sr_secret.h"

#define GENERATION_MAX (UINT32_MAX >> SR_SESSION_INDEX_BITS)

static int start_sessions(struct sr_core *core)
{
	int ret = sr_ledgers_new(&core->ledgers, core->sessions_max, core->depth_max,
				 core->slot_bytes_max);

	if (ret)
		return ret;
	core->sessions = calloc(core->sessions_count, sizeof *core->sessions);
	if (!core->sessions)
		return -ENOMEM;
	return core->admissions_max ? sr_core_sealed_start(core) : 0;
}

static bool config_valid(const struct sr_core_config *config)
{
	return config->sessions_max >= 1 && config->sessions_max <= SR_SESSIONS_MAX &&
	       config->admissions_max <= SR_SESSIONS_MAX - config->sessions_max &&
	       sr_is_pow2(config->depth_max) &&
	       config->depth_max >= SR_DEPTH_MIN && config->depth_max <= SR_DEPTH_MAX &&
	       config->slot_bytes_max >= SR_SUB_BYTES_MIN &&
	       config->slot_bytes_max <= SR_SUB_BYTES_MAX &&
	       config->slot_bytes_max % SR_LINE_BYTES == 0;
}

int sr_core_new(struct sr_core **core, const struct sr_core_config *config)
{
	struct sr_sign_config sign = config->sign;
	struct sr_core *c;
	int ret;

	if (!config_valid(config))
		return -EINVAL;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->keys = config->sign.keys;
	c->sessions_max = config->sessions_max;
	c->admissions_max = config->admissions_max;
	c->sessions_count = config->sessions_max + config->admissions_max;
	c->depth_max = config->depth_max;
	c->slot_bytes_max = config->slot_bytes_max;
	c->clear = config->clear;
	c->stats.snapshot_allowed = config->snapshot_allowed;

	ret = config->trace.slots ? sr_trace_new(&c->trace, &config->trace) : 0;
	sign.trace = c->trace;
	if (!ret)
		ret = sr_sign_new(&c->sign, &sign);
	if (!ret)
		ret = sr_policy_book_new(&c->policy);
	if (!ret)
		ret = sr_answerer_new(&c->answerer, c->sign, c->keys, c->policy, c->trace);
	if (!ret)
		ret = start_sessions(c);
	if (ret) {
		sr_core_delete(c);
		return ret;
	}
	*core = c;
	return 0;
}

void sr_core_delete(struct sr_core *core)
{
	if (!core)
		return;

	sr_core_sealed_stop(core);
	free(core->sessions);
	sr_ledgers_delete(core->ledgers);
	sr_answerer_delete(core->answerer);
	sr_policy_book_delete(core->policy);
	sr_sign_delete(core->sign);
	sr_trace_delete(core->trace);
	free(core);
}

static void leave_stream(struct sr_core *core, struct sr_core_session *s)
{
	if (s->stream == SR_NO_STREAM)
		return;
	s->stream = SR_NO_STREAM;
	if (!s->ledger)
		return; /* as old as its admission */
	s->since = core->age++;
	core->stats.orphans++;
}

static struct sr_core_session *find_id(const struct sr_core *core, uint32_t id)
{
	uint32_t index = SR_SESSION_INDEX(id);

	if (id == 0 || index >= core->sessions_count || core->sessions[index].id != id)
		return NULL;
	return &core->sessions[index];
}

/* In clear a token is a secret between one client and us: no early exit tells how
 * much of a guess was right. A sealed session's is a name, whoever says it. */
static bool answers_to(const struct sr_core_session *s, const uint64_t token[2],
		       const struct sr_caller *caller)
{
	if (s->id == 0 || s->caller.sealed != caller->sealed)
		return false;
	if (caller->sealed)
		return s->token[0] == token[0] && s->token[1] == token[1];
	return s->caller.who == caller->who && sr_equal(s->token, token, sizeof s->token);
}

struct sr_core_session *sr_core_find(const struct sr_core *core, const uint64_t token[2],
				     const struct sr_caller *caller)
{
	struct sr_core_session *found = NULL;

	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *s = &core->sessions[i];

		if (answers_to(s, token, caller))
			found = s;
	}
	return found;
}

/* How many sessions the client of this one has open; all in clear are one client's. */
static uint32_t *share_of(struct sr_core *core, const struct sr_core_session *s)
{
	return &core->shares[s->caller.sealed ? s->caller.who : SR_IDENTITIES_MAX];
}

void sr_core_close(struct sr_core *core, struct sr_core_session *s)
{
	if (s->ledger) {
		core->stats.sessions--;
		--*share_of(core, s);
		if (s->stream == SR_NO_STREAM)
			core->stats.orphans--;
		sr_ledgers_give_back(core->ledgers, s->ledger);
	}
	if (s->caller.sealed)
		sr_core_sealed_close(core, s);
	s->ledger = NULL;
	s->id = 0;
	sr_wipe(s->token, sizeof s->token);
}

void sr_core_opened(struct sr_core *core, const struct sr_core_session *s)
{
	core->stats.sessions++;
	++*share_of(core, s);
}

void sr_core_share(struct sr_core *core)
{
	memset(core->shares, 0, sizeof core->shares);
	for (uint32_t i = 0; i < core->sessions_count; i++)
		if (core->sessions[i].ledger)
			++*share_of(core, &core->sessions[i]);
}

/*
 * Room for one more open session: if there is none, an orphan makes it, of the client
 * who has most sessions the oldest, so that whoever leaves many behind pays for them
 * himself. But anybody can open sessions in clear, and none of those costs a sealed one.
 */
bool sr_core_make_room(struct sr_core *core, bool sealed)
{
	struct sr_core_session *victim = NULL;
	uint32_t most = 0;

	if (core->stats.sessions < core->sessions_max)
		return true;

	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *s = &core->sessions[i];
		uint32_t share;

		if (!s->ledger || s->stream != SR_NO_STREAM || (!sealed && s->caller.sealed))
			continue;
		share = *share_of(core, s);
		if (!victim || share > most || (share == most && s->since < victim->since)) {
			victim = s;
			most = share;
		}
	}
	if (victim)
		sr_core_close(core, victim);
	return victim;
}

/*
 * A free place, with a new id. There is one: no more than sessions_max are open
 * and admissions_max provisional, and the caller has seen to it that his kind is
 * not full.
 */
struct sr_core_session *sr_core_place(struct sr_core *core)
{
	struct sr_core_session *s = core->sessions;

	while (s->id != 0)
		s++;
	SR_ASSERT(s < core->sessions + core->sessions_count);
	s->generation = s->generation == GENERATION_MAX ? 1 : s->generation + 1;
	s->id = s->generation << SR_SESSION_INDEX_BITS | (uint32_t)(s - core->sessions);
	s->accepted = 0;
	s->epoch = 0;
	s->stream = SR_NO_STREAM;
	return s;
}

bool sr_core_sizes_valid(const struct sr_core *core, uint32_t depth, uint32_t slot_bytes)
{
	return sr_is_pow2(depth) && depth >= SR_DEPTH_MIN && depth <= core->depth_max &&
	       slot_bytes >= SR_SUB_BYTES_MIN && slot_bytes <= core->slot_bytes_max &&
	       slot_bytes % SR_LINE_BYTES == 0;
}

/* Puts a session that is here on a stream, perhaps another one than before. */
enum sr_open_result sr_core_bind(struct sr_core *core, struct sr_core_session *s,
				 const struct sr_open_request *request, uint32_t epoch,
				 uint32_t stream)
{
	if (epoch < s->epoch)
		return SR_OPENED_EPOCH;
	if (request->first != s->first || request->depth != s->depth ||
	    request->slot_bytes != s->slot_bytes)
		return SR_OPENED_SIZES;

	if (s->ledger && s->stream == SR_NO_STREAM)
		core->stats.orphans--;
	s->stream = stream;
	s->epoch = epoch;
	return SR_OPENED_OK;
}

enum sr_open_result sr_core_open(struct sr_core *core, uint32_t *session,
				 const struct sr_open_request *request, uint32_t epoch,
				 uint32_t stream)
{
	bool sealed = request->flags & SR_OPEN_SEALED;

	if (!sealed && !core->clear)
		return SR_OPENED_UNSEALED;
	if (stream >= SR_STREAMS_MAX ||
	    !sr_core_sizes_valid(core, request->depth, request->slot_bytes))
		return SR_OPENED_SIZES;

	return sealed ? sr_core_sealed_open(core, session, request, epoch, stream) :
			core->clear->open(core, session, request, epoch, stream);
}

void sr_core_end(struct sr_core *core, uint32_t session, uint32_t epoch)
{
	struct sr_core_session *s = find_id(core, session);

	if (!s || epoch < s->epoch)
		return;
	/* That the client has gone is the agent's word: in a sealed session nothing is
	 * lost by it, and how far it came can still be told to its successor. */
	if (s->caller.sealed)
		leave_stream(core, s);
	else
		sr_core_close(core, s);
}

void sr_core_stream_lost(struct sr_core *core, uint32_t stream)
{
	if (stream >= SR_STREAMS_MAX)
		return;

	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *s = &core->sessions[i];

		if (s->id != 0 && s->stream == stream)
			leave_stream(core, s);
	}
}

bool sr_core_priority(const struct sr_core *core, uint32_t session)
{
	const struct sr_core_session *s = find_id(core, session);

	return s && s->priority;
}

bool sr_core_on_stream(const struct sr_core *core, uint32_t session, uint32_t stream)
{
	const struct sr_core_session *s = find_id(core, session);

	return s && s->stream == stream;
}

bool sr_core_unsealed(const struct sr_core *core)
{
	return core->clear;
}

struct sr_trace *sr_core_trace(const struct sr_core *core)
{
	return core->trace;
}

struct sr_pool *sr_core_pool(const struct sr_core *core)
{
	return sr_sign_pool(core->sign);
}

bool sr_core_idle(struct sr_core *core)
{
	return sr_core_sealed_idle(core) || sr_sign_idle(core->sign);
}

void sr_core_time(struct sr_core *core, uint64_t now_ns, uint64_t unix_ms)
{
	sr_policy_time(core->policy, now_ns, unix_ms);
}

void sr_core_stats_get(const struct sr_core *core, struct sr_core_stats *stats)
{
	struct sr_pool_stats pool = { 0 };
	struct sr_sign_stats sign;

	if (sr_core_pool(core))
		sr_pool_stats_get(sr_core_pool(core), &pool);
	sr_sign_stats_get(core->sign, &sign);
	*stats = core->stats;
	stats->check_failed = sign.check_failed;
	stats->presigned = sign.presigned;
	stats->fallbacks = sign.fallbacks;
	stats->pool_depth = pool.depth;
	stats->pool_slots = pool.slots;
	stats->pool_taken = pool.taken;
	stats->pool_refilled = pool.refilled;
	stats->pool_dry = pool.dry;
	stats->pool_failed = pool.failed;
}

void sr_core_count(struct sr_core *core, uint16_t status)
{
	switch (status) {
	case SR_OK:
		core->stats.signed_ok++;
		break;
	case SR_DENIED:
		core->stats.denied++;
		break;
	case SR_BAD_REQUEST:
		core->stats.bad_request++;
		break;
	default:
		core->stats.voided++;
		break;
	}
}

enum sr_core_verdict sr_core_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
				    uint32_t session, uint32_t epoch, uint32_t stream,
				    const unsigned char *record, uint32_t bytes)
{
	struct sr_core_session *s = find_id(core, session);

	if (!s || epoch < s->epoch || s->stream != stream || bytes != s->slot_bytes) {
		core->stats.dropped++;
		return s ? SR_CORE_DROPPED : SR_CORE_ENDED;
	}
	return s->caller.sealed ? sr_core_sealed_record(core, reply, s, record) :
				  core->clear->record(core, reply, s, record);
}
