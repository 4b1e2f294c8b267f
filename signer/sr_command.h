/* SPDX-License-Identifier: MIT */
/*
 * sr_command.h - what operators have a signer do, and how it went: the texts of an
 * operator's channel (sr_channel.h).
 *
 * A command has one body, of a length that its kind says, and signatures by operators.
 * Each of them signs, for the purpose "command" (sr_operator.h), the SHA-256 of
 *
 *	"sigring command" 00  h (32)  sequence u64  version u16  kind u16  bytes u32  body
 *
 * where h is the handshake hash of this conversation and the sequence the number of
 * commands before it: so it is good once, here, at this moment, and for nobody who is
 * not at the end of this very handshake. Little-endian, reserved bytes zero.
 *
 *	command                          result
 *	 0 version u16 = 1                0 version u16 = 1
 *	 2 kind u16                       2 kind u16, the command's
 *	 4 signatures u16, 0 .. 16        4 code u32, 0: done
 *	 6 reserved 2                     8 body bytes u32
 *	 8 body bytes u32                12 reserved 4
 *	12 reserved 4                    16 body; with another code words, why not
 *	16 signatures: key 32, of it 64
 *	.. body
 *
 *	kind          command's body                    result's body
 *	1 MANIFEST    an envelope (sr_envelope.h)       0 version u64, 8 hash 32
 *	2 GENERATE    0 id u32, 4 reserved 4,           a key and its blob (sr_blob.h):
 *	              8 recipient 32                    0 key 60, 60 blob 176
 *	3 IMPORT      a blob 176, for the signer        a key 60
 *	4 LIST        nothing                           0 count u32, 4 reserved 4, and of
 *	                                                each: 0 key 60, 60 permissions u32,
 *	                                                64 nonce mode u32, 68 flags u32,
 *	                                                72 identities u64
 *	5 HOLD        0 id u32, 4 held u32 (0, 1)       nothing
 *	6 ROTATE      as GENERATE                       as GENERATE
 *	7 DELETE      0 id u32, 4 reserved 4            nothing
 *	8 POLICY      a word 72                         nothing
 *	9 TRACE       0 from u64, 8 reserved 8          stamps of records (sr_trace.h):
 *	                                                0 first u64, 8 next u64,
 *	                                                16 domain 2 u64, 32 ticks/s u64,
 *	                                                40 counter u32, 44 slots u32,
 *	                                                48 count u32, 52 reserved 4, and
 *	                                                of each: 0 slot word u64, 8 its
 *	                                                moments 7 u64
 *	10 STATUS     nothing                           a status 272
 *	11 DRAIN      0 draining u32 (0, 1),            nothing
 *	              4 reserved 4
 *
 *	a key, 60: 0 id u32, 4 address 20, 24 public key 33, 57 reserved 3
 *
 *	a word, 72: 0 what it says u32 (enum sr_policy_say), 4 key u32, 8 first u64,
 *	16 second u64, 24 sequence u64, 32 decimals of the first u8 and 33 the second u8,
 *	34 u8 1: the second is unlimited, 35 reserved 5, 40 asset 32 (four u64, the lowest
 *	first). KILL: first is 0 or 1. LEASE: first is seconds. BAND: a key's asset, the
 *	first price, the second, a sequence. SEED: a key, first is the window's notional,
 *	second the unexpired one. What a word does not need is zero.
 *
 *	a status, 272: 0 boot id 2 u64, 16 uptime u64, 24 Unix time u64, 32 drift i64,
 *	40 the host's clock less that time i64 (all in ms), 48 manifest version u64, 56 peak
 *	of memory in KiB u64, 64 signed u64, 72 denied u64, 80 flags u32 (1 draining), 84
 *	keys u32, 88 sessions u32, 92 of at most u32, 96 presignatures u32, 100 of u32, 104
 *	version, 16 and 120 who attests, 8: ASCII, padded with zeros; 128 PCR0, 1 and 2, 48 each
 *
 * Codecs: pure functions on private memory, nothing here is secret.
 */
#ifndef SR_COMMAND_H
#define SR_COMMAND_H

#include "sr_attest.h"
#include "sr_blob.h"
#include "sr_counter.h"
#include "sr_envelope.h"
#include "sr_keyring.h"
#include "sr_policy.h"
#include "sr_trace.h"

#define SR_COMMAND_VERSION 1u
#define SR_COMMAND_PURPOSE "command"
#define SR_COMMAND_HEADER_BYTES 16u
#define SR_COMMAND_SIG_BYTES (SR_OPERATOR_KEY_BYTES + SR_OPERATOR_SIG_BYTES)
#define SR_COMMAND_BYTES_MAX \
	(SR_COMMAND_HEADER_BYTES + SR_OPERATORS_MAX * SR_COMMAND_SIG_BYTES + SR_ENVELOPE_BYTES_MAX)
