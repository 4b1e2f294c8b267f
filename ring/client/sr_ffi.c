/* SPDX-License-Identifier: MIT */
/* Each inline function of sigring.h once as a symbol, for languages that cannot
 * use a C header. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define SR_INLINE
#include "sigring.h"
