/* SPDX-License-Identifier: MIT */
/*
 * sr_eif.h - what an enclave image (EIF, versions 2 to 4) will be measured as.
 *
 * Its file is a header of 548 bytes and sections, all numbers big-endian:
 *
 *	0 ".eif"   4 version u16   6 flags u16   8 memory u64   16 CPUs u64
 *	24 reserved 2   26 sections u16   28 offsets 32 x u64   284 sizes 32 x u64
 *	540 unused 4   544 crc32 of all but itself u32
 *
 *	section: 0 type u16 (1 kernel, 2 command line, 3 ramdisk, 4 signature, 5 metadata)
 *	         2 flags u16   4 bytes u64   12 data
 *
 * PCR0 is SHA-384 of 48 zero bytes and SHA-384 of kernel, command line and all ramdisks;
 * PCR1 the same of kernel, command line and the first ramdisk; PCR2 of the other ramdisks;
 * PCR8 of the certificate in DER that the image is signed with.
 *
 * The file is a stranger's: a pure function over bytes that believes no length.
 */
#ifndef SR_EIF_H
#define SR_EIF_H

#include "sr_base.h"
#include "sr_reason.h"

#define SR_EIF_BYTES_MAX (1u << 30)
#define SR_EIF_SECTIONS_MAX 32u
#define SR_EIF_PCR_BYTES 48u

struct sr_eif {
	uint32_t version;
	bool is_signed; /* whether by the right one only the loader knows */
	unsigned char pcr[3][SR_EIF_PCR_BYTES];
	unsigned char pcr8[SR_EIF_PCR_BYTES]; /* when signed */
};

SR_BEGIN_DECLS

/*
 * sr_eif_measure - measure an image.
 *
 * @data: the whole file, up to SR_EIF_BYTES_MAX.
 * Returns 0; -EBADMSG: no image, or one that no loader takes; -ENOMEM. With a reason;
 * *eif is untouched then.
 */
SR_WARN_UNUSED int sr_eif_measure(struct sr_eif *eif, const unsigned char *data, size_t bytes,
				  struct sr_reason *why);

SR_END_DECLS

#endif /* SR_EIF_H */
