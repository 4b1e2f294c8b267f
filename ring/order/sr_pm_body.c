/* SPDX-License-Identifier: MIT */
#include "sr_pm_body.h"

#include "sr_venue.h"

#define CENT (SR_PM_ONE / 100)
#define TEN_THOUSANDTH (SR_PM_ONE / 10000)

int sr_pm_order_put(unsigned char *body, size_t room, const struct sr_pm_order *order)
{
	bool v1 = order->version == SR_PM_V1;
	uint32_t bytes = v1 ? SR_PM_V1_BYTES : SR_PM_V2_BYTES;

	if (order->version < SR_PM_V1 || order->version > SR_PM_V3)
		return -EINVAL;
	if (room < bytes)
		return -ENOSPC;

	memset(body, 0, bytes);
	sr_order_head_put(body, SR_TYPE_POLYMARKET, order->version, order->flags, 0, order->nonce);
	sr_put64(body + SR_PM_SALT, order->salt);
	memcpy(body + SR_PM_MAKER, order->maker, 20);
	memcpy(body + SR_PM_SIGNER, order->signer, 20);
	memcpy(body + SR_PM_TOKEN, order->token, 32);
	sr_put64(body + SR_PM_MAKER_AMOUNT, order->maker_amount);
	sr_put64(body + SR_PM_TAKER_AMOUNT, order->taker_amount);
	sr_put64(body + SR_PM_EXPIRATION, order->expiration_s);
	body[SR_PM_SIDE] = order->side == SR_SIDE_SELL;
	body[SR_PM_SIGNATURE_TYPE] = (unsigned char)order->signature_type;
	body[SR_PM_ORDER_TYPE] = (unsigned char)order->order_type;
	memcpy(body + SR_PM_OWNER, order->owner, 16);
	if (v1) {
		memcpy(body + SR_PM_TAKER, order->taker, 20);
		sr_put64(body + SR_PM_FEE_RATE, order->fee_rate_bps);
	} else {
		memcpy(body + SR_PM_METADATA, order->metadata, 32);
		memcpy(body + SR_PM_BUILDER, order->builder, 32);
	}
	return (int)bytes;
}

int sr_pm_auth_put(unsigned char *body, size_t room, const unsigned char *address, bool testnet,
		   uint64_t time_s, uint64_t nonce)
{
	if (room < SR_PM_AUTH_BYTES)
		return -ENOSPC;
	memset(body, 0, SR_PM_AUTH_BYTES);
	sr_order_head_put(body, SR_TYPE_POLYMARKET, SR_PM_AUTH, testnet ? SR_PM_TESTNET : 0, 0,
			  nonce);
	memcpy(body + SR_PM_AUTH_ADDRESS, address, 20);
	sr_put64(body + SR_PM_AUTH_TIME, time_s);
	return (int)SR_PM_AUTH_BYTES;
}

static bool price_valid(uint64_t price, uint64_t tick)
{
	return tick && price >= tick && price <= SR_PM_ONE - tick && price % tick == 0;
}

/* a * b / by, rounded down; false when it does not fit. */
static bool scale(uint64_t *result, uint64_t a, uint64_t b, uint64_t by)
{
	sr_u128 v = (sr_u128)a * b / by;

	*result = (uint64_t)v;
	return v <= UINT64_MAX;
}

int sr_pm_limit_amounts(uint64_t *maker, uint64_t *taker, enum sr_order_side side, uint64_t price,
			uint64_t size, uint64_t tick)
{
	uint64_t dollars;

	if (!price_valid(price, tick) || !size || size % CENT)
		return -EDOM;
	if (!scale(&dollars, price, size, SR_PM_ONE))
		return -ERANGE;
	/* Two decimals of a size and four of a price are six; a finer tick may not be exact. */
	if ((sr_u128)price * size != (sr_u128)dollars * SR_PM_ONE || !dollars)
		return -EDOM;
	*maker = side == SR_SIDE_BUY ? dollars : size;
	*taker = side == SR_SIDE_BUY ? size : dollars;
	return 0;
}

int sr_pm_market_amounts(uint64_t *maker, uint64_t *taker, enum sr_order_side side, uint64_t price,
			 uint64_t amount, uint64_t tick)
{
	uint64_t wanted;
	bool fits;

	if (!price_valid(price, tick) || !amount || amount % CENT)
		return -EDOM;
	if (side == SR_SIDE_BUY)
		fits = scale(&wanted, amount, SR_PM_ONE, price);
	else
		fits = scale(&wanted, amount, price, SR_PM_ONE);
	if (!fits)
		return -ERANGE;
	wanted -= wanted % TEN_THOUSANDTH;
	if (!wanted)
		return -EDOM;
	*maker = amount;
	*taker = wanted;
	return 0;
}
