/* SPDX-License-Identifier: MIT */
/*
 * The library's sealed sessions against a real gate and core, with an agent between
 * them that the test makes lie. What needs real processes is in mp_sealed.c.
 */
#include <dirent.h>
#include <sched.h>

#include "host_rig.h"
#include "sigring.h"
#include "sr_tally.h"

#define DEPTH 16u
/* Only a hang exceeds it, on a loaded machine too; see MP_BOUND_NS. */
#define BOUND_NS (150ull * SR_NS_PER_S)

static struct sr_client *client;
static struct sr_session *session;
static struct sr_reason why;

TestSuite(client_sealed, .init = host_start, .fini = host_stop, .timeout = 400);

static struct sr_options options(void)
{
	struct sr_options opt;

	sr_options_init(&opt);
	opt.socket = host.socket;
	opt.identity = host.identity;
	opt.trust = host.trust;
	opt.sessions = HOST_SESSIONS;
	opt.depth = DEPTH;
	opt.flags = SR_OPT_NO_HUGE_PAGES | SR_OPT_NO_MLOCK;
	opt.wait = SR_WAIT_YIELD;
	opt.timeout_ns = BOUND_NS;
	opt.stale_ns = 3600ull * SR_NS_PER_S;
	return opt;
}

static void open_client(void)
{
	struct sr_options opt = options();

	cr_assert_eq(sr_open(&client, &opt, &why), 0, "%s", why.text);
}

static struct sr_session *open_session(uint32_t flags)
{
	struct sr_session_options opt = { .flags = flags };
	struct sr_session *s = NULL;

	cr_assert_eq(sr_session_open(&s, client, &opt, &why), 0, "%s", why.text);
	return s;
}

static void open_both(uint32_t flags)
{
	open_client();
	session = open_session(flags);
}

static int submit_at(struct sr_session *s, uint64_t user_data, uint64_t deadline_ns)
{
	struct sr_request rq = { .key = HOST_KEY,
				 .type = SR_ECDSA_SHA256,
				 .body_bytes = 12,
				 .body = "buy 1 please",
				 .user_data = user_data,
				 .deadline_ns = deadline_ns };

	return sr_submit(s, &rq);
}

static int submit(uint64_t user_data)
{
	return submit_at(session, user_data, 0);
}

/* Completions, or what the poll says at last; the cold thread's work is done meanwhile. */
static int poll_some(struct sr_session *s, struct sr_completion *out, int max)
{
	uint64_t end_ns = sr_now_ns() + BOUND_NS;
	int ret;

	while ((ret = sr_poll(s, out, max)) == 0 || ret == -ENOTCONN) {
		(void)sr_service(client, &why);
		(void)sched_yield();
		cr_assert_lt(sr_now_ns(), end_ns, "nothing comes: %s", why.text);
	}
	return ret;
}

static struct sr_completion poll_one(void)
{
	struct sr_completion c;

	memset(&c, 0, sizeof c);
	cr_assert_eq(poll_some(session, &c, 1), 1);
	return c;
}

static struct sr_session_stats stats(void)
{
	struct sr_session_stats s;

	sr_session_stats_get(session, &s);
	return s;
}

static bool has_signature(const struct sr_completion *c)
{
	for (size_t i = 0; i < SR_SIG_BYTES; i++)
		if (c->signature[i])
			return true;
	return c->sigkind != SR_SIG_NONE;
}

/* One order, signed. */
static void check_works(uint64_t user_data, uint64_t number)
{
	struct sr_completion c;

	cr_assert_eq(submit(user_data), 0);
	c = poll_one();
	cr_assert_eq(c.status, SR_OK, "%s", sr_status_name(c.status));
	cr_assert(c.user_data == user_data && c.number == number && has_signature(&c));
	cr_assert_eq(c.accepted, number + 1, "what the library itself has sent is not counted");
}

static void service_until_reopened(uint64_t times)
{
	uint64_t end_ns = sr_now_ns() + BOUND_NS;
	struct sr_completion c;

	while (stats().reopened < times) {
		(void)sr_service(client, &why);
		cr_assert_leq(sr_poll(session, &c, 1), 0);
		cr_assert_lt(sr_now_ns(), end_ns, "it is not opened again: %s", why.text);
	}
}

static void locked(bool *flag, bool value)
{
	(void)pthread_mutex_lock(&host.lock);
	*flag = value;
	(void)pthread_mutex_unlock(&host.lock);
}

static struct sr_gate_stats gate_stats(void)
{
	struct sr_gate_stats s;

	(void)pthread_mutex_lock(&host.lock);
	sr_gate_stats_get(host.signer.gate, &s, sr_now_ns());
	(void)pthread_mutex_unlock(&host.lock);
	return s;
}

/* ---- options ---- */

