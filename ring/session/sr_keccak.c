/* SPDX-License-Identifier: MIT */
/*
 * Keccak-f[1600] after "The Keccak reference", version 3.0, section 1.2 and
 * the sponge of FIPS 202 section 4 with Keccak's own padding. The state lives
 * in 25 variables, so that the compiler may keep lanes in registers; no index
 * or branch depends on the message.
 */
#include "sr_hash.h"

#define RATE_BYTES 136u /* 1600 bits less a capacity of 512 */
#define RATE_LANES (RATE_BYTES / 8u)
#define LANES 25u
#define ROUNDS 24u

static const uint64_t round_constants[ROUNDS] = {
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
	0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
	0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

static inline uint64_t rotl(uint64_t v, unsigned int by)
{
	return by ? v << by | v >> (64 - by) : v;
}

/*
 * One row of rho, pi and chi: five lanes of the old state, each with its theta
 * correction and rotation, become row `y` of the new one. A lane's name is its
 * state, row and column.
 */
#define ROW(to, from, y, i0, d0, r0, i1, d1, r1, i2, d2, r2, i3, d3, r3, i4, d4, r4)       \
	do {                                                                               \
		uint64_t b0 = rotl(from##i0 ^ d##d0, r0), b1 = rotl(from##i1 ^ d##d1, r1); \
		uint64_t b2 = rotl(from##i2 ^ d##d2, r2), b3 = rotl(from##i3 ^ d##d3, r3); \
		uint64_t b4 = rotl(from##i4 ^ d##d4, r4);                                  \
		to##y##0 = b0 ^ (~b1 & b2);                                                \
		to##y##1 = b1 ^ (~b2 & b3);                                                \
		to##y##2 = b2 ^ (~b3 & b4);                                                \
		to##y##3 = b3 ^ (~b4 & b0);                                                \
		to##y##4 = b4 ^ (~b0 & b1);                                                \
	} while (0)

#define ROUND(to, from, constant)                                                             \
	do {                                                                                  \
		uint64_t c0 = from##00 ^ from##10 ^ from##20 ^ from##30 ^ from##40;           \
		uint64_t c1 = from##01 ^ from##11 ^ from##21 ^ from##31 ^ from##41;           \
		uint64_t c2 = from##02 ^ from##12 ^ from##22 ^ from##32 ^ from##42;           \
		uint64_t c3 = from##03 ^ from##13 ^ from##23 ^ from##33 ^ from##43;           \
		uint64_t c4 = from##04 ^ from##14 ^ from##24 ^ from##34 ^ from##44;           \
		uint64_t d0 = c4 ^ rotl(c1, 1), d1 = c0 ^ rotl(c2, 1), d2 = c1 ^ rotl(c3, 1); \
		uint64_t d3 = c2 ^ rotl(c4, 1), d4 = c3 ^ rotl(c0, 1);                        \
		ROW(to, from, 0, 00, 0, 0, 11, 1, 44, 22, 2, 43, 33, 3, 21, 44, 4, 14);       \
		ROW(to, from, 1, 03, 3, 28, 14, 4, 20, 20, 0, 3, 31, 1, 45, 42, 2, 61);       \
		ROW(to, from, 2, 01, 1, 1, 12, 2, 6, 23, 3, 25, 34, 4, 8, 40, 0, 18);         \
		ROW(to, from, 3, 04, 4, 27, 10, 0, 36, 21, 1, 10, 32, 2, 15, 43, 3, 56);      \
		ROW(to, from, 4, 02, 2, 62, 13, 3, 55, 24, 4, 39, 30, 0, 41, 41, 1, 2);       \
		to##00 ^= (constant);                                                         \
	} while (0)

static inline __attribute__((always_inline)) void permute(uint64_t s[LANES])
{
	uint64_t a00 = s[0], a01 = s[1], a02 = s[2], a03 = s[3], a04 = s[4];
	uint64_t a10 = s[5], a11 = s[6], a12 = s[7], a13 = s[8], a14 = s[9];
	uint64_t a20 = s[10], a21 = s[11], a22 = s[12], a23 = s[13], a24 = s[14];
	uint64_t a30 = s[15], a31 = s[16], a32 = s[17], a33 = s[18], a34 = s[19];
	uint64_t a40 = s[20], a41 = s[21], a42 = s[22], a43 = s[23], a44 = s[24];
	uint64_t e00, e01, e02, e03, e04;
	uint64_t e10, e11, e12, e13, e14;
	uint64_t e20, e21, e22, e23, e24;
	uint64_t e30, e31, e32, e33, e34;
	uint64_t e40, e41, e42, e43, e44;

	for (unsigned int i = 0; i < ROUNDS; i += 2) {
		ROUND(e, a, round_constants[i]);
		ROUND(a, e, round_constants[i + 1]);
	}

	s[0] = a00, s[1] = a01, s[2] = a02, s[3] = a03, s[4] = a04;
	s[5] = a10, s[6] = a11, s[7] = a12, s[8] = a13, s[9] = a14;
	s[10] = a20, s[11] = a21, s[12] = a22, s[13] = a23, s[14] = a24;
	s[15] = a30, s[16] = a31, s[17] = a32, s[18] = a33, s[19] = a34;
	s[20] = a40, s[21] = a41, s[22] = a42, s[23] = a43, s[24] = a44;
}

#if defined(__x86_64__)
/* The same with andn and rorx, which the baseline lacks: a fifth faster. */
__attribute__((target("bmi,bmi2"))) static void permute_bmi(uint64_t s[LANES])
{
	permute(s);
}
#endif

static void keccak_f1600(uint64_t s[LANES])
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
		permute_bmi(s);
		return;
	}
#endif
	permute(s);
}

static void absorb(uint64_t state[LANES], const unsigned char block[RATE_BYTES])
{
	for (unsigned int i = 0; i < RATE_LANES; i++)
		state[i] ^= sr_get64(block + 8 * i);
	keccak_f1600(state);
}

void sr_keccak256(unsigned char digest[SR_HASH_BYTES], const void *message, size_t bytes)
{
	const unsigned char *p = message;
	unsigned char last[RATE_BYTES] = { 0 };
	uint64_t state[LANES] = { 0 };

	for (; bytes >= RATE_BYTES; bytes -= RATE_BYTES, p += RATE_BYTES)
		absorb(state, p);

	if (bytes)
		memcpy(last, p, bytes);
	last[bytes] ^= 0x01;
	last[RATE_BYTES - 1] ^= 0x80;
	absorb(state, last);

	for (unsigned int i = 0; i < SR_HASH_BYTES / 8; i++)
		sr_put64(digest + 8 * i, state[i]);
}
