/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sr_attach.h"
#include "sr_client.h"
#include "sr_clock.h"
#include "sr_pairfile.h"
#include "sr_secret.h"

#define BACKOFF_NS_MIN (10u * SR_NS_PER_MS)
#define BACKOFF_NS_MAX SR_NS_PER_S

static uint64_t unix_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* ---- what all set-ups need ---- */

static size_t secrets_bytes(const struct sr_client *c)
{
	return sizeof *c->secrets + c->opt.sessions * sizeof c->secrets->sessions[0];
}

static int load_identity(struct sr_client *c, const char *path, struct sr_reason *why)
{
	struct sr_pairfile *file;
	void *mem;
	int ret = sr_secret_alloc(&mem, sizeof *file);

	if (ret)
		return sr_reason_set(why, ret, "no protected memory for the identity: raise the "
					       "memlock limit (ulimit -l)");
	file = mem;
	ret = sr_pairfile_load(file, &sr_pairfile_identity, path, why);
	if (!ret) {
		memcpy(c->secrets->identity.secret, file->secret, SR_NOISE_KEY_BYTES);
		memcpy(c->secrets->identity.pub, file->pub, SR_NOISE_KEY_BYTES);
	}
	sr_secret_free(mem, sizeof *file);
	return ret;
}

int sr_client_seal(struct sr_client *c, const char *identity, const char *trust,
		   struct sr_reason *why)
{
	void *mem;
	int ret;

	c->talk = calloc(1, sizeof *c->talk);
	if (!c->talk)
		return sr_reason_set(why, -ENOMEM, "out of memory");
	c->talk->sock = -1;
	if (strlen(trust) >= sizeof c->talk->trust_path)
		return sr_reason_set(why, -EINVAL, "the trust file's path is too long");
	memcpy(c->talk->trust_path, trust, strlen(trust) + 1);

	ret = sr_secret_alloc(&mem, secrets_bytes(c));
	if (ret)
		return sr_reason_set(why, ret,
				     "no protected memory for the keys of sessions: raise the "
				     "memlock limit (ulimit -l), or the kernel is older than 4.14");
	c->secrets = mem;
	return load_identity(c, identity, why);
}

void sr_client_unseal(struct sr_client *c)
{
	if (c->talk && c->talk->sock >= 0)
		(void)close(c->talk->sock);
	free(c->talk);
	c->talk = NULL;
	for (uint32_t i = 0; c->secrets && i < c->opt.sessions; i++) {
		sr_seal_wipe(&c->secrets->sessions[i].requests);
		sr_seal_wipe(&c->secrets->sessions[i].replies);
	}
	sr_secret_free(c->secrets, c->secrets ? secrets_bytes(c) : 0);
	c->secrets = NULL;
}

/* ---- the conversation ---- */

void sr_setup_stop(struct sr_client *c, const struct sr_session_full *s)
{
	struct sr_talk *talk = c->talk;

	if (!talk || !talk->session || (s && talk->session != s))
		return;
	if (talk->sock >= 0)
		(void)close(talk->sock);
	talk->sock = -1;
	talk->session = NULL;
	talk->out_bytes = 0;
	sr_setup_wipe(&c->secrets->setup);
}

int sr_setup_again(struct sr_client *c, struct sr_session_full *s, int error)
{
	sr_setup_stop(c, s);
	s->backoff_ns = s->backoff_ns ? s->backoff_ns * 2 : BACKOFF_NS_MIN;
	if (s->backoff_ns > BACKOFF_NS_MAX)
		s->backoff_ns = BACKOFF_NS_MAX;
	s->retry_ns = sr_now_ns() + s->backoff_ns;
	s->unproven = false;
	s->again = false;
	s->phase = SR_PHASE_SETUP;
	return s->reopening ? -ENOTCONN : error;
}

/* What may be another at the next attempt is -ENOTCONN. */
static int refusal_error(uint32_t refusal)
{
	switch (refusal) {
	case SR_REFUSAL_IDENTITY:
	case SR_REFUSAL_HANDSHAKE:
		return -EACCES;
	case SR_REFUSAL_MESSAGE:
	case SR_REFUSAL_VERSION:
	case SR_REFUSAL_TURN:
	case SR_REFUSAL_REQUEST:
	case SR_REFUSAL_SIZES:
		return -EPROTO;
	default:
		return -ENOTCONN;
	}
}

