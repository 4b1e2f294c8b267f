/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "sr_line.h"
#include "sr_typed_data.h"

/* A message on its way into a body. */
struct message {
	const struct sr_schema *schema;
	struct sr_out *out;
	uint64_t nonce;
	unsigned char bytes[SR_LINE_BODY_BYTES];
};

static void struct_read(struct message *m, unsigned int type, const struct sr_node *node,
			unsigned int depth);

static bool extended(const unsigned char *v, unsigned int count, unsigned int sign)
{
	for (unsigned int i = 0; i < count; i++)
		if (v[i] != sign)
			return false;
	return true;
}

static void integer_read(struct message *m, const struct sr_member *member,
			 const struct sr_node *node)
{
	bool is_signed = member->kind == SR_MEMBER_INT;
	unsigned int bytes = member->bytes, above = 32 - bytes, sign = 0;
	unsigned char v[32];

	if (is_signed) {
		sr_node_i256(node, NULL, v);
		sign = v[above] & 0x80 ? 0xff : 0;
	} else {
		sr_node_u256(node, NULL, v);
	}
	if (!extended(v, above, sign))
		sr_node_fail(node, "expected a number that fits %sint%u", is_signed ? "" : "u",
			     8 * bytes);
	sr_typed_fixed(m->out, v + above, bytes);
}

static void value_read(struct message *m, const struct sr_member *member,
		       const struct sr_node *node, unsigned int depth)
{
	const char *text;

	switch (member->kind) {
	case SR_MEMBER_UINT:
	case SR_MEMBER_INT:
		integer_read(m, member, node);
		break;
	case SR_MEMBER_BOOL:
		sr_typed_bool(m->out, sr_node_flag(node, NULL));
		break;
	case SR_MEMBER_ADDRESS:
	case SR_MEMBER_FIXED:
		sr_node_hex(node, NULL, m->bytes, member->bytes);
		sr_typed_fixed(m->out, m->bytes, member->bytes);
		break;
	case SR_MEMBER_BYTES:
		sr_typed_text(m->out, m->bytes,
			      sr_node_hex_any(node, NULL, m->bytes, sizeof m->bytes));
		break;
	case SR_MEMBER_STRING:
		text = sr_node_text(node, NULL, SR_LINE_BODY_BYTES);
		for (const char *p = text; *p; p++)
			if (*p < 0x20 || *p > 0x7e)
				sr_node_fail(node, "expected printable ASCII, as the signer does");
		sr_typed_text(m->out, text, (uint32_t)strlen(text));
		break;
	default:
		struct_read(m, member->type, node, depth + 1);
		break;
	}
}

static void member_read(struct message *m, const struct sr_member *member,
			const struct sr_node *object, const char *name, unsigned int depth)
{
	struct sr_node node = sr_node_get(object, name);
	uint32_t count;

	if (!member->array) {
		value_read(m, member, &node, depth);
		return;
	}
	count = sr_node_count(&node, NULL, member->count,
			      member->count ? member->count : SR_SCHEMA_ARRAY_MAX);
	if (!member->count)
		sr_typed_count(m->out, count);
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node item = sr_node_item(&node, i);

		value_read(m, member, &item, depth);
	}
}

static void struct_read(struct message *m, unsigned int index, const struct sr_node *node,
			unsigned int depth)
{
	const struct sr_struct_type *type = &m->schema->structs[index];
	char names[SR_SCHEMA_MEMBERS_MAX * (SR_SCHEMA_NAME_BYTES + 1)] = "";
	size_t used = 0;

	if (depth > SR_SCHEMA_DEPTH_MAX + 1) { /* no compiled schema is so deep */
		sr_node_fail(node, "nested too deep");
		return;
	}
	for (unsigned int i = 0; i < type->count; i++) {
		const struct sr_member *member = &m->schema->members[type->first + i];

		used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", i ? " " : "",
					 member->name_bytes, member->name);
	}
	sr_node_members(node, names);
	for (unsigned int i = 0; i < type->count && !node->reader->err; i++) {
		const struct sr_member *member = &m->schema->members[type->first + i];
		char name[SR_SCHEMA_NAME_BYTES + 1];

		(void)snprintf(name, sizeof name, "%.*s", member->name_bytes, member->name);
		if (type->first + i == (unsigned int)m->schema->roles[SR_ROLE_NONCE])
			m->nonce = sr_node_number(node, name, UINT64_MAX);
		else
			member_read(m, member, node, name, depth);
	}
}

int sr_line_typed_data(struct sr_line *line, const struct sr_node *root)
{
	struct sr_out out = sr_out_over(line->body, SR_LINE_BODY_BYTES);
	struct message m = { .out = &out };
	const unsigned char *contract = NULL;
	struct sr_node message;
	uint32_t index;
	int err;

	sr_node_members(root, SR_LINE_COMMON "domain domainSeparator types primaryType message "
					     "schema");
	err = sr_line_schema(&index, line->schemas, root);
	if (err)
		return err;
	m.schema = &line->schemas->list[index];
	if (m.schema->contract_in_body)
		contract = m.schema->contract;
	sr_typed_begin(&out, m.schema->id, contract, 0);
	message = sr_node_get(root, "message");
	struct_read(&m, 0, &message, 0);
	if (!out.full)
		sr_put64(line->body + SR_ORDER_NONCE, m.nonce);
	return sr_typed_end(&out);
}
