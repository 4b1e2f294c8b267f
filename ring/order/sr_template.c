/* SPDX-License-Identifier: MIT */
#include "sr_template.h"

#include "sr_out_text.h"
#include "sr_venue.h"

/* Cuts the text at one value: from behind the next occurrence of a word to what ends
 * values. A text is keywords, digits, hex and names without quotes, so that none of the
 * words is hidden in a value. Returns where the search goes on, or NULL. */
static const char *hole_cut(struct sr_template *t, const struct sr_plan_field *field,
			    const char *from)
{
	struct sr_template_hole *hole = &t->holes[t->hole_count++];
	const char *at = strstr(from, field->before);

	if (!at)
		return NULL;
	at += strlen(field->before);
	hole->field = field->field;
	hole->decimals = field->decimals;
	hole->at = field->at;
	hole->bytes = field->bytes;
	hole->start = (uint16_t)(at - t->text);
	at += strcspn(at, "\",}");
	hole->end = (uint16_t)(at - t->text);
	return at;
}

static int holes_cut(struct sr_template *t, const struct sr_venue *venue)
{
	struct sr_plan_field fields[SR_TEMPLATE_HOLES];
	const char *at = t->text;
	uint32_t count = venue->plan ? venue->plan(fields, t->body) : 0;

	if (!count)
		return -EOPNOTSUPP;
	t->hole_count = 0;
	for (uint32_t i = 0; i < count && at; i++)
		at = hole_cut(t, &fields[i], at);
	return at ? 0 : -EOPNOTSUPP;
}

int sr_template_init(struct sr_template *t, uint32_t type, const unsigned char *body,
		     uint32_t body_bytes, struct sr_order *scratch, struct sr_order_env *env)
{
	static const struct sr_order_signature none;
	int ret = sr_order_decode(scratch, type, body, body_bytes, env);

	if (ret)
		return ret;
	if (body_bytes > sizeof t->body)
		return -EOPNOTSUPP;
	memcpy(t->body, body, body_bytes);
	t->type = (uint16_t)type;
	t->body_bytes = (uint16_t)body_bytes;
	ret = sr_order_render(t->text, sizeof t->text - 1, scratch, &none, env);
	if (ret < 0)
		return ret;
	t->text_bytes = (uint16_t)ret;
	t->text[ret] = '\0';
	return holes_cut(t, scratch->venue);
}

void sr_template_patch(unsigned char *body, const struct sr_template *t,
		       const struct sr_patch *patch)
{
	memcpy(body, t->body, t->body_bytes);
	for (uint32_t i = 0; i < t->hole_count; i++) {
		const struct sr_template_hole *hole = &t->holes[i];
		unsigned char *at = body + hole->at;

		switch (hole->field) {
		case SR_FIELD_PRICE:
			sr_put64(at, patch->price);
			break;
		case SR_FIELD_SIZE:
			sr_put64(at, patch->size);
			break;
		case SR_FIELD_TRIGGER:
			sr_put64(at, patch->trigger_price);
			break;
		case SR_FIELD_NONCE:
			sr_put64(at, patch->nonce);
			break;
		case SR_FIELD_EXPIRES:
			sr_put64(at, patch->expires);
			break;
		case SR_FIELD_CLIENT_ID:
			memcpy(at, patch->client_id, hole->bytes);
			break;
		case SR_FIELD_TARGET:
			memcpy(at, patch->target, hole->bytes);
			break;
		default: /* the signature's */
			break;
		}
	}
}

/* Does a body differ from ours in nothing but what is patched? */
static bool patched_from(const struct sr_template *t, const unsigned char *body)
{
	unsigned char like[SR_TEMPLATE_BODY_BYTES];

	memcpy(like, t->body, t->body_bytes);
	for (uint32_t i = 0; i < t->hole_count; i++)
		memcpy(like + t->holes[i].at, body + t->holes[i].at, t->holes[i].bytes);
	return !memcmp(like, body, t->body_bytes);
}

static void value_put(struct sr_out *out, const struct sr_template_hole *hole,
		      const unsigned char *body, const struct sr_order_signature *signature)
{
	switch (hole->field) {
	case SR_FIELD_R:
		sr_out_hex(out, signature->rs, 32);
		break;
	case SR_FIELD_S:
		sr_out_hex(out, signature->rs + 32, 32);
		break;
	case SR_FIELD_V:
		sr_out_number(out, 27u + signature->recid);
		break;
	default:
		if (hole->decimals == SR_FIELD_HEX)
			sr_out_hex(out, body + hole->at, hole->bytes);
		else
			sr_out_scaled(out, sr_get64(body + hole->at), hole->decimals);
		break;
	}
}

int sr_template_render(char *text, size_t room, const struct sr_template *t,
		       const unsigned char *body, const struct sr_order_signature *signature)
{
	struct sr_out out = sr_out_over(text, room);
	uint16_t from = 0;

	if (!patched_from(t, body))
		return -EINVAL;
	for (uint32_t i = 0; i < t->hole_count; i++) {
		const struct sr_template_hole *hole = &t->holes[i];

		sr_out_bytes(&out, t->text + from, (size_t)(hole->start - from));
		value_put(&out, hole, body, signature);
		from = hole->end;
	}
	sr_out_bytes(&out, t->text + from, (size_t)(t->text_bytes - from));
	return sr_out_done(&out);
}
