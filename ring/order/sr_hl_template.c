/* SPDX-License-Identifier: MIT */
#include "sr_hl_template.h"

#include "sr_hyperliquid.h"

#define PRICE (SR_HL_ROWS + 8u)
#define SIZE (SR_HL_ROWS + 16u)

/* Client ids lie at the end of a row, and ours is the only one. */
static uint32_t cloid_at(const struct sr_hl_template *t)
{
	return t->body_bytes - SR_HL_CLOID_BYTES;
}

static bool has(const struct sr_hl_template *t, enum sr_hl_flag flag)
{
	return t->body[SR_ORDER_FLAGS] & flag;
}

/* A value in the text: from behind the next occurrence of a word to what ends values. The
 * text is ours: keywords, digits and hex, in which none of the words is hidden. */
static void hole_find(struct sr_hl_template *t, enum sr_hl_hole hole, const char *word)
{
	const char *from = t->text + (hole ? t->holes[hole - 1].end : 0);
	const char *at = strstr(from, word) + strlen(word);

	t->holes[hole].start = (uint16_t)(at - t->text);
	t->holes[hole].end = (uint16_t)(at + strcspn(at, "\",}") - t->text);
}

static void holes_find(struct sr_hl_template *t)
{
	hole_find(t, SR_HL_HOLE_PRICE, "\"p\":\"");
	hole_find(t, SR_HL_HOLE_SIZE, "\"s\":\"");
	t->holes[SR_HL_HOLE_CLOID].start = t->holes[SR_HL_HOLE_SIZE].end;
	t->holes[SR_HL_HOLE_CLOID].end = t->holes[SR_HL_HOLE_SIZE].end;
	if (has(t, SR_HL_ROWS_CLOID))
		hole_find(t, SR_HL_HOLE_CLOID, "\"c\":\"0x");
	hole_find(t, SR_HL_HOLE_NONCE, "\"nonce\":");
	hole_find(t, SR_HL_HOLE_R, "\"signature\":{\"r\":\"0x");
	hole_find(t, SR_HL_HOLE_S, "\"s\":\"0x");
	hole_find(t, SR_HL_HOLE_V, "\"v\":");
	hole_find(t, SR_HL_HOLE_EXPIRES, "\"expiresAfter\":");
}

int sr_hl_template_init(struct sr_hl_template *t, const struct sr_hl_head *head,
			const struct sr_hl_order *order, struct sr_order *scratch,
			struct sr_order_env *env)
{
	static const struct sr_order_signature none;
	int bytes = sr_hl_order_put(t->body, sizeof t->body, head, order, 1);

	if (bytes < 0)
		return -EINVAL;
	t->body_bytes = (uint32_t)bytes;
	if (sr_order_decode(scratch, SR_TYPE_HYPERLIQUID, t->body, t->body_bytes, env))
		return -EINVAL;
	bytes = sr_order_render(t->text, sizeof t->text - 1, scratch, &none, env);
	if (bytes < 0)
		return -EINVAL;
	t->text_bytes = (uint32_t)bytes;
	t->text[bytes] = '\0';
	holes_find(t);
	return 0;
}

void sr_hl_template_patch(struct sr_hl_template *t, const struct sr_hl_patch *patch)
{
	sr_put64(t->body + SR_ORDER_NONCE, patch->nonce);
	sr_put64(t->body + PRICE, patch->price);
	sr_put64(t->body + SIZE, patch->size);
	if (has(t, SR_HL_HAS_EXPIRES))
		sr_put64(t->body + SR_HL_EXPIRES, patch->expires_after);
	if (has(t, SR_HL_ROWS_CLOID))
		memcpy(t->body + cloid_at(t), patch->cloid, SR_HL_CLOID_BYTES);
}

/* The text between the value before and this one. */
static void up_to(struct sr_out *out, const struct sr_hl_template *t, enum sr_hl_hole hole)
{
	uint16_t from = hole ? t->holes[hole - 1].end : 0;

	sr_out_bytes(out, t->text + from, (size_t)(t->holes[hole].start - from));
}

int sr_hl_template_render(char *text, size_t room, const struct sr_hl_template *t,
			  const struct sr_order_signature *signature)
{
	struct sr_out out = sr_out_over(text, room);
	uint16_t rest = t->holes[SR_HL_HOLE_V].end;

	up_to(&out, t, SR_HL_HOLE_PRICE);
	sr_out_scaled(&out, sr_get64(t->body + PRICE), SR_HL_DECIMALS);
	up_to(&out, t, SR_HL_HOLE_SIZE);
	sr_out_scaled(&out, sr_get64(t->body + SIZE), SR_HL_DECIMALS);
	up_to(&out, t, SR_HL_HOLE_CLOID);
	if (has(t, SR_HL_ROWS_CLOID))
		sr_out_hex(&out, t->body + cloid_at(t), SR_HL_CLOID_BYTES);
	up_to(&out, t, SR_HL_HOLE_NONCE);
	sr_out_number(&out, sr_get64(t->body + SR_ORDER_NONCE));
	up_to(&out, t, SR_HL_HOLE_R);
	sr_out_hex(&out, signature->rs, 32);
	up_to(&out, t, SR_HL_HOLE_S);
	sr_out_hex(&out, signature->rs + 32, 32);
	up_to(&out, t, SR_HL_HOLE_V);
	sr_out_number(&out, 27u + signature->recid);
	if (has(t, SR_HL_HAS_EXPIRES)) {
		up_to(&out, t, SR_HL_HOLE_EXPIRES);
		sr_out_number(&out, sr_get64(t->body + SR_HL_EXPIRES));
		rest = t->holes[SR_HL_HOLE_EXPIRES].end;
	}
	sr_out_bytes(&out, t->text + rest, t->text_bytes - rest);
	return sr_out_done(&out);
}
