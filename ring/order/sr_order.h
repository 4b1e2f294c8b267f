/* SPDX-License-Identifier: MIT */
/*
 * sr_order.h - typed orders: the signer knows what it signs.
 *
 * A request of a type from 256 on has a typed body: fixed-size little-endian fields,
 * scaled integers. The same bytes serve both ends. The signer decodes them to a view
 * that policy judges, and builds from them the digest that the venue wants signed;
 * the client renders from them the body to post. So what is posted is what was signed
 * is what policy saw.
 *
 * An engine fills in a venue's struct, `struct sr_hl_order` say, and has it put into a
 * body (sr_hl_order_put(); sr_template.h for orders that differ in a few fields). It
 * submits the body under the venue's type, and with the signature that comes back
 * renders from the same bytes what to post. The calls here are the same for all venues.
 *
 * They are pure: they read private memory, write what the caller gave, and do not
 * allocate, take a lock, call the system, or use floating point or a locale, but for
 * sr_order_env_new(). Their time is bounded by the body's length. Any number of threads
 * may call them, each with an environment and a struct sr_order of its own.
 *
 * Every typed body starts with
 *
 *	0  type      u16   the request's type once more: no body is of two types
 *	2  action    u8    the venue's own number, from 1
 *	3  flags     u8    the venue's own
 *	4  rows      u16   orders, cancels, legs behind the fixed part, or 0
 *	6  tail      u16   bytes of variable data at its end, for venues that have such
 *	8  nonce     u64   of the venue, in its unit; 0 where it has none
 *
 * and has exactly the length that these say. Reserved bytes, and fields that a flag
 * leaves out, are zero: there is one body for one meaning.
 */
#ifndef SR_ORDER_H
#define SR_ORDER_H

#include "sr_base.h"
#include "sr_decimal.h"
#include "sr_type.h"
#include "sr_venues.h"

#define SR_ORDER_TYPE 0u
#define SR_ORDER_ACTION 2u
#define SR_ORDER_FLAGS 3u
#define SR_ORDER_ROWS 4u
#define SR_ORDER_TAIL 6u
#define SR_ORDER_NONCE 8u
#define SR_ORDER_HEAD_BYTES 16u

#define SR_ORDER_LEGS_MAX 128u
#define SR_ORDER_WORK_BYTES 32768u

/* What a request does, in words that all venues share. An action that fits none of
 * these gets a new one: policy denies what it does not know. */
enum sr_order_kind {
	SR_KIND_NONE = 0,
	SR_KIND_ORDER = 1,
	SR_KIND_CANCEL = 2,    /* takes orders away and does nothing else */
	SR_KIND_MODIFY = 3,    /* replaces an order by one that is judged like a new one */
	SR_KIND_CONFIGURE = 4, /* leverage, margin of a position */
	SR_KIND_NOOP = 5,      /* spends a nonce */
	SR_KIND_LOGIN = 6,     /* proves the key to the venue */
	SR_KIND_TRANSFER = 7,  /* moves value to `destination` on the venue or a chain */
	SR_KIND_WITHDRAW = 8,
	SR_KIND_APPROVE = 9,   /* lets somebody else act or take fees */
	SR_KIND_CALL = 10,     /* calls a contract: asset is its selector */
	SR_KIND_MESSAGE = 11,  /* signs data without a meaning to us */
};

enum sr_order_side {
	SR_SIDE_NONE = 0,
	SR_SIDE_BUY = 1,
	SR_SIDE_SELL = 2,
};

enum sr_leg_flag {
	SR_LEG_REDUCE_ONLY = 1 << 0,
	SR_LEG_POST_ONLY = 1 << 1,
	SR_LEG_IMMEDIATE = 1 << 2,    /* fills now or never rests */
	SR_LEG_TRIGGER = 1 << 3,      /* rests until trigger_price */
	SR_LEG_MARKET = 1 << 4,       /* its price does not bind the venue */
	SR_LEG_WHOLE = 1 << 5,        /* size 0 that stands for the whole position */
	SR_LEG_NOTIONAL = 1 << 6,     /* notional is set */
};

/* Decimals that only the manifest's table of assets knows. */
#define SR_DECIMALS_BY_ASSET INT8_MIN

/* Numbers of up to 256 bits: least significant word first. */
struct sr_asset {
	uint64_t words[4];
};

/* One order, cancel or leg, as policy sees it. Fields without a meaning are zero. */
struct sr_order_leg {
	struct sr_asset asset; /* the venue's id: index, token id, contract */
	sr_u128 price;         /* scaled by price_decimals; inexact ones are the worse for us */
	sr_u128 size;          /* scaled by size_decimals, never negative */
	sr_u128 trigger_price; /* as price */
	uint64_t notional;     /* SR_NOTIONAL_DECIMALS, rounded up; with SR_LEG_NOTIONAL */
	uint8_t side;          /* enum sr_order_side */
	uint8_t flags;         /* enum sr_leg_flag */
	int8_t price_decimals; /* or SR_DECIMALS_BY_ASSET, and then there is no notional */
	int8_t size_decimals;
};

enum sr_nonce_kind {
	SR_NONCE_NONE = 0,
	SR_NONCE_TIME_MS = 1,  /* unique, near now */
	SR_NONCE_SEQUENCE = 2, /* rises by one */
	SR_NONCE_UNIQUE = 3,   /* any number, once */
};

/* Most bytes of an address, account or builder code. */
#define SR_PARTY_BYTES 64u

/* Bytes, or characters where the venue has text (bech32). */
struct sr_party {
	uint8_t bytes;
	unsigned char data[SR_PARTY_BYTES];
};

