/* SPDX-License-Identifier: MIT */
/*
 * sr_pm_body.h - the body of a typed Polymarket order, and how a client makes one.
 *
 *	  8  nonce           u64   V1: the order's nonce; V2, V3: timestamp, ms; AUTH: nonce
 *	 16  salt            u64   below 2^53
 *	 24  maker           20    the funds'
 *	 44  signer          20    the key's; of a deposit wallet, the wallet's
 *	 64  token id        32    big-endian
 *	 96  maker amount    u64   what we give, in millionths of a dollar or share
 *	104  taker amount    u64   what we get
 *	112  expiration      u64   s; GTD only. V1 signs it, V2 and V3 post it
 *	120  side            u8    0 buy, 1 sell
 *	121  signature type  u8    enum sr_pm_signature
 *	122  order type      u8    enum sr_pm_order_type; posted
 *	123  zero            5
 *	128  owner           16    UUID of the API key; posted
 *	144  V1: taker 20, zero 4, fee rate u64 in basis points (176 in all)
 *	     V2, V3: metadata 32, builder 32 (208 in all)
 *
 * AUTH, which proves the key to the venue: signer 20 at 16, zero 4, time u64 in s at 40.
 */
#ifndef SR_PM_BODY_H
#define SR_PM_BODY_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_PM_SALT 16u
#define SR_PM_MAKER 24u
#define SR_PM_SIGNER 44u
#define SR_PM_TOKEN 64u
#define SR_PM_MAKER_AMOUNT 96u
#define SR_PM_TAKER_AMOUNT 104u
#define SR_PM_EXPIRATION 112u
#define SR_PM_SIDE 120u
#define SR_PM_SIGNATURE_TYPE 121u
#define SR_PM_ORDER_TYPE 122u
#define SR_PM_OWNER 128u
#define SR_PM_TAKER 144u
#define SR_PM_FEE_RATE 168u
#define SR_PM_V1_BYTES 176u
#define SR_PM_METADATA 144u
#define SR_PM_BUILDER 176u
#define SR_PM_V2_BYTES 208u
#define SR_PM_AUTH_ADDRESS 16u
#define SR_PM_AUTH_TIME 40u
#define SR_PM_AUTH_BYTES 48u

#define SR_PM_SALT_LIMIT (UINT64_C(1) << 53) /* above, JSON readers round */
#define SR_PM_DECIMALS 6u
#define SR_PM_ONE UINT64_C(1000000)

/* Numbers are ABI and are never reused; an order's is the version of its exchange. */
enum sr_pm_action {
	SR_PM_V1 = 1,
	SR_PM_V2 = 2,
	SR_PM_V3 = 3,
	SR_PM_AUTH = 4,
};

enum sr_pm_flag {
	SR_PM_TESTNET = 1 << 0,  /* Amoy, 80002; else Polygon, 137 */
	SR_PM_NEG_RISK = 1 << 1, /* its exchange is another contract; not in V3 */
	SR_PM_POST_ONLY = 1 << 2,
	SR_PM_DEFER = 1 << 3,
	SR_PM_FLAGS = (1 << 4) - 1,
};

enum sr_pm_signature {
	SR_PM_EOA = 0,
	SR_PM_PROXY = 1,
	SR_PM_SAFE = 2,
	SR_PM_1271 = 3, /* a deposit wallet: the signature is wrapped by ERC-7739 */
};

enum sr_pm_order_type {
	SR_PM_GTC = 1,
	SR_PM_GTD = 2,
	SR_PM_FOK = 3,
	SR_PM_FAK = 4,
};

struct sr_pm_order {
	enum sr_pm_action version;
	unsigned int flags;      /* enum sr_pm_flag */
	uint64_t nonce;          /* V2, V3: timestamp, ms */
	uint64_t salt;
	unsigned char maker[20];
	unsigned char signer[20];
	unsigned char token[32];
	uint64_t maker_amount;   /* sr_pm_limit_amounts(), sr_pm_market_amounts() */
	uint64_t taker_amount;
	uint64_t expiration_s;
	enum sr_order_side side;
	enum sr_pm_signature signature_type;
	enum sr_pm_order_type order_type;
	unsigned char owner[16];
	unsigned char taker[20]; /* V1 */
	uint64_t fee_rate_bps;   /* V1 */
	unsigned char metadata[32];
	unsigned char builder[32];
};

SR_BEGIN_DECLS

/*
 * sr_pm_order_put - a body with an order.
 *
 * Returns its bytes; -ENOSPC; -EINVAL for no version. sr_order_decode() judges the rest.
 */
SR_WARN_UNUSED int sr_pm_order_put(unsigned char *body, size_t room,
				   const struct sr_pm_order *order);

/* sr_pm_auth_put - a body that proves a key; @address: 20 bytes. As above. */
SR_WARN_UNUSED int sr_pm_auth_put(unsigned char *body, size_t room, const unsigned char *address,
				  bool testnet, uint64_t time_s, uint64_t nonce);

/*
 * sr_pm_limit_amounts - amounts of a limit order, exactly price times size.
 *
 * @price, @size, @tick: scaled by 10^6; size in shares.
 *
 * Returns 0; -EDOM when the venue would refuse it: a price that is no multiple of the
 * tick or not inside (0, 1), a size with more than 2 decimals or 0; -ERANGE.
 */
SR_WARN_UNUSED int sr_pm_limit_amounts(uint64_t *maker, uint64_t *taker, enum sr_order_side side,
				       uint64_t price, uint64_t size, uint64_t tick);

/*
 * sr_pm_market_amounts - the same for FOK and FAK.
 *
 * @amount: what is given, with at most 2 decimals: dollars of a buy, shares of a sale.
 *
 * What is wanted for it is rounded down to 4 decimals, whatever the tick.
 */
SR_WARN_UNUSED int sr_pm_market_amounts(uint64_t *maker, uint64_t *taker, enum sr_order_side side,
					uint64_t price, uint64_t amount, uint64_t tick);

SR_END_DECLS

#endif /* SR_PM_BODY_H */
