/* SPDX-License-Identifier: MIT */
#include "sr_core_state.h"

static void begin(struct sr_core *core, struct sr_core_session *s,
		  const struct sr_open_request *request)
{
	memcpy(s->token, request->token, sizeof s->token);
	s->first = request->first;
	s->depth = request->depth;
	s->slot_bytes = request->slot_bytes;
	s->caller = (struct sr_caller){ .sealed = false, .who = request->uid };
	s->priority = request->flags & SR_OPEN_PRIORITY;
	s->ledger = sr_ledgers_take(core->ledgers, s->depth, s->slot_bytes, request->next);
	sr_core_opened(core, s);
	core->stats.orphans++; /* until it is put on its stream */
}

static enum sr_open_result clear_open(struct sr_core *core, uint32_t *session,
				      const struct sr_open_request *request, uint32_t epoch,
				      uint32_t stream)
{
	const struct sr_caller caller = { .sealed = false, .who = request->uid };
	struct sr_core_session *s = sr_core_find(core, request->token, &caller);
	enum sr_open_result result;

	if (!s) {
		if (request->flags & SR_OPEN_RESUME)
			return SR_OPENED_GONE;
		if (!sr_core_make_room(core, false))
			return SR_OPENED_FULL;
		s = sr_core_place(core);
		begin(core, s, request);
	}
	result = sr_core_bind(core, s, request, epoch, stream);
	if (result != SR_OPENED_OK)
		return result;

	/* What the agent has answered by itself (EXPIRED, NOT_SENT) while it had
	 * no stream never comes: however long that was, it is no hostile gap. */
	if ((int64_t)(request->next - s->ledger->next) > 0)
		sr_ledger_skip_to(s->ledger, request->next);
	*session = s->id;
	return SR_OPENED_OK;
}

static bool header_valid(const unsigned char *record, uint32_t bytes)
{
	return record[SR_SUB_KIND] == SR_KIND_UNSEALED &&
	       sr_all_zero(record + SR_SUB_FLAGS, SR_SUB_BODY - SR_SUB_FLAGS) &&
	       sr_all_zero(record + bytes - SR_TAG_BYTES, SR_TAG_BYTES);
}

/* Keep the record, answer the copy, keep the answer. */
static void answer(struct sr_core *core, struct sr_core_session *s, uint64_t n,
		   const unsigned char *record, bool skipped)
{
	unsigned char *reply = sr_ledger_enter(s->ledger, n, record);
	struct sr_answer made = { .status = SR_VOID };

	if (!skipped) {
		s->accepted++;
		made.status = SR_OK;
		sr_answer_make(&made, core->answerer, &s->caller,
			       sr_ledger_record(s->ledger, n) + SR_SUB_BODY, s->slot_bytes);
	}
	sr_put64(reply, s->first + n);
	reply[SR_CMP_KIND] = SR_KIND_UNSEALED;
	sr_answer_put(reply + SR_CMP_BODY, &made, s->accepted);
	sr_core_count(core, made.status);
}

/* False: nobody who keeps the rules sends it. */
static bool answer_number(struct sr_core *core, struct sr_core_session *s, uint64_t n,
			  const unsigned char *record)
{
	enum sr_fate fate = sr_ledger_fate(s->ledger, n);

	switch (fate) {
	case SR_FATE_AHEAD:
	case SR_FATE_SKIPPED:
		answer(core, s, n, record, fate == SR_FATE_SKIPPED);
		return true;
	case SR_FATE_ANSWERED:
		if (!sr_ledger_repeats(s->ledger, n, record))
			return false;
		core->stats.repeats++;
		return true;
	case SR_FATE_FORGOTTEN:
	default:
		return false;
	}
}

static enum sr_core_verdict clear_record(struct sr_core *core, unsigned char reply[SR_CMP_BYTES],
					 struct sr_core_session *s, const unsigned char *record)
{
	uint64_t n = sr_get64(record) - s->first;

	if (!header_valid(record, s->slot_bytes)) {
		core->stats.dropped++;
		return SR_CORE_DROPPED;
	}

	core->stats.records++;
	sr_trace_stamp(core->trace, SR_TRACE_OPENED);
	if (!answer_number(core, s, n, record)) {
		core->stats.ended_hostile++;
		sr_core_close(core, s);
		return SR_CORE_ENDED;
	}
	memcpy(reply, sr_ledger_reply(s->ledger, n), SR_CMP_BYTES);
	sr_trace_stamp(core->trace, SR_TRACE_SEALED);
	return SR_CORE_REPLY;
}

const struct sr_core_kind sr_core_clear = { .open = clear_open, .record = clear_record };
