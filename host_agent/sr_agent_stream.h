/* SPDX-License-Identifier: MIT */
/*
 * sr_agent_stream.h - the agent's end of the stream: frames out, frames in, and what
 * becomes of the sessions when it breaks.
 *
 * Inside the agent, and the polling thread's alone. What comes from the signer's side is
 * cut and judged here (sr_frame.h); a frame that makes no sense ends the stream.
 */
#ifndef SR_AGENT_STREAM_H
#define SR_AGENT_STREAM_H

#include "sr_agent_state.h"

SR_BEGIN_DECLS

/* sr_agent_frame_room - where the next frame goes, or NULL. Records leave
 * SR_AGENT_CONTROL_BYTES for control frames, which therefore always fit in practice. */
static inline unsigned char *sr_agent_frame_room(struct sr_agent_loop *l, uint32_t payload_bytes,
						 size_t reserve)
{
	size_t need = SR_FRAME_HEADER_BYTES + payload_bytes + reserve;

	return need <= sizeof l->out - l->out_bytes ? l->out + l->out_bytes : NULL;
}

/* sr_agent_put_control - one frame that is no record. False: there is no room. */
bool sr_agent_put_control(struct sr_agent_loop *l, uint32_t kind, uint32_t session, uint32_t epoch,
			  const unsigned char *payload, uint32_t bytes);

/* sr_agent_put_open - ask the signer for a session, if it may be asked now. */
void sr_agent_put_open(struct sr_agent *a, struct sr_agent_session *s);

/* sr_agent_flush - write what was put. Returns 0; -EAGAIN when the stream takes no more;
 * another -errno when it is down. */
int sr_agent_flush(struct sr_agent *a);

/* sr_agent_receive - read once, and take every whole frame. False: nothing was there. */
bool sr_agent_receive(struct sr_agent *a);

/* sr_agent_connect - try, unless the last try was a moment ago. True when it is up. */
bool sr_agent_connect(struct sr_agent *a);

/* sr_agent_stream_down - hang up, and have every session wait for the next stream. */
void sr_agent_stream_down(struct sr_agent *a, int error);

SR_END_DECLS

#endif /* SR_AGENT_STREAM_H */
