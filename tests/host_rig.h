/* SPDX-License-Identifier: MIT */
/*
 * host_rig.h - a host for the library's sealed sessions, in a thread: an agent that
 * attaches clients, carries their conversations and their records, and a real gate and
 * a real core behind it, with a mock security module. Between the two a test may do to
 * a record what a bad agent would. A test program includes it once; one without
 * Criterion defines HOST_CHECK and HOST_SKIP before that.
 */
#ifndef HOST_RIG_H
#define HOST_RIG_H

#ifndef HOST_CHECK
#include <criterion/criterion.h>
#define HOST_CHECK(good, ...) cr_assert(good, __VA_ARGS__)
#define HOST_SKIP(why) cr_skip_test(why)
#endif
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_address.h"
#include "sr_attach.h"
#include "sr_clock.h"
#include "sr_core.h"
#include "sr_curve.h"
#include "sr_doorbell.h"
#include "sr_frame.h"
#include "sr_gate.h"
#include "sr_getrandom.h"
#include "sr_mock_nsm.h"
#include "sr_pairfile.h"
#include "sr_secret.h"
#include "sr_task.h"
#include "sr_trust.h"

#define HOST_SESSIONS 2u
#define HOST_TALKS 4u
#define HOST_KEY 7u
#define HOST_IDENTITY 5u

/* What the agent does to number `host.fault_n` of any session, once. */
enum host_fault {
	HONEST = 0,
	FLIP,         /* bit host.fault_bit of the completion */
	SPLICE,       /* the completion of the other session's last number */
	IN_CLEAR,     /* an OK of its own, in clear */
	NO_KIND,      /* kind 0 */
	SAY,          /* host.fault_status, and does not forward */
	SAY_AND_SEND, /* host.fault_status, and forwards */
	HOLD,         /* nothing, until the fault is lifted */
	FLIP_UP,      /* bit host.fault_bit of the submission */
	SKIP,         /* forwards the next number first, this one behind it */
	HANG_UP,      /* forwards, hangs up, and answers nobody */
	LOST,         /* forwards, and says that the session is lost; of number 0, nothing */
	SAY_ALL,      /* host.fault_status to this and all behind it; not once */
};

struct host_signer {
	struct sr_mock_nsm *mock;
	struct sr_evidence evidence;
	struct sr_drbg *drbg;
	struct sr_gate *gate;
	struct sr_curve *curve;
	struct sr_keyring *keys;
	struct sr_core *core;
	struct sr_task *task; /* protected memory */
	uint64_t manifest_version;
	bool stranger; /* nobody is in the manifest */
};

struct host_talk {
	int sock;
	struct sr_gate_talk talk;
};

struct host_session {
	bool open;
	bool lost; /* what is published still is answered so */
	uint32_t id;
	uint64_t next, first;
	uint64_t answered; /* last number published */
	unsigned char last[SR_CMP_BYTES];
};

static struct host {
	pthread_mutex_t lock; /* over everything but the fault */
	pthread_t thread;
	uint32_t stop;
	uint32_t fault; /* enum host_fault */
	uint64_t fault_n;
	uint32_t fault_bit, fault_status;
	uint32_t fault_done; /* how often it was carried out */
	bool fault_or_later; /* to that number or the first one behind it */
	bool deaf;    /* takes no conversation */
	bool flip_talk; /* spoils the signer's next message of a conversation */
	bool trust_comes; /* the file is written when a document is asked for */
	uint32_t conversations, opens, resumes;
	struct sr_attach_open last_open;
	char dir[64], socket[128], identity[128], trust[128];
	int listen_fd, sock;
	uint32_t epoch;
	struct sr_attach_hello hello;
	struct sr_region submission, completion;
	struct host_talk talks[HOST_TALKS];
	struct host_session sessions[HOST_SESSIONS];
	struct host_signer signer;
	struct sr_pairfile *pair;
	unsigned char client_pub[SR_PAIRFILE_KEY_BYTES];
} host;

/* ---- the signer ---- */

static inline void host_trust_renew(void);

static inline int host_attest(void *arg, unsigned char *document, size_t *bytes,
			      const struct sr_gate_question *question)
{
	const struct sr_evidence_request request = {
		question->nonce,       SR_CONTROL_NONCE_BYTES, question->user_data,
		SR_CONTROL_HASH_BYTES, question->public_key,   SR_NOISE_KEY_BYTES,
	};
	struct host_signer *s = arg;

	if (host.trust_comes)
		host_trust_renew();
	host.trust_comes = false;
	return s->evidence.attest(s->evidence.arg, document, bytes, &request);
}

