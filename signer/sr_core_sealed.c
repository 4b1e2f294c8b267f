/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sr_core_state.h"
#include "sr_secret.h"

static const struct sr_caller anyone_sealed = { .sealed = true };

static size_t secrets_bytes(const struct sr_core *core)
{
	return sizeof *core->secrets + core->sessions_count * sizeof core->secrets->seals[0];
}

int sr_core_sealed_start(struct sr_core *core)
{
	void *mem;
	int ret = sr_secret_alloc(&mem, secrets_bytes(core));

	if (ret)
		return ret;
	core->secrets = mem;
	core->due = calloc(core->sessions_count, sizeof *core->due);
	core->settled = calloc(core->admissions_max, sizeof *core->settled);
	if (!core->due || !core->settled)
		return -ENOMEM;
	for (uint32_t i = 0; i < core->sessions_count; i++)
		core->sessions[i].seals = &core->secrets->seals[i];
	return 0;
}

void sr_core_sealed_stop(struct sr_core *core)
{
	if (!core->secrets)
		return;

	for (uint32_t i = 0; i < core->sessions_count; i++) {
		sr_seal_wipe(&core->secrets->seals[i].requests);
		sr_seal_wipe(&core->secrets->seals[i].replies);
	}
	free(core->due);
	free(core->settled);
	sr_secret_free(core->secrets, secrets_bytes(core));
}

/* It is provisional no more. Told once; what nobody asks about is forgotten. */
static void settle(struct sr_core *core, const struct sr_core_session *s)
{
	uint64_t *at = core->settled[(core->settled_head + core->settled_count) %
				     core->admissions_max];

	memcpy(at, s->token, sizeof s->token);
	if (core->settled_count < core->admissions_max)
		core->settled_count++;
	else
		core->settled_head = (core->settled_head + 1) % core->admissions_max;
	core->provisional--;
}

bool sr_core_settled(struct sr_core *core, uint64_t token[2])
{
	if (core->settled_count == 0)
		return false;

	memcpy(token, core->settled[core->settled_head], sizeof core->settled[0]);
	core->settled_head = (core->settled_head + 1) % core->admissions_max;
	core->settled_count--;
	return true;
}

/* The contexts stay, without a key, until the next admission to this place. */
void sr_core_sealed_close(struct sr_core *core, struct sr_core_session *s)
{
	if (!s->ledger)
		settle(core, s);
	sr_seal_forget(&s->seals->requests);
	sr_seal_forget(&s->seals->replies);
}

static void replace_oldest(struct sr_core *core)
{
	struct sr_core_session *oldest = NULL;

	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *s = &core->sessions[i];

		if (s->id != 0 && !s->ledger && (!oldest || s->since < oldest->since))
			oldest = s;
	}
	sr_core_close(core, oldest);
}

static void begin(struct sr_core *core, struct sr_core_session *s,
		  const struct sr_admission_terms *terms)
{
	memcpy(s->token, terms->token, sizeof s->token);
	memcpy(s->predecessor, terms->predecessor, sizeof s->predecessor);
	s->first = terms->first;
	s->depth = terms->depth;
	s->slot_bytes = terms->slot_bytes;
	s->caller = (struct sr_caller){ .sealed = true, .who = terms->identity };
	s->priority = terms->flags & SR_ADMISSION_PRIORITY;
	s->strict = terms->flags & SR_ADMISSION_STRICT;
	s->gapped = false;
	s->has_last = false;
	s->since = core->age++;
	core->provisional++;
}

int sr_core_sealed_admit(struct sr_core *core, struct sr_admission *admission)
{
	const struct sr_admission_terms *terms = &admission->terms;
	struct sr_seal_pair *moving;
	struct sr_core_session *s;

	if (!core->secrets)
		return -EOPNOTSUPP;
	if (!sr_core_sizes_valid(core, terms->depth, terms->slot_bytes))
		return -EINVAL;
	if (sr_core_find(core, terms->token, &anyone_sealed))
		return -EEXIST;

	if (core->provisional == core->admissions_max)
		replace_oldest(core);
	s = sr_core_place(core);
	begin(core, s, terms);

	moving = &core->secrets->moving;
	*moving = *s->seals;
	*s->seals = admission->seals;
	admission->seals = *moving;
	sr_wipe(moving, sizeof *moving);
	return 0;
}

