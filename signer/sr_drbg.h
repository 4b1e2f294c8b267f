/* SPDX-License-Identifier: MIT */
/*
 * sr_drbg.h - where nonces come from: OpenSSL's CTR_DRBG with AES-256.
 *
 * NIST SP 800-90A section 10.2.1, with derivation function. OpenSSL seeds it
 * from the system by itself; on top of that each reseed takes 48 bytes of our
 * source as entropy, which go through sr_health.h first, and the CPU's random
 * instruction (where there is one) and a counter as additional input. Any one of
 * the three is enough: none can take away what the others give. OpenSSL reseeds by
 * itself only when it sees that the process has forked; otherwise that is the
 * caller's to do, and SP 800-90A allows 2^48 requests between two.
 *
 * One thread's own.
 */
#ifndef SR_DRBG_H
#define SR_DRBG_H

#include "sr_base.h"
#include "sr_entropy.h"

#define SR_DRBG_BYTES_MAX 65536u /* a call: SP 800-90A, table 3 */

struct sr_drbg;

SR_BEGIN_DECLS

/*
 * sr_drbg_new - test the source, then seed a generator from it.
 *
 * @entropy: borrowed for as long as the generator lives.
 * Returns 0 with *drbg set; -ENOMEM or -ENOSYS (see sr_secret_alloc); -EIO when
 * the source fails its start-up test or the library refuses; what the source
 * returned when it gives nothing.
 */
SR_WARN_UNUSED int sr_drbg_new(struct sr_drbg **drbg, const struct sr_entropy *entropy);
void sr_drbg_delete(struct sr_drbg *drbg); /* NULL is legal */

/*
 * sr_drbg_reseed - take fresh entropy.
 *
 * Returns 0; -EIO when the source failed a health test or the library refused;
 * what the source returned. After a failure sr_drbg_generate() refuses until a
 * reseed succeeds: no nonce is ever made past a failed source. The library
 * allocates in here, and the source may call the system.
 */
SR_WARN_UNUSED int sr_drbg_reseed(struct sr_drbg *drbg);

/*
 * sr_drbg_generate - @out: 1 .. SR_DRBG_BYTES_MAX bytes of protected memory.
 *
 * Returns 0 or -EIO; @out is zero then. No allocation; OpenSSL asks getpid(2).
 */
SR_WARN_UNUSED int sr_drbg_generate(struct sr_drbg *drbg, unsigned char *out, size_t bytes);

SR_END_DECLS

#endif /* SR_DRBG_H */
