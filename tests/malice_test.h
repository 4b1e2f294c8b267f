/* SPDX-License-Identifier: MIT */
/*
 * malice_test.h - the frame of a test with a malicious agent: its beginning, which is
 * peaceful, what is said of many attacks, and its end, which checks what holds behind
 * all of them. A test program includes it once.
 */
#ifndef MALICE_TEST_H
#define MALICE_TEST_H

#include "malice_agent.h"

static inline void malice_start_client(uint32_t i)
{
	malice_pids[i] = mp_fork(malice_be_client, &malice->clients[i]);
	sr_store32_release(&malice->clients[i].pid, (uint32_t)malice_pids[i]);
	(void)mp_random();
}

/* The rig's files alone; malice_start() does it otherwise. */
static inline void malice_prepare(void)
{
	malice = mp_shared(sizeof *malice);
	mp_rig_new_sealed(&malice_rig, true);
}

/* Signer, agent, clients; the victim's session and the others', opened in peace. */
static inline void malice_start(const struct malice_attack *attack, uint32_t victim_flags)
{
	uint64_t end_ns;

	if (!malice)
		malice_prepare();
	malice_attack = attack;
	mp_start_signer(&malice_rig);
	malice_rig.agent = mp_fork(malice_be_agent, NULL);
	for (uint32_t i = 0; i < MALICE_CLIENTS; i++)
		malice_start_client(i);
	end_ns = malice_end_ns();
	for (uint32_t i = 0; i < MALICE_CLIENTS; i++)
		while (!sr_load32_acquire(&malice->clients[i].ready))
			malice_watch(end_ns, "clients that attach");
	malice_must_open(0, 0, victim_flags);
	malice_must_open(0, 1, 0);
	malice_must_open(1, 0, 0);
	malice_all_ok(0, 0, 3);
	malice_others_go_on(3);
}

static inline void malice_arm(uint32_t armed)
{
	sr_store32_release(&malice->words.armed, armed);
}

/* What holds behind every attack. The victim's session is at the test's mercy. */
static inline void malice_stop(void)
{
	malice_arm(0);
	malice_others_go_on(20);
	malice_must_open(0, 0, 0); /* nothing that was done to him lasts */
	malice_all_ok(0, 0, 3);
	MP_CHECK(malice->words.hits > 0, "the attack never took place");
	MP_CHECK(malice->words.sealed > 0, "no sealed reply was ever seen");
	MP_EQ(malice->words.two_replies, 0, "numbers with two sealed replies");
	MP_CHECK(malice_counter(SR_FIELD_SIGNED_OK) <= (long long)malice_submitted(),
		 "more was signed than was submitted");
	MP_CHECK(malice_counter(SR_FIELD_SIGNED_OK) >= (long long)malice_sum(SR_OK),
		 "more is OK than was signed");
	MP_EQ(malice_counter(SR_FIELD_CHECK_FAILED), 0, "faulty signatures");
	for (uint32_t i = 0; i < MALICE_CLIENTS; i++) {
		const unsigned char *hidden = malice->clients[i].hidden;

		MP_EQ(mp_memory_scan(malice_rig.agent, hidden).all, 0,
		      "plaintexts that the agent has");
		MP_CHECK(mp_memory_scan(malice_pids[i], hidden).all > 0, "nothing is ever found");
	}
	for (uint32_t i = 0; i < MALICE_CLIENTS; i++) {
		sr_store32_release(&malice->clients[i].stop, 1);
		mp_join(malice_pids[i], "a client");
	}
	mp_rig_stop(&malice_rig);
	(void)printf("# %s: %llu hits, %llu orders, %llu OK, %llu sealed replies\n", mp_name,
		     (unsigned long long)malice->words.hits, (unsigned long long)malice_submitted(),
		     (unsigned long long)malice_sum(SR_OK),
		     (unsigned long long)malice->words.sealed);
}

/* ---- for the tests ---- */

static inline long long malice_not_taken(void)
{
	return malice_counter(SR_FIELD_DROPPED) + malice_counter(SR_FIELD_UNAUTHENTIC);
}

/* One order at a time, each signed. */
static inline void malice_one_by_one_ok(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		malice_all_ok(0, 0, 1);
}

/* The victim's session has ended, and its order is UNKNOWN: what forgery comes to. */
static inline void malice_expect_forged(uint32_t overs, uint8_t status)
{
	const struct malice_session *m = malice_of(0, 0);
	uint64_t end_ns = malice_end_ns();

	MP_CHECK(status == SR_UNKNOWN, "a forged completion is %s", sr_status_name(status));
	while (sr_load32_acquire(&m->overs) == overs)
		malice_watch(end_ns, "a session that was broken and goes on");
}

/* Orders one at a time, each of which is to meet a forgery; the session opens again. */
static inline void malice_all_forged(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint32_t overs = malice_of(0, 0)->overs;

		malice_expect_forged(overs, malice_one(0, 0));
	}
}

#endif /* MALICE_TEST_H */
