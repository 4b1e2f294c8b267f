/* SPDX-License-Identifier: MIT */
#include "sr_core.h"

#include <stdlib.h>

#include "sr_message.h"
#include "sr_secret.h"

#define STREAMS_MAX 64u
#define NO_STREAM STREAMS_MAX
#define NO_SESSION UINT32_MAX
#define GENERATION_MAX (UINT32_MAX >> SR_SESSION_INDEX_BITS)

/* An agent that was held up answers any number of requests EXPIRED by itself, so
 * a gap may be longer than a session is deep; this only tells ahead from behind. */
#define GAP_MAX (1ull << 32)

#define ARENA_ALIGN_BYTES (2u << 20) /* so that the kernel may use huge pages */

/* What is known of one number. */
enum fate {
	FATE_NONE = 0,     /* before this session's start */
	FATE_SKIPPED = 1,  /* void, and has not arrived yet */
	FATE_ANSWERED = 2, /* request and reply are kept */
};

struct session {
	uint64_t token[2];
	uint64_t first;
	uint64_t next; /* number that has not been seen yet */
	uint64_t accepted;
	uint64_t orphaned; /* the core's count of orphans when it became one */
	uint32_t id;       /* 0 = free */
	uint32_t generation;
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t uid;
	uint32_t epoch;
	uint32_t stream; /* NO_STREAM: an orphan */
	bool priority;
	unsigned char *kept;  /* depth_max places: a reply, then its request */
	unsigned char *fates; /* depth_max of enum fate */
};

struct sr_core {
	struct sr_keyring *keys;
	struct sr_sign *sign;
	uint64_t orphaned;
	uint32_t sessions_max;
	uint32_t depth_max;
	uint32_t slot_bytes_max;
	uint32_t place_bytes;
	bool unsealed;
	struct sr_core_stats stats;
	unsigned char *arena;
	unsigned char *fates;
	struct session *sessions;
};

/* A request after its bounds were checked; the body still lies in the arena. */
struct request {
	uint32_t key;
	struct sr_sign_request what;
};

/* What is said about a request. */
struct answer {
	uint16_t status;
	uint16_t policy;
	struct sr_signature signature;
};

static int start_sessions(struct sr_core *core)
{
	size_t places = (size_t)core->sessions_max * core->depth_max;
	size_t arena_bytes = sr_align_up(places * core->place_bytes, ARENA_ALIGN_BYTES);

	core->arena = aligned_alloc(ARENA_ALIGN_BYTES, arena_bytes);
	core->fates = calloc(places, 1);
	core->sessions = calloc(core->sessions_max, sizeof *core->sessions);
	if (!core->arena || !core->fates || !core->sessions)
		return -ENOMEM;

	/* Every page is touched here, so that none is first touched by an order. */
	memset(core->arena, 0, arena_bytes);
	for (uint32_t i = 0; i < core->sessions_max; i++) {
		size_t place = (size_t)i * core->depth_max;

		core->sessions[i].kept = core->arena + place * core->place_bytes;
		core->sessions[i].fates = core->fates + place;
	}
	return 0;
}

static bool config_valid(const struct sr_core_config *config)
{
	return config->sessions_max >= 1 &&
	       config->sessions_max <= SR_SESSIONS_MAX && sr_is_pow2(config->depth_max) &&
	       config->depth_max >= SR_DEPTH_MIN && config->depth_max <= SR_DEPTH_MAX &&
	       config->slot_bytes_max >= SR_SUB_BYTES_MIN &&
	       config->slot_bytes_max <= SR_SUB_BYTES_MAX &&
	       config->slot_bytes_max % SR_LINE_BYTES == 0;
}

int sr_core_new(struct sr_core **core, const struct sr_core_config *config)
{
	struct sr_core *c;
	int ret;

	if (!config_valid(config))
		return -EINVAL;
	c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->keys = config->sign.keys;
	c->sessions_max = config->sessions_max;
	c->depth_max = config->depth_max;
	c->slot_bytes_max = config->slot_bytes_max;
	c->place_bytes = SR_CMP_BYTES + config->slot_bytes_max;
	c->unsealed = config->unsealed;
	c->stats.snapshot_allowed = config->snapshot_allowed;

	ret = sr_sign_new(&c->sign, &config->sign);
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

	free(core->sessions);
	free(core->fates);
	free(core->arena);
	sr_sign_delete(core->sign);
	free(core);
}

