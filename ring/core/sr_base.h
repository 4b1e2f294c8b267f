/* SPDX-License-Identifier: MIT */
/*
 * sr_base.h - what every other header stands on: atomics, alignment, bytes.
 *
 * The atomics work on plain integers through the compiler's builtins, so that
 * one spelling serves C11, C17 and C++17 and the shared structures hold no
 * _Atomic (whose layout the two languages do not promise to share). Only
 * naturally aligned 32- and 64-bit words are used, which are lock-free on each
 * target (asserted below). Orders are always in the name; nothing here relies
 * on x86 keeping stores or loads in order.
 */
#ifndef SR_BASE_H
#define SR_BASE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__cplusplus)
#define SR_STATIC_ASSERT(cond, text) static_assert(cond, text)
#define SR_ALIGNED(n) __attribute__((aligned(n)))
#define SR_BEGIN_DECLS extern "C" {
#define SR_END_DECLS }
#else
#define SR_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#define SR_ALIGNED(n) __attribute__((aligned(n)))
#define SR_BEGIN_DECLS
#define SR_END_DECLS
#endif

#define SR_WARN_UNUSED __attribute__((warn_unused_result))
#define SR_NOINLINE __attribute__((noinline))
#define SR_LIKELY(x) __builtin_expect(!!(x), 1)
#define SR_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* An inline function of the public headers. The library's own sr_ffi.c
 * redefines it once, so that each of them also exists as an exported symbol
 * for languages that cannot use a C header. */
#ifndef SR_INLINE
#define SR_INLINE static inline
#endif

SR_STATIC_ASSERT(CHAR_BIT == 8, "bytes of 8 bits");
SR_STATIC_ASSERT(sizeof(void *) == 8, "64-bit targets");
SR_STATIC_ASSERT(sizeof(size_t) == 8, "64-bit targets");
SR_STATIC_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are little-endian");
SR_STATIC_ASSERT(__GCC_ATOMIC_LLONG_LOCK_FREE == 2, "64-bit words are lock-free");
SR_STATIC_ASSERT(__GCC_ATOMIC_INT_LOCK_FREE == 2, "32-bit words are lock-free");

/* One writer a block of this size: x86 fetches 64-byte lines in pairs, and
 * several aarch64 cores have lines of 128 bytes. */
#define SR_LINE_BYTES 128u

/*
 * Loads and stores with their order in the name. Each acquire names, where it
 * is used, the release that it pairs with.
 */
static inline uint64_t sr_load_acquire(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline uint64_t sr_load_relaxed(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

#ifdef SR_MUTANT_RELAXED
/* The mutant that `make tsan` must see caught: a publish without a release. */
#define SR_ORDER_RELEASE __ATOMIC_RELAXED
#else
#define SR_ORDER_RELEASE __ATOMIC_RELEASE
#endif

static inline void sr_store_release(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, SR_ORDER_RELEASE);
}

static inline void sr_store_relaxed(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

static inline uint32_t sr_load32_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline uint32_t sr_load32_relaxed(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void sr_store32_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline void sr_store32_relaxed(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

/* Orders an earlier store before a later load, which release and acquire do
 * not: the two halves of a sleep flag each need one (sr_doorbell.h). */
static inline void sr_fence_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Order what was read, and what will be written, where the words themselves are relaxed:
 * for who copies what may be written over meanwhile (sr_agent_trace.h). */
static inline void sr_fence_acquire(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static inline void sr_fence_release(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Tells the core that this is a spin loop. */
static inline void sr_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* Unaligned little-endian fields of a record, in private memory. */
static inline uint16_t sr_get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t sr_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t sr_get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline void sr_put16(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void sr_put32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void sr_put64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

/* Of what must be: padding, reserved bytes. Time depends on the length alone. */
static inline bool sr_all_zero(const unsigned char *p, size_t bytes)
{
	uint64_t any = 0;

	for (; bytes >= 8; bytes -= 8, p += 8)
		any |= sr_get64(p);
	for (; bytes; bytes--, p++)
		any |= *p;
	return any == 0;
}

static inline bool sr_is_pow2(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/* Rounds up to a power of two multiple; the caller bounds v first. */
static inline uint64_t sr_align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

#endif /* SR_BASE_H */
