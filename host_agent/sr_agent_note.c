/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "sr_agent_note.h"

static void write_line(const struct sr_agent_config *config, const char *format, va_list args)
{
	char text[512];

	(void)vsnprintf(text, sizeof text, format, args);
	config->log(config->log_arg, text);
}

void sr_agent_note(const struct sr_agent_config *config, const char *format, ...)
{
	va_list args;

	if (!config->log)
		return;
	va_start(args, format);
	write_line(config, format, args);
	va_end(args);
}

void sr_agent_note_limited(const struct sr_agent_config *config, struct sr_note_limit *limit,
			   const char *format, ...)
{
	uint64_t left_out;
	va_list args;

	if (!config->log ||
	    !sr_note_limit_take(limit, SR_AGENT_NOTES_AT_ONCE, sr_now_ns(), &left_out))
		return;
	if (left_out)
		sr_agent_note(config, "%llu lines like the next one were left out",
			      (unsigned long long)left_out);
	va_start(args, format);
	write_line(config, format, args);
	va_end(args);
}