static struct session *find_id(const struct sr_core *core, uint32_t id)
{
	uint32_t index = SR_SESSION_INDEX(id);

	if (id == 0 || index >= core->sessions_max || core->sessions[index].id != id)
		return NULL;
	return &core->sessions[index];
}

/* A token is a secret between one client and us: no early exit tells how much
 * of a guess was right. */
static struct session *find_token(const struct sr_core *core, const struct sr_open_request *request)
{
	struct session *found = NULL;

	for (uint32_t i = 0; i < core->sessions_max; i++) {
		struct session *s = &core->sessions[i];

		if (s->id != 0 && s->uid == request->uid &&
		    sr_equal(s->token, request->token, sizeof s->token))
			found = s;
	}
	return found;
}

static void close_session(struct sr_core *core, struct session *s)
{
	core->stats.sessions--;
	if (s->stream == NO_STREAM)
		core->stats.orphans--;
	s->id = 0;
	sr_wipe(s->token, sizeof s->token);
}

static uint32_t find_room(struct sr_core *core)
{
	uint32_t oldest = NO_SESSION;

	for (uint32_t i = 0; i < core->sessions_max; i++) {
		const struct session *s = &core->sessions[i];

		if (s->id == 0)
			return i;
		if (s->stream == NO_STREAM &&
		    (oldest == NO_SESSION || s->orphaned < core->sessions[oldest].orphaned))
			oldest = i;
	}
	if (oldest != NO_SESSION)
		close_session(core, &core->sessions[oldest]);
	return oldest;
}

/* Everything before n is void. Only the last depth numbers are remembered. */
static void skip_to(struct session *s, uint64_t n)
{
	uint64_t from = n - s->next > s->depth ? n - s->depth : s->next;

	for (; from != n; from++)
		s->fates[from & (s->depth - 1)] = FATE_SKIPPED;
	s->next = n;
}

static bool sizes_valid(const struct sr_core *core, const struct sr_open_request *request)
{
	return sr_is_pow2(request->depth) && request->depth >= SR_DEPTH_MIN &&
	       request->depth <= core->depth_max && request->slot_bytes >= SR_SUB_BYTES_MIN &&
	       request->slot_bytes <= core->slot_bytes_max &&
	       request->slot_bytes % SR_LINE_BYTES == 0;
}

static enum sr_open_result resume(struct sr_core *core, struct session *s,
				  const struct sr_open_request *request, uint32_t epoch,
				  uint32_t stream)
{
	if (epoch < s->epoch)
		return SR_OPENED_EPOCH;
	if (request->first != s->first || request->depth != s->depth ||
	    request->slot_bytes != s->slot_bytes)
		return SR_OPENED_SIZES;

	/* What the agent has answered by itself (EXPIRED, NOT_SENT) while it had
	 * no stream never comes: however long that was, it is no hostile gap. */
	if ((int64_t)(request->next - s->next) > 0)
		skip_to(s, request->next);

	if (s->stream == NO_STREAM)
		core->stats.orphans--;
	s->stream = stream;
	s->epoch = epoch;
	return SR_OPENED_OK;
}

static void begin(struct sr_core *core, uint32_t index, const struct sr_open_request *request,
		  uint32_t epoch, uint32_t stream)
{
	struct session *s = &core->sessions[index];

	s->generation = s->generation == GENERATION_MAX ? 1 : s->generation + 1;
	s->id = s->generation << SR_SESSION_INDEX_BITS | index;
	memcpy(s->token, request->token, sizeof s->token);
	s->first = request->first;
	s->next = request->next;
	s->accepted = 0;
	s->depth = request->depth;
	s->slot_bytes = request->slot_bytes;
	s->uid = request->uid;
	s->epoch = epoch;
	s->stream = stream;
	s->priority = request->flags & SR_OPEN_PRIORITY;
	memset(s->fates, FATE_NONE, s->depth);
	core->stats.sessions++;
}

enum sr_open_result sr_core_open(struct sr_core *core, uint32_t *session,
				 const struct sr_open_request *request, uint32_t epoch,
				 uint32_t stream)
{
	enum sr_open_result result;
	struct session *s;
	uint32_t index;

	if (!core->unsealed)
		return SR_OPENED_UNSEALED;
	if (stream >= STREAMS_MAX || !sizes_valid(core, request))
		return SR_OPENED_SIZES;

	s = find_token(core, request);
	if (s) {
		result = resume(core, s, request, epoch, stream);
		if (result == SR_OPENED_OK)
			*session = s->id;
		return result;
	}
	if (request->flags & SR_OPEN_RESUME)
		return SR_OPENED_GONE;

	index = find_room(core);
	if (index == NO_SESSION)
		return SR_OPENED_FULL;
	begin(core, index, request, epoch, stream);
	*session = core->sessions[index].id;
	return SR_OPENED_OK;
}