static int setup_error(const struct sr_setup *setup)
{
	switch (setup->code) {
	case SR_SETUP_REFUSED:
		return refusal_error(setup->refusal);
	case SR_SETUP_DOCUMENT:
		return setup->attest == SR_ATTEST_NO_MEMORY ? -ENOMEM : -EKEYREJECTED;
	case SR_SETUP_MANIFEST:
	case SR_SETUP_MANIFEST_OLD:
	case SR_SETUP_HANDSHAKE:
		return -EKEYREJECTED;
	case SR_SETUP_CONFIG:
		return -EINVAL;
	case SR_SETUP_CRYPTO:
		return -EIO;
	default:
		return -EPROTO;
	}
}

/* Somebody else is to be believed by now: a signer that starts writes the file first, and
 * may answer a client that has read the one before. */
static bool trust_changed(struct sr_talk *talk)
{
	return sr_trust_load(&talk->trust_now, talk->trust_path, NULL) == 0 &&
	       memcmp(&talk->trust_now, &talk->trust, sizeof talk->trust) != 0;
}

/* The set-up has ended without a session. A ticket is worth one attempt: without it
 * the next one begins at once. */
static int setup_failed(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	const struct sr_setup *setup = &c->secrets->setup;
	int error = setup_error(setup);

	if (c->talk->with_ticket) {
		sr_setup_stop(c, s);
		return 1;
	}
	if (error == -EKEYREJECTED && trust_changed(c->talk))
		error = -ENOTCONN;
	(void)sr_reason_set(why, error, "no sealed session: %s", sr_setup_text(setup));
	return sr_setup_again(c, s, error);
}

static int talk_failed(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why,
		       int error, const char *text)
{
	(void)sr_reason_set(why, error, "no sealed session: %s", text);
	return sr_setup_again(c, s, error);
}

/* Names and secrets of this attempt, none of which was there before. */
static int draw(struct sr_client *c, struct sr_session_full *s, struct sr_setup_config *config)
{
	unsigned char *ephemeral = c->secrets->ephemeral;

	if (getrandom(ephemeral, SR_NOISE_KEY_BYTES, 0) != (ssize_t)SR_NOISE_KEY_BYTES ||
	    getrandom(config->nonce, sizeof config->nonce, 0) != (ssize_t)sizeof config->nonce)
		return -EIO;
	config->ephemeral = ephemeral;
	return sr_session_renumber(c, s);
}

static int setup_start(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_session_secrets *own = &c->secrets->sessions[s->index];
	struct sr_talk *talk = c->talk;
	struct sr_setup_config config = {
		.expect = &talk->expect,
		.cache = &talk->cache,
		.s = &c->secrets->identity,
		.ticket = own->has_ticket ? &own->ticket : NULL,
		.request = {
			.depth = c->opt.depth,
			.slot_bytes = c->opt.slot_bytes,
			.flags = (s->flags & SR_SESSION_PRIORITY ? SR_REQUEST_PRIORITY : 0) |
				 (s->flags & SR_SESSION_STRICT ? SR_REQUEST_STRICT : 0),
			.predecessor = { s->predecessor[0], s->predecessor[1] },
		},
	};
	enum sr_setup_code code;

	if (draw(c, s, &config))
		return talk_failed(c, s, why, -EIO, "the kernel gives no random bytes");
	config.request.first = s->first;
	memcpy(config.token, s->token, sizeof config.token);
	talk->with_ticket = own->has_ticket;
	code = sr_setup_start(&c->secrets->setup, talk->out, &talk->out_bytes, &config, unix_ms());
	sr_wipe(c->secrets->ephemeral, sizeof c->secrets->ephemeral);
	sr_wipe(&own->ticket, sizeof own->ticket);
	own->has_ticket = false;
	return code == SR_SETUP_OK ? 1 : setup_failed(c, s, why);
}

