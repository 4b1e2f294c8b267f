/* SPDX-License-Identifier: MIT */
/*
 * sr_dydx.h - orders and cancels of dYdX v4: transactions of its chain, signed directly.
 *
 *	digest = SHA-256(SignDoc)          sr_cosmos_tx.h
 *
 * The message is a MsgPlaceOrder, MsgCancelOrder or MsgBatchCancel of package
 * dydxprotocol.clob. Body:
 *
 *	 16  account_number u64
 *	 24  gas_limit      u64
 *	 32  public_key     33, compressed: it is part of what is signed
 *	 65  zero           3
 *	 68  owner          20: address bytes; the text with "dydx1" is made of them
 *	 88  subaccount     u32
 *	 92  chain          u32: N of "dydx-mainnet-N"; of "dydx-testnet-N" with flag TESTNET
 *	 96  good_til       u32: a block for short-term orders and batches, else seconds
 *	100  zero           u32
 *	104  rows
 *
 * A row of an order, 40 bytes or with flag BUILDER 64: client_id u32, clob_pair u32, kind
 * u8, side u8, time in force u8, condition u8, client_metadata u32, quantums u64,
 * subticks u64, trigger subticks u64; builder 20, its fee u32 in millionths. Of a cancel:
 * client_id u32, clob_pair u32, kind u32. Of a batch: clob_pair u32, client_id u32, pairs
 * rising, so that there is one body for one message. So a body of 336 bytes takes 29
 * cancels.
 *
 * The head's nonce is the account's sequence. Short-term orders and cancels do not spend
 * it, so they have none in the view: their block ends them. A sequence from 2^40 on is a
 * time in ms. Prices and sizes are in the market's own units: SR_DECIMALS_BY_ASSET.
 *
 * TWAP orders and order routers cannot be said in this type.
 */
#ifndef SR_DYDX_H
#define SR_DYDX_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_DYDX_ACCOUNT_NUMBER 16u
#define SR_DYDX_GAS_LIMIT 24u
#define SR_DYDX_PUBLIC_KEY 32u
#define SR_DYDX_OWNER 68u
#define SR_DYDX_SUBACCOUNT 88u
#define SR_DYDX_CHAIN 92u
#define SR_DYDX_GOOD_TIL 96u
#define SR_DYDX_ROWS 104u

#define SR_DYDX_SUBACCOUNT_MAX 128000u
#define SR_DYDX_FEE_MAX 10000u /* 1 % */
#define SR_DYDX_BATCH_MAX 100u

/* Numbers are ABI and are never reused. */
enum sr_dydx_action {
	SR_DYDX_PLACE = 1,
	SR_DYDX_CANCEL = 2,
	SR_DYDX_BATCH_CANCEL = 3,
};

/* Of the head. */
enum sr_dydx_flag {
	SR_DYDX_TESTNET = 1 << 0,
	SR_DYDX_REDUCE_ONLY = 1 << 1,
	SR_DYDX_HAS_BUILDER = 1 << 2,
	SR_DYDX_FLAGS = (1 << 3) - 1,
};

/* order_flags of an order id; the numbers of the chain, as all that follow. */
enum sr_dydx_kind {
	SR_DYDX_SHORT_TERM = 0,
	SR_DYDX_CONDITIONAL = 32,
	SR_DYDX_LONG_TERM = 64,
	SR_DYDX_TWAP = 128, /* may be cancelled, not placed */
};

enum sr_dydx_side {
	SR_DYDX_BUY = 1,
	SR_DYDX_SELL = 2,
};

enum sr_dydx_tif {
	SR_DYDX_TIF_NONE = 0, /* good till its block or time */
	SR_DYDX_IOC = 1,
	SR_DYDX_POST_ONLY = 2,
	SR_DYDX_FILL_OR_KILL = 3,
};

enum sr_dydx_condition {
	SR_DYDX_CONDITION_NONE = 0,
	SR_DYDX_STOP_LOSS = 1,
	SR_DYDX_TAKE_PROFIT = 2,
};

/* What all actions have; borrowed. */
struct sr_dydx_head {
	uint64_t sequence;
	uint64_t account_number;
	uint64_t gas_limit;
	const unsigned char *public_key; /* 33 bytes */
	const unsigned char *owner;      /* 20 bytes: sr_bech32_parse() of its text */
	uint32_t subaccount;
	uint32_t chain;    /* 1 of dydx-mainnet-1 */
	uint32_t good_til; /* block, or seconds */
	bool testnet;
};

struct sr_dydx_order {
	uint32_t client_id;
	uint32_t clob_pair;
	enum sr_dydx_kind kind;
	enum sr_dydx_side side;
	enum sr_dydx_tif tif;
	enum sr_dydx_condition condition;
	uint32_t client_metadata;
	uint64_t quantums;
	uint64_t subticks;
	uint64_t trigger_subticks; /* with a condition, or 0 */
	bool reduce_only;
	const unsigned char *builder; /* 20 bytes, or NULL */
	uint32_t builder_fee_ppm;
};

struct sr_dydx_cancel {
	uint32_t client_id;
	uint32_t clob_pair;
	enum sr_dydx_kind kind; /* of a batch: short-term */
};

SR_BEGIN_DECLS

/*
 * sr_dydx_order_put, sr_dydx_cancel_put, sr_dydx_batch_put - a body for a request.
 *
 * @body: out, @room bytes; written from its start.
 *
 * Nothing but room and count is judged: sr_order_decode() judges the whole, and the
 * signer does. Return the bytes of the body; -ENOSPC; -EINVAL when the count of a batch
 * is 0 or above SR_DYDX_BATCH_MAX.
 */
SR_WARN_UNUSED int sr_dydx_order_put(unsigned char *body, size_t room,
				     const struct sr_dydx_head *head,
				     const struct sr_dydx_order *order);
SR_WARN_UNUSED int sr_dydx_cancel_put(unsigned char *body, size_t room,
				      const struct sr_dydx_head *head,
				      const struct sr_dydx_cancel *cancel);
SR_WARN_UNUSED int sr_dydx_batch_put(unsigned char *body, size_t room,
				     const struct sr_dydx_head *head,
				     const struct sr_dydx_cancel *cancels, uint32_t count);

SR_END_DECLS

#endif /* SR_DYDX_H */