static inline int host_identity(void *arg, const unsigned char pub[SR_NOISE_KEY_BYTES])
{
	const struct host_signer *s = arg;

	return s->stranger || memcmp(pub, host.client_pub, SR_NOISE_KEY_BYTES) ? -ENOENT :
									       (int)HOST_IDENTITY;
}

static inline void host_gate_new(struct host_signer *s)
{
	struct sr_gate_config config = {
		.drbg = s->drbg,
		.arg = s,
		.attest = host_attest,
		.identity = host_identity,
		.limits = {
			.talk_ns = 300 * SR_NS_PER_S,
			.ticket_ns = 3600 * SR_NS_PER_S,
			.quota = { SR_NS_PER_MS, SR_NS_PER_MS, 5 * SR_NS_PER_S, 64, 64, 8, 8 },
			.depth_max = 256,
			.slot_bytes_max = 512,
			.sessions_max = 8,
		},
	};

	s->manifest_version = 7;
	config.terms.manifest_version = s->manifest_version;
	memset(config.terms.manifest_hash, 0x77, sizeof config.terms.manifest_hash);
	HOST_CHECK(s->evidence.random(s->evidence.arg, (void *)config.terms.boot_id,
				      sizeof config.terms.boot_id) == 0,
		   "the host rig");
	HOST_CHECK(s->evidence.pcr(s->evidence.arg, config.pcr0, 0) == 0, "the host rig");
	HOST_CHECK(sr_gate_new(&s->gate, &config) == 0, "the host rig");
}

static inline void host_signer_start(struct host_signer *s)
{
	static const unsigned char seed[32] = { 1 };
	struct sr_key_info info = {
		.id = HOST_KEY,
		.nonce_mode = SR_NONCE_HEDGED,
		.permissions = 0x1e,
		.identities = 1ull << HOST_IDENTITY,
	};
	struct sr_core_config config = {
		.sign = { .entropy = &sr_getrandom },
		.sessions_max = 8,
		.admissions_max = 8,
		.depth_max = 256,
		.slot_bytes_max = 512,
	};
	unsigned char seckey[SR_SECKEY_BYTES];
	void *mem;

	HOST_CHECK(sr_mock_nsm_new(&s->mock, NULL) == 0, "the host rig");
	s->evidence = sr_mock_nsm_evidence(s->mock);
	HOST_CHECK(sr_drbg_new(&s->drbg, &sr_getrandom) == 0, "the host rig");
	host_gate_new(s);
	HOST_CHECK(sr_curve_new(&s->curve, seed) == 0, "the host rig");
	HOST_CHECK(sr_keyring_new(&s->keys) == 0, "the host rig");
	memset(seckey, 0x2a, sizeof seckey);
	HOST_CHECK(sr_keyring_add(s->keys, s->curve, &info, seckey) == 0, "the host rig");
	config.sign.keys = s->keys;
	HOST_CHECK(sr_core_new(&s->core, &config) == 0, "the host rig");
	HOST_CHECK(sr_secret_alloc(&mem, sizeof *s->task) == 0, "the host rig");
	s->task = mem;
}

static inline void host_signer_stop(struct host_signer *s)
{
	sr_task_wipe(s->task);
	sr_secret_free(s->task, sizeof *s->task);
	sr_core_delete(s->core);
	sr_keyring_delete(s->keys);
	sr_curve_delete(s->curve);
	sr_gate_delete(s->gate);
	sr_drbg_delete(s->drbg);
	sr_mock_nsm_delete(s->mock);
}

/* ---- conversations ---- */

static inline void host_talk_end(struct host_talk *t)
{
	sr_gate_leave(host.signer.gate, &t->talk, sr_now_ns());
	(void)close(t->sock);
	t->sock = -1;
}

static inline void host_talk_begin(int sock)
{
	for (size_t i = 0; i < HOST_TALKS; i++)
		if (host.talks[i].sock < 0 && !host.deaf) {
			host.talks[i].sock = sock;
			host.conversations++;
			sr_gate_enter(host.signer.gate, &host.talks[i].talk, sr_now_ns());
			return;
		}
	(void)close(sock);
}

