/* SPDX-License-Identifier: MIT */
/*
 * sr_heartbeat.h - where an enclave that has started says so to its parent.
 *
 * The first program of an enclave connects to the parent, sends the byte 0xB7 and waits
 * for it to come back. Each connection has the enclave's CID, which is another one at
 * each start unless somebody fixes it: so the agent finds its signer again. That is all
 * that a heartbeat is believed for; who the signer is, its clients see for themselves.
 *
 * A thread of its own, which sleeps but for these moments.
 */
#ifndef SR_HEARTBEAT_H
#define SR_HEARTBEAT_H

#include "sr_address.h"
#include "sr_agent.h"
#include "sr_base.h"
#include "sr_reason.h"

#define SR_HEARTBEAT_BYTE 0xb7u

struct sr_heartbeat;

SR_BEGIN_DECLS

/*
 * sr_heartbeat_new - listen, and start the thread.
 *
 * @listen: vsock:any:PORT; or unix:PATH, where a hypervisor's proxy brings what a guest
 *          connects to, and no CID comes with it. CIDs 0 to 2, which no enclave has, and
 *          the one that this machine has as /dev/vsock says, are hung up on; but CID 1,
 *          this machine itself, is heard at vsock:1:PORT.
 * @config: borrowed until sr_heartbeat_delete(): its log, if it has one, gets a line a
 *          heartbeat from the thread, of many at once not all.
 *
 * Returns 0 or -errno with a reason.
 */
SR_WARN_UNUSED int sr_heartbeat_new(struct sr_heartbeat **heartbeat,
				    const struct sr_address *listen,
				    const struct sr_agent_config *config,
				    struct sr_reason *why);

/* sr_heartbeat_cid - the CID of who spoke last, 0 before: for sr_address.cid. Read it
 * relaxed; good until sr_heartbeat_delete(). */
const uint32_t *sr_heartbeat_cid(const struct sr_heartbeat *heartbeat);

/* sr_heartbeat_in_use - where the CID that a stream is connected to will be found, for the
 * log: who else starts does not take the stream away. Borrowed until
 * sr_heartbeat_stop(). */
void sr_heartbeat_in_use(struct sr_heartbeat *heartbeat, const uint32_t *cid);

/* sr_heartbeat_stop - stop the thread and wait for it; the CID stays where it is. NULL is
 * legal. */
void sr_heartbeat_stop(struct sr_heartbeat *heartbeat);

/* sr_heartbeat_delete - stop, and free. NULL is legal. */
void sr_heartbeat_delete(struct sr_heartbeat *heartbeat);

SR_END_DECLS

#endif /* SR_HEARTBEAT_H */
