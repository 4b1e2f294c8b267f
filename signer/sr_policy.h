/* SPDX-License-Identifier: MIT */
/*
 * sr_policy.h - may this key sign this order now?
 *
 * The manifest says what a key may sign (rules, a fixed table); this boot remembers what
 * it has signed (state). A decoded order's view is judged against both, and the first
 * check that fails names its code; docs/policy.md has the checks in their order. Nothing
 * is allowed that is not named: a rule that is missing is zero, and zero denies.
 *
 * Time is what the signer's own thread was told (sr_policy_time()): monotonic for rates
 * and windows, the wall clock for nonces and expiries, and never the agent's. After a
 * start nobody knows what the boot before has signed. So a bucket begins empty, a window
 * counts as full and what is not expired as at its limit, until so much time has passed,
 * or operators say what is true (sr_policy_seed()).
 *
 * State is spent by sr_policy_spend() and by nothing else: a denial costs nothing.
 *
 * One thread's own. No allocation after sr_policy_book_new(), no lock, no system call, no
 * floating point; time is bounded by the legs of an order times the assets of a key.
 */
#ifndef SR_POLICY_H
#define SR_POLICY_H

#include "sr_base.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_order.h"

#define SR_POLICY_ASSETS_MAX 256u  /* of all keys together, as the next */
#define SR_POLICY_PARTIES_MAX 128u
#define SR_POLICY_CHAINS_MAX 8u    /* of a key */
#define SR_POLICY_SCHEMAS_MAX 16u  /* of a key, and of all */
#define SR_POLICY_VENUES_MAX 32u   /* types from SR_TYPE_TYPED_MIN on */
#define SR_POLICY_WINDOW_S_MAX 604800u
#define SR_POLICY_EXPIRY_MS_MAX UINT64_C(31536000000)
#define SR_POLICY_RATE_MAX 1000000u
#define SR_POLICY_LEAD_MS_MAX 1000u /* of a venue's nonce before the clock */
#define SR_POLICY_SPANS 64u
#define SR_POLICY_SLOTS (SR_POLICY_SPANS + 2u)
#define SR_POLICY_UNLIMITED UINT64_MAX
#define SR_POLICY_DECIMALS_MAX 19u /* of a bound: a power of ten in 64 bits */

/* value / 10^decimals, a limit of prices or sizes. */
struct sr_policy_bound {
	uint64_t value;
	uint8_t decimals;
	bool given; /* else it denies */
	bool unlimited;
};

struct sr_policy_asset {
	struct sr_market market; /* as the venue's rules want it */
	struct sr_policy_bound size_max;
	struct sr_policy_bound price_min;
	struct sr_policy_bound price_max;
	uint64_t notional_max; /* of one order; millionths, as all notionals */
	uint32_t leverage_max;
	uint64_t band_sequence; /* of the last word of the operators on its band */
};

/* Entries of one of the table's lists. */
struct sr_policy_range {
	uint16_t first;
	uint16_t count;
};

enum sr_policy_nonce {
	SR_POLICY_NONCE_GIVEN = 1 << 0,   /* the order has 0, and the signer fills it in */
	SR_POLICY_NONCE_CHECKED = 1 << 1, /* the order has one, and it must rise */
};

struct sr_policy_rules {
	uint32_t key; /* id */
	uint16_t kinds[SR_POLICY_VENUES_MAX]; /* of type SR_TYPE_TYPED_MIN + i: bit (1 << kind) */
	bool mainnet;
	bool testnet;
	bool opens;          /* orders need not be reduce-only */
	bool whole_position; /* size 0 may stand for it */
	bool market_orders;
	bool block_expiry;   /* a height is an expiry */
	bool unleased;       /* signs without a lease of the operators */
	uint8_t nonce;       /* enum sr_policy_nonce */
	uint8_t schema_count;
	uint32_t schemas[SR_POLICY_SCHEMAS_MAX]; /* ids: of typed data it signs these */
	uint8_t chain_count;
	uint64_t chains[SR_POLICY_CHAINS_MAX]; /* 0: none */
	struct sr_policy_range contracts; /* parties; one of no bytes stands for "none" */
	struct sr_policy_range accounts;
	struct sr_policy_range destinations;
	struct sr_policy_range builders;
	struct sr_policy_range assets;
	uint64_t fee_max;   /* in the venue's unit */
	uint64_t value_max;
	uint64_t expiry_ms_max;
	uint32_t key_per_s;
	uint32_t key_burst;
	uint32_t session_per_s;
	uint32_t session_burst;
	uint32_t window_s;
	uint64_t window_notional_max;
	uint64_t unexpired_notional_max;
};

/* What a manifest says: plain memory. A key of the manifest has the rules of its index. */
struct sr_policy_table {
	uint32_t count;
	uint32_t asset_count;
	uint32_t party_count;
	struct sr_policy_rules rules[SR_KEYS_MAX];
	struct sr_policy_asset assets[SR_POLICY_ASSETS_MAX];
	struct sr_party parties[SR_POLICY_PARTIES_MAX];
};

/* Amounts by spans of time, of which the oldest fall away. */
struct sr_policy_ring {
	uint64_t oldest; /* number of the first span that counts */
	uint64_t total;
	uint64_t amounts[SR_POLICY_SLOTS];
};

/* What a key has signed in this boot. */
struct sr_policy_state {
	bool begun;
	uint64_t full_ns;      /* when its bucket will be full again */
	uint64_t nonce;        /* the highest time-stamp nonce; never lower again */
	uint64_t window_known_ns;    /* until then more may have been signed than we know */
	uint64_t unexpired_known_ms; /* the same, of what has not expired */
	struct sr_policy_ring window;    /* notional, by when it was signed */
	struct sr_policy_ring unexpired; /* notional, by when it expires */
};