static inline void host_talk_turn(struct host_talk *t)
{
	static unsigned char in[SR_CONTROL_BYTES_MAX], out[SR_CONTROL_BYTES_MAX];
	struct host_signer *s = &host.signer;
	enum sr_gate_verdict verdict;
	ssize_t got = recv(t->sock, in, sizeof in, MSG_DONTWAIT);
	size_t bytes = 0;

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		host_talk_end(t);
		return;
	}
	sr_task_wipe(s->task);
	verdict = sr_gate_take(s->gate, &t->talk, out, &bytes, &s->task->admission, in, (size_t)got,
			       sr_now_ns());
	if (verdict == SR_GATE_ADMIT) {
		uint64_t token[2] = { s->task->admission.terms.token[0],
				      s->task->admission.terms.token[1] };

		s->task->kind = SR_TASK_ADMIT;
		sr_core_task(s->core, s->task);
		HOST_CHECK(s->task->result == 0, "the host rig");
		sr_gate_settle(s->gate, token);
	}
	if (host.flip_talk && bytes > 100) {
		out[bytes - 60] ^= 1;
		host.flip_talk = false;
	}
	if (bytes)
		(void)!send(t->sock, out, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (verdict == SR_GATE_REFUSED || verdict == SR_GATE_SILENT)
		host_talk_end(t);
}

/* ---- attach ---- */

static inline void host_answer(enum sr_attach_type type, union sr_attach_message *m, int fd)
{
	(void)!sr_attach_send(host.sock, m, type, &fd, fd >= 0 ? 1 : 0);
}

/* With doorbells, if they were asked for, that nobody rings. */
static inline void host_answer_open(union sr_attach_message *m)
{
	int fds[2] = { -1, -1 };
	bool bells = host.hello.features & SR_FEATURE_DOORBELL && m->opened.result == SR_RESULT_OK;

	for (int i = 0; bells && i < 2; i++)
		fds[i] = sr_doorbell_new();
	(void)!sr_attach_send(host.sock, m, SR_ATTACH_OPENED, fds, bells ? 2 : 0);
	for (int i = 0; bells && i < 2; i++)
		(void)close(fds[i]);
}

static inline void host_welcome(int fd)
{
	struct sr_geometry g = { host.hello.sessions, host.hello.depth, host.hello.slot_bytes };
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	sr_region_drop(&host.submission);
	sr_region_drop(&host.completion);
	HOST_CHECK(sr_region_join(&host.submission, SR_REGION_SUBMISSION, &g, fd, NULL) == 0,
		   "the host rig");
	g.slot_bytes = SR_CMP_BYTES;
	HOST_CHECK(sr_region_create(&host.completion, SR_REGION_COMPLETION, &g, 0, -1, NULL) == 0,
		   "the host rig");
	sr_store_relaxed(&sr_region_beat(&host.completion)->heartbeat_ns, sr_now_ns());
	host_answer(SR_ATTACH_WELCOME, &m, host.completion.fd);
}

static inline void host_open(const struct sr_attach_open *open)
{
	struct host_session *s = &host.sessions[open->index];
	struct sr_slots slots = sr_region_slots(&host.completion, open->index);
	struct sr_open_request request = {
		.token = { open->token[0], open->token[1] },
		.first = open->first,
		.depth = host.hello.depth,
		.slot_bytes = host.hello.slot_bytes,
		.flags = open->flags,
	};
	union sr_attach_message m;
	enum sr_open_result result;

	HOST_CHECK(open->flags & SR_OPEN_SEALED, "the host rig");
	host.opens++;
	host.last_open = *open;
	host.resumes += open->flags & SR_OPEN_RESUME ? 1 : 0;
	sr_slots_reset(&slots, open->first + open->next);
	memset(sr_region_block(&host.completion, open->index), 0, sizeof(struct sr_session_block));
	result = sr_core_open(host.signer.core, &s->id, &request, host.epoch, 1);
	s->open = result == SR_OPENED_OK;
	s->lost = false;
	s->next = open->next;
	s->first = open->first;
	memset(&m, 0, sizeof m);
	m.opened.index = open->index;
	m.opened.result = s->open ? SR_RESULT_OK : SR_RESULT_GONE;
	host_answer_open(&m);
}

static inline void host_message(const union sr_attach_message *in, const int *fds)
{
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	switch (in->header.type) {
	case SR_ATTACH_REGION:
		host_welcome(fds[0]);
		(void)close(fds[0]);
		break;
	case SR_ATTACH_OPEN:
		host_open(&in->open);
		break;
	case SR_ATTACH_CLOSE:
		host.sessions[in->index.index].open = host.sessions[in->index.index].lost = false;
		m.index.index = in->index.index;
		host_answer(SR_ATTACH_CLOSED, &m, -1);
		break;
	default:
		break;
	}
}