Test(client_sealed, neither_sealed_nor_in_clear_is_einval_that_says_what_to_do)
{
	struct sr_options opt = options();
	struct sr_client *none = NULL;

	opt.identity = opt.trust = NULL;
	cr_assert_eq(sr_open(&none, &opt, &why), -EINVAL);
	cr_assert(strstr(why.text, "SIGRING_IDENTITY, SIGRING_TRUST"), "%s", why.text);
	cr_assert(strstr(why.text, "SR_OPT_UNSEALED"), "%s", why.text);
	cr_assert_eq(sr_open(&none, NULL, &why), -EINVAL);

	opt.identity = host.identity;
	cr_assert_eq(sr_open(&none, &opt, &why), -EINVAL);
	cr_assert(strstr(why.text, "no trust file"), "%s", why.text);
	opt.identity = "";
	opt.trust = host.trust;
	cr_assert_eq(sr_open(&none, &opt, &why), -EINVAL);
	cr_assert(strstr(why.text, "no identity"), "%s", why.text);
	opt.flags |= SR_OPT_UNSEALED;
	cr_assert_eq(sr_open(&none, &opt, &why), -EINVAL);
	cr_assert(strstr(why.text, "exclude"), "%s", why.text);
	cr_assert_null(none);
}

Test(client_sealed, files_come_from_the_environment_when_they_are_not_given)
{
	struct sr_options opt = options();

	opt.identity = opt.trust = NULL;
	cr_assert_eq(setenv("SIGRING_IDENTITY", host.identity, 1), 0);
	cr_assert_eq(setenv("SIGRING_TRUST", host.trust, 1), 0);
	cr_assert_eq(sr_open(&client, &opt, &why), 0, "%s", why.text);
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, identity_that_is_none_or_that_others_read_is_refused)
{
	struct sr_options opt = options();
	struct sr_client *none = NULL;

	opt.identity = host.trust;
	cr_assert_eq(chmod(host.trust, 0600), 0);
	cr_assert_eq(sr_open(&none, &opt, &why), -EBADMSG);
	cr_assert(strstr(why.text, host.trust), "%s", why.text);
	opt.identity = host.identity;
	cr_assert_eq(chmod(host.identity, 0640), 0);
	cr_assert_eq(sr_open(&none, &opt, &why), -EACCES);
	cr_assert(strstr(why.text, "chmod 600"), "%s", why.text);
	cr_assert_null(none);
}

/* ---- a good day ---- */

Test(client_sealed, signs_and_shows_no_byte_of_the_order_in_the_region)
{
	struct sr_slots slots;

	open_both(0);
	for (uint64_t i = 0; i < 5 * DEPTH; i++)
		check_works(100 + i, i);
	(void)pthread_mutex_lock(&host.lock);
	slots = sr_region_slots(&host.submission, 0);
	for (uint64_t w = 0; w < DEPTH; w++) {
		const unsigned char *slot = sr_slot_at(&slots, w);

		cr_assert_eq(slot[SR_SUB_KIND], SR_KIND_SEALED);
		cr_assert_null(memmem(slot, slots.slot_bytes, "buy 1", 5));
	}
	(void)pthread_mutex_unlock(&host.lock);
	cr_assert(stats().submitted == 5 * DEPTH && stats().completed == 5 * DEPTH);
	cr_assert(stats().forged == 0 && stats().agent_lied == 0);
	sr_close(client);
}

Test(client_sealed, queue_has_its_whole_depth)
{
	struct sr_completion c[DEPTH + 1];
	int got = 0;

	open_both(0);
	host_fault(HOLD, 1);
	for (uint64_t i = 0; i < DEPTH; i++)
		cr_assert_eq(submit(i), 0);
	cr_assert_eq(submit(DEPTH), -EAGAIN);
	cr_assert_eq(sr_in_flight(session), DEPTH);
	host_fault(HONEST, 0);
	while (got < (int)DEPTH)
		got += poll_some(session, c + got, (int)DEPTH + 1 - got);
	for (uint64_t i = 0; i < DEPTH; i++)
		cr_assert(c[i].status == SR_OK && c[i].user_data == i && c[i].number == i);
	sr_close(client);
}

Test(client_sealed, built_in_place_and_committed)
{
	struct sr_request rq = { .key = HOST_KEY, .type = SR_ECDSA_SHA256, .body_bytes = 5 };
	struct sr_completion c;
	void *body;

	open_both(0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(sr_reserve(session, &body), 0);
		memcpy(body, "order", 5);
		cr_assert_eq(sr_commit(session, &rq), 0);
		c = poll_one();
		cr_assert(c.status == SR_OK && has_signature(&c));
	}
	sr_close(client);
}

Test(client_sealed, key_of_another_and_a_type_of_none_are_the_signers_answer)
{
	struct sr_request rq = { .key = HOST_KEY + 1, .type = SR_ECDSA_SHA256 };
	struct sr_completion c;

	open_both(0);
	cr_assert_eq(sr_submit(session, &rq), 0);
	c = poll_one();
	cr_assert(c.status == SR_DENIED && c.policy == SR_POLICY_UNKNOWN_KEY && c.accepted == 1);
	rq.key = HOST_KEY;
	rq.type = SR_TYPE_SESSION; /* message 0 is the library's, and it was sent */
	cr_assert_eq(sr_submit(session, &rq), 0);
	c = poll_one();
	cr_assert(c.status == SR_BAD_REQUEST && c.accepted == 2);
	sr_close(client);
}