/* What an order that was allowed takes when its signature leaves. */
struct sr_policy_verdict {
	enum sr_policy code; /* SR_POLICY_NONE: allowed */
	uint32_t leg;        /* that was denied, where a code is about one */
	uint32_t index;      /* of the rules */
	bool nonce_given;
	uint64_t nonce;      /* to be signed */
	uint64_t tokens;
	uint64_t notional;   /* counts in the window */
	uint64_t unexpired;  /* and this until */
	uint64_t expiry_ms;
};

/* Numbers are ABI: operators say them in a command (sr_command.h). */
enum sr_policy_say {
	SR_POLICY_SAY_KILL = 1,  /* cancels only, for every key; or no more */
	SR_POLICY_SAY_LEASE = 2, /* keys that need a lease sign for so long from now */
	SR_POLICY_SAY_BAND = 3,  /* another price band of an asset, until the next manifest */
	SR_POLICY_SAY_SEED = 4,  /* what was signed before this boot, as they know it */
};

#define SR_POLICY_LEASE_S_MAX 604800u

/* What operators say between two manifests. */
struct sr_policy_word {
	uint32_t say; /* enum sr_policy_say */
	bool killed;
	uint32_t lease_s; /* 0: it ends now */
	uint32_t key;     /* of BAND and SEED */
	struct sr_asset asset;
	struct sr_policy_bound price_min;
	struct sr_policy_bound price_max;
	uint64_t sequence; /* of BAND: higher than that of the one before */
	uint64_t window;   /* of SEED: notionals that count from now */
	uint64_t unexpired;
};

struct sr_policy_book;

SR_BEGIN_DECLS

/* sr_policy_book_new - without rules: it denies. 0, -ENOMEM. */
SR_WARN_UNUSED int sr_policy_book_new(struct sr_policy_book **book);
void sr_policy_book_delete(struct sr_policy_book *book); /* NULL is legal */

/*
 * sr_policy_time - what time it is. Until the first call every order is denied.
 *
 * @now_ns:  monotonic; never lower than before.
 * @unix_ms: wall clock, by this signer's own judgement.
 */
void sr_policy_time(struct sr_policy_book *book, uint64_t now_ns, uint64_t unix_ms);

/*
 * sr_policy_obey - other rules, from now on.
 *
 * @table: copied. A key that had rules before goes on with its state; where the length
 *         of a window has changed, what counts in it counts from now, and a longer one
 *         counts as full until all of it is known. One that had none begins as after a
 *         start.
 */
void sr_policy_obey(struct sr_policy_book *book, const struct sr_policy_table *table);

/*
 * sr_policy_permits - is there any action of this type that the key may sign?
 *
 * @index: of the rules, below SR_KEYS_MAX.
 */
bool sr_policy_permits(const struct sr_policy_book *book, uint32_t index, uint32_t type);

/*
 * sr_policy_judge - may it be signed, and what will that take?
 *
 * @index: of the rules, below SR_KEYS_MAX.
 * @order: as decoded.
 * @session_full_ns: when the session's bucket will be full again; 0: it is.
 *
 * Fills @verdict and returns its code. Spends nothing. (It lets old spans of time fall
 * away, which no answer depends on.)
 */
enum sr_policy sr_policy_judge(struct sr_policy_book *book, struct sr_policy_verdict *verdict,
			       uint32_t index, const struct sr_order *order,
			       uint64_t session_full_ns);

/* sr_policy_spend - the signature leaves. @verdict: of the last judgement, allowed. */
void sr_policy_spend(struct sr_policy_book *book, const struct sr_policy_verdict *verdict,
		     uint64_t *session_full_ns);

/*
 * sr_policy_seed - the operators' word on what was signed before this boot.
 *
 * @window, @unexpired: notionals that count from now. The bucket is full then. The
 * watermark of nonces stays.
 */
void sr_policy_seed(struct sr_policy_book *book, uint32_t index, uint64_t window,
		    uint64_t unexpired);

/*
 * sr_policy_hear - obey a word of the operators: who said it has been judged.
 *
 * Returns 0; -ENOENT (no such key or asset in the manifest in force); -ESTALE (a band's
 * sequence is not higher); -EINVAL (it is no word).
 */
SR_WARN_UNUSED int sr_policy_hear(struct sr_policy_book *book, const struct sr_policy_word *word);

/* sr_policy_kill - cancels only, for every key, until it is taken back. */
void sr_policy_kill(struct sr_policy_book *book, bool killed);

/* sr_policy_lease - keys that need a lease sign until then; 0: they sign cancels. */
void sr_policy_lease(struct sr_policy_book *book, uint64_t until_ns);

/*
 * sr_policy_band - another price band of an asset, until the next manifest.
 *
 * @sequence: higher than that of the word before.
 *
 * Returns 0; -ENOENT (no such key or asset); -ESTALE (the sequence is not higher).
 */
SR_WARN_UNUSED int sr_policy_band(struct sr_policy_book *book, uint32_t key,
				  const struct sr_asset *asset, const struct sr_policy_bound *min,
				  const struct sr_policy_bound *max, uint64_t sequence);

/* sr_policy_index - of a key's rules, or -ENOENT. */
int sr_policy_index(const struct sr_policy_book *book, uint32_t key);

/* sr_policy_state_get - for programs that show it, and tests. */
void sr_policy_state_get(const struct sr_policy_book *book, uint32_t index,
			 struct sr_policy_state *state);

SR_END_DECLS

#endif /* SR_POLICY_H */
