/* SPDX-License-Identifier: MIT */
#include "sr_ctl_session.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sr_attach.h"
#include "sr_channel.h"
#include "sr_dial.h"
#include "sr_getrandom.h"
#include "sr_pairfile_operator.h"
#include "sr_secret.h"
#include "sr_setup.h"
#include "sr_trust.h"

/* In protected memory. */
struct secrets {
	struct sr_noise_pair s; /* drawn for this conversation: who we are the signatures say */
	struct sr_operator_pair operators[SR_OPERATORS_MAX];
	struct sr_pairfile file;
	unsigned char ephemeral[SR_NOISE_KEY_BYTES];
	struct sr_setup setup;
	struct sr_noise_keys keys;
	struct sr_setup_result result;
	struct sr_channel channel;
};

struct sr_ctl_session {
	int fd;
	bool packets; /* an agent's socket keeps messages apart */
	uint32_t operator_count;
	uint64_t sequence;
	struct sr_trust trust;
	struct sr_hasher *hasher;
	struct secrets *secrets;
	unsigned char signer[SR_NOISE_KEY_BYTES];
	unsigned char out[SR_CONTROL_BYTES_MAX];
	unsigned char in[SR_CONTROL_BYTES_MAX];
	unsigned char command[SR_COMMAND_BYTES_MAX];
	unsigned char text[SR_COMMAND_RESULT_BYTES_MAX + 1];
};

/* ---- bytes ---- */

static int wait_for(const struct sr_ctl_session *s, short events, struct sr_reason *why)
{
	struct pollfd p = { .fd = s->fd, .events = events };
	int ret;

	do
		ret = poll(&p, 1, SR_CTL_TIMEOUT_MS);
	while (ret < 0 && errno == EINTR);
	if (ret > 0)
		return 0;
	return sr_reason_set(why, ret ? -errno : -ETIMEDOUT,
			     "the signer does not answer: is it running, and the agent connected "
			     "to it (sigringctl status)?");
}

static int fail_io(struct sr_reason *why, int error)
{
	return sr_reason_set(why, error,
			     "the conversation was cut off (%s): the log of the agent, or of the "
			     "signer, says why",
			     strerror(-error));
}

static int send_message(struct sr_ctl_session *s, size_t bytes, struct sr_reason *why)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t put = send(s->fd, s->out + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		int ret;

		if (put >= 0) {
			done += (size_t)put;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK) {
			/* It may have said why, and hung up. */
			return errno == EPIPE || errno == ECONNRESET ? 0 : fail_io(why, -errno);
		}
		ret = wait_for(s, POLLOUT, why);
		if (ret)
			return ret;
	}
	return 0;
}

