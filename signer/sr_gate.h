/* SPDX-License-Identifier: MIT */
/*
 * sr_gate.h - the signer's end of setting up sessions, and of an operator's
 * conversation (sr_control.h).
 *
 * Bytes in, bytes out: who runs it has the connections, the clock and the security
 * module. It lives on a thread that signs nothing. A gate is one boot of the signer:
 * it draws the static key that the documents of this boot attest, and the key of its
 * tickets, and no other knows them. A talk is one conversation with one client.
 *
 * What a stranger can make it do is bounded and ordered by what it costs. Length,
 * version, turn, boot, nonce, binding, token and ticket are judged without any
 * exchange of keys; then there must be room for one more failure; then comes message 1
 * of the handshake, and only if that is authentic is it known whose it is.
 *
 * Failures alone are counted (sr_quota.h): a conversation takes one in advance when it
 * first costs something. What an authentic client gets wrong is charged to that client,
 * all else to everybody. A client whose own are used up is refused, and charged to
 * nobody: it could have as many handshakes by getting them right, so others would lose
 * by it and it would not.
 *
 * Message 1 can be replayed. It names the document that was made for its nonce,
 * which no second one equals, or a ticket, which is good once: a copy is refused. And
 * if it were not, all that it could make is an admission, which is provisional in the
 * core until a record proves that the client has the keys. As many may wait for that
 * as the core has room for (sr_core_config.admissions_max): then none pushes another
 * out, and no client has more than its share.
 *
 * An operator's conversation goes on after its handshake, in commands and results
 * (sr_command.h). Its static key is anybody's, so it stays charged, and within the time
 * that any conversation has, until its first command that enough operators have signed:
 * that is for the caller to judge. From then on each such command gives it operator_ns
 * more. A command that they have not signed ends it. Few of them may be here at once: of
 * those who were not obeyed yet, the first to come makes room for the next, or four
 * strangers without a word would keep the operators out.
 *
 * Everything is allocated at the start, but for what OpenSSL does in a handshake. One
 * thread's own. It holds secrets and lies in protected memory: in a forked child it
 * reads as zeros and is silent.
 */
#ifndef SR_GATE_H
#define SR_GATE_H

#include "sr_admission.h"
#include "sr_command.h"
#include "sr_control.h"
#include "sr_drbg.h"
#include "sr_quota.h"

#define SR_GATE_TICKETS 4096u /* the last so many that were issued may be used */
#define SR_GATE_OPERATORS_MAX 4u
#define SR_GATE_TEXT_BYTES (SR_COMMAND_BYTES_MAX + 1u) /* room for a command, see sr_channel.h */

/* What has to stand in a document. */
struct sr_gate_question {
	const unsigned char *nonce;      /* SR_CONTROL_NONCE_BYTES */
	const unsigned char *user_data;  /* SR_CONTROL_HASH_BYTES: the hash of the terms */
	const unsigned char *public_key; /* SR_NOISE_KEY_BYTES: the gate's */
};

struct sr_gate_limits {
	uint64_t talk_ns;   /* a conversation, from its beginning */
	uint64_t ticket_ns; /* life of a ticket, up to SR_TICKET_LIFE_NS_MAX; 0: none */
	struct sr_quota_limits quota;
	uint32_t depth_max; /* these three are told to clients */
	uint32_t slot_bytes_max;
	uint32_t sessions_max;
	uint32_t operators_max; /* at once, up to SR_GATE_OPERATORS_MAX; 0: none is obeyed */
	uint64_t operator_ns;   /* what a command gives to a conversation */
};

struct sr_gate_config {
	struct sr_drbg *drbg; /* borrowed; the gate's thread is its only user */
	struct sr_terms terms;
	unsigned char pcr0[SR_ATTEST_PCR_BYTES]; /* as the security module says */
	struct sr_gate_limits limits;
	void *arg; /* of the calls below */

	/* A document of at most SR_DOCUMENT_DATA_BYTES_MAX bytes. Returns 0 or -errno. */
	int (*attest)(void *arg, unsigned char *document, size_t *document_bytes,
		      const struct sr_gate_question *question);

	/* The index of a client, below SR_IDENTITIES_MAX, or -ENOENT. */
	int (*identity)(void *arg, const unsigned char pub[SR_NOISE_KEY_BYTES]);
};

/* What the caller does next. */
enum sr_gate_verdict {
	SR_GATE_ANSWER = 0,  /* send what was written */
	SR_GATE_ADMIT = 1,   /* hand over the admission, then send */
	SR_GATE_REFUSED = 2, /* send, then hang up */
	SR_GATE_SILENT = 3,  /* hang up; nothing was written */
	SR_GATE_COMMAND = 4, /* see sr_gate_command_get(); nothing was written */
	SR_GATE_MORE = 5,    /* of a command is to come; nothing was written */
};

/* Counters, since the start; the last three are of now. What was withdrawn counts as
 * refused and not as admitted. */
struct sr_gate_stats {
	uint64_t documents;
	uint64_t handshakes; /* begun: each costs at least one exchange */
	uint64_t admitted;
	uint64_t by_ticket; /* of those */
	uint64_t refused[SR_REFUSALS];
	uint64_t commands; /* of operators, obeyed or not, signed by enough of them */
	uint64_t talking; /* conversations that have cost something, not ended yet */
	uint64_t waiting; /* admitted, and no record yet */
	uint64_t operators;
};

struct sr_gate;