static inline void host_hang_up(void)
{
	if (host.sock >= 0)
		(void)close(host.sock);
	host.sock = -1;
	for (size_t i = 0; i < HOST_SESSIONS; i++)
		host.sessions[i].open = host.sessions[i].lost = false;
	for (size_t i = 0; i < HOST_TALKS; i++)
		if (host.talks[i].sock >= 0)
			host_talk_end(&host.talks[i]);
}

/* Who has connected says HELLO or CONTROL at once. */
static inline void host_accept(void)
{
	struct pollfd p = { .events = POLLIN };
	union sr_attach_message m, offer;
	int fds[2], count = 0;

	p.fd = accept4(host.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (p.fd < 0)
		return;
	(void)poll(&p, 1, 1000);
	if (sr_attach_recv(p.fd, &m, fds, &count)) {
		(void)close(p.fd);
	} else if (m.header.type == SR_ATTACH_CONTROL) {
		host_talk_begin(p.fd);
	} else {
		host_hang_up();
		host.sock = p.fd;
		host.epoch = m.hello.attach_epoch;
		host.hello = m.hello;
		memset(&offer, 0, sizeof offer);
		offer.offer.numa_node = -1;
		offer.offer.attach_epoch = host.epoch;
		host_answer(SR_ATTACH_OFFER, &offer, -1);
	}
}

/* ---- records ---- */

static inline void host_publish(uint32_t index, uint64_t n, unsigned char *record)
{
	struct sr_slots slots = sr_region_slots(&host.completion, index);
	struct host_session *s = &host.sessions[index];

	memcpy(s->last, record, SR_CMP_BYTES);
	sr_slot_publish(&slots, s->first + n, record);
	s->answered = n;
}

static inline void host_say(uint32_t index, uint64_t n, uint32_t status)
{
	unsigned char record[SR_CMP_BYTES] = { 0 };

	record[SR_CMP_KIND] = SR_KIND_AGENT;
	record[SR_CMP_STATUS] = (unsigned char)status;
	host_publish(index, n, record);
}

static inline enum sr_core_verdict host_forward(uint32_t index, unsigned char *reply, uint64_t n)
{
	struct sr_slots slots = sr_region_slots(&host.submission, index);
	struct host_session *s = &host.sessions[index];
	unsigned char record[SR_SUB_BYTES_MAX];

	sr_slot_copy(&slots, s->first + n, record);
	if (sr_load32_relaxed(&host.fault) == FLIP_UP && n == host.fault_n) {
		record[host.fault_bit / 8] ^= (unsigned char)(1u << host.fault_bit % 8);
		sr_put64(record, s->first + n);
	}
	return sr_core_record(host.signer.core, reply, s->id, host.epoch, 1, record,
			      host.hello.slot_bytes);
}

static inline void host_forge(unsigned char *reply)
{
	memset(reply, 0, SR_CMP_BYTES);
	reply[SR_CMP_KIND] = SR_KIND_UNSEALED;
	reply[SR_CMP_BODY + SR_REP_SIGKIND] = SR_SIG_ECDSA;
	memset(reply + SR_CMP_BODY + SR_REP_SIG, 0x55, SR_SIG_BYTES);
}

/* What becomes of number @n, whose answer may lie in @reply. */
static inline void host_answer_badly(enum host_fault fault, uint32_t index, uint64_t n,
				     unsigned char *reply)
{
	struct host_session *s = &host.sessions[index];

	switch (fault) {
	case FLIP:
		reply[host.fault_bit / 8] ^= (unsigned char)(1u << host.fault_bit % 8);
		host_publish(index, n, reply);
		break;
	case SPLICE:
		host_publish(index, n, host.sessions[!index].last);
		break;
	case IN_CLEAR:
		host_forge(reply);
		host_publish(index, n, reply);
		break;
	case NO_KIND:
		reply[SR_CMP_KIND] = 0;
		host_publish(index, n, reply);
		break;
	case SAY:
	case SAY_ALL:
	case SAY_AND_SEND:
		host_say(index, n, host.fault_status);
		break;
	case FLIP_UP: /* the signer drops it; a real one would be sent again */
		sr_store32_relaxed(&host.fault, HONEST);
		host_say(index, n, SR_UNKNOWN);
		break;
	case HANG_UP:
		host_hang_up();
		break;
	case LOST:
		s->open = false;
		s->lost = n != 0;
		if (n)
			host_say(index, n, SR_UNKNOWN);
		sr_store32_relaxed(&sr_region_block(&host.completion, index)->state, SR_LINK_LOST);
		break;
	default:
		break;
	}
}

/* Carries out the fault. Returns false when the number waits. */
static inline bool host_spoil(uint32_t index, uint64_t n)
{
	enum host_fault fault = (enum host_fault)sr_load32_relaxed(&host.fault);
	struct host_session *s = &host.sessions[index];
	unsigned char reply[SR_CMP_BYTES], other[SR_CMP_BYTES];
	struct sr_slots slots = sr_region_slots(&host.submission, index);

	if (fault == HOLD)
		return false;
	if (fault == SKIP && sr_slot_look(&slots, s->first + n + 1))
		return false; /* the next one has to be there */
	if (fault != SAY_ALL)
		sr_store32_relaxed(&host.fault, fault == FLIP_UP ? FLIP_UP : HONEST);
	memset(reply, 0, sizeof reply);
	if (fault == SKIP) {
		HOST_CHECK(host_forward(index, other, n + 1) == SR_CORE_REPLY, "the host rig");
		HOST_CHECK(host_forward(index, reply, n) == SR_CORE_REPLY, "the host rig");
		host_publish(index, n, reply);
		host_publish(index, n + 1, other);
		s->next += 2;
	} else {
		if (fault != SAY && fault != SAY_ALL)
			(void)host_forward(index, reply, n);
		s->next = n + 1;
	}
	host_answer_badly(fault, index, n, reply);
	sr_store32_release(&host.fault_done, host.fault_done + 1);
	return true;
}

static inline bool host_record(uint32_t index)
{
	struct sr_slots slots = sr_region_slots(&host.submission, index);
	struct host_session *s = &host.sessions[index];
	enum host_fault fault = (enum host_fault)sr_load32_acquire(&host.fault);
	unsigned char reply[SR_CMP_BYTES];
	uint64_t n = s->next;

	if (!(s->open || s->lost) || sr_slot_look(&slots, s->first + n))
		return false;
	if (s->lost) {
		host_say(index, n, SR_SESSION_LOST);
		s->next = n + 1;
		return true;
	}
	if (fault != HONEST &&
	    (n == host.fault_n ||
	     (n > host.fault_n && (fault == SAY_ALL || host.fault_or_later))))
		return host_spoil(index, n);
	switch (host_forward(index, reply, n)) {
	case SR_CORE_REPLY:
		host_publish(index, n, reply);
		break;
	case SR_CORE_ENDED:
		host_say(index, n, SR_SESSION_LOST);
		sr_store32_relaxed(&sr_region_block(&host.completion, index)->state, SR_LINK_LOST);
		break;
	case SR_CORE_DROPPED:
		host_say(index, n, SR_UNKNOWN);
		break;
	}
	s->next = n + 1;
	return true;
}

/* ---- the thread ---- */

static inline bool host_turn(void)
{
	union sr_attach_message m;
	int fds[2], count = 0, ret;
	bool did = false;

	if (host.sock >= 0) {
		ret = sr_attach_recv(host.sock, &m, fds, &count);
		if (ret == 0)
			host_message(&m, fds);
		else if (ret != -EAGAIN)
			host_hang_up();
		did |= ret == 0;
	}
	for (size_t i = 0; i < HOST_TALKS; i++)
		if (host.talks[i].sock >= 0)
			host_talk_turn(&host.talks[i]);
	for (uint32_t i = 0; i < HOST_SESSIONS && i < host.hello.sessions; i++)
		while (host.sock >= 0 && host_record(i))
			did = true;
	host_accept();
	return did;
}

static inline void *host_main(void *arg)
{
	(void)arg;
	while (!sr_load32_acquire(&host.stop)) {
		bool did;

		(void)pthread_mutex_lock(&host.lock);
		did = host_turn();
		(void)pthread_mutex_unlock(&host.lock);
		if (!did)
			(void)usleep(20);
	}
	return NULL;
}

/* The file that says what this signer is, now. */
static inline void host_trust(struct sr_trust *trust)
{
	const struct sr_evidence *e = &host.signer.evidence;
	size_t bytes;
	const unsigned char *der = sr_mock_nsm_root(host.signer.mock, &bytes);

	memset(trust, 0, sizeof *trust);
	HOST_CHECK(sr_attest_root_parse(&trust->root, der, bytes) == 0, "the host rig");
	HOST_CHECK(e->pcr(e->arg, trust->images[0].pcr0, 0) == 0, "the host rig");
	HOST_CHECK(e->pcr(e->arg, trust->images[0].pcr1, 1) == 0, "the host rig");
	HOST_CHECK(e->pcr(e->arg, trust->images[0].pcr2, 2) == 0, "the host rig");
	trust->image_count = 1;
	trust->manifest_min = host.signer.manifest_version;
	trust->age_s_max = 60;
}

static inline void host_trust_save(const struct sr_trust *trust)
{
	struct sr_reason why = { 0, "" };

	HOST_CHECK(sr_trust_save(host.trust, trust, &why) == 0, "%s", why.text);
}

static inline void host_trust_renew(void)
{
	struct sr_trust *trust = calloc(1, sizeof *trust);

	HOST_CHECK(trust, "the host rig");
	host_trust(trust);
	host_trust_save(trust);
	free(trust);
}

static inline void host_files(void)
{
	struct sr_reason why = { 0, "" };
	void *mem;

	HOST_CHECK(sr_secret_alloc(&mem, sizeof *host.pair) == 0, "the host rig");
	host.pair = mem;
	memset(host.pair->secret, 0x31, sizeof host.pair->secret);
	(void)snprintf(host.identity, sizeof host.identity, "%s/identity", host.dir);
	(void)snprintf(host.trust, sizeof host.trust, "%s/trust", host.dir);
	HOST_CHECK(sr_pairfile_new(host.pair, &sr_pairfile_identity, host.pair->secret,
				   host.identity, &why) == 0,
		   "%s", why.text);
	memcpy(host.client_pub, host.pair->pub, sizeof host.client_pub);
	host_trust_renew();
}

static inline void host_start(void)
{
	struct sr_address address;
	struct sr_reason why = { 0, "" };
	char text[160];
	void *probe;

	if (sr_secret_alloc(&probe, 1) == -ENOSYS)
		HOST_SKIP("no protected memory here (qemu-user, or Linux before 4.14)");
	memset(&host, 0, sizeof host);
	(void)pthread_mutex_init(&host.lock, NULL);
	host.sock = -1;
	for (size_t i = 0; i < HOST_TALKS; i++)
		host.talks[i].sock = -1;
	(void)snprintf(host.dir, sizeof host.dir, "%s/sigring-XXXXXX", P_tmpdir);
	HOST_CHECK(mkdtemp(host.dir), "the host rig");
	(void)snprintf(host.socket, sizeof host.socket, "%s/a", host.dir);
	(void)snprintf(text, sizeof text, "unix:%s", host.socket);
	HOST_CHECK(sr_address_parse(&address, text, &why) == 0, "the host rig");
	host.listen_fd = sr_address_listen(&address, SOCK_SEQPACKET, 0600, &why);
	HOST_CHECK(host.listen_fd >= 0, "%s", why.text);
	host_signer_start(&host.signer);
	host_files();
	HOST_CHECK(pthread_create(&host.thread, NULL, host_main, NULL) == 0, "the host rig");
}

static inline void host_stop(void)
{
	sr_store32_release(&host.stop, 1);
	(void)pthread_join(host.thread, NULL);
	host_hang_up();
	host_signer_stop(&host.signer);
	sr_secret_free(host.pair, sizeof *host.pair);
	(void)unlink(host.identity);
	(void)unlink(host.trust);
	(void)unlink(host.socket);
	(void)rmdir(host.dir);
}

/* Another boot, with another root and other keys for its sessions. */
static inline void host_reboot(void)
{
	(void)pthread_mutex_lock(&host.lock);
	for (size_t i = 0; i < HOST_TALKS; i++)
		if (host.talks[i].sock >= 0)
			host_talk_end(&host.talks[i]);
	host_signer_stop(&host.signer);
	host_signer_start(&host.signer);
	for (uint32_t i = 0; i < HOST_SESSIONS && i < host.hello.sessions; i++) {
		host.sessions[i].open = false;
		sr_store32_relaxed(&sr_region_block(&host.completion, i)->state, SR_LINK_LOST);
	}
	(void)pthread_mutex_unlock(&host.lock);
}

/* From now on, for number @n as records count (the application's 0 is 1). */
static inline void host_fault(enum host_fault fault, uint64_t n)
{
	host.fault_n = n;
	sr_store32_release(&host.fault, fault);
}

#endif /* HOST_RIG_H */
