/* SPDX-License-Identifier: MIT */
/*
 * sr_hl_body.h - the body of a typed Hyperliquid action, and how a client makes one.
 *
 *	 16  expires_after  u64      ms; flag EXPIRES
 *	 24  vault          20       flag VAULT
 *	 44  builder        20       flag BUILDER
 *	 64  builder_fee    u32      tenths of a basis point
 *	 68  grouping       u8       enum sr_hl_grouping
 *	 69  zero           3
 *	 72  priority       u32      grouping PRIORITY
 *	 76  zero           u32
 *	 80  rows
 *
 * A row of an order: asset u32, flags u32, price u64, size u64; then, where the head has
 * ROWS_TRIGGER, the trigger price u64; where it has ROWS_CLOID, the client's id 16; in a
 * modification what is modified, 16: its id u64 and zeros, or a client's id. So a body of
 * 336 bytes takes 10 plain orders, or 6 with client ids.
 *
 *	cancel 16            asset u32, zero u32, order id u64
 *	cancelByCloid 24     asset u32, zero u32, client's id 16
 *	scheduleCancel 8     time ms u64; without a row: no cancel is scheduled any more
 *	updateLeverage 16    asset u32, cross u32, leverage u32, zero u32
 *	updateIsolatedMargin 16  asset u32, long u32, ntli i64, in millionths of a dollar
 *
 * Prices and sizes are scaled by 10^8. The nonce is in ms.
 */
#ifndef SR_HL_BODY_H
#define SR_HL_BODY_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_HL_EXPIRES 16u
#define SR_HL_VAULT 24u
#define SR_HL_BUILDER 44u
#define SR_HL_BUILDER_FEE 64u
#define SR_HL_GROUPING 68u
#define SR_HL_PRIORITY 72u
#define SR_HL_ROWS 80u

#define SR_HL_DECIMALS 8u
#define SR_HL_FEE_MAX 1000u
#define SR_HL_LEVERAGE_MAX 1000u

/* Numbers are ABI and are never reused. */
enum sr_hl_action {
	SR_HL_ORDER = 1,
	SR_HL_CANCEL = 2,
	SR_HL_CANCEL_BY_CLOID = 3,
	SR_HL_MODIFY = 4,
	SR_HL_BATCH_MODIFY = 5,
	SR_HL_SCHEDULE_CANCEL = 6,
	SR_HL_UPDATE_LEVERAGE = 7,
	SR_HL_UPDATE_ISOLATED_MARGIN = 8,
	SR_HL_NOOP = 9,
};

/* Of the head. */
enum sr_hl_flag {
	SR_HL_TESTNET = 1 << 0,
	SR_HL_HAS_VAULT = 1 << 1,
	SR_HL_HAS_EXPIRES = 1 << 2,
	SR_HL_HAS_BUILDER = 1 << 3,
	SR_HL_ROWS_CLOID = 1 << 4,
	SR_HL_ROWS_TRIGGER = 1 << 5,
	SR_HL_FLAGS = (1 << 6) - 1,
};

enum sr_hl_grouping {
	SR_HL_GROUP_NA = 0,
	SR_HL_GROUP_NORMAL_TPSL = 1,
	SR_HL_GROUP_POSITION_TPSL = 2,
	SR_HL_GROUP_PRIORITY = 3, /* {"p": priority} */
};

enum sr_hl_tif {
	SR_HL_TIF_NONE = 0, /* of triggers */
	SR_HL_GTC = 1,
	SR_HL_IOC = 2,
	SR_HL_ALO = 3,
	SR_HL_FRONTEND_MARKET = 4,
	SR_HL_LIQUIDATION_MARKET = 5,
};

/* Of an order's row; the time in force lies above. */
enum sr_hl_row_flag {
	SR_HL_BUY = 1 << 0,
	SR_HL_REDUCE_ONLY = 1 << 1,
	SR_HL_CLOID = 1 << 2,
	SR_HL_TRIGGER = 1 << 3,
	SR_HL_IS_MARKET = 1 << 4,    /* of a trigger */
	SR_HL_TAKE_PROFIT = 1 << 5,  /* else a stop loss */
	SR_HL_TARGET_CLOID = 1 << 6, /* of a modification: target is a client's id */
	SR_HL_TIF_SHIFT = 8,
	SR_HL_ROW_FLAGS = 0x77f,
};

#define SR_HL_CLOID_BYTES 16u

/* An order, or the new form of one. */
struct sr_hl_order {
	uint32_t asset;
	uint32_t flags;         /* enum sr_hl_row_flag without the time in force */
	enum sr_hl_tif tif;
	uint64_t price;         /* scaled by 10^8, as the two below */
	uint64_t size;
	uint64_t trigger_price; /* with SR_HL_TRIGGER, or 0 */
	unsigned char cloid[SR_HL_CLOID_BYTES];        /* with SR_HL_CLOID, or zeros */
	uint64_t target;                               /* of a modification */
	unsigned char target_cloid[SR_HL_CLOID_BYTES]; /* or this, with SR_HL_TARGET_CLOID */
};

struct sr_hl_cancel {
	uint32_t asset;
	uint64_t oid;                           /* SR_HL_CANCEL */
	unsigned char cloid[SR_HL_CLOID_BYTES]; /* SR_HL_CANCEL_BY_CLOID */
};

/* What all actions have. Zero is: mainnet, no vault, no expiry, no builder, "na". */
struct sr_hl_head {
	uint64_t nonce;
	bool testnet;
	const unsigned char *vault;   /* 20 bytes, or NULL */
	uint64_t expires_after;       /* or 0 */
	const unsigned char *builder; /* 20 bytes, or NULL; orders only, as what follows */
	uint32_t builder_fee;
	enum sr_hl_grouping grouping;
	uint32_t priority;
};

SR_BEGIN_DECLS

/*
 * sr_hl_order_put, sr_hl_modify_put - a body that places or modifies orders.
 *
 * @body:  out, @room bytes; written from its start.
 * @batch: batchModify; else modify, of one order.
 *
 * Nothing but room and count is judged: sr_order_decode() judges the whole, and the
 * signer does. Return the bytes of the body; -ENOSPC; -EINVAL when the count is 0, or
 * above SR_ORDER_LEGS_MAX, or above 1 in a modify.
 */
SR_WARN_UNUSED int sr_hl_order_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
				   const struct sr_hl_order *orders, uint32_t count);
SR_WARN_UNUSED int sr_hl_modify_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
				    const struct sr_hl_order *orders, uint32_t count, bool batch);

/* sr_hl_cancel_put - the same for cancels; @by_cloid takes each one's cloid. */
SR_WARN_UNUSED int sr_hl_cancel_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
				    const struct sr_hl_cancel *cancels, uint32_t count,
				    bool by_cloid);

/* sr_hl_schedule_put - cancel everything at a time; @time_ms 0: never mind. */
SR_WARN_UNUSED int sr_hl_schedule_put(unsigned char *body, size_t room,
				      const struct sr_hl_head *head, uint64_t time_ms);
SR_WARN_UNUSED int sr_hl_leverage_put(unsigned char *body, size_t room,
				      const struct sr_hl_head *head, uint32_t asset, bool cross,
				      uint32_t leverage);
SR_WARN_UNUSED int sr_hl_margin_put(unsigned char *body, size_t room, const struct sr_hl_head *head,
				    uint32_t asset, bool is_long, int64_t ntli);
SR_WARN_UNUSED int sr_hl_noop_put(unsigned char *body, size_t room, const struct sr_hl_head *head);

SR_END_DECLS

#endif /* SR_HL_BODY_H */