static bool has_predecessor(const struct sr_core_session *s)
{
	return s->predecessor[0] || s->predecessor[1];
}

enum sr_open_result sr_core_sealed_open(struct sr_core *core, uint32_t *session,
					const struct sr_open_request *request, uint32_t epoch,
					uint32_t stream)
{
	struct sr_core_session *s = sr_core_find(core, request->token, &anyone_sealed);
	enum sr_open_result result;

	if (!s)
		return SR_OPENED_GONE;
	result = sr_core_bind(core, s, request, epoch, stream);
	if (result == SR_OPENED_OK)
		*session = s->id;
	return result;
}

bool sr_core_sealed_idle(struct sr_core *core)
{
	struct sr_core_session *s;

	if (core->due_count == 0)
		return false;

	s = &core->sessions[core->due[core->due_head]];
	if (sr_seal_step(&s->seals->requests) > 0 || sr_seal_step(&s->seals->replies) > 0)
		return true;

	/* All is ready, or the session has ended. */
	s->due = false;
	core->due_head = (core->due_head + 1) % core->sessions_count;
	core->due_count--;
	return core->due_count > 0;
}

static void mark_due(struct sr_core *core, struct sr_core_session *s)
{
	if (s->due)
		return;
	s->due = true;
	core->due[(core->due_head + core->due_count++) % core->sessions_count] =
		(uint32_t)(s - core->sessions);
}

/* A session that was to follow the same one and came no further than message 0: its
 * client never saw the answer. */
static struct sr_core_session *find_attempt(const struct sr_core *core,
					    const struct sr_core_session *s)
{
	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *p = &core->sessions[i];

		if (p->id != 0 && p->caller.sealed && p->caller.who == s->caller.who &&
		    p->ledger && p->ledger->next == 1 &&
		    memcmp(p->predecessor, s->predecessor, sizeof p->predecessor) == 0)
			return p;
	}
	return NULL;
}

/* What it was told reaches the client by the next one, or an agent that holds it back
 * would have hidden it. */
static void end_attempt(struct sr_core *core, struct sr_core_session *s)
{
	struct sr_core_session *p = find_attempt(core, s);

	if (!p)
		return;
	s->last = p->last;
	s->has_last = p->has_last;
	sr_core_close(core, p);
}

/* The session that this one follows. A name proves nothing, so it must be the
 * same client's. */
static void end_predecessor(struct sr_core *core, struct sr_core_session *s)
{
	struct sr_core_session *p;

	if (!has_predecessor(s))
		return;
	p = sr_core_find(core, s->predecessor, &anyone_sealed);
	if (!p) {
		end_attempt(core, s);
		return;
	}
	if (p->caller.who != s->caller.who)
		return;
	s->last.next = p->ledger ? p->ledger->next : 0;
	s->last.accepted = p->accepted;
	s->has_last = true;
	sr_core_close(core, p);
}

/* A provisional session has proved that its client holds the keys. */
static bool promote(struct sr_core *core, struct sr_core_session *s)
{
	end_predecessor(core, s);
	if (!sr_core_make_room(core, true))
		return false;
	settle(core, s);
	s->ledger = sr_ledgers_take(core->ledgers, s->depth, s->slot_bytes, 0);
	sr_core_opened(core, s);
	return true;
}

/* Message 0 of who asks for nothing but the session itself (sr_message.h). */
static bool asks_for_session(const struct sr_core *core, const struct sr_core_session *s,
			     uint64_t n)
{
	SR_STATIC_ASSERT(SR_TYPE_SESSION == 0, "a body of zeros");
	return n == 0 &&
	       sr_all_zero(core->secrets->body, s->slot_bytes - SR_SUB_BODY - SR_TAG_BYTES);
}

static void put_last(unsigned char *body, const struct sr_core_session *s)
{
	if (!s->has_last)
		return;
	sr_put64(body + SR_LAST_KNOWN, 1);
	sr_put64(body + SR_LAST_NEXT, s->last.next);
	sr_put64(body + SR_LAST_ACCEPTED, s->last.accepted);
}

