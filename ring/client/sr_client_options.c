/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sr_client.h"
#include "sr_clock.h"

void sr_options_init(struct sr_options *opt)
{
	memset(opt, 0, sizeof *opt);
	opt->sessions = 1;
	opt->depth = SR_DEPTH_DEFAULT;
	opt->slot_bytes = SR_SUB_BYTES_DEFAULT;
	opt->timeout_ns = 2ull * SR_NS_PER_S;
	opt->stale_ns = SR_NS_PER_S;
}

static int check_sizes(const struct sr_options *o, struct sr_reason *why)
{
	if (o->sessions < 1 || o->sessions > SR_REGION_SESSIONS_MAX)
		return sr_reason_set(why, -EINVAL, "sessions must be 1 to %u, not %u",
				     SR_REGION_SESSIONS_MAX, o->sessions);
	if (!sr_is_pow2(o->depth) || o->depth < SR_DEPTH_MIN || o->depth > SR_DEPTH_MAX)
		return sr_reason_set(why, -EINVAL,
				     "depth must be a power of two from %u to %u, not %u",
				     SR_DEPTH_MIN, SR_DEPTH_MAX, o->depth);
	if (o->slot_bytes % SR_LINE_BYTES || o->slot_bytes < SR_SUB_BYTES_MIN ||
	    o->slot_bytes > SR_SUB_BYTES_MAX)
		return sr_reason_set(why, -EINVAL,
				     "slot_bytes must be a multiple of %u from %u to %u, not %u",
				     SR_LINE_BYTES, SR_SUB_BYTES_MIN, SR_SUB_BYTES_MAX,
				     o->slot_bytes);
	if (o->wait > SR_WAIT_BLOCK)
		return sr_reason_set(why, -EINVAL, "wait policy %u is not assigned", o->wait);
	return 0;
}

/* An option, else the environment's. Empty is absent. */
static const char *option(const char *given, const char *name)
{
	if (!given)
		given = getenv(name);
	return given && *given ? given : NULL;
}

/* Sealed or in clear is never a matter of what somebody forgot. */
static int resolve_seal(struct sr_options *o, struct sr_reason *why)
{
	if (o->flags & SR_OPT_UNSEALED) {
		if (o->identity || o->trust)
			return sr_reason_set(why, -EINVAL,
					     "an identity or a trust file and SR_OPT_UNSEALED "
					     "exclude each other: drop one of them");
		return 0;
	}
	o->identity = option(o->identity, "SIGRING_IDENTITY");
	o->trust = option(o->trust, "SIGRING_TRUST");
	if (o->identity && o->trust)
		return 0;
	if (o->identity)
		return sr_reason_set(why, -EINVAL,
				     "there is an identity and no trust file: name one (option "
				     "trust, SIGRING_TRUST; see sigring-trust(5))");
	if (o->trust)
		return sr_reason_set(why, -EINVAL,
				     "there is a trust file and no identity: name one (option "
				     "identity, SIGRING_IDENTITY; see sigringctl identity)");
	return sr_reason_set(why, -EINVAL,
			     "sessions are sealed: name an identity and a trust file "
			     "(SIGRING_IDENTITY, SIGRING_TRUST), or ask for records in clear "
			     "with SR_OPT_UNSEALED");
}

int sr_client_options(struct sr_options *out, const struct sr_options *given,
		      struct sr_reason *why)
{
	size_t room = sizeof((struct sr_client *)0)->socket;
	int ret;

	sr_options_init(out);
	if (given)
		*out = *given;
	out->socket = option(out->socket, "SIGRING_SOCKET");
	if (!out->socket)
		out->socket = SR_SOCKET_DEFAULT;
	ret = check_sizes(out, why);
	if (!ret && strlen(out->socket) >= room)
		ret = sr_reason_set(why, -EINVAL, "the socket's path is longer than %zu bytes",
				    room - 1);
	return ret ? ret : resolve_seal(out, why);
}
