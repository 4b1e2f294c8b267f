/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_session.h - an operator's conversation with a signer, for sigringctl.
 *
 * Through the agent of a host, which relays it and understands nothing, or straight at a
 * signer's control address. What the signer is, a trust file says (sr_trust.h): its root
 * and its images; not its manifest, which an operator may be about to bring. Blocking
 * I/O, each step with a time-out; one command at a time.
 *
 * It holds secrets, in protected memory. OpenSSL's heap is the caller's to protect
 * (sr_heap.h). Nothing here prints: what went wrong, and what to do, is in the reason.
 */
#ifndef SR_CTL_SESSION_H
#define SR_CTL_SESSION_H

#include "sr_command.h"
#include "sr_reason.h"

#define SR_CTL_TIMEOUT_MS 15000 /* a step; a signer may be busy with its start */

/* Where, and who. All of it is borrowed until it is open. */
struct sr_ctl_where {
	const char *socket;                      /* an agent's, or */
	const char *control;                     /* a signer's control address (sr_address.h) */
	const char *trust;                       /* file */
	const char *operators[SR_OPERATORS_MAX]; /* files of those who sign here */
	uint32_t operator_count;
};

struct sr_ctl_session;

SR_BEGIN_DECLS

/*
 * sr_ctl_session_open - attest the signer and shake hands.
 *
 * Returns 0 with *session set, or -errno with a reason.
 */
SR_WARN_UNUSED int sr_ctl_session_open(struct sr_ctl_session **session,
				       const struct sr_ctl_where *where, struct sr_reason *why);
void sr_ctl_session_close(struct sr_ctl_session *session); /* NULL is legal */

/* sr_ctl_session_signer - the static public key that the document attests, 32 bytes. */
const unsigned char *sr_ctl_session_signer(const struct sr_ctl_session *session);

/*
 * sr_ctl_session_command - have a command obeyed.
 *
 * @result: out; its body is borrowed until the next command.
 * Returns 0: it was done; -EPERM: the signer said why not; -EMSGSIZE: it is no command
 * of its kind, and was not sent; another -errno: it is not known whether it was done. With
 * a reason.
 */
SR_WARN_UNUSED int sr_ctl_session_command(struct sr_ctl_session *session,
					  struct sr_command_result *result, uint32_t kind,
					  const void *body, size_t bytes, struct sr_reason *why);

SR_END_DECLS

#endif /* SR_CTL_SESSION_H */