#define SR_COMMAND_KEY_BYTES 60u
#define SR_COMMAND_LISTED_BYTES 80u
#define SR_COMMAND_POLICY_BYTES 72u
#define SR_COMMAND_STATUS_BYTES 272u
#define SR_COMMAND_DRAIN_BYTES 8u
#define SR_COMMAND_WORDS_MAX 255u
#define SR_COMMAND_TRACE_BYTES 16u
#define SR_COMMAND_TRACED_BYTES 56u
#define SR_COMMAND_TRACED_MAX 248u /* entries, so that a result is one message */
#define SR_COMMAND_RESULT_BYTES_MAX \
	(SR_COMMAND_HEADER_BYTES + SR_COMMAND_TRACED_BYTES + \
	 SR_COMMAND_TRACED_MAX * (uint32_t)sizeof(struct sr_trace_entry))

enum sr_command_kind {
	SR_COMMAND_MANIFEST = 1,
	SR_COMMAND_GENERATE = 2,
	SR_COMMAND_IMPORT = 3,
	SR_COMMAND_LIST = 4,
	SR_COMMAND_HOLD = 5,
	SR_COMMAND_ROTATE = 6,
	SR_COMMAND_DELETE = 7,
	SR_COMMAND_POLICY = 8,
	SR_COMMAND_TRACE = 9,
	SR_COMMAND_STATUS = 10,
	SR_COMMAND_DRAIN = 11,
};

/* How it went. Numbers are ABI and are never reused. */
enum sr_command_code {
	SR_COMMAND_DONE = 0,
	SR_COMMAND_MALFORMED = 1,    /* and so no command: the conversation ends */
	SR_COMMAND_UNAUTHORISED = 2, /* by fewer than k operators: likewise */
	SR_COMMAND_REFUSED = 3,      /* for what it says, or what is here already */
	SR_COMMAND_FAILED = 4,       /* by no fault of its own */
	SR_COMMAND_CODES
};

/* A command; signatures and body are borrowed. */
struct sr_command {
	uint32_t kind;
	uint32_t sig_count;
	struct sr_operator_sig sigs[SR_OPERATORS_MAX];
	const unsigned char *body;
	size_t body_bytes;
};

/* A result; its body is borrowed. */
struct sr_command_result {
	uint32_t kind;
	uint32_t code; /* enum sr_command_code, or of a later version */
	const unsigned char *body;
	size_t body_bytes;
};

/* The body of GENERATE and ROTATE. */
struct sr_command_generate {
	uint32_t id; /* not 0 */
	unsigned char recipient[SR_NOISE_KEY_BYTES];
};

/* What results say of a key. */
struct sr_command_key {
	uint32_t id;
	unsigned char address[20]; /* Ethereum's */
	unsigned char pubkey[SR_PUBKEY_BYTES];
};

#define SR_COMMAND_LOCKED 1u /* it met a fault and signs nothing any more */
#define SR_COMMAND_HELD 2u   /* by the operators */
#define SR_COMMAND_TYPED 4u  /* its policy permits something; permissions are the blind ones */

struct sr_command_listed {
	struct sr_command_key key;
	uint32_t permissions;
	uint32_t nonce_mode;
	uint32_t flags;
	uint64_t identities; /* bit i: identity i of the manifest in force may use it */
};

/* What TRACE's result says, but for the entries. */
struct sr_command_traced {
	uint64_t first; /* number of the first entry here: above what was asked for when
			   those have been written over */
	uint64_t next;  /* of the entry that will be made next */
	struct sr_counter counter; /* that the stamps were taken by */
	uint32_t slots;
	uint32_t count; /* entries here */
};

SR_STATIC_ASSERT(SR_COMMAND_RESULT_BYTES_MAX >=
			 SR_COMMAND_HEADER_BYTES + 8u + SR_KEYS_MAX * SR_COMMAND_LISTED_BYTES,
		 "the longest result");

/* What a signer says of itself. */
struct sr_command_status {
	uint64_t boot_id[2];
	uint64_t uptime_ms;
	uint64_t unix_ms;    /* by which policies go: the module's word at the start, moved on */
	int64_t drift_ms;    /* how far the module's time is ahead of that now */
	int64_t host_ms;     /* how far the clock that the host sets is; believed by nobody */
	uint64_t manifest_version; /* 0: none is in force */
	uint64_t memory_kib; /* resident, at its peak */
	uint64_t signed_ok;
	uint64_t denied;
	uint32_t keys;
	uint32_t sessions;
	uint32_t sessions_max;
	uint32_t pool_depth;
	uint32_t pool_slots;
	bool draining;
	char version[17];
	char evidence[9]; /* "nsm", or "mock" */
	bool pcrs_unknown; /* the module did not tell them: zeros would be debug mode */
	unsigned char pcr[3][SR_ATTEST_PCR_BYTES];
};