Test(client_sealed, two_sessions_of_one_client)
{
	struct sr_session *other;
	struct sr_completion c;

	open_both(0);
	other = open_session(SR_SESSION_PRIORITY);
	cr_assert_eq(submit_at(other, 9, 0), 0);
	check_works(1, 0);
	cr_assert_eq(poll_some(other, &c, 1), 1);
	cr_assert(c.status == SR_OK && c.user_data == 9 && c.number == 0);
	sr_close(client);
}

/* What the signer's thread allocates meanwhile is not ours. */
static _Thread_local unsigned long allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t bytes);
void *malloc(size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	return __libc_malloc(bytes);
}
#endif

Test(client_sealed, nothing_is_allocated_to_submit_and_to_poll)
{
	struct sr_completion c;
	unsigned long before;

	open_both(0);
	check_works(0, 0);
	before = allocations;
	for (uint64_t i = 1; i < 100; i++) {
		cr_assert_eq(submit(i), 0);
		while (sr_poll(session, &c, 1) == 0)
			sr_pause();
	}
	cr_assert_eq(allocations, before);
	sr_close(client);
}

/* ---- who is believed ---- */

/* Opens with a trust file that @spoil has changed. */
static void refused(void (*spoil)(struct sr_trust *trust), int error, const char *words)
{
	struct sr_trust *trust = calloc(1, sizeof *trust);
	struct sr_session *none = NULL;

	cr_assert(trust);
	host_trust(trust);
	spoil(trust);
	host_trust_save(trust);
	memset(&why, 0, sizeof why);
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), error, "%s", why.text);
	cr_assert(strstr(why.text, words), "`%s` does not say `%s`", why.text, words);
	cr_assert_eq(why.error, error);
	cr_assert_null(none);
	free(trust);
}

static void other_root(struct sr_trust *trust)
{
	trust->root.sha256[31] ^= 1;
}

static void root_of_aws(struct sr_trust *trust)
{
	sr_attest_root_aws(&trust->root);
}

static void other_image(struct sr_trust *trust)
{
	trust->images[0].pcr2[47] ^= 1;
}

static void other_manifest(struct sr_trust *trust)
{
	trust->has_manifest = true;
	memset(trust->manifest_hash, 0x78, sizeof trust->manifest_hash);
}

static void newer_manifest(struct sr_trust *trust)
{
	trust->manifest_min++;
}

/* The rig's module has locked none. */
static void boot_register(struct sr_trust *trust)
{
	trust->boot_required = true;
}

Test(client_sealed, signer_that_the_trust_file_does_not_describe_is_refused)
{
	open_client();
	refused(other_root, -EKEYREJECTED, "root");
	refused(root_of_aws, -EKEYREJECTED, "root");
	refused(other_image, -EKEYREJECTED, "image");
	refused(other_manifest, -EKEYREJECTED, "another manifest");
	refused(newer_manifest, -EKEYREJECTED, "older than the minimum");
	refused(boot_register, -EKEYREJECTED, "PCR16 is not locked");
	host_trust_renew();
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

/* A signer that was restarted answers whoever has just read what it has replaced. */
Test(client_sealed, trust_file_that_changes_during_a_set_up_is_believed_at_the_next_try)
{
	struct sr_trust *trust = calloc(1, sizeof *trust);

	cr_assert(trust);
	open_client();
	host_trust(trust);
	other_root(trust);
	host_trust_save(trust);
	free(trust);
	locked(&host.trust_comes, true);
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, trust_file_is_read_at_each_set_up)
{
	struct sr_session *none = NULL;

	open_both(0);
	cr_assert_eq(chmod(host.trust, 0666), 0);
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EACCES);
	cr_assert(strstr(why.text, "chmod go-w"), "%s", why.text);
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, identity_that_no_manifest_names_is_refused)
{
	struct sr_session *none = NULL;

	locked(&host.signer.stranger, true);
	open_client();
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EACCES);
	cr_assert(strstr(why.text, "manifest"), "%s", why.text);
	sr_close(client);
}

Test(client_sealed, agent_that_carries_no_conversation_is_waited_for_until_time_is_up)
{
	struct sr_options opt = options();
	struct sr_session *none = NULL;
	uint64_t begin_ns = sr_now_ns();

	locked(&host.deaf, true);
	opt.timeout_ns = 200 * SR_NS_PER_MS;
	cr_assert_eq(sr_open(&client, &opt, &why), 0);
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -ENOTCONN);
	cr_assert(strstr(why.text, "hung up"), "%s", why.text);
	cr_assert_geq(sr_now_ns() - begin_ns, 200 * SR_NS_PER_MS);
	locked(&host.deaf, false);
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, conversation_that_was_changed_is_refused)
{
	struct sr_session *none = NULL;

	open_client();
	locked(&host.flip_talk, true); /* in the document */
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EKEYREJECTED, "%s", why.text);
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

/* ---- completions that the signer did not make ---- */

