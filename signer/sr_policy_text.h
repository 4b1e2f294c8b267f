/* SPDX-License-Identifier: MIT */
/*
 * sr_policy_text.h - amounts and ids of assets as people write them.
 *
 * For manifests, and for what operators say between two of them. Decimal digits with at
 * most one point, digits on both sides of it; no sign, no exponent, no leading zero: there
 * is one spelling of a number, and no floating point.
 */
#ifndef SR_POLICY_TEXT_H
#define SR_POLICY_TEXT_H

#include "sr_policy.h"

SR_BEGIN_DECLS

/* sr_policy_is_unlimited - is it this word? */
bool sr_policy_is_unlimited(const char *text, size_t bytes);

/*
 * sr_policy_bound_parse - "12.5", or "unlimited" where @unlimited.
 *
 * sr_policy_notional_parse - the same, in millionths.
 *
 * sr_policy_asset_parse - "0x" and up to 64 digits, or up to 78 decimal ones.
 *
 * Return 0, -EINVAL, -ERANGE.
 */
SR_WARN_UNUSED int sr_policy_bound_parse(struct sr_policy_bound *bound, const char *text,
					 size_t bytes, bool unlimited);
SR_WARN_UNUSED int sr_policy_notional_parse(uint64_t *notional, const char *text, size_t bytes,
					    bool unlimited);
SR_WARN_UNUSED int sr_policy_asset_parse(struct sr_asset *asset, const char *text, size_t bytes);

SR_END_DECLS

#endif /* SR_POLICY_TEXT_H */
