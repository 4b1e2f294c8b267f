/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "sr_agent_note.h"

static unsigned int lines;
static char last[2][600];

static void take(void *arg, const char *text)
{
	(void)arg;
	lines++;
	memcpy(last[0], last[1], sizeof last[0]);
	(void)snprintf(last[1], sizeof last[1], "%s", text);
}

static struct sr_agent_config config = { .log = take };

Test(agent_note, so_many_lines_at_once_and_then_the_number_of_those_left_out)
{
	struct sr_note_limit limit = { 0, 0 };

	for (int i = 0; i < 50; i++)
		sr_agent_note_limited(&config, &limit, "line %d", i);
	/* A second that passes in between, on a machine that is busy, lets one more by. */
	cr_assert(lines >= SR_AGENT_NOTES_AT_ONCE && lines < SR_AGENT_NOTES_AT_ONCE + 5, "%u",
		  lines);
	(void)usleep(1100000);
	lines = 0;
	sr_agent_note_limited(&config, &limit, "at last");
	cr_assert_eq(lines, 2);
	cr_assert(strstr(last[0], "lines like the next one were left out"), "%s", last[0]);
	cr_assert_str_eq(last[1], "at last");
}

Test(agent_note, limits_are_apart_and_other_lines_have_none)
{
	struct sr_note_limit a = { 0, 0 };
	struct sr_note_limit b = { 0, 0 };

	for (int i = 0; i < 100; i++)
		sr_agent_note_limited(&config, &a, "a");
	lines = 0;
	sr_agent_note_limited(&config, &b, "b");
	cr_assert_eq(lines, 1);
	for (int i = 0; i < 100; i++)
		sr_agent_note(&config, "c %d", i);
	cr_assert_eq(lines, 101);
}

Test(agent_note, without_a_log_nothing_is_written)
{
	struct sr_agent_config silent = { .log = NULL };
	struct sr_note_limit limit = { 0, 0 };

	sr_agent_note(&silent, "nobody hears");
	sr_agent_note_limited(&silent, &limit, "this");
	cr_assert_eq(lines, 0);
}