/* One conversation. The fields are private; there is no secret among them. */
struct sr_gate_talk {
	uint32_t state;
	uint32_t desk; /* an operator's, from 1; his for as long as the seat is */
	bool charged;
	uint64_t seat;
	uint64_t until_ns;
	unsigned char nonce[SR_CONTROL_NONCE_BYTES];
	unsigned char document_hash[SR_CONTROL_HASH_BYTES];
	unsigned char terms_hash[SR_CONTROL_HASH_BYTES];
};

SR_BEGIN_DECLS

/*
 * sr_gate_new - draw this boot's keys.
 *
 * Returns 0 with *gate set; -EINVAL: a limit is zero (a ticket's life may be) or above
 * its maximum, or a call is missing; -ENOMEM, -ENOSYS: see sr_secret_alloc(); -EIO.
 */
SR_WARN_UNUSED int sr_gate_new(struct sr_gate **gate, const struct sr_gate_config *config);
void sr_gate_delete(struct sr_gate *gate); /* NULL is legal */

/* sr_gate_public_key - SR_NOISE_KEY_BYTES that live as long as the gate. */
const unsigned char *sr_gate_public_key(const struct sr_gate *gate);

/* sr_gate_pair - the whole pair, in protected memory, borrowed: keys are sealed with it,
 * and to it (sr_blob.h). */
const struct sr_noise_pair *sr_gate_pair(const struct sr_gate *gate);

/*
 * sr_gate_manifest_set - another manifest is in force.
 *
 * From now on documents say so, and BEGIN is refused (BINDING) when it answers a
 * document, or comes with a ticket, of the terms before. The failures of clients are
 * forgotten: their indices may mean others now.
 * Returns 0; -EINVAL when the version is not above the one in force; -EIO. The old
 * one is still in force then.
 */
SR_WARN_UNUSED int sr_gate_manifest_set(struct sr_gate *gate, uint64_t version,
					const unsigned char hash[SR_CONTROL_HASH_BYTES]);

/* sr_gate_enter - a client has connected. @talk: the caller's, until sr_gate_leave(). */
void sr_gate_enter(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns);

/* sr_gate_late - has it taken too long? Whoever says nothing has to be hung up on. */
static inline bool sr_gate_late(const struct sr_gate_talk *talk, uint64_t now_ns)
{
	return now_ns >= talk->until_ns;
}

/* sr_gate_leave - it has gone, or was hung up on. Must follow each sr_gate_enter(); a
 * conversation that has cost something and led to nothing is a failure. */
void sr_gate_leave(struct sr_gate *gate, struct sr_gate_talk *talk, uint64_t now_ns);

/*
 * sr_gate_take - take the client's next message.
 *
 * @out:       SR_CONTROL_BYTES_MAX. @out_bytes: how many of them to send, or 0.
 * @admission: out, in protected memory, written when SR_GATE_ADMIT is returned. What
 *             it held before must have been wiped (sr_admission_wipe()).
 * @message:   one whole message, in private memory; see sr_control_cut().
 * @now_ns:    monotonic.
 *
 * Never fails: what is wrong is in the verdict and in what it makes us send.
 */
SR_WARN_UNUSED enum sr_gate_verdict
sr_gate_take(struct sr_gate *gate, struct sr_gate_talk *talk, unsigned char *out,
	     size_t *out_bytes, struct sr_admission *admission, const unsigned char *message,
	     size_t bytes, uint64_t now_ns);

/* A command, as it came. */
struct sr_gate_command {
	const unsigned char *text; /* borrowed until sr_gate_result() or sr_gate_leave() */
	size_t bytes;
	unsigned char h[SR_NOISE_KEY_BYTES]; /* what its signatures are for, sr_command_hash() */
	uint64_t sequence;
};

/* sr_gate_command_get - after SR_GATE_COMMAND; zeros when none is waiting. */
void sr_gate_command_get(struct sr_gate *gate, const struct sr_gate_talk *talk,
			 struct sr_gate_command *command);

/*
 * sr_gate_result - answer the command. Whatever comes before is refused.
 *
 * @out:        SR_CONTROL_BYTES_MAX. @out_bytes: how many of them to send.
 * @authorised: it was a command, and enough operators have signed it.
 * @text:       the result, up to SR_CHANNEL_PIECE_MAX bytes.
 *
 * Returns SR_GATE_ANSWER; SR_GATE_REFUSED when it was not authorised: send, then hang
 * up; SR_GATE_SILENT: none was waiting, or OpenSSL failed.
 */
SR_WARN_UNUSED enum sr_gate_verdict sr_gate_result(struct sr_gate *gate, struct sr_gate_talk *talk,
						   unsigned char *out, size_t *out_bytes,
						   bool authorised, const unsigned char *text,
						   size_t bytes, uint64_t now_ns);

/*
 * sr_gate_withdraw - the admission could not be handed over.
 *
 * For after SR_GATE_ADMIT, in place of sending: writes a refusal, wipes the admission,
 * frees its place. A ticket stays spent.
 */
void sr_gate_withdraw(struct sr_gate *gate, unsigned char *out, size_t *out_bytes,
		      struct sr_admission *admission);

/* sr_gate_settle - the session's first record has come, or none will: its place among
 * those who wait is free. Unknown tokens are ignored. */
void sr_gate_settle(struct sr_gate *gate, const uint64_t token[2]);

void sr_gate_stats_get(const struct sr_gate *gate, struct sr_gate_stats *stats, uint64_t now_ns);

SR_END_DECLS

#endif /* SR_GATE_H */
