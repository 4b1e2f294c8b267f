/* SPDX-License-Identifier: MIT */
#include "sr_channel.h"

#include "sr_secret.h"

enum { AT_BYTES = 0, AT_KIND = 4, MORE_BYTES = 1 };

#define OVERHEAD_BYTES (SR_CONTROL_HEADER_BYTES + SR_AEAD_TAG_BYTES)

SR_STATIC_ASSERT(SR_SEALED_BYTES_MIN == OVERHEAD_BYTES + MORE_BYTES, "control ABI");

int sr_channel_init(struct sr_channel *channel, const struct sr_noise_keys *keys,
		    unsigned char *text, size_t text_room)
{
	int ret;

	memset(channel, 0, sizeof *channel);
	ret = sr_aead_init(&channel->send, SR_AEAD_SEAL, keys->send);
	if (!ret)
		ret = sr_aead_init(&channel->receive, SR_AEAD_OPEN, keys->receive);
	if (ret) {
		sr_channel_wipe(channel);
		return ret;
	}
	channel->text = text;
	channel->text_room = text_room;
	channel->alive = true;
	return 0;
}

void sr_channel_wipe(struct sr_channel *channel)
{
	sr_aead_wipe(&channel->send);
	sr_aead_wipe(&channel->receive);
	sr_wipe(channel, sizeof *channel);
}

/* A number is spent, or a message lost, and there is no way on. */
static int end(struct sr_channel *channel, int ret)
{
	sr_aead_wipe(&channel->send);
	sr_aead_wipe(&channel->receive);
	channel->alive = false;
	channel->whole = false;
	return ret;
}

int sr_channel_put(struct sr_channel *channel, unsigned char *out, size_t *out_bytes,
		   const unsigned char *text, size_t bytes, size_t *at)
{
	unsigned char *plain = out + SR_CONTROL_HEADER_BYTES;
	size_t piece = bytes - *at;
	bool more = piece > SR_CHANNEL_PIECE_MAX;
	int ret;

	if (!channel->alive || channel->sent > SR_AEAD_NUMBER_MAX)
		return -EINVAL;
	if (more)
		piece = SR_CHANNEL_PIECE_MAX;
	plain[0] = more;
	if (piece)
		memcpy(plain + MORE_BYTES, text + *at, piece);
	ret = sr_aead_seal(&channel->send, plain, plain + MORE_BYTES + piece, channel->sent++, NULL,
			   0, plain, MORE_BYTES + piece);
	if (ret)
		return end(channel, -EIO);

	*out_bytes = OVERHEAD_BYTES + MORE_BYTES + piece;
	sr_put32(out + AT_BYTES, (uint32_t)*out_bytes);
	sr_put32(out + AT_KIND, SR_CONTROL_SEALED);
	*at += piece;
	return 0;
}

int sr_channel_take(struct sr_channel *channel, const struct sr_control *message)
{
	const unsigned char *sealed = message->data + SR_CONTROL_HEADER_BYTES;
	unsigned char *to;
	size_t bytes;

	if (!channel->alive || channel->received > SR_AEAD_NUMBER_MAX)
		return -EINVAL;
	if (message->kind != SR_CONTROL_SEALED || message->bytes < SR_SEALED_BYTES_MIN ||
	    message->bytes > SR_CONTROL_BYTES_MAX)
		return end(channel, -EPROTO);

	if (channel->whole)
		channel->text_bytes = 0;
	channel->whole = false;
	bytes = message->bytes - OVERHEAD_BYTES;
	if (bytes > channel->text_room - channel->text_bytes)
		return end(channel, -EMSGSIZE);
	to = channel->text + channel->text_bytes;
	if (sr_aead_open(&channel->receive, to, sealed + bytes, channel->received++, NULL, 0,
			 sealed, bytes))
		return end(channel, -EBADMSG);

	bytes -= MORE_BYTES;
	if (to[0] > 1 || (to[0] && bytes != SR_CHANNEL_PIECE_MAX))
		return end(channel, -EPROTO);
	channel->whole = to[0] == 0;
	memmove(to, to + MORE_BYTES, bytes);
	channel->text_bytes += bytes;
	return channel->whole ? 0 : -EAGAIN;
}