/* What policy judges. */
struct sr_order_view {
	uint16_t type;          /* enum sr_order_type */
	uint8_t kind;           /* enum sr_order_kind */
	uint8_t action;         /* the venue's own number */
	bool testnet;
	uint8_t nonce_kind;     /* enum sr_nonce_kind */
	uint32_t schema;        /* of typed data: its id in the manifest */
	uint64_t nonce;
	uint64_t expiry_ms;     /* wall clock; 0 when the signature holds for good */
	uint64_t expiry_block;  /* or a height */
	uint64_t chain_id;      /* 0 where the venue has none */
	struct sr_party contract; /* that verifies: EIP-712's verifyingContract, a call's `to` */
	struct sr_party account;  /* for which it trades: vault, subaccount, maker */
	struct sr_party destination; /* of a transfer, withdrawal or approval */
	struct sr_party fee_to;      /* builder */
	uint64_t fee;           /* what fee_to or a chain's validators may take, venue's unit */
	uint64_t value;         /* TRANSFER, WITHDRAW, CONFIGURE: as notional */
	uint32_t leg_count;
	struct sr_order_leg legs[SR_ORDER_LEGS_MAX];
};

/* What a venue's own rule needs to know about an asset: from the manifest. */
struct sr_market {
	struct sr_asset asset;
	int8_t price_decimals; /* of the wire's integers, where legs say BY_ASSET */
	int8_t size_decimals;  /* the same; where the venue's are fixed: decimals of the lot */
	bool spot;
	uint64_t tick;         /* price step in the wire's integers; 0 when there is none */
};

/* EIP-712 types that the manifest registers; sr_schema.h. */
struct sr_schema_set;

struct sr_hasher; /* sr_hash.h */

/* What the functions need besides the body. One thread's own: sr_order_env_new(), or zero
 * with what it needs put in. */
struct sr_order_env {
	struct sr_hasher *hasher;            /* borrowed; needed by digests over SHA-256 */
	const struct sr_schema_set *schemas; /* borrowed; NULL: none is registered */
	unsigned char work[SR_ORDER_WORK_BYTES];
};

struct sr_venue;

/* A decoded request. The body is borrowed: private memory that nobody writes. */
struct sr_order {
	const struct sr_venue *venue;
	const unsigned char *body;
	uint32_t body_bytes;
	struct sr_order_view view;
};

/* The reply's signature, as the venues' encodings want it. */
struct sr_order_signature {
	unsigned char rs[64]; /* r || s, big-endian, low s */
	uint8_t recid;        /* 0 or 1 */
};

SR_BEGIN_DECLS

/*
 * sr_venue_name - a type's name as manifests and order lines have it, "hyperliquid" ...;
 * NULL when there is no such type of typed orders.
 *
 * sr_venue_type - the inverse: enum sr_order_type; 0 when it is none.
 */
const char *sr_venue_name(uint32_t type);
uint32_t sr_venue_type(const char *name);

/* sr_kind_name - "order", "cancel" ... as manifests spell it; never NULL. */
const char *sr_kind_name(uint32_t kind);

/* sr_kind_from_name - the inverse; SR_KIND_NONE when it is none. */
enum sr_order_kind sr_kind_from_name(const char *name);

/*
 * sr_order_env_new - what the calls below work with; off the hot path, it allocates.
 *
 * @env: out, written only on success; no schemas, until the caller points at some.
 *
 * Returns 0; -ENOMEM; -EIO from a library.
 */
SR_WARN_UNUSED int sr_order_env_new(struct sr_order_env **env);
void sr_order_env_delete(struct sr_order_env *env); /* NULL is legal */

/*
 * sr_order_decode - judge a body and show what it means.
 *
 * @order: out; of use on success only. @body is kept: it must outlive @order.
 * @type:  of the request. @body_bytes: of the request.
 *
 * Returns 0; -ENOENT (no such type); -EINVAL (not a body of that type: a length, a
 * field out of its bounds, a byte that must be zero); -EPERM (a known action that is
 * never signed).
 */
SR_WARN_UNUSED int sr_order_decode(struct sr_order *order, uint32_t type, const unsigned char *body,
				   uint32_t body_bytes, const struct sr_order_env *env);

/*
 * sr_order_digest - what ECDSA signs for a decoded order.
 *
 * Uses env->work. Returns 0; -EIO from a library; -ENOSPC never for what was decoded.
 */
SR_WARN_UNUSED int sr_order_digest(unsigned char digest[SR_DIGEST_BYTES],
				   const struct sr_order *order, struct sr_order_env *env);

/*
 * sr_order_signature_text, sr_order_render - the signature as the venue's API has it,
 * and the whole body to post, with it.
 *
 * @text: out, not terminated; whatever it holds after an error is of no use.
 *
 * Return the bytes written, or -ENOSPC.
 */
SR_WARN_UNUSED int sr_order_signature_text(char *text, size_t room, const struct sr_order *order,
					   const struct sr_order_signature *signature,
					   struct sr_order_env *env);
SR_WARN_UNUSED int sr_order_render(char *text, size_t room, const struct sr_order *order,
				   const struct sr_order_signature *signature,
				   struct sr_order_env *env);

/*
 * sr_order_rules - would the venue take this price and size in this market?
 *
 * Returns 0, or -EDOM.
 */
SR_WARN_UNUSED int sr_order_rules(const struct sr_order *order, uint32_t leg,
				  const struct sr_market *market);

/* sr_asset_number, sr_asset_bytes - an id of one word, or of up to 32 big-endian bytes. */
struct sr_asset sr_asset_number(uint64_t id);
struct sr_asset sr_asset_bytes(const unsigned char *id, uint32_t bytes);
bool sr_asset_equal(const struct sr_asset *a, const struct sr_asset *b);

SR_END_DECLS

#endif /* SR_ORDER_H */
