/* SPDX-License-Identifier: MIT */
#include "sr_core_state.h"
#include "sr_secret.h"

static uint32_t identity_now(const struct sr_rights *rights, uint32_t before)
{
	return before < SR_IDENTITIES_MAX ? rights->identities[before] : SR_IDENTITY_GONE;
}

/* Sessions go on under the rights of their client as they are now. One that has none
 * any more ends, and the records that still come for it say so to the agent. */
static void obey(struct sr_core *core, const struct sr_rights *rights)
{
	core->rights = *rights;
	core->rights.policy = NULL; /* goes with the task, and the book has its own */
	core->rights.schemas = (struct sr_schema_set){ NULL, 0 };
	sr_policy_obey(core->policy, rights->policy);
	sr_answerer_obey(core->answerer, &rights->schemas);
	sr_keyring_obey(core->keys, rights);
	for (uint32_t i = 0; i < core->sessions_count; i++) {
		struct sr_core_session *s = &core->sessions[i];
		uint32_t identity;

		if (s->id == 0 || !s->caller.sealed)
			continue;
		identity = identity_now(rights, s->caller.who);
		if (identity == SR_IDENTITY_GONE)
			sr_core_close(core, s);
		else
			s->caller.who = identity;
	}
	sr_core_share(core);
}

/* Two ids of one key would be two policies of it, two windows, and two watermarks: operators cannot
 * bring it about. Key files of a host, for development, do not come this way: two of them may have
 * one secret, and then it has two policies. */
static bool has_another_id(const struct sr_core *core, const struct sr_key_entry *entry)
{
	for (uint32_t i = 0; i < sr_keyring_places(core->keys); i++) {
		const struct sr_key_info *info = sr_keyring_info(core->keys, i);

		if (info->id != 0 && info->id != entry->info.id &&
		    !memcmp(info->pubkey, entry->info.pubkey, SR_PUBKEY_BYTES))
			return true;
	}
	return false;
}

static int add_key(struct sr_core *core, struct sr_key_entry *entry)
{
	if (has_another_id(core, entry))
		return -ENOTUNIQ;
	if (core->rights.version != 0)
		sr_rights_apply(&core->rights, &entry->info);
	return sr_keyring_put(core->keys, entry);
}

/* The old secret is wiped before the new one is there: no request sees both. What the
 * operators hold they hold until they let it go, whatever its secret is by then. */
static int rotate_key(struct sr_core *core, struct sr_key_entry *entry)
{
	int index = sr_keyring_find(core->keys, entry->info.id);

	if (index < 0)
		return index;
	if (has_another_id(core, entry))
		return -ENOTUNIQ;
	entry->info.held = sr_keyring_info(core->keys, (uint32_t)index)->held;
	sr_keyring_remove(core->keys, (uint32_t)index);
	return add_key(core, entry);
}

static int delete_key(struct sr_core *core, uint32_t id)
{
	int index = sr_keyring_find(core->keys, id);

	if (index < 0)
		return index;
	sr_keyring_remove(core->keys, (uint32_t)index);
	return 0;
}

static int hold_key(struct sr_core *core, uint32_t id, bool held)
{
	int index = sr_keyring_find(core->keys, id);

	if (index < 0)
		return index;
	if (!held && sr_keyring_info(core->keys, (uint32_t)index)->locked)
		return -EKEYREVOKED;
	sr_keyring_hold(core->keys, (uint32_t)index, held);
	return 0;
}

static void list_keys(const struct sr_core *core, struct sr_key_list *list)
{
	list->count = 0;
	for (uint32_t i = 0; i < sr_keyring_places(core->keys); i++) {
		const struct sr_key_info *info = sr_keyring_info(core->keys, i);

		if (info->id != 0)
			list->keys[list->count++] = *info;
	}
}

/* What was taken up before has been signed or denied when this comes back; records that still
 * wait to be taken up are denied. Replies that the agent has not read by the time the signer ends
 * are lost with it, and their orders UNKNOWN. */
static void drain(struct sr_core *core, bool draining)
{
	core->draining = draining;
	sr_answerer_drain(core->answerer, draining);
}

static void tell_status(const struct sr_core *core, struct sr_task_status *status)
{
	struct sr_core_stats stats;

	sr_core_stats_get(core, &stats);
	*status = (struct sr_task_status){
		.signed_ok = stats.signed_ok,
		.denied = stats.denied,
		.keys = sr_keyring_count(core->keys),
		.sessions = (uint32_t)stats.sessions,
		.sessions_max = core->sessions_max,
		.pool_depth = (uint32_t)stats.pool_depth,
		.pool_slots = (uint32_t)stats.pool_slots,
		.draining = core->draining,
	};
}

void sr_core_task(struct sr_core *core, struct sr_task *task)
{
	task->result = 0;
	switch (task->kind) {
	case SR_TASK_ADMIT:
		task->result = sr_core_sealed_admit(core, &task->admission);
		break;
	case SR_TASK_RIGHTS:
		obey(core, &task->rights);
		break;
	case SR_TASK_KEY_ADD:
		task->result = add_key(core, &task->entry);
		break;
	case SR_TASK_KEY_ROTATE:
		task->result = rotate_key(core, &task->entry);
		break;
	case SR_TASK_KEY_DELETE:
		task->result = delete_key(core, task->id);
		break;
	case SR_TASK_KEY_HOLD:
		task->result = hold_key(core, task->id, task->held);
		break;
	case SR_TASK_KEY_LIST:
		list_keys(core, &task->list);
		break;
	case SR_TASK_POLICY:
		task->result = sr_policy_hear(core->policy, &task->word);
		break;
	case SR_TASK_TRACE:
		if (core->trace)
			sr_trace_read(core->trace, &task->trace);
		else
			task->result = -EOPNOTSUPP;
		break;
	case SR_TASK_DRAIN:
		drain(core, task->held);
		break;
	case SR_TASK_STATUS:
		tell_status(core, &task->status);
		break;
	}
}
