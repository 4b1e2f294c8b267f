/* SPDX-License-Identifier: MIT */
/* sr_version.h - one version for the library and the programs. */
#ifndef SR_VERSION_H
#define SR_VERSION_H

#define SR_VERSION "0.1.0"

/* The first line that every program prints, until records are sealed. */
#define SR_UNSEALED_NOTICE \
	"records are UNSEALED (neither encrypted nor authenticated) on their way to the signer"

#endif /* SR_VERSION_H */
