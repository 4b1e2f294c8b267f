/* SPDX-License-Identifier: MIT */
/*
 * sr_order_slots.h - how many orders of Hyperliquid a submission slot holds: asked of the
 * builders, not calculated.
 */
#ifndef SR_ORDER_SLOTS_H
#define SR_ORDER_SLOTS_H

#include <stdio.h>

#include "sr_bench.h"
#include "sr_sample.h"

enum form { FORM_ORDER, FORM_CLOID, FORM_TRIGGER, FORM_MODIFY, FORM_CANCEL, FORM_CANCEL_CLOID, FORMS };

static const char *const forms[FORMS] = {
	"order", "order_cloid", "order_cloid_trigger", "modify", "cancel", "cancel_cloid",
};

static inline int form_put(enum form form, size_t room, uint32_t count)
{
	static unsigned char body[SAMPLE_BODY_BYTES];
	static struct sr_hl_cancel cancels[SR_ORDER_LEGS_MAX];
	static struct sr_hl_order orders[SR_ORDER_LEGS_MAX];
	static const struct sr_hl_head head;

	for (uint32_t i = 0; i < SR_ORDER_LEGS_MAX; i++)
		orders[i].flags = form == FORM_TRIGGER ? SR_HL_CLOID | SR_HL_TRIGGER :
				  form == FORM_CLOID   ? SR_HL_CLOID : 0u;
	if (form >= FORM_CANCEL)
		return sr_hl_cancel_put(body, room, &head, cancels, count, form == FORM_CANCEL_CLOID);
	if (form == FORM_MODIFY)
		return sr_hl_modify_put(body, room, &head, orders, count, true);
	return sr_hl_order_put(body, room, &head, orders, count);
}

static inline uint32_t form_max(enum form form, uint32_t slot_bytes)
{
	uint32_t room = slot_bytes - (SR_SUB_BODY + SR_TAG_BYTES + SR_REQ_BODY), count = 0;

	while (count < SR_ORDER_LEGS_MAX && form_put(form, room, count + 1) > 0)
		count++;
	return count;
}

static inline void slots_json(const struct sr_bench *b)
{
	(void)b;
	(void)printf(",\"slots\":{");
	for (enum form form = 0; form < FORMS; form++)
		(void)printf("%s\"%s\":{\"bytes\":%d,\"384\":%u,\"1024\":%u,\"4096\":%u}",
			     form ? "," : "", forms[form],
			     form_put(form, SAMPLE_BODY_BYTES, 2) -
				     form_put(form, SAMPLE_BODY_BYTES, 1),
			     form_max(form, 384), form_max(form, 1024), form_max(form, 4096));
	(void)printf("}");
}

static inline void slots_text(void)
{
	(void)printf("Hyperliquid, bytes of one more in a batch, and most in a slot of 384 B, 1 KiB, "
		     "4 KiB:\n");
	for (enum form form = 0; form < FORMS; form++)
		(void)printf("  %-24s %4d %6u %6u %6u\n", forms[form],
			     form_put(form, SAMPLE_BODY_BYTES, 2) -
				     form_put(form, SAMPLE_BODY_BYTES, 1),
			     form_max(form, 384), form_max(form, 1024), form_max(form, 4096));
}

#endif /* SR_ORDER_SLOTS_H */
