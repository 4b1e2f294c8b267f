/* SPDX-License-Identifier: MIT */
#include "sr_eip712.h"

#define DOMAIN_TYPE_BYTES 128u /* all five members named: 103 */
#define DOMAIN_MEMBERS 5u

static const unsigned char zeros[SR_WORD_BYTES];

void sr_word_u64(struct sr_out *out, uint64_t v)
{
	sr_out_bytes(out, zeros, 24);
	sr_out_be64(out, v);
}

void sr_word_u128(struct sr_out *out, sr_u128 v)
{
	sr_out_bytes(out, zeros, 16);
	sr_out_be64(out, (uint64_t)(v >> 64));
	sr_out_be64(out, (uint64_t)v);
}

void sr_word_i128(struct sr_out *out, sr_i128 v)
{
	uint64_t sign = v < 0 ? UINT64_MAX : 0;

	sr_out_be64(out, sign);
	sr_out_be64(out, sign);
	sr_out_be64(out, (uint64_t)((sr_u128)v >> 64));
	sr_out_be64(out, (uint64_t)v);
}

void sr_word_address(struct sr_out *out, const unsigned char address[SR_ADDRESS_BYTES])
{
	sr_out_bytes(out, zeros, SR_WORD_BYTES - SR_ADDRESS_BYTES);
	sr_out_bytes(out, address, SR_ADDRESS_BYTES);
}

void sr_word_bytes32(struct sr_out *out, const unsigned char word[SR_WORD_BYTES])
{
	sr_out_bytes(out, word, SR_WORD_BYTES);
}

void sr_word_text(struct sr_out *out, const void *text, size_t bytes)
{
	unsigned char hash[SR_WORD_BYTES];

	sr_keccak256(hash, text, bytes);
	sr_out_bytes(out, hash, sizeof hash);
}

void sr_struct_hash(unsigned char hash[SR_WORD_BYTES], const struct sr_out *words)
{
	sr_keccak256(hash, words->data, words->used);
}

static void domain_type(struct sr_out *out, const struct sr_domain *domain)
{
	SR_OUT_LITERAL(out, "EIP712Domain(");
	if (domain->name)
		SR_OUT_LITERAL(out, "string name,");
	if (domain->version)
		SR_OUT_LITERAL(out, "string version,");
	if (!domain->no_chain_id)
		SR_OUT_LITERAL(out, "uint256 chainId,");
	if (domain->contract)
		SR_OUT_LITERAL(out, "address verifyingContract,");
	if (domain->salt)
		SR_OUT_LITERAL(out, "bytes32 salt,");
	/* The last comma becomes the bracket; a domain has at least one member. */
	out->data[out->used - 1] = ')';
}

void sr_domain_separator(unsigned char hash[SR_WORD_BYTES], const struct sr_domain *domain)
{
	unsigned char text[DOMAIN_TYPE_BYTES], words[SR_STRUCT_BYTES(DOMAIN_MEMBERS)];
	struct sr_out type = sr_out_over(text, sizeof text);
	struct sr_out out = sr_out_over(words, sizeof words);

	domain_type(&type, domain);
	sr_word_text(&out, type.data, type.used);
	if (domain->name)
		sr_word_text(&out, domain->name, strlen(domain->name));
	if (domain->version)
		sr_word_text(&out, domain->version, strlen(domain->version));
	if (!domain->no_chain_id)
		sr_word_u64(&out, domain->chain_id);
	if (domain->contract)
		sr_word_address(&out, domain->contract);
	if (domain->salt)
		sr_word_bytes32(&out, domain->salt);
	sr_struct_hash(hash, &out);
}

void sr_eip712_digest(unsigned char digest[SR_WORD_BYTES],
		      const unsigned char domain_separator[SR_WORD_BYTES],
		      const unsigned char struct_hash[SR_WORD_BYTES])
{
	unsigned char whole[2 + 2 * SR_WORD_BYTES] = { 0x19, 0x01 };

	memcpy(whole + 2, domain_separator, SR_WORD_BYTES);
	memcpy(whole + 2 + SR_WORD_BYTES, struct_hash, SR_WORD_BYTES);
	sr_keccak256(digest, whole, sizeof whole);
}

void sr_signature_rsv(unsigned char out[65], const unsigned char rs[64], unsigned int recid)
{
	memcpy(out, rs, 64);
	out[64] = (unsigned char)(27 + recid);
}

void sr_address_checksum(struct sr_out *out, const unsigned char address[SR_ADDRESS_BYTES])
{
	unsigned char digits[2 * SR_ADDRESS_BYTES], hash[SR_WORD_BYTES];
	struct sr_out lower = sr_out_over(digits, sizeof digits);

	sr_out_hex(&lower, address, SR_ADDRESS_BYTES);
	sr_keccak256(hash, digits, sizeof digits);
	for (unsigned int i = 0; i < sizeof digits; i++) {
		unsigned int byte = hash[i / 2];
		unsigned int nibble = i % 2 ? byte & 15u : byte >> 4;

		if (digits[i] >= 'a' && nibble >= 8)
			digits[i] = (unsigned char)(digits[i] - 'a' + 'A');
	}
	SR_OUT_LITERAL(out, "0x");
	sr_out_bytes(out, digits, sizeof digits);
}