/* As much as is wanted, or one packet. */
static int receive(struct sr_ctl_session *s, size_t *bytes, size_t want, struct sr_reason *why)
{
	bool reset = false;

	while (*bytes < want) {
		int ret = wait_for(s, POLLIN, why);
		ssize_t got;

		if (ret)
			return ret;
		got = recv(s->fd, s->in + *bytes, (s->packets ? sizeof s->in : want) - *bytes,
			   MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* See sr_attach.h: once, in front of what there still is. */
		if (got < 0 && errno == ECONNRESET && !reset) {
			reset = true;
			continue;
		}
		if (got <= 0)
			return fail_io(why, got ? -errno : -ECONNRESET);
		*bytes += (size_t)got;
		if (s->packets)
			return 0;
	}
	return 0;
}

static int receive_message(struct sr_ctl_session *s, struct sr_control *message,
			   struct sr_reason *why)
{
	struct sr_attach_refused refused;
	size_t bytes = 0;
	int ret = receive(s, &bytes, SR_CONTROL_HEADER_BYTES, why);

	if (ret)
		return ret;
	if (s->packets && bytes == sizeof refused && sr_get32(s->in) == SR_ATTACH_MAGIC) {
		memcpy(&refused, s->in, sizeof refused);
		return sr_attach_refusal_reason(why, refused.code);
	}
	ret = sr_control_cut(message, s->in, bytes);
	if (ret == -EAGAIN && !s->packets) {
		ret = receive(s, &bytes, sr_get32(s->in), why);
		if (ret)
			return ret;
		ret = sr_control_cut(message, s->in, bytes);
	}
	if (ret || message->bytes != bytes)
		return sr_reason_set(why, -EPROTO,
				     "what answers is no signer, or of another version");
	return 0;
}

/* ---- connecting ---- */

static int connect_agent(struct sr_ctl_session *s, const char *path, struct sr_reason *why)
{
	union sr_attach_message m;
	int ret;

	s->fd = sr_attach_connect(path);
	if (s->fd < 0)
		return sr_reason_set(why, s->fd,
				     "no agent at %s (%s): start it, or give --socket or --control",
				     path, strerror(-s->fd));
	s->packets = true;
	ret = sr_attach_send(s->fd, &m, SR_ATTACH_CONTROL, NULL, 0);
	return ret ? fail_io(why, ret) : 0;
}

static int connect_signer(struct sr_ctl_session *s, const char *text, struct sr_reason *why)
{
	struct sr_address address;
	struct sr_dial dial;
	int ret = sr_address_parse(&address, text, why);

	if (ret)
		return ret;
	ret = sr_dial_start(&dial, &address);
	s->fd = dial.fd;
	while (ret == 0 && (ret = sr_dial_step(&dial, &address)) == -EAGAIN) {
		ret = wait_for(s, sr_dial_events(&dial), why);
		if (ret)
			return ret;
	}
	s->fd = dial.fd;
	return ret ? sr_reason_set(why, ret,
				   "no signer at %s (%s): --control names its control address",
				   text, strerror(-ret)) :
		     0;
}

static int load_operators(struct sr_ctl_session *s, const struct sr_ctl_where *where,
			  struct sr_reason *why)
{
	struct secrets *secrets = s->secrets;

	for (uint32_t i = 0; i < where->operator_count; i++) {
		int ret = sr_pairfile_load(&secrets->file, &sr_pairfile_operator,
					   where->operators[i], why);

		if (ret)
			return ret;
		for (uint32_t j = 0; j < i; j++)
			if (!memcmp(secrets->operators[j].pub, secrets->file.pub,
				    SR_OPERATOR_KEY_BYTES))
				return sr_reason_set(why, -EEXIST,
						     "%s: this operator was named before",
						     where->operators[i]);
		if (sr_operator_pair_make(&secrets->operators[i], secrets->file.secret))
			return sr_reason_set(why, -EIO,
					     "OpenSSL makes no key: is it out of memory?");
	}
	s->operator_count = where->operator_count;
	return 0;
}

/* ---- the set-up ---- */

static uint64_t now_unix_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int draw(void *out, size_t bytes, struct sr_reason *why)
{
	return sr_getrandom.get(sr_getrandom.arg, out, bytes) ?
		       sr_reason_set(why, -EIO, "the kernel gives no entropy (getrandom)") :
		       0;
}

static int draw_config(struct sr_ctl_session *s, struct sr_setup_config *config,
		       struct sr_reason *why)
{
	struct secrets *secrets = s->secrets;
	int ret = draw(secrets->ephemeral, sizeof secrets->ephemeral, why);

	if (!ret && sr_noise_pair_make(&secrets->s, secrets->ephemeral))
		ret = sr_reason_set(why, -EIO, "OpenSSL makes no key: is it out of memory?");
	if (!ret)
		ret = draw(secrets->ephemeral, sizeof secrets->ephemeral, why);
	if (!ret)
		ret = draw(config->nonce, sizeof config->nonce, why);
	if (!ret)
		ret = draw(config->token, sizeof config->token, why);
	config->s = &secrets->s;
	config->ephemeral = secrets->ephemeral;
	config->is_operator = true;
	return ret;
}

static int converse(struct sr_ctl_session *s, const struct sr_setup_config *config,
		    struct sr_reason *why)
{
	struct sr_setup *setup = &s->secrets->setup;
	struct sr_control message;
	size_t bytes;
	int ret;

	if (sr_setup_start(setup, s->out, &bytes, config, now_unix_ms()) != SR_SETUP_OK)
		return sr_reason_set(why, -EINVAL, "%s", sr_setup_text(setup));
	while (!sr_setup_done(setup)) {
		ret = send_message(s, bytes, why);
		if (!ret)
			ret = receive_message(s, &message, why);
		if (ret)
			return ret;
		if (sr_setup_take(setup, s->out, &bytes, message.data, message.bytes,
				  now_unix_ms()) != SR_SETUP_OK)
			return sr_reason_set(why, -ECONNREFUSED, "%s", sr_setup_text(setup));
	}
	return 0;
}

static int set_up(struct sr_ctl_session *s, struct sr_reason *why)
{
	struct secrets *secrets = s->secrets;
	struct sr_setup_expect expect;
	struct sr_setup_config config = { .expect = &expect };
	int ret = draw_config(s, &config, why);

	sr_trust_expect(&expect, &s->trust);
	expect.manifest_hash = NULL;
	expect.manifest_version_min = 0;
	if (!ret)
		ret = converse(s, &config, why);
	if (ret)
		return ret;
	if (sr_setup_finish(&secrets->setup, &secrets->keys, &secrets->result) ||
	    sr_channel_init(&secrets->channel, &secrets->keys, s->text, sizeof s->text))
		return sr_reason_set(why, -EIO, "OpenSSL failed: is it out of memory?");
	memcpy(s->signer, secrets->result.next.signer, sizeof s->signer);
	return 0;
}

static int start(struct sr_ctl_session *s, const struct sr_ctl_where *where, struct sr_reason *why)
{
	int ret = sr_trust_load(&s->trust, where->trust, why);

	if (!ret)
		ret = load_operators(s, where, why);
	if (!ret)
		ret = where->control ? connect_signer(s, where->control, why) :
				       connect_agent(s, where->socket, why);
	return ret ? ret : set_up(s, why);
}

int sr_ctl_session_open(struct sr_ctl_session **session, const struct sr_ctl_where *where,
			struct sr_reason *why)
{
	struct sr_ctl_session *s = calloc(1, sizeof *s);
	void *mem = NULL;
	int ret = -ENOMEM;

	if (s)
		ret = sr_secret_alloc(&mem, sizeof *s->secrets);
	if (ret) {
		free(s);
		return sr_reason_set(why, ret,
				     "no protected memory: raise the memlock limit (ulimit -l), or "
				     "the kernel is older than 4.14");
	}
	s->fd = -1;
	s->secrets = mem;
	ret = sr_hasher_new(&s->hasher);
	ret = ret ? sr_reason_set(why, ret, "no memory for SHA-256") : start(s, where, why);
	if (ret)
		sr_ctl_session_close(s);
	else
		*session = s;
	return ret;
}

void sr_ctl_session_close(struct sr_ctl_session *session)
{
	if (!session)
		return;
	if (session->fd >= 0)
		(void)close(session->fd);
	sr_setup_wipe(&session->secrets->setup);
	sr_channel_wipe(&session->secrets->channel);
	sr_secret_free(session->secrets, sizeof *session->secrets);
	sr_hasher_delete(session->hasher);
	free(session);
}

const unsigned char *sr_ctl_session_signer(const struct sr_ctl_session *session)
{
	return session->signer;
}

/* ---- commands ---- */

static int sign(struct sr_ctl_session *s, struct sr_command *command, struct sr_reason *why)
{
	unsigned char hash[SR_HASH_BYTES];
	int ret = sr_command_hash(s->hasher, hash, command, s->secrets->keys.h, s->sequence);

	for (uint32_t i = 0; i < s->operator_count && !ret; i++)
		ret = sr_operator_sign(&s->secrets->operators[i],
				       &command->sigs[command->sig_count++], SR_COMMAND_PURPOSE,
				       hash);
	return ret ? sr_reason_set(why, -EIO, "OpenSSL makes no signature: is it out of memory?") :
		     0;
}

static int send_command(struct sr_ctl_session *s, size_t text_bytes, struct sr_reason *why)
{
	size_t at = 0, bytes;
	int ret;

	do {
		if (sr_channel_put(&s->secrets->channel, s->out, &bytes, s->command, text_bytes,
				   &at))
			return sr_reason_set(why, -EPIPE, "the conversation has ended");
		ret = send_message(s, bytes, why);
	} while (!ret && at < text_bytes);
	return ret;
}

static int receive_result(struct sr_ctl_session *s, struct sr_command_result *result,
			  struct sr_reason *why)
{
	struct sr_channel *channel = &s->secrets->channel;
	struct sr_control message;
	uint32_t code;
	int ret;

	do {
		ret = receive_message(s, &message, why);
		if (ret)
			return ret;
		if (sr_control_refused_get(&code, &message) == 0)
			return sr_reason_set(why, -ECONNRESET, "%s", sr_refusal_text(code));
		ret = sr_channel_take(channel, &message);
	} while (ret == -EAGAIN);
	if (ret || sr_command_result_get(result, channel->text, channel->text_bytes))
		return sr_reason_set(
			why, -EPROTO,
			"the signer's answer makes no sense: is it of another version?");
	return 0;
}

int sr_ctl_session_command(struct sr_ctl_session *session, struct sr_command_result *result,
			   uint32_t kind, const void *body, size_t bytes, struct sr_reason *why)
{
	struct sr_command command = { .kind = kind, .body = body, .body_bytes = bytes };
	size_t text_bytes;
	int ret = sign(session, &command, why);

	if (ret)
		return ret;
	text_bytes = sr_command_put(session->command, &command);
	if (!text_bytes)
		return sr_reason_set(why, -EMSGSIZE, "this is too long, or empty");
	ret = send_command(session, text_bytes, why);
	if (!ret)
		ret = receive_result(session, result, why);
	if (ret)
		return ret;
	session->sequence++;
	if (result->code != SR_COMMAND_DONE)
		return sr_reason_set(why, -EPERM, "the signer refuses: %.*s",
				     (int)result->body_bytes, (const char *)result->body);
	if (result->kind != kind)
		return sr_reason_set(why, -EPROTO, "the signer answers something else");
	return 0;
}
