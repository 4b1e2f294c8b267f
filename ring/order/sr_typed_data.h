/* SPDX-License-Identifier: MIT */
/*
 * sr_typed_data.h - EIP-712 by a schema of the manifest (sr_schema.h).
 *
 * The body has the schema's id, a contract when the schema wants one, and the message as
 * its tail:
 *
 *	 16  schema    u32
 *	 20  zero      u32
 *	 24  contract  20     contract_in_body, or zeros
 *	 44  zero      u32
 *	 48  the members, one behind the other, structs inside each other as they come:
 *	     uintN, intN   N / 8 bytes, big-endian; two's complement
 *	     bool          1 byte, 0 or 1
 *	     address       20
 *	     bytesN        N
 *	     string, bytes u16 length, little-endian, then so many; a string is printable ASCII
 *	     T[]           u16 count, at most 128, then so many; T[n] just n
 *	     the nonce     nothing: it is the head's
 *
 * Signatures are r || s || v with 27 or 28. What is posted is the message as JSON, as
 * wallets take it: numbers as decimal text, bytes as hex.
 */
#ifndef SR_TYPED_DATA_H
#define SR_TYPED_DATA_H

#include "sr_base.h"
#include "sr_decimal.h"
#include "sr_order.h"
#include "sr_out.h"
#include "sr_schema.h"

#define SR_TYPED_SCHEMA 16u
#define SR_TYPED_CONTRACT 24u
#define SR_TYPED_MESSAGE 48u

enum sr_typed_action {
	SR_TYPED_SIGN = 1,
};

SR_BEGIN_DECLS

/*
 * A body is begun, its members put in their order, and ended.
 *
 * @out:      over the caller's memory, from its start.
 * @contract: 20 bytes, or NULL.
 *
 * sr_typed_end() returns the body's bytes, or -ENOSPC. sr_order_decode() judges the rest.
 */
void sr_typed_begin(struct sr_out *out, uint32_t schema, const unsigned char *contract,
		    uint64_t nonce);
void sr_typed_uint(struct sr_out *out, unsigned int bits, sr_u128 v);
void sr_typed_int(struct sr_out *out, unsigned int bits, sr_i128 v);
void sr_typed_bool(struct sr_out *out, bool v);
void sr_typed_fixed(struct sr_out *out, const void *bytes, uint32_t count); /* address, bytesN */
void sr_typed_text(struct sr_out *out, const void *bytes, uint32_t count);  /* string, bytes */
void sr_typed_count(struct sr_out *out, uint32_t count);                    /* of T[] */
SR_WARN_UNUSED int sr_typed_end(struct sr_out *out);

SR_END_DECLS

#endif /* SR_TYPED_DATA_H */