static void check_forged(uint64_t victims)
{
	struct sr_completion c[DEPTH];

	for (uint64_t i = 0; i < victims; i++) {
		memset(c, 0, sizeof c);
		cr_assert_eq(poll_some(session, c, 1), 1);
		cr_assert_eq(c[0].status, SR_UNKNOWN, "%s", sr_status_name(c[0].status));
		cr_assert_not(has_signature(&c[0]));
		cr_assert(c[0].number == i && c[0].user_data == i && c[0].accepted == 0);
	}
	cr_assert_eq(sr_poll(session, c, 1), -EPROTO);
	cr_assert_eq(submit(9), -ESTALE);
	cr_assert_eq(stats().forged, 1);
}

Test(client_sealed, each_flipped_byte_of_a_completion_ends_the_session)
{
	open_client();
	for (uint32_t byte = 8; byte < SR_CMP_BYTES; byte++) {
		session = open_session(0);
		host.fault_bit = byte * 8 + byte % 8;
		host_fault(FLIP, 1);
		cr_assert_eq(submit(0), 0);
		cr_assert_eq(submit(1), 0);
		check_forged(2);
		sr_session_close(client, session);
	}
	sr_close(client);
}

Test(client_sealed, completion_of_another_session_ends_this_one)
{
	struct sr_session *other;
	struct sr_completion c;

	open_both(0);
	other = open_session(0);
	cr_assert_eq(submit_at(other, 5, 0), 0);
	cr_assert_eq(poll_some(other, &c, 1), 1);
	host_fault(SPLICE, 1);
	cr_assert_eq(submit(0), 0);
	check_forged(1);
	cr_assert_eq(submit_at(other, 6, 0), 0);
	cr_assert_eq(poll_some(other, &c, 1), 1);
	cr_assert(c.status == SR_OK && c.number == 1, "the other goes on");
	sr_close(client);
}

Test(client_sealed, completion_in_clear_and_one_of_no_kind_end_the_session)
{
	open_client();
	for (int i = 0; i < 2; i++) {
		session = open_session(0);
		host_fault(i ? NO_KIND : IN_CLEAR, 1);
		cr_assert_eq(submit(0), 0);
		check_forged(1);
		sr_session_close(client, session);
	}
	sr_close(client);
}

Test(client_sealed, forged_session_is_opened_again_when_told_to)
{
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	host.fault_bit = 500;
	host_fault(FLIP, 1);
	cr_assert_eq(submit(0), 0);
	check_forged(1);
	cr_assert_eq(sr_poll(session, &c, 1), -EPROTO);
	service_until_reopened(1);
	check_works(7, 0);
	cr_assert_eq(stats().agent_lied, 0, "what was lost may have been accepted");
	sr_close(client);
}

Test(client_sealed, changed_submission_is_not_signed)
{
	struct sr_completion c;

	open_both(0);
	host.fault_bit = (SR_SUB_BODY + 20) * 8;
	host_fault(FLIP_UP, 1);
	cr_assert_eq(submit(0), 0);
	c = poll_one();
	cr_assert(c.status == SR_UNKNOWN && !has_signature(&c));
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert(c.status == SR_OK && c.accepted == 1, "the first one was not accepted");
	cr_assert_eq(stats().agent_lied, 0);
	sr_close(client);
}

/* ---- words that are final, and lies ---- */

static void wait_done(uint32_t times)
{
	uint64_t end_ns = sr_now_ns() + BOUND_NS;

	while (sr_load32_acquire(&host.fault_done) < times) {
		cr_assert_lt(sr_now_ns(), end_ns);
		sr_pause();
	}
}

Test(client_sealed, reply_behind_a_time_out_is_swallowed_unopened)
{
	struct sr_completion c;

	open_both(0);
	host_fault(HOLD, 1);
	cr_assert_eq(submit_at(session, 1, sr_now_ns() + 5 * SR_NS_PER_MS), 0);
	c = poll_one();
	cr_assert(c.status == SR_UNKNOWN && c.number == 0 && !has_signature(&c));
	/* Not even what nobody could open does any harm: it is not looked at. */
	host.fault_bit = 300;
	host_fault(FLIP, 1);
	cr_assert_eq(submit(2), 0);
	c = poll_one();
	cr_assert(c.status == SR_OK && c.number == 1 && c.accepted == 2);
	cr_assert(stats().swallowed == 1 && stats().forged == 0 && stats().agent_lied == 0);
	sr_close(client);
}

Test(client_sealed, honest_words_of_the_agent_are_no_lies)
{
	static const uint32_t words[] = { SR_EXPIRED, SR_NOT_SENT, SR_UNKNOWN };
	struct sr_completion c;

	open_both(0);
	for (uint64_t i = 0; i < 3; i++) {
		host.fault_status = words[i];
		host_fault(SAY, 2 * i + 1);
		cr_assert_eq(submit(1), 0);
		c = poll_one();
		cr_assert(c.status == words[i] && !has_signature(&c));
		cr_assert_eq(submit(1), 0);
		c = poll_one();
		cr_assert(c.status == SR_OK && c.accepted == i + 1, "%llu",
			  (unsigned long long)c.accepted);
	}
	host.fault_status = SR_UNKNOWN;
	host_fault(SAY_AND_SEND, 7);
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert_eq(c.status, SR_UNKNOWN);
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert(c.status == SR_OK && c.accepted == 5, "UNKNOWN may have been accepted, and was");
	cr_assert_eq(stats().agent_lied, 0);
	sr_close(client);
}

