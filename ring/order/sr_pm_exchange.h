/* SPDX-License-Identifier: MIT */
/*
 * sr_pm_exchange.h - Polymarket's exchanges: which contract verifies an order.
 *
 * Each version has one on each chain, and V1 and V2 another for markets of negative risk
 * (@polymarket/clob-client-v2, src/config.ts). An order that names the wrong one is
 * signed for a domain in which nobody trades.
 */
#ifndef SR_PM_EXCHANGE_H
#define SR_PM_EXCHANGE_H

#include "sr_base.h"

#define SR_PM_EXCHANGES 10u

struct sr_pm_exchange {
	uint8_t version; /* enum sr_pm_action */
	bool testnet;
	bool neg_risk;
	unsigned char contract[20];
	unsigned char separator[32]; /* of EIP-712's domain */
};

extern const struct sr_pm_exchange sr_pm_exchanges[SR_PM_EXCHANGES];

SR_BEGIN_DECLS

/* sr_pm_exchange_find - NULL when there is none. */
const struct sr_pm_exchange *sr_pm_exchange_find(unsigned int version, bool testnet, bool neg_risk);

SR_END_DECLS

#endif /* SR_PM_EXCHANGE_H */
