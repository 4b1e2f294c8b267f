/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "sr_agent_state.h"

/* Appends, or leaves out what does not fit. */
struct text {
	char *at;
	size_t room;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->at + t->used, t->room - t->used, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < t->room - t->used)
		t->used += (size_t)n;
}

static const char *const state_names[] = {
	[SR_LINK_CLOSED] = "opening",
	[SR_LINK_OPEN] = "open",
	[SR_LINK_NO_SIGNER] = "no-signer",
	[SR_LINK_LOST] = "lost",
};

#define SESSION_BYTES 256u
#define CLIENT_BYTES 512u /* and the end of the whole */

static void add_session(struct text *t, const struct sr_agent_session *s, const char *comma)
{
	const struct sr_session_block *b = s->block;

	add(t,
	    "%s{\"index\":%u,\"class\":\"%s\",\"sealed\":%s,\"state\":\"%s\",\"forwarded\":%llu,"
	    "\"answered\":%llu,\"given\":%llu,\"resent\":%llu}",
	    comma, s->index, s->flags & SR_OPEN_PRIORITY ? "priority" : "normal",
	    s->flags & SR_OPEN_SEALED ? "true" : "false",
	    state_names[sr_load32_relaxed(&b->state)],
	    (unsigned long long)sr_load_relaxed(&b->forwarded),
	    (unsigned long long)sr_load_relaxed(&b->answered),
	    (unsigned long long)sr_load_relaxed(&b->given),
	    (unsigned long long)sr_load_relaxed(&b->resent));
}

static void add_client(struct text *t, const struct sr_agent_client *c, const char *comma)
{
	const char *between = "";

	add(t,
	    "%s{\"pid\":%u,\"uid\":%u,\"epoch\":%u,\"depth\":%u,\"slot_bytes\":%u,"
	    "\"huge_pages\":%s,\"doorbells\":%s,\"sessions\":[",
	    comma, c->pid, c->uid, c->epoch, c->geometry.depth, c->geometry.slot_bytes,
	    c->notes & SR_NOTE_NO_HUGE_PAGES ? "false" : "true",
	    c->features & SR_FEATURE_DOORBELL ? "true" : "false");
	for (uint32_t i = 0; i < c->geometry.sessions; i++)
		if (c->sessions[i]) {
			add_session(t, c->sessions[i], between);
			between = ",";
		}
	add(t, "]}");
}

struct field {
	const char *name;
	const uint64_t *value;
};

static void add_fields(struct text *t, const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(t, "%s\"%s\":%llu", i ? "," : "", fields[i].name,
		    (unsigned long long)sr_load_relaxed(fields[i].value));
}

/* What the signer has said of itself. */
static void add_signer(struct text *t, const struct sr_agent_counters *n)
{
	const struct field signer[] = {
		{ "records", &n->signer[SR_FIELD_RECORDS] },
		{ "signed", &n->signer[SR_FIELD_SIGNED_OK] },
		{ "denied", &n->signer[SR_FIELD_DENIED] },
		{ "bad_request", &n->signer[SR_FIELD_BAD_REQUEST] },
		{ "voided", &n->signer[SR_FIELD_VOIDED] },
		{ "repeats", &n->signer[SR_FIELD_REPEATS] },
		{ "dropped", &n->signer[SR_FIELD_DROPPED] },
		{ "ended_hostile", &n->signer[SR_FIELD_ENDED_HOSTILE] },
		{ "sessions", &n->signer[SR_FIELD_SESSIONS] },
		{ "orphans", &n->signer[SR_FIELD_ORPHANS] },
		{ "check_failed", &n->signer[SR_FIELD_CHECK_FAILED] },
		{ "presigned", &n->signer[SR_FIELD_PRESIGNED] },
		{ "fallbacks", &n->signer[SR_FIELD_FALLBACKS] },
		{ "pool_depth", &n->signer[SR_FIELD_POOL_DEPTH] },
		{ "pool_slots", &n->signer[SR_FIELD_POOL_SLOTS] },
		{ "pool_taken", &n->signer[SR_FIELD_POOL_TAKEN] },
		{ "pool_refilled", &n->signer[SR_FIELD_POOL_REFILLED] },
		{ "pool_dry", &n->signer[SR_FIELD_POOL_DRY] },
		{ "pool_failed", &n->signer[SR_FIELD_POOL_FAILED] },
		{ "snapshot_allowed", &n->signer[SR_FIELD_SNAPSHOT_ALLOWED] },
		{ "unauthentic", &n->signer[SR_FIELD_UNAUTHENTIC] },
	};

	add_fields(t, signer, sizeof signer / sizeof signer[0]);
}

size_t sr_agent_status(const struct sr_agent *a, char *json, size_t room)
{
	const struct sr_agent_counters *n = &a->counters;
	const struct field agent[] = {
		{ "turns", &n->turns },
		{ "forwarded", &n->forwarded },
		{ "replies", &n->replies },
		{ "expired", &n->expired },
		{ "given", &n->given },
		{ "resent", &n->resent },
		{ "writes", &n->writes },
		{ "written_bytes", &n->written_bytes },
		{ "credit_stalls", &n->credit_stalls },
		{ "ignored", &n->ignored },
		{ "told", &n->told },
	};
	const struct field stream[] = {
		{ "up", &n->up },
		{ "times_up", &n->streams },
		{ "credits", &n->credits },
		{ "in_flight", &n->in_flight },
	};
	const struct sr_agent_relay_counters *c = sr_agent_relay_counters(a->relay);
	const struct field relay[] = {
		{ "conversations", &c->conversations },
		{ "relayed", &c->relayed },
		{ "failed", &c->failed },
		{ "refused", &c->refused },
		{ "crowded", &c->crowded },
		{ "unreachable", &c->unreachable },
		{ "overdue", &c->overdue },
	};
	struct text t = { json, room, 0 };
	const char *comma = "";
	bool truncated = false;

	add(&t, "{\"sealed\":%s,\"transport\":\"%s\",\"wait\":\"%s\",\"agent\":{",
	    sr_load_relaxed(&n->streams) && !sr_load_relaxed(&n->takes_clear) ? "true" : "false",
	    a->loop.transport->ops->name, sr_wait_name(a->wait));
	add_fields(&t, agent, sizeof agent / sizeof agent[0]);
	add(&t, "},\"relay\":{");
	add_fields(&t, relay, sizeof relay / sizeof relay[0]);
	add(&t, "},\"stream\":{");
	add_fields(&t, stream, sizeof stream / sizeof stream[0]);
	add(&t, ",\"boot_id\":\"%016llx%016llx\"},\"signer\":{",
	    (unsigned long long)sr_load_relaxed(&n->boot_id[0]),
	    (unsigned long long)sr_load_relaxed(&n->boot_id[1]));
	add_signer(&t, n);
	add(&t, "},\"clients\":[");
	for (const struct sr_agent_client *i = a->clients; i; i = i->next) {
		if (i->phase != SR_CLIENT_ATTACHED)
			continue;
		if (t.room - t.used < CLIENT_BYTES + (size_t)i->geometry.sessions * SESSION_BYTES) {
			truncated = true;
			break;
		}
		add_client(&t, i, comma);
		comma = ",";
	}
	add(&t, "],\"truncated\":%s}", truncated ? "true" : "false");
	return t.used;
}