static void check_lied(uint32_t word)
{
	struct sr_completion c;

	host.fault_status = word;
	host_fault(SAY_AND_SEND, 1);
	cr_assert_eq(submit(0), 0);
	c = poll_one();
	cr_assert(c.status == word && !has_signature(&c));
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert(c.status == SR_OK && has_signature(&c), "the signer's word is good");
	cr_assert_eq(sr_poll(session, &c, 1), -EBADMSG);
	cr_assert_eq(submit(2), -ESTALE);
	cr_assert(stats().agent_lied == 1 && stats().forged == 0);
}

Test(client_sealed, expired_that_was_signed_is_a_lie_that_ends_the_session)
{
	open_client();
	session = open_session(0);
	check_lied(SR_EXPIRED);
	sr_session_close(client, session);
	session = open_session(SR_SESSION_REOPEN);
	check_lied(SR_NOT_SENT);
	service_until_reopened(1);
	check_works(3, 0);
	cr_assert_eq(stats().agent_lied, 1, "one lie is counted once");
	sr_close(client);
}

Test(client_sealed, what_is_in_flight_behind_a_lie_is_unknown)
{
	struct sr_completion c[4];

	open_both(0);
	host.fault_status = SR_EXPIRED;
	host_fault(SAY_AND_SEND, 1);
	cr_assert_eq(submit(0), 0);
	wait_done(1);
	host_fault(HOLD, 3);
	for (uint64_t i = 1; i < 4; i++)
		cr_assert_eq(submit(i), 0);
	cr_assert_eq(poll_some(session, c, 1), 1);
	cr_assert_eq(c[0].status, SR_EXPIRED);
	cr_assert_eq(poll_some(session, c, 4), 1);
	cr_assert(c[0].status == SR_OK && c[0].number == 1);
	cr_assert_eq(sr_poll(session, c, 4), 2);
	cr_assert(c[0].status == SR_UNKNOWN && c[1].status == SR_UNKNOWN && c[1].number == 3);
	cr_assert_eq(sr_poll(session, c, 4), -EBADMSG);
	sr_close(client);
}

Test(client_sealed, lie_about_the_last_request_shows_when_the_next_session_begins)
{
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	check_works(0, 0);
	host.fault_status = SR_EXPIRED;
	host_fault(SAY_AND_SEND, 2);
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert_eq(c.status, SR_EXPIRED);
	cr_assert_eq(stats().agent_lied, 0, "nobody knows yet");
	sr_session_abandon(session);
	cr_assert_eq(sr_poll(session, &c, 1), -ESTALE);
	service_until_reopened(1);
	cr_assert_eq(stats().agent_lied, 1);
	check_works(2, 0);
	sr_close(client);
}

/* The successor's first answer says it, so the agent holds that back; the next one's says
 * it, too. */
Test(client_sealed, lie_about_the_last_request_is_not_hidden_by_a_lost_first_answer)
{
	struct sr_core_stats core;
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	check_works(0, 0);
	host.fault_status = SR_EXPIRED;
	host_fault(SAY_AND_SEND, 2);
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert_eq(c.status, SR_EXPIRED);
	sr_session_abandon(session);
	cr_assert_eq(sr_poll(session, &c, 1), -ESTALE);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t done = sr_load32_acquire(&host.fault_done);

		host_fault(LOST, 0);
		while (sr_load32_acquire(&host.fault_done) == done)
			(void)sr_service(client, &why);
	}
	service_until_reopened(1);
	cr_assert_eq(stats().agent_lied, 1);
	check_works(2, 0);
	(void)pthread_mutex_lock(&host.lock);
	sr_core_stats_get(host.signer.core, &core);
	(void)pthread_mutex_unlock(&host.lock);
	cr_assert_eq(core.sessions, 1, "those in between have ended");
	sr_close(client);
}

Test(client_sealed, late_signature_is_withheld_unless_asked_for)
{
	struct sr_completion c;

	open_client();
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t deadline_ns;

		session = open_session(i ? SR_SESSION_GIVE_LATE : 0);
		deadline_ns = sr_now_ns() + 200 * SR_NS_PER_MS;
		cr_assert_eq(submit_at(session, 1, deadline_ns), 0);
		while (!sr_ready(session))
			sr_pause();
		while (sr_now_ns() <= deadline_ns)
			sr_pause();
		c = poll_one();
		cr_assert_eq(c.status, SR_LATE);
		cr_assert_eq(has_signature(&c), i == 1);
		sr_session_close(client, session);
	}
	sr_close(client);
}

/* ---- strict sessions ---- */