static int talk_begin(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_session_secrets *own = &c->secrets->sessions[s->index];
	struct sr_talk *talk = c->talk;
	union sr_attach_message m;
	uint64_t now_ns = sr_now_ns();
	int ret;

	if (now_ns < s->retry_ns)
		return 0;
	/* The trading thread is done with the keys of the session before. */
	sr_seal_wipe(&own->requests);
	sr_seal_wipe(&own->replies);

	ret = sr_trust_load(&talk->trust, talk->trust_path, why);
	if (ret)
		return sr_setup_again(c, s, ret);
	sr_trust_expect(&talk->expect, &talk->trust);
	talk->session = s;
	talk->end_ns = sr_ns_after(now_ns, c->opt.timeout_ns);
	talk->sock = sr_attach_connect(c->socket);
	memset(&m, 0, sizeof m);
	if (talk->sock < 0 || sr_attach_send(talk->sock, &m, SR_ATTACH_CONTROL, NULL, 0))
		return talk_failed(c, s, why, -ENOTCONN, "the agent takes no second connection");
	return setup_start(c, s, why);
}

static int talk_send(struct sr_client *c)
{
	struct sr_talk *talk = c->talk;
	ssize_t put = send(talk->sock, talk->out, talk->out_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* Who is hung up on at once finds the reason in his socket. */
	talk->out_bytes = 0;
	return 1;
}

/* The keys are there: the records' follow from them, and nothing else does. */
static int talk_done(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_client_secrets *secrets = c->secrets;
	struct sr_session_secrets *own = &secrets->sessions[s->index];
	struct sr_seal_config config = {
		.keys = &secrets->keys,
		.direction = SR_SEAL_SUBMISSION,
		.way = SR_AEAD_SEAL,
		.first = s->first,
		.record_bytes = c->opt.slot_bytes,
		.depth = c->opt.depth,
	};
	int ret = sr_setup_finish(&secrets->setup, &secrets->keys, &secrets->result);

	if (!ret)
		ret = sr_seal_init(&own->requests, &config);
	config.direction = SR_SEAL_COMPLETION;
	config.way = SR_AEAD_OPEN;
	config.record_bytes = SR_CMP_BYTES;
	if (!ret)
		ret = sr_seal_init(&own->replies, &config);
	if (!ret && secrets->result.grant.has_ticket) {
		own->ticket = secrets->result.next;
		own->has_ticket = true;
	}
	sr_wipe(&secrets->keys, sizeof secrets->keys);
	sr_wipe(&secrets->result, sizeof secrets->result);
	if (ret)
		return talk_failed(c, s, why, -EIO, "OpenSSL failed");
	sr_setup_stop(c, s);
	s->retry_ns = 0;
	s->phase = SR_PHASE_OPEN_SEND;
	return 1;
}

/* The agent's own word in place of a message that it carries; 0: it is none. */
static int agent_refusal(const unsigned char *message, size_t bytes, struct sr_reason *why)
{
	struct sr_attach_refused refused;

	if (bytes != sizeof refused || sr_get32(message) != SR_ATTACH_MAGIC)
		return 0;
	memcpy(&refused, message, sizeof refused);
	return refused.header.type == SR_ATTACH_REFUSED ?
		       sr_attach_refusal_reason(why, refused.code) :
		       0;
}

static ssize_t receive(const struct sr_talk *talk, unsigned char *in, size_t room)
{
	ssize_t got = recv(talk->sock, in, room, MSG_DONTWAIT);

	/* Who hung up with a message of ours unread shows as one ECONNRESET, in front of
	 * what he had said. */
	if (got < 0 && errno == ECONNRESET)
		got = recv(talk->sock, in, room, MSG_DONTWAIT);
	return got;
}

static int talk_recv(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_talk *talk = c->talk;
	ssize_t got = receive(talk, talk->in, sizeof talk->in);
	enum sr_setup_code code;
	int ret;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return talk_failed(c, s, why, -ENOTCONN,
				   "the agent hung up in the middle of a set-up: has it a signer?");
	ret = agent_refusal(talk->in, (size_t)got, why);
	if (ret == -EBUSY) { /* it says to wait; of any other kind it is final */
		ret = -ENOTCONN;
		if (why)
			why->error = ret;
	}
	if (ret)
		return sr_setup_again(c, s, ret);
	code = sr_setup_take(&c->secrets->setup, talk->out, &talk->out_bytes, talk->in,
			     (size_t)got, unix_ms());
	if (code != SR_SETUP_OK)
		return setup_failed(c, s, why);
	return sr_setup_done(&c->secrets->setup) ? talk_done(c, s, why) : 1;
}

int sr_setup_step(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_talk *talk = c->talk;

	if (!talk->session)
		return talk_begin(c, s, why);
	if (talk->session != s)
		return 0;
	if (sr_now_ns() >= talk->end_ns)
		return talk_failed(c, s, why, -ENOTCONN,
				   "the signer does not answer: is it stopped, or the agent?");
	return talk->out_bytes ? talk_send(c) : talk_recv(c, s, why);
}

/* ---- message 0 ---- */

int sr_first_publish(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	struct sr_slots slots = sr_region_slots(&c->submission, s->index);
	unsigned char record[SR_SUB_BYTES_MAX] = { 0 };

	SR_STATIC_ASSERT(SR_TYPE_SESSION == 0, "a body of zeros");
	sr_put64(record, s->first);
	record[SR_SUB_KIND] = SR_KIND_SEALED;
	if (sr_seal_apply(&c->secrets->sessions[s->index].requests, 0, record))
		return sr_reason_set(why, -EIO, "no sealed session: OpenSSL failed");
	sr_slot_publish(&slots, s->first, record);
	return 0;
}

static int first_failed(struct sr_reason *why, int error, const char *text)
{
	return sr_reason_set(why, error, "no sealed session: %s", text);
}

/* How far the session before had come, told by the one who knows. */
static bool past_fits(const struct sr_session_full *s, const unsigned char *reply)
{
	return !s->has_past || !sr_get64(reply + SR_LAST_KNOWN) ||
	       sr_tally_final(&s->past, sr_get64(reply + SR_LAST_ACCEPTED));
}

static int first_take(struct sr_client *c, struct sr_session_full *s, const struct sr_slots *slots,
		      struct sr_reason *why)
{
	struct sr_session_secrets *own = &c->secrets->sessions[s->index];
	unsigned char record[SR_CMP_BYTES];
	const unsigned char *reply = record + SR_CMP_BODY;

	sr_slot_copy(slots, s->first, record);
	if (record[SR_CMP_KIND] == SR_KIND_AGENT)
		return first_failed(why, -ENOTCONN, "the agent could not reach the signer");
	if (record[SR_CMP_KIND] != SR_KIND_SEALED ||
	    sr_seal_open(&own->replies, 0, record + SR_CMP_BODY, record))
		return first_failed(why, -EPROTO, "the agent forged the signer's first answer");
	if (sr_get16(reply + SR_REP_STATUS) != SR_OK || sr_get64(reply + SR_REP_ACCEPTED) != 1)
		return first_failed(why, -EPROTO, "the signer did not take the first message");
	s->past_lied = !past_fits(s, reply);
	s->has_past = false;
	s->backoff_ns = 0;
	return 1;
}

int sr_first_step(struct sr_client *c, struct sr_session_full *s, struct sr_reason *why)
{
	const struct sr_region *region = &s->completions->region;
	struct sr_slots slots = sr_region_slots(region, s->index);
	int ret = sr_slot_look(&slots, s->first);

	if (ret == 0)
		return first_take(c, s, &slots, why);
	if (ret != -EAGAIN)
		return first_failed(why, -EPROTO, "the agent broke the region");
	if (sr_load32_relaxed(&sr_region_block(region, s->index)->state) == SR_LINK_LOST)
		return first_failed(why, -ENOTCONN, "the signer was restarted meanwhile");
	if (sr_now_ns() >= s->first_end_ns)
		return first_failed(why, -ENOTCONN,
				    "the signer does not answer the first message: is it stopped, "
				    "or the agent?");
	return 0;
}
