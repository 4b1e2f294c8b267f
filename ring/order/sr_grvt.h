/* SPDX-License-Identifier: MIT */
/*
 * sr_grvt.h - orders of GRVT, of one leg or several, and transfers.
 *
 * EIP-712 in the domain "GRVT Exchange", version "0", of a chain id: 325 is production,
 * 326 the test net, 327 development; 1 is that of the SDK's tests of transfers, and no
 * other is taken. An order with a builder is of another type, with
 * his address and fee in it. Cancels are not signed there. Body:
 *
 *	 16  sub_account      u64
 *	 24  expiration       u64, ns
 *	 32  client_order_id  u64        posted and not signed, as the signer's address
 *	 40  signer           20
 *	 60  chain_id         u32
 *	 64  builder          20, with flag BUILDER
 *	 84  builder_fee      u32: 10000 is 1.0 of the venue's API
 *	 88  time in force    u8
 *	 89  zero             7
 *	 96  rows
 *
 * A leg, 96 bytes: asset 32 big-endian, size u64 and price u64 as they are signed, buying
 * u8, size decimals u8, zero 6, the instrument's name 40, zeros behind it. The last but
 * the zeros are posted and not signed: the venue refuses what does not agree. A transfer
 * has one row of 64: from 20, to 20, its sub-account u64, tokens u64 in millionths,
 * currency u8, zero 7; the sub-account at 16 is where it comes from. So a body of 336
 * bytes takes 2 legs.
 *
 * Prices have 9 decimals, sizes those of the asset. The nonce has 32 bits. Policy sees
 * the sub-account in decimal digits, and a transfer's destination as 28 bytes: address,
 * sub-account big-endian.
 */
#ifndef SR_GRVT_H
#define SR_GRVT_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_GRVT_SUB_ACCOUNT 16u
#define SR_GRVT_EXPIRATION 24u
#define SR_GRVT_CLIENT_ORDER_ID 32u
#define SR_GRVT_SIGNER 40u
#define SR_GRVT_CHAIN_ID 60u
#define SR_GRVT_BUILDER 64u
#define SR_GRVT_BUILDER_FEE 84u
#define SR_GRVT_TIF 88u
#define SR_GRVT_ROWS 96u

/* Of a leg. */
#define SR_GRVT_LEG_SIZE 32u
#define SR_GRVT_LEG_PRICE 40u
#define SR_GRVT_LEG_BUYING 48u
#define SR_GRVT_LEG_DECIMALS 49u
#define SR_GRVT_LEG_INSTRUMENT 56u
#define SR_GRVT_LEG_BYTES 96u

#define SR_GRVT_LEGS_MAX 41u /* 4096 bytes */
#define SR_GRVT_INSTRUMENT_BYTES 40u
#define SR_GRVT_PRICE_DECIMALS 9u
#define SR_GRVT_FEE_DECIMALS 4u
#define SR_GRVT_SIZE_DECIMALS_MAX 18u
#define SR_GRVT_PRODUCTION 325u

/* Numbers are ABI and are never reused. */
enum sr_grvt_action {
	SR_GRVT_ORDER = 1,
	SR_GRVT_TRANSFER = 2,
};

/* Of the head. */
enum sr_grvt_flag {
	SR_GRVT_MARKET = 1 << 0,
	SR_GRVT_POST_ONLY = 1 << 1,
	SR_GRVT_REDUCE_ONLY = 1 << 2,
	SR_GRVT_HAS_BUILDER = 1 << 3,
	SR_GRVT_FLAGS = (1 << 4) - 1,
};

/* The numbers that are signed. */
enum sr_grvt_tif {
	SR_GRVT_GOOD_TILL_TIME = 1,
	SR_GRVT_ALL_OR_NONE = 2,
	SR_GRVT_IMMEDIATE_OR_CANCEL = 3,
	SR_GRVT_FILL_OR_KILL = 4,
};

enum sr_grvt_currency {
	SR_GRVT_USD = 1,
	SR_GRVT_USDC = 2,
	SR_GRVT_USDT = 3,
};

/* Borrowed, as all that follow. */
struct sr_grvt_leg {
	const unsigned char *asset; /* 32 bytes, big-endian: instrument_hash */
	uint64_t size;
	uint64_t price; /* 0 in a market order, and there alone */
	bool buying;
	uint8_t size_decimals;
	const char *instrument; /* below SR_GRVT_INSTRUMENT_BYTES of A-Z a-z 0-9 _ - . */
};

/* What both actions have. */
struct sr_grvt_head {
	uint32_t chain_id;
	uint32_t nonce;
	uint64_t expiration_ns;
	uint64_t sub_account;        /* of a transfer: from where */
	const unsigned char *signer; /* 20 bytes: the address of the key */
};

struct sr_grvt_order {
	uint32_t flags; /* enum sr_grvt_flag without the builder's */
	enum sr_grvt_tif tif;
	uint64_t client_order_id;
	const unsigned char *builder; /* 20 bytes, or NULL */
	uint32_t builder_fee;
	const struct sr_grvt_leg *legs;
	uint32_t leg_count;
};

struct sr_grvt_transfer {
	const unsigned char *from; /* 20 bytes, as to */
	const unsigned char *to;
	uint64_t to_sub_account; /* 0: the funding account */
	uint64_t tokens;         /* in millionths */
	enum sr_grvt_currency currency;
};

SR_BEGIN_DECLS

/*
 * sr_grvt_order_put, sr_grvt_transfer_put - a body for a request.
 *
 * @body: out, @room bytes; written from its start.
 *
 * Nothing but room, count and the length of names is judged: sr_order_decode() judges
 * the whole, and the signer does. Return the bytes of the body; -ENOSPC; -EINVAL when
 * the count is 0 or above SR_GRVT_LEGS_MAX, or a name is too long.
 */
SR_WARN_UNUSED int sr_grvt_order_put(unsigned char *body, size_t room,
				     const struct sr_grvt_head *head,
				     const struct sr_grvt_order *order);
SR_WARN_UNUSED int sr_grvt_transfer_put(unsigned char *body, size_t room,
					const struct sr_grvt_head *head,
					const struct sr_grvt_transfer *transfer);

/*
 * sr_grvt_scaled - a text times 10^decimals, as the venue's SDK rounds it: what is
 * behind the last decimal is cut off.
 *
 * Returns 0; -EINVAL or -ERANGE as sr_decimal_parse().
 */
SR_WARN_UNUSED int sr_grvt_scaled(uint64_t *v, const char *text, size_t bytes,
				  unsigned int decimals);

SR_END_DECLS

#endif /* SR_GRVT_H */