Test(client_sealed, number_that_comes_too_late_is_void_and_strict_sessions_deny_from_there)
{
	struct sr_completion c[2];

	open_client();
	for (uint32_t strict = 0; strict < 2; strict++) {
		session = open_session(strict ? SR_SESSION_STRICT : 0);
		host_fault(SKIP, 1);
		cr_assert_eq(submit(0), 0);
		cr_assert_eq(submit(1), 0);
		cr_assert_eq(poll_some(session, &c[0], 1), 1);
		cr_assert_eq(poll_some(session, &c[1], 1), 1);
		cr_assert(c[0].status == SR_VOID && !has_signature(&c[0]));
		cr_assert_eq(c[1].status, strict ? SR_DENIED : SR_OK);
		cr_assert_eq(c[1].policy, strict ? SR_POLICY_GAP : SR_POLICY_NONE);
		cr_assert_eq(submit(2), 0);
		c[0] = poll_one();
		cr_assert_eq(c[0].status, strict ? SR_DENIED : SR_OK);
		cr_assert_eq(stats().agent_lied, 0);
		sr_session_close(client, session);
	}
	sr_close(client);
}

/* ---- what dies ---- */

Test(client_sealed, agent_that_dies_loses_nothing)
{
	struct sr_completion c[4];

	open_both(0);
	check_works(0, 0);
	host_fault(HANG_UP, 3); /* number 2 of three: signed, and the answer is lost */
	for (uint64_t i = 1; i < 4; i++)
		cr_assert_eq(submit(i), 0);
	for (int got = 0; got < 3;) {
		int n = poll_some(session, c + got, 4 - got);

		cr_assert_gt(n, 0);
		got += n;
	}
	for (uint64_t i = 0; i < 3; i++)
		cr_assert(c[i].status == SR_OK && c[i].user_data == i + 1 &&
			  c[i].accepted == i + 2);
	cr_assert_eq(host.resumes, 1);
	check_works(9, 4);
	cr_assert(stats().agent_lied == 0 && stats().reopened == 0);
	sr_close(client);
}

Test(client_sealed, agent_that_dies_before_the_first_answer_is_resumed_at)
{
	host_fault(HANG_UP, 0);
	open_both(0);
	cr_assert_eq(host.resumes, 1);
	cr_assert_eq(host.conversations, 1);
	cr_assert(host.last_open.next == 0 && host.last_open.published == 1,
		  "what an agent may have forwarded is never called NOT_SENT");
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, session_that_is_lost_before_the_first_answer_is_set_up_again)
{
	host_fault(LOST, 0);
	open_both(0);
	cr_assert_eq(host.conversations, 2);
	cr_assert_eq(gate_stats().by_ticket, 1);
	check_works(1, 0);
	sr_close(client);
}

Test(client_sealed, first_answer_that_is_forged_is_none)
{
	struct sr_session *none = NULL;

	open_client();
	host.fault_bit = 400;
	host_fault(FLIP, 0);
	cr_assert_eq(sr_session_open(&none, client, NULL, &why), -EPROTO);
	cr_assert(strstr(why.text, "forged"), "%s", why.text);
	session = open_session(0);
	check_works(1, 0);
	sr_close(client);
}

static unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	cr_assert(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

Test(client_sealed, session_that_nobody_answers_leaves_no_descriptor_behind)
{
	struct sr_session *none = NULL;
	struct sr_options opt = options();
	unsigned int before = 0;

	opt.wait = SR_WAIT_BLOCK; /* two doorbells a session */
	opt.timeout_ns = 100 * SR_NS_PER_MS;
	cr_assert_eq(sr_open(&client, &opt, &why), 0, "%s", why.text);
	host_fault(HOLD, 0);
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(sr_session_open(&none, client, NULL, &why), -ETIMEDOUT, "%s", why.text);
		while (sr_service(client, NULL) > 0)
			(void)usleep(1000);
		if (i == 1) /* each place has been used */
			before = open_descriptors();
	}
	cr_assert_leq(open_descriptors(), before, "%u, then %u", before, open_descriptors());
	sr_close(client);
}

Test(client_sealed, lost_session_is_opened_again_with_its_ticket)
{
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	check_works(0, 0);
	host_fault(LOST, 2);
	cr_assert_eq(submit(1), 0);
	c = poll_one();
	cr_assert_eq(c.status, SR_UNKNOWN);
	cr_assert_eq(poll_some(session, &c, 1), -ESTALE);
	service_until_reopened(1);
	check_works(2, 0);
	cr_assert_eq(gate_stats().by_ticket, 1);
	cr_assert_eq(gate_stats().documents, 1);
	sr_close(client);
}

