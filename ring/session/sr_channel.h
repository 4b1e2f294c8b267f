/* SPDX-License-Identifier: MIT */
/*
 * sr_channel.h - what an operator and the signer say after their handshake.
 *
 * Texts of any length up to a room, each way, in SEALED messages (sr_control.h). One
 * is a transport message of Noise (section 5.1): the key of its direction, numbers
 * from 0 that rise by one, no associated data. So none can be changed, repeated, left
 * out, moved or turned round unnoticed, and one that does not open ends the channel.
 * Sealed is:
 *
 *	0  more   u8   1: the text goes on in the next message, 0: it ends here
 *	1  piece       SR_CHANNEL_PIECE_MAX bytes when there is more, else 0 .. as many
 *
 * so that a text is cut in one way only. Each end speaks when it is its turn: a
 * command, its result, and so on.
 *
 * The struct holds no key itself (see sr_aead.h), but is placed with secrets. One
 * thread's own. Bytes in, bytes out.
 */
#ifndef SR_CHANNEL_H
#define SR_CHANNEL_H

#include "sr_aead.h"
#include "sr_control.h"

#define SR_CHANNEL_PIECE_MAX (SR_CONTROL_BYTES_MAX - SR_SEALED_BYTES_MIN)

struct sr_channel {
	struct sr_aead send, receive;
	uint64_t sent, received; /* messages */
	unsigned char *text;     /* borrowed: what is being received */
	size_t text_room;
	size_t text_bytes;
	bool alive;
	bool whole; /* the text is all there */
};

SR_BEGIN_DECLS

/*
 * sr_channel_init - with the keys that a handshake has left.
 *
 * @text:      room for the texts that come; the caller's, for as long as it lasts.
 * @text_room: one byte more than the longest of them may have.
 * Returns 0; -EIO, *channel wiped.
 */
SR_WARN_UNUSED int sr_channel_init(struct sr_channel *channel, const struct sr_noise_keys *keys,
				   unsigned char *text, size_t text_room);

/* sr_channel_wipe - the end; a zeroed one is legal. The text is not touched. */
void sr_channel_wipe(struct sr_channel *channel);

/*
 * sr_channel_put - seal the next piece of a text.
 *
 * @out:       SR_CONTROL_BYTES_MAX. @out_bytes: out, how many of them to send.
 * @text:      the whole text. @at: in, how much of it has gone; out, how much now. Call
 *             it once at least, and until @at is @bytes.
 *
 * Returns 0; -EINVAL: it has ended; -EIO. After a failure the channel has ended.
 */
SR_WARN_UNUSED int sr_channel_put(struct sr_channel *channel, unsigned char *out, size_t *out_bytes,
				  const unsigned char *text, size_t bytes, size_t *at);

/*
 * sr_channel_take - open the next message.
 *
 * Returns 0: channel->text holds text_bytes bytes, a whole text, until the next call;
 * -EAGAIN: there is more to come; -EINVAL: it has ended; -EBADMSG: not authentic;
 * -EPROTO: of another kind, or no piece; -EMSGSIZE: longer than the room. After all
 * but the first two the channel has ended.
 */
SR_WARN_UNUSED int sr_channel_take(struct sr_channel *channel, const struct sr_control *message);

SR_END_DECLS

#endif /* SR_CHANNEL_H */
