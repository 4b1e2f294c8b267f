/* SPDX-License-Identifier: MIT */
/*
 * sr_ethereum.h - transactions of Ethereum and its like, and EIP-191 messages.
 *
 *	legacy    keccak(rlp[nonce, price, gas, to, value, data])     good on every chain
 *	EIP-155   the same with [..., chain, 0, 0]                    v = 35 + 2 chain + id
 *	EIP-2930  keccak(01 || rlp[chain, nonce, price, gas, to, value, data, access])
 *	EIP-1559  keccak(02 || rlp[chain, nonce, tip, price, gas, to, value, data, access])
 *	EIP-191   keccak(19 "Ethereum Signed Message:" 0a, decimal length, data)
 *
 * Body:
 *
 *	 16  chain_id     u64; 0 in a legacy one and in a message
 *	 24  gas          u64
 *	 32  price        32, big-endian as the two below: gas price, or EIP-1559's most
 *	 64  tip          32: EIP-1559's priority fee, else 0
 *	 96  value        32
 *	128  to           20, with flag TO; without it the transaction makes a contract
 *	148  entries      u32: of the access list
 *	152  rows of 32 bytes: for each entry of the access list address 20, keys u32, zero
 *	     8; then its keys, a row each
 *	     tail: the data
 *
 * So a body of 336 bytes takes 184 bytes of data. The head's nonce is the account's; a
 * message has nothing but data.
 *
 * Policy sees a transaction without data as a TRANSFER to its destination; one with data
 * as a CALL of a contract, whose selector, the data's first four bytes, is the asset of
 * its leg. Value is in millionths of the chain's coin and fee, the most that gas may
 * cost, in 10^-9 of it; both rounded up, and UINT64_MAX when they do not fit.
 */
#ifndef SR_ETHEREUM_H
#define SR_ETHEREUM_H

#include "sr_base.h"
#include "sr_order.h"

#define SR_ETH_CHAIN_ID 16u
#define SR_ETH_GAS 24u
#define SR_ETH_PRICE 32u
#define SR_ETH_TIP 64u
#define SR_ETH_VALUE 96u
#define SR_ETH_TO 128u
#define SR_ETH_ENTRIES 148u
#define SR_ETH_ROWS 152u

#define SR_ETH_ROW_BYTES 32u
#define SR_ETH_BYTES_MAX 4096u
#define SR_ETH_CHAIN_ID_MAX ((UINT64_MAX - 36) / 2) /* EIP-2294: v fits 64 bits */

/* The asset of a call without four bytes of data: no selector has this number. */
#define SR_ETH_NO_SELECTOR (UINT64_C(1) << 32)

/* Numbers are ABI and are never reused. */
enum sr_eth_action {
	SR_ETH_LEGACY = 1,
	SR_ETH_EIP155 = 2,
	SR_ETH_EIP2930 = 3,
	SR_ETH_EIP1559 = 4,
	SR_ETH_EIP191 = 5,
};

/* Of the head. */
enum sr_eth_flag {
	SR_ETH_HAS_TO = 1 << 0,
};

struct sr_eth_access {
	const unsigned char *address; /* 20 bytes */
	const unsigned char *keys;    /* 32 bytes each */
	uint32_t key_count;
};

/* Borrowed. Zero is: a legacy contract creation of nothing. */
struct sr_eth_transaction {
	enum sr_eth_action action;
	uint64_t chain_id;
	uint64_t nonce;
	uint64_t gas;
	unsigned char price[32]; /* big-endian */
	unsigned char tip[32];
	unsigned char value[32];
	const unsigned char *to; /* 20 bytes, or NULL */
	const void *data;
	uint32_t data_bytes;
	const struct sr_eth_access *access;
	uint32_t access_count;
};

SR_BEGIN_DECLS

/*
 * sr_eth_transaction_put, sr_eth_message_put - a body for a request.
 *
 * @body: out, @room bytes; written from its start.
 *
 * Nothing but room is judged: sr_order_decode() judges the whole, and the signer does.
 * Return the bytes of the body, or -ENOSPC.
 */
SR_WARN_UNUSED int sr_eth_transaction_put(unsigned char *body, size_t room,
					  const struct sr_eth_transaction *transaction);
SR_WARN_UNUSED int sr_eth_message_put(unsigned char *body, size_t room, const void *message,
				      uint32_t message_bytes);

/* sr_eth_number - 32 bytes, big-endian, of a number of 128 bits. */
void sr_eth_number(unsigned char number[32], sr_u128 v);

SR_END_DECLS

#endif /* SR_ETHEREUM_H */