Test(client_sealed, ticket_that_is_refused_costs_a_document_and_nothing_else)
{
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	check_works(0, 0);
	(void)pthread_mutex_lock(&host.lock); /* tickets of the old terms are dead */
	cr_assert_eq(sr_gate_manifest_set(host.signer.gate, ++host.signer.manifest_version,
					  (const unsigned char *)"a manifest's hash of 32 bytes.."),
		     0);
	(void)pthread_mutex_unlock(&host.lock);
	sr_session_abandon(session);
	cr_assert_eq(sr_poll(session, &c, 1), -ESTALE);
	while (!stats().reopened) {
		int ret = sr_service(client, &why);

		cr_assert_geq(ret, 0, "a ticket's refusal is no failure: %s", why.text);
		cr_assert_leq(sr_poll(session, &c, 1), 0);
	}
	check_works(1, 0);
	cr_assert(gate_stats().documents == 2 && gate_stats().by_ticket == 0);
	cr_assert_eq(gate_stats().refused[SR_REFUSAL_BINDING], 1);
	sr_close(client);
}

Test(client_sealed, signer_that_was_restarted_is_believed_when_the_trust_file_says_so)
{
	struct sr_completion c;
	uint32_t before;

	open_both(SR_SESSION_REOPEN);
	check_works(0, 0);
	host_fault(HOLD, 2);
	cr_assert_eq(submit(1), 0);
	cr_assert_eq(submit(2), 0);
	(void)sr_service(client, NULL);
	host_reboot();
	sr_session_abandon(session); /* as an agent would say of both */
	for (int i = 0; i < 2; i++) {
		c = poll_one();
		cr_assert_eq(c.status, SR_UNKNOWN);
	}
	host_fault(HONEST, 0);
	before = sr_load32_relaxed(&host.conversations);
	while (sr_load32_relaxed(&host.conversations) < before + 4) {
		int ret = sr_service(client, &why);

		cr_assert_leq(sr_poll(session, &c, 1), 0);
		cr_assert(ret >= 0 || ret == -ENOTCONN, "%d: %s", ret, why.text);
	}
	cr_assert(strstr(why.text, "root"), "%s", why.text);
	cr_assert_eq(stats().reopened, 0);
	host_trust_renew();
	service_until_reopened(1);
	check_works(3, 0);
	cr_assert_eq(stats().agent_lied, 0, "another boot knows no predecessor");
	sr_close(client);
}

Test(client_sealed, successor_ends_the_session_before_it)
{
	struct sr_core_stats core;
	struct sr_completion c;

	open_both(SR_SESSION_REOPEN);
	for (uint64_t i = 1; i <= 20; i++) {
		check_works(0, 0);
		sr_session_abandon(session);
		cr_assert_eq(poll_some(session, &c, 1), -ESTALE);
		service_until_reopened(i);
	}
	(void)pthread_mutex_lock(&host.lock);
	sr_core_stats_get(host.signer.core, &core);
	(void)pthread_mutex_unlock(&host.lock);
	cr_assert_eq(core.sessions, 1);
	cr_assert_eq(stats().agent_lied, 0);
	sr_close(client);
}

Test(client_sealed, session_that_is_closed_ends_with_the_next_one_of_its_place)
{
	struct sr_core_stats core;

	open_client();
	for (int i = 0; i < 20; i++) {
		session = open_session(0);
		check_works(0, 0);
		sr_session_close(client, session);
	}
	(void)pthread_mutex_lock(&host.lock);
	sr_core_stats_get(host.signer.core, &core);
	(void)pthread_mutex_unlock(&host.lock);
	cr_assert_leq(core.sessions, HOST_SESSIONS, "each of its places has the last one");
	sr_close(client);
}

/* Submits @count that the agent lets expire, or as many as there can be. */
static uint64_t expire(uint64_t count)
{
	uint64_t sent = 0, end_ns = sr_now_ns() + BOUND_NS;
	struct sr_completion c[256];
	int ret = 0;

	host.fault_status = SR_EXPIRED;
	host_fault(SAY_ALL, 0);
	while (sent < count && ret != -ESTALE) {
		while (sent < count && (ret = submit(1)) == 0)
			sent++;
		cr_assert(ret == 0 || ret == -EAGAIN || ret == -ESTALE);
		while (sr_in_flight(session)) {
			int n = sr_poll(session, c, 256);

			for (int i = 0; i < n; i++)
				cr_assert_eq(c[i].status, SR_EXPIRED);
		}
		cr_assert_lt(sr_now_ns(), end_ns);
	}
	host_fault(HONEST, 0);
	return sent;
}

/* One side's key must never fall two epochs behind the other's. */
Test(client_sealed, agent_that_lets_nothing_through_for_an_epoch_ends_the_session)
{
	struct sr_options opt = options();
	struct sr_session_options reopen = { .flags = SR_SESSION_REOPEN };
	struct sr_completion c;
	uint64_t sent;

	opt.depth = 256;
	cr_assert_eq(sr_open(&client, &opt, &why), 0, "%s", why.text);
	cr_assert_eq(sr_session_open(&session, client, &reopen, &why), 0, "%s", why.text);
	check_works(0, 0);
	cr_assert_eq(expire(700000), 700000);
	cr_assert_eq(submit(5), 0);
	c = poll_one();
	cr_assert(c.status == SR_OK && c.accepted == 2);

	sent = expire(UINT64_MAX); /* over the end of an epoch */
	cr_assert(sent > (1u << 20) - 2 * SR_DEPTH_MAX && sent < 1u << 20, "%llu",
		  (unsigned long long)sent);
	cr_assert_eq(poll_some(session, &c, 1), -ESTALE);
	service_until_reopened(1);
	check_works(1, 0);
	cr_assert_eq(stats().agent_lied, 0);
	sr_close(client);
}

