/* SPDX-License-Identifier: MIT */
/*
 * Every submit that returned 0 gets exactly one completion, whatever is killed,
 * stopped or continued in between, and nothing is signed twice.
 */
#include "once_rig.h"

static void nothing_breaks(void)
{
	struct plan p = { .split = true, .clients = 3, .seconds = 2 };
	struct tally sum = run_plan(&p);

	only_ok(&sum);
	mp_rig_stop(&rig);
}

/* Nothing lost, nothing signed twice, no UNKNOWN. */
static void agent_killed_loses_nothing(void)
{
	struct plan p = { .split = true,
			  .chaos = KILL_AGENT | STOP_AGENT | STOP_SIGNER,
			  .clients = 3,
			  .seconds = 6 };
	struct tally sum = run_plan(&p);

	only_ok(&sum);
	mp_rig_stop(&rig);
}

static void agent_killed_loses_nothing_with_io_uring(void)
{
	struct plan p = { .split = true,
			  .chaos = KILL_AGENT | STOP_AGENT | STOP_SIGNER,
			  .clients = 3,
			  .seconds = 4,
			  .agent_args = { "--io", "uring" } };
	struct tally sum = run_plan(&p);

	only_ok(&sum);
	mp_rig_stop(&rig);
}

static void signer_killed_gives_each_one_word(void)
{
	struct plan p = { .split = true,
			  .chaos = KILL_SIGNER | STOP_CLIENT,
			  .clients = 3,
			  .seconds = 5,
			  .agent_args = { "--wait", "block" } };
	struct tally sum = run_plan(&p);

	MP_EQ(sum.by_status[SR_OK] + sum.by_status[SR_UNKNOWN] + sum.by_status[SR_NOT_SENT] +
		      sum.by_status[SR_SESSION_LOST],
	      sum.submitted, "OK, UNKNOWN, NOT_SENT and SESSION_LOST together");
	MP_CHECK(sum.reopened > 0, "no session was opened again");
	MP_CHECK(mp_signer_counter(&rig, "signed") <= (long long)sum.by_status[SR_OK],
		 "the last signer signed more than all of them were asked for");
	mp_rig_stop(&rig);
}

static void everything_breaks(void)
{
	struct plan p = { .split = true,
			  .chaos = KILL_AGENT | KILL_SIGNER | STOP_AGENT | STOP_SIGNER |
				   KILL_CLIENT | STOP_CLIENT | DEADLINES,
			  .clients = 4,
			  .seconds = 8 };

	(void)run_plan(&p);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void everything_breaks_with_io_uring(void)
{
	struct plan p = { .split = true,
			  .chaos = KILL_AGENT | KILL_SIGNER | STOP_AGENT | STOP_SIGNER |
				   KILL_CLIENT | STOP_CLIENT | DEADLINES,
			  .clients = 4,
			  .seconds = 5,
			  .agent_args = { "--io", "uring" } };

	(void)run_plan(&p);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void local_signer_killed(void)
{
	struct plan p = { .chaos = KILL_AGENT | STOP_AGENT | KILL_CLIENT | STOP_CLIENT | DEADLINES,
			  .clients = 3,
			  .seconds = 5 };

	(void)run_plan(&p);
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

/* Deadlines without deaths: what was signed is what was handed out or swallowed. */
static void deadlines_account_for_each_signature(void)
{
	struct plan p = { .split = true,
			  .chaos = STOP_AGENT | STOP_SIGNER | DEADLINES,
			  .clients = 3,
			  .seconds = 4 };
	struct tally sum = run_plan(&p);
	uint64_t handed = sum.by_status[SR_OK] + sum.by_status[SR_LATE];
	uint64_t made = (uint64_t)mp_signer_counter(&rig, "signed");

	MP_CHECK(made >= handed && made <= handed + sum.swallowed,
		 "%llu signed, %llu handed out, %llu swallowed", (unsigned long long)made,
		 (unsigned long long)handed, (unsigned long long)sum.swallowed);
	MP_EQ(sum.swallowed, sum.by_status[SR_UNKNOWN], "what was swallowed");
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "once/nothing_breaks", nothing_breaks, 0 },
	{ "once/agent_killed_loses_nothing", agent_killed_loses_nothing, 0 },
	{ "once/agent_killed_loses_nothing_with_io_uring", agent_killed_loses_nothing_with_io_uring,
	  0 },
	{ "once/signer_killed_gives_each_one_word", signer_killed_gives_each_one_word, 0 },
	{ "once/deadlines_account_for_each_signature", deadlines_account_for_each_signature, 0 },
	{ "once/everything_breaks", everything_breaks, 0 },
	{ "once/everything_breaks_with_io_uring", everything_breaks_with_io_uring, 0 },
	{ "once/local_signer_killed", local_signer_killed, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
