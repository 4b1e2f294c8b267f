/* SPDX-License-Identifier: MIT */
/* sr_pairfile_operator.h - the pair file of an operator (sr_pairfile.h): Ed25519. */
#ifndef SR_PAIRFILE_OPERATOR_H
#define SR_PAIRFILE_OPERATOR_H

#include "sr_pairfile.h"

SR_BEGIN_DECLS

extern const struct sr_pairfile_kind sr_pairfile_operator;

SR_END_DECLS

#endif /* SR_PAIRFILE_OPERATOR_H */