static enum sr_fate fate_of(const struct sr_core_session *s, uint64_t n)
{
	if (s->ledger)
		return sr_ledger_fate(s->ledger, n);
	return n <= SR_GAP_MAX ? SR_FATE_AHEAD : SR_FATE_FORGOTTEN;
}

static bool header_valid(const unsigned char *record)
{
	return record[SR_SUB_KIND] == SR_KIND_SEALED &&
	       sr_all_zero(record + SR_SUB_FLAGS, SR_SUB_BODY - SR_SUB_FLAGS);
}

/*
 * The one answer to number n, sealed where it will be kept. False: it could not
 * be sealed, and nobody may see it. The number is spent: the session has to end.
 */
static bool answer(struct sr_core *core, struct sr_core_session *s, uint64_t n,
		   const unsigned char *record, enum sr_fate fate)
{
	struct sr_answer made = { .status = SR_VOID };
	bool session = asks_for_session(core, s, n);
	unsigned char *reply;

	s->gapped |= fate == SR_FATE_AHEAD && n != s->ledger->next;
	reply = sr_ledger_enter(s->ledger, n, record);
	if (fate == SR_FATE_AHEAD) {
		s->accepted++;
		made.status = SR_OK;
		if (s->strict && s->gapped)
			sr_answer_deny(&made, SR_POLICY_GAP);
		else if (!session)
			sr_answer_make(&made, core->answerer, &s->caller, core->secrets->body,
				       s->slot_bytes);
	}
	sr_put64(reply, s->first + n);
	reply[SR_CMP_KIND] = SR_KIND_SEALED;
	sr_answer_put(reply + SR_CMP_BODY, &made, s->accepted);
	if (session && made.status == SR_OK)
		put_last(reply + SR_CMP_BODY, s);
	if (SR_UNLIKELY(sr_seal_apply(&s->seals->replies, n, reply))) {
		sr_wipe(reply, SR_CMP_BYTES);
		return false;
	}
	if (!session)
		sr_core_count(core, made.status);
	return true;
}

static enum sr_core_verdict end(struct sr_core *core, struct sr_core_session *s)
{
	sr_core_close(core, s);
	return SR_CORE_ENDED;
}

/* The record is authentic, and its text lies in core->secrets->body. */
static enum sr_core_verdict take(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
				 struct sr_core_session *s, uint64_t n,
				 const unsigned char *record, enum sr_fate fate)
{
	core->stats.records++;
	if (fate == SR_FATE_ANSWERED) { /* by another record */
		core->stats.ended_hostile++;
		return end(core, s);
	}
	if (SR_UNLIKELY(!s->ledger) && !promote(core, s))
		return end(core, s);
	if (!answer(core, s, n, record, fate))
		return end(core, s);
	mark_due(core, s);
	memcpy(reply, sr_ledger_reply(s->ledger, n), SR_CMP_BYTES);
	return SR_CORE_REPLY;
}

enum sr_core_verdict sr_core_sealed_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
					   struct sr_core_session *s, const unsigned char *record)
{
	uint64_t n = sr_get64(record) - s->first;
	enum sr_fate fate = fate_of(s, n);
	enum sr_core_verdict verdict;

	if (!header_valid(record) || fate == SR_FATE_FORGOTTEN) {
		core->stats.dropped++;
		return SR_CORE_DROPPED;
	}
	if (fate == SR_FATE_ANSWERED && sr_ledger_repeats(s->ledger, n, record)) {
		core->stats.records++;
		core->stats.repeats++;
		memcpy(reply, sr_ledger_reply(s->ledger, n), SR_CMP_BYTES);
		return SR_CORE_REPLY;
	}
	if (sr_seal_open(&s->seals->requests, n, core->secrets->body, record)) {
		core->stats.unauthentic++;
		return SR_CORE_DROPPED;
	}
	sr_trace_stamp(core->trace, SR_TRACE_OPENED);
	verdict = take(core, reply, s, n, record, fate);
	sr_wipe(core->secrets->body, s->slot_bytes - SR_SUB_BODY - SR_TAG_BYTES);
	sr_trace_stamp(core->trace, SR_TRACE_SEALED);
	return verdict;
}