/* ---- the count ---- */

Test(tally, counts_that_fit)
{
	struct sr_tally t = { .accepted = 1 };

	cr_assert(sr_tally_reply(&t, 2));
	sr_tally_unsure(&t, 2);
	cr_assert(sr_tally_final(&t, 2) && sr_tally_final(&t, 4));
	cr_assert(sr_tally_reply(&t, 5), "both were accepted");
	sr_tally_unsure(&t, 2);
	cr_assert(sr_tally_reply(&t, 6), "neither was");
	cr_assert(sr_tally_void(&t, 6, 3) && sr_tally_void(&t, 9, 3));
	cr_assert(sr_tally_reply(&t, 7), "a VOID is learned nothing from");
}

Test(tally, counts_that_do_not_fit)
{
	struct sr_tally t = { .accepted = 10 };

	cr_assert_not(sr_tally_reply(&t, 12), "one too many");
	cr_assert_not(sr_tally_reply(&t, 10), "not even itself");
	cr_assert_not(sr_tally_reply(&t, 9));
	cr_assert_not(sr_tally_reply(&t, 0));
	sr_tally_unsure(&t, 1);
	cr_assert_not(sr_tally_reply(&t, 13));
	cr_assert_not(sr_tally_void(&t, 9, 5));
	cr_assert_not(sr_tally_void(&t, 15, 3));
	cr_assert_not(sr_tally_final(&t, 9));
	cr_assert_not(sr_tally_final(&t, 12));
	cr_assert(sr_tally_final(&t, 11));
}

/* ---- a trading thread of its own ---- */

static struct trader {
	uint32_t stop;
	uint64_t submitted, completed, good, sum; /* of user data, both ways */
	bool broken;
} trader;

static void trade(struct trader *t, struct sr_completion *c, int n)
{
	for (int i = 0; i < n; i++) {
		t->completed++;
		t->sum -= c[i].user_data;
		t->good += c[i].status == SR_OK;
		t->broken |= (c[i].status == SR_OK) != has_signature(&c[i]);
	}
}

static void *trader_main(void *arg)
{
	struct trader *t = arg;
	struct sr_completion c[DEPTH];

	while (!sr_load32_acquire(&t->stop) || sr_in_flight(session)) {
		int n;

		if (!sr_load32_relaxed(&t->stop) && submit(t->submitted + 1) == 0)
			t->sum += ++t->submitted;
		n = sr_poll(session, c, DEPTH);
		trade(t, c, n);
		if (n < 0) {
			t->broken |= n == -EPERM;
			if (n != -ENOTCONN && sr_load32_relaxed(&t->stop))
				break; /* all of it has been answered */
			(void)sched_yield();
		}
	}
	return NULL;
}

/* Carries out one fault and waits until the session is up again. */
static void disturb(enum host_fault fault)
{
	uint64_t end_ns = sr_now_ns() + BOUND_NS;
	uint64_t reopened = stats().reopened + (fault != HANG_UP);
	uint32_t done = sr_load32_relaxed(&host.fault_done);
	struct sr_client_stats now;

	host_fault(fault, 5);
	do {
		(void)sr_service(client, &why);
		sr_client_stats_get(client, &now);
		cr_assert_lt(sr_now_ns(), end_ns, "fault %d: %s", (int)fault, why.text);
	} while (sr_load32_acquire(&host.fault_done) == done || stats().reopened < reopened ||
		 !now.sessions);
}

Test(client_sealed, every_submit_is_answered_once_whatever_dies_or_lies)
{
	static const enum host_fault faults[] = { FLIP, HANG_UP, LOST, SAY_AND_SEND, IN_CLEAR,
						  HANG_UP };
	uint64_t end_ns = sr_now_ns() + BOUND_NS;
	pthread_t thread;

	open_both(SR_SESSION_REOPEN);
	host.fault_status = SR_EXPIRED;
	host.fault_bit = 999;
	host.fault_or_later = true;
	cr_assert_eq(pthread_create(&thread, NULL, trader_main, &trader), 0);
	for (uint32_t i = 0; i < 24; i++)
		disturb(faults[i % 6]);
	sr_store32_release(&trader.stop, 1);
	while (pthread_tryjoin_np(thread, NULL)) {
		(void)sr_service(client, &why);
		cr_assert_lt(sr_now_ns(), end_ns, "%s", why.text);
	}
	cr_assert_eq(trader.submitted, trader.completed);
	cr_assert_eq(trader.sum, 0, "each was answered with its own data");
	cr_assert_not(trader.broken);
	cr_assert_geq(trader.good, 16 * 4, "the first four of each session");
	cr_assert_eq(stats().reopened, 16);
	cr_assert(stats().forged == 8 && stats().agent_lied == 4);
	sr_close(client);
}
