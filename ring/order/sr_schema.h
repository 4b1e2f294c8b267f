/* SPDX-License-Identifier: MIT */
/*
 * sr_schema.h - an EIP-712 type that the manifest registers, compiled off the hot path.
 *
 * The next venue that signs EIP-712 needs no code: operators give its type in the text
 * that EIP-712 hashes (encodeType), its domain, and the roles of members: which of them
 * is the price, which the size. What no role names, policy does not see, and an allow-list
 * on what is not there denies.
 *
 * A compiled schema is plain memory without pointers. Structs inside structs, arrays of
 * one dimension, strings and bytes are supported; a `bytes` member may hold a struct in
 * ABI encoding (Derive's orders do), so that roles reach into it.
 */
#ifndef SR_SCHEMA_H
#define SR_SCHEMA_H

#include "sr_base.h"
#include "sr_domain.h"
#include "sr_order.h"

#define SR_SCHEMA_STRUCTS_MAX 8u
#define SR_SCHEMA_MEMBERS_MAX 48u /* of all structs together */
#define SR_SCHEMA_DEPTH_MAX 4u
#define SR_SCHEMA_NAME_BYTES 64u
#define SR_SCHEMA_TYPE_BYTES 2048u
#define SR_SCHEMA_ARRAY_MAX 128u

enum sr_member_kind {
	SR_MEMBER_UINT,
	SR_MEMBER_INT,
	SR_MEMBER_BOOL,
	SR_MEMBER_ADDRESS,
	SR_MEMBER_FIXED, /* bytesN */
	SR_MEMBER_BYTES,
	SR_MEMBER_STRING,
	SR_MEMBER_STRUCT,
	SR_MEMBER_ABI, /* bytes with a struct in them */
};

/* What a member means. Numbers are not ABI. */
enum sr_role {
	SR_ROLE_ASSET,       /* uint, address or bytesN */
	SR_ROLE_SIDE,        /* bool: true buys; uint: 0 buys, 1 sells; string: "buy", "sell" */
	SR_ROLE_PRICE,       /* uint or int, below 2^127 */
	SR_ROLE_SIZE,        /* the same; without a side, negative sells */
	SR_ROLE_NONCE,       /* uint; its value is the head's, and is not in the data */
	SR_ROLE_EXPIRY,      /* uint */
	SR_ROLE_ACCOUNT,     /* bytes or string of up to 64, address, uint; "0x..." is bytes */
	SR_ROLE_DESTINATION, /* the same */
	SR_ROLE_FEE_TO,      /* the same */
	SR_ROLE_FEE,         /* uint, below 2^64 */
	SR_ROLE_VALUE,       /* that is moved: uint, or a decimal string */
	SR_ROLE_NETWORK,     /* string: "Mainnet", or "Testnet", as the schema says */
	SR_ROLES,
};

struct sr_member {
	uint8_t kind;  /* enum sr_member_kind */
	uint8_t bytes; /* of an atomic one */
	uint8_t type;  /* index of a STRUCT's or ABI's type */
	bool array;
	uint16_t count; /* of a fixed array; 0: it says itself */
	uint8_t name_bytes;
	char name[SR_SCHEMA_NAME_BYTES];
};

struct sr_struct_type {
	unsigned char hash[SR_WORD_BYTES];
	uint8_t first; /* in members */
	uint8_t count;
	bool abi; /* has no type hash */
	uint8_t name_bytes;
	char name[SR_SCHEMA_NAME_BYTES];
};

struct sr_schema {
	uint32_t id;
	uint8_t kind; /* enum sr_order_kind: what signing it does */
	bool testnet;
	bool contract_in_body;
	bool side_inverted;
	uint8_t nonce_kind; /* enum sr_nonce_kind */
	int8_t price_decimals;
	int8_t size_decimals;
	int8_t value_decimals; /* of a uint */
	uint32_t expiry_per_s; /* 1, 1000, 1000000000 */
	uint64_t expiry_mask;  /* bits of the member that are time */
	uint64_t chain_id;
	bool by_separator; /* of the domain nothing else is known */
	bool has_contract;
	unsigned char contract[SR_ADDRESS_BYTES];
	unsigned char separator[SR_WORD_BYTES];
	uint8_t domain_words; /* of the domain, for a contract out of the body; its word is last */
	unsigned char domain[SR_STRUCT_BYTES(4)];
	int8_t roles[SR_ROLES]; /* index in members, or -1 */
	uint8_t struct_count;
	uint8_t member_count;
	struct sr_struct_type structs[SR_SCHEMA_STRUCTS_MAX]; /* the first is the primary type */
	struct sr_member members[SR_SCHEMA_MEMBERS_MAX];
};

struct sr_schema_set {
	const struct sr_schema *schemas;
	uint32_t count;
};

/* What the manifest says. */
struct sr_schema_source {
	uint32_t id;                     /* what bodies name it by */
	const char *types;               /* encodeType of the primary type */
	const struct sr_domain *domain;  /* or NULL, and then the next */
	const unsigned char *separator;  /* SR_WORD_BYTES: a domain whose text is not known */
	bool contract_in_body;           /* verifyingContract differs by order, as Nado's does */
	const char *abi_member;          /* a `bytes` member, or NULL */
	const char *abi_type;            /* "Name(type name,...)" of what lies in it */
	const char *roles[SR_ROLES];     /* names of members; NULL: none */
	enum sr_order_kind kind;
	enum sr_nonce_kind nonce_kind;   /* with a nonce */
	bool testnet;
	bool side_inverted;              /* true, or 0, sells */
	int8_t price_decimals;           /* or SR_DECIMALS_BY_ASSET */
	int8_t size_decimals;
	int8_t value_decimals;
	uint32_t expiry_per_s;           /* 0: 1 */
	uint64_t expiry_mask;            /* 0: all */
};

SR_BEGIN_DECLS

/*
 * sr_schema_compile - a source to a schema.
 *
 * @why: out, on failure: a static text that says what is wrong.
 *
 * Returns 0, or -EINVAL: a type that cannot be parsed or is above the bounds, a role whose
 * member is not there or has no such type, a domain that belongs to a venue of the table.
 */
SR_WARN_UNUSED int sr_schema_compile(struct sr_schema *schema,
				     const struct sr_schema_source *source, const char **why);

/* sr_role_name - "asset", "side" ... as manifests spell it. */
const char *sr_role_name(enum sr_role role);

SR_END_DECLS

#endif /* SR_SCHEMA_H */