SR_BEGIN_DECLS

/*
 * sr_command_get - take a text for a command.
 *
 * @command: out; borrows its body from @text.
 * Returns 0; -EMSGSIZE: shorter or longer than it says, or than its kind may be;
 * -EPROTO: another version, an unknown kind, a reserved byte that is set, too many
 * signatures. *command is untouched then. What the body says is for who obeys it.
 */
SR_WARN_UNUSED int sr_command_get(struct sr_command *command, const unsigned char *text,
				  size_t bytes);

/* sr_command_put - the text of one. @text: SR_COMMAND_BYTES_MAX. Returns its length; 0
 * when a length is not one of its kind. */
SR_WARN_UNUSED size_t sr_command_put(unsigned char *text, const struct sr_command *command);

/*
 * sr_command_hash - what an operator signs.
 *
 * @h: the handshake hash. Returns 0 or -EIO.
 */
SR_WARN_UNUSED int sr_command_hash(struct sr_hasher *hasher, unsigned char hash[SR_HASH_BYTES],
				   const struct sr_command *command,
				   const unsigned char h[SR_NOISE_KEY_BYTES], uint64_t sequence);

/* sr_command_result_get - as sr_command_get(). A body of words is 0 .. 255 printable
 * ASCII characters; of a code that is not 0 there is no other. */
SR_WARN_UNUSED int sr_command_result_get(struct sr_command_result *result,
					 const unsigned char *text, size_t bytes);

/* sr_command_result_put - @text: SR_COMMAND_RESULT_BYTES_MAX, the body is at @text +
 * SR_COMMAND_HEADER_BYTES already. Returns the length. */
size_t sr_command_result_put(unsigned char *text, uint32_t kind, uint32_t code, size_t body_bytes);

/* Bodies. The _get ones return 0 or -EPROTO; their lengths have been judged. */
void sr_command_generate_put(unsigned char body[40], const struct sr_command_generate *generate);
SR_WARN_UNUSED int sr_command_generate_get(struct sr_command_generate *generate,
					   const unsigned char body[40]);
void sr_command_word_put(unsigned char body[8], uint32_t id, uint32_t word);
SR_WARN_UNUSED int sr_command_word_get(uint32_t *id, uint32_t *word, uint32_t word_max,
				       const unsigned char body[8]);
void sr_command_policy_put(unsigned char body[SR_COMMAND_POLICY_BYTES],
			   const struct sr_policy_word *word);
SR_WARN_UNUSED int sr_command_policy_get(struct sr_policy_word *word,
					 const unsigned char body[SR_COMMAND_POLICY_BYTES]);
void sr_command_drain_put(unsigned char body[SR_COMMAND_DRAIN_BYTES], bool draining);
SR_WARN_UNUSED int sr_command_drain_get(bool *draining,
					const unsigned char body[SR_COMMAND_DRAIN_BYTES]);
void sr_command_status_put(unsigned char out[SR_COMMAND_STATUS_BYTES],
			   const struct sr_command_status *status);
SR_WARN_UNUSED int sr_command_status_get(struct sr_command_status *status,
					 const unsigned char in[SR_COMMAND_STATUS_BYTES]);
void sr_command_key_put(unsigned char out[SR_COMMAND_KEY_BYTES], const struct sr_command_key *key);
SR_WARN_UNUSED int sr_command_key_get(struct sr_command_key *key,
				      const unsigned char in[SR_COMMAND_KEY_BYTES]);
void sr_command_listed_put(unsigned char out[SR_COMMAND_LISTED_BYTES],
			   const struct sr_command_listed *listed);
SR_WARN_UNUSED int sr_command_listed_get(struct sr_command_listed *listed,
					 const unsigned char in[SR_COMMAND_LISTED_BYTES]);
void sr_command_trace_put(unsigned char body[SR_COMMAND_TRACE_BYTES], uint64_t from);
SR_WARN_UNUSED int sr_command_trace_get(uint64_t *from,
					const unsigned char body[SR_COMMAND_TRACE_BYTES]);

/* sr_command_traced_put - @entries: traced->count of them, up to SR_COMMAND_TRACED_MAX.
 * Returns the body's length. */
size_t sr_command_traced_put(unsigned char *body, const struct sr_command_traced *traced,
			     const struct sr_trace_entry *entries);

/* sr_command_traced_get - @entries: out, SR_COMMAND_TRACED_MAX of them. -EPROTO also when
 * the length is not that of so many. */
SR_WARN_UNUSED int sr_command_traced_get(struct sr_command_traced *traced,
					 struct sr_trace_entry *entries,
					 const unsigned char *body, size_t bytes);

SR_END_DECLS

#endif /* SR_COMMAND_H */