void sr_core_end(struct sr_core *core, uint32_t session, uint32_t epoch)
{
	struct session *s = find_id(core, session);

	if (s && epoch >= s->epoch)
		close_session(core, s);
}

void sr_core_stream_lost(struct sr_core *core, uint32_t stream)
{
	if (stream >= STREAMS_MAX)
		return;

	for (uint32_t i = 0; i < core->sessions_max; i++) {
		struct session *s = &core->sessions[i];

		if (s->id == 0 || s->stream != stream)
			continue;
		s->stream = NO_STREAM;
		s->orphaned = core->orphaned++;
		core->stats.orphans++;
	}
}

bool sr_core_priority(const struct sr_core *core, uint32_t session)
{
	const struct session *s = find_id(core, session);

	return s && s->priority;
}

bool sr_core_on_stream(const struct sr_core *core, uint32_t session, uint32_t stream)
{
	const struct session *s = find_id(core, session);

	return s && s->stream == stream;
}

bool sr_core_unsealed(const struct sr_core *core)
{
	return core->unsealed;
}

bool sr_core_idle(struct sr_core *core)
{
	return sr_sign_idle(core->sign);
}

struct sr_pool *sr_core_pool(const struct sr_core *core)
{
	return sr_sign_pool(core->sign);
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

static bool all_zero(const unsigned char *p, size_t bytes)
{
	uint64_t any = 0;

	for (; bytes >= 8; bytes -= 8, p += 8)
		any |= sr_get64(p);
	for (; bytes; bytes--, p++)
		any |= *p;
	return any == 0;
}

static int parse_request(struct request *request, const unsigned char *record, uint32_t slot_bytes)
{
	const unsigned char *body = record + SR_SUB_BODY;
	uint32_t room = sr_body_bytes_max(slot_bytes);
	uint32_t type = sr_get16(body + SR_REQ_TYPE);
	uint32_t bytes = sr_get16(body + SR_REQ_BODY_BYTES);

	if (bytes > room || !sr_type_body_valid(type, bytes))
		return -EINVAL;
	/* Padding is no channel, and what is signed is all that was sent. */
	if (!all_zero(body + SR_REQ_BODY + bytes, room - bytes))
		return -EINVAL;

	request->key = sr_get32(body + SR_REQ_KEY);
	request->what = (struct sr_sign_request){ type, bytes, body + SR_REQ_BODY };
	return 0;
}

static bool uid_allowed(const struct sr_key_info *info, uint32_t uid)
{
	for (uint32_t i = 0; i < info->uid_count; i++)
		if (info->uids[i] == uid)
			return true;
	return info->any_uid;
}

/* The index of the key that will sign, or the policy code of the denial as a
 * negative number. */
static int authorise(const struct sr_core *core, const struct request *request, uint32_t uid)
{
	int key = sr_keyring_find(core->keys, request->key);
	const struct sr_key_info *info;

	if (key < 0)
		return -SR_POLICY_UNKNOWN_KEY;

	/* One answer for both: who may not use a key does not learn that it is here. */
	info = sr_keyring_info(core->keys, (uint32_t)key);
	if (!uid_allowed(info, uid))
		return -SR_POLICY_UNKNOWN_KEY;
	if (!(info->permissions & (1u << request->what.type)))
		return -SR_POLICY_TYPE_NOT_PERMITTED;
	if (info->locked)
		return -SR_POLICY_KEY_LOCKED;
	return key;
}

static void deny(struct answer *answer, enum sr_policy policy)
{
	answer->status = SR_DENIED;
	answer->policy = (uint16_t)policy;
}

static void judge(struct sr_core *core, struct answer *answer, struct session *s,
		  const unsigned char *record)
{
	struct request request;
	int key;

	s->accepted++;
	if (parse_request(&request, record, s->slot_bytes)) {
		answer->status = SR_BAD_REQUEST;
		return;
	}

	key = authorise(core, &request, s->uid);
	if (key < 0) {
		deny(answer, (enum sr_policy)-key);
		return;
	}

	switch (sr_sign_make(core->sign, &answer->signature, (uint32_t)key, &request.what)) {
	case 0:
		answer->status = SR_OK;
		break;
	case -EAGAIN:
		deny(answer, SR_POLICY_DRY);
		break;
	default:
		deny(answer, SR_POLICY_KEY_LOCKED);
		break;
	}
}

static void put_reply(unsigned char reply[SR_CMP_BYTES], const struct answer *answer, uint64_t word,
		      uint64_t accepted)
{
	unsigned char *body = reply + SR_CMP_BODY;

	memset(reply, 0, SR_CMP_BYTES);
	sr_put64(reply, word);
	reply[SR_CMP_KIND] = SR_KIND_UNSEALED;
	sr_put16(body + SR_REP_STATUS, answer->status);
	sr_put16(body + SR_REP_POLICY, answer->policy);
	body[SR_REP_RECID] = answer->signature.recid;
	body[SR_REP_SIGKIND] = answer->signature.kind;
	sr_put64(body + SR_REP_ACCEPTED, accepted);
	memcpy(body + SR_REP_SIG, answer->signature.bytes, SR_SIG_BYTES);
}

static void count(struct sr_core_stats *stats, uint16_t status)
{
	switch (status) {
	case SR_OK:
		stats->signed_ok++;
		break;
	case SR_DENIED:
		stats->denied++;
		break;
	case SR_BAD_REQUEST:
		stats->bad_request++;
		break;
	default:
		stats->voided++;
		break;
	}
}

static unsigned char *place_of(const struct sr_core *core, const struct session *s, uint64_t n)
{
	return s->kept + (n & (s->depth - 1)) * core->place_bytes;
}

/* Keep the record, answer the copy, keep the answer. */
static void answer_once(struct sr_core *core, struct session *s, uint64_t n,
			const unsigned char *record, bool skipped)
{
	unsigned char *place = place_of(core, s, n);
	unsigned char *copy = place + SR_CMP_BYTES;
	struct answer answer = { 0 };

	memcpy(copy, record, s->slot_bytes);
	if (skipped)
		answer.status = SR_VOID;
	else
		judge(core, &answer, s, copy);
	put_reply(place, &answer, s->first + n, s->accepted);
	s->fates[n & (s->depth - 1)] = FATE_ANSWERED;
	count(&core->stats, answer.status);
}

/* Number n has been passed or seen. False: nobody who keeps the rules sends it. */
static bool answer_again(struct sr_core *core, struct session *s, uint64_t n,
			 const unsigned char *record)
{
	switch (s->fates[n & (s->depth - 1)]) {
	case FATE_SKIPPED:
		answer_once(core, s, n, record, true);
		return true;
	case FATE_ANSWERED:
		if (memcmp(place_of(core, s, n) + SR_CMP_BYTES, record, s->slot_bytes))
			return false;
		core->stats.repeats++;
		return true;
	default:
		return false;
	}
}

/* All arithmetic is mod 2^64, so that neither words nor numbers mind a wrap. */
static bool answer_number(struct sr_core *core, struct session *s, uint64_t n,
			  const unsigned char *record)
{
	uint64_t ahead = n - s->next, behind = s->next - n;

	if (ahead > GAP_MAX)
		return behind <= s->depth && answer_again(core, s, n, record);

	skip_to(s, n);
	answer_once(core, s, n, record, false);
	s->next++;
	return true;
}

static bool header_in_clear(const unsigned char *record, uint32_t bytes)
{
	return record[SR_SUB_KIND] == SR_KIND_UNSEALED &&
	       all_zero(record + SR_SUB_FLAGS, SR_SUB_BODY - SR_SUB_FLAGS) &&
	       all_zero(record + bytes - SR_TAG_BYTES, SR_TAG_BYTES);
}

enum sr_core_verdict sr_core_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
				    uint32_t session, uint32_t epoch, uint32_t stream,
				    const unsigned char *record, uint32_t bytes)
{
	struct session *s = find_id(core, session);
	uint64_t n;

	if (!s || epoch < s->epoch || s->stream != stream || bytes != s->slot_bytes ||
	    !header_in_clear(record, bytes)) {
		core->stats.dropped++;
		return SR_CORE_DROPPED;
	}

	core->stats.records++;
	n = sr_get64(record) - s->first;
	if (!answer_number(core, s, n, record)) {
		core->stats.ended_hostile++;
		close_session(core, s);
		return SR_CORE_ENDED;
	}
	memcpy(reply, place_of(core, s, n), SR_CMP_BYTES);
	return SR_CORE_REPLY;
}
