/* SPDX-License-Identifier: MIT */
/*
 * sr_local.h - the transport without a wire: the signer in the agent's process,
 * on the agent's polling thread.
 *
 * The same frames as on a stream, so that agent and signer are the same code. One
 * record is signed at each receive, so that its reply is published before the
 * next one is begun, and what has come in meanwhile takes its place by class.
 */
#ifndef SR_LOCAL_H
#define SR_LOCAL_H

#include "sr_signer.h"
#include "sr_transport.h"

SR_BEGIN_DECLS

/*
 * sr_local_new - @signer is borrowed; a receive that finds nothing to sign is its
 * idle turn. 0 or -ENOMEM.
 */
SR_WARN_UNUSED int sr_local_new(struct sr_transport **transport, struct sr_signer *signer);

SR_END_DECLS

#endif /* SR_LOCAL_H */
