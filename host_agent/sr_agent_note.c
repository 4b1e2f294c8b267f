/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "sr_agent_note.h"
#include "sr_clock.h"

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

void sr_agent_note_limited(const struct sr_agent_config *config, struct sr_agent_note_limit *limit,
			   const char *format, ...)
{
	uint64_t now_ns = sr_now_ns();
	va_list args;

	if (!config->log)
		return;
	if (limit->clear_ns < now_ns)
		limit->clear_ns = now_ns;
	if (limit->clear_ns - now_ns > (SR_AGENT_NOTES_AT_ONCE - 1ull) * SR_NS_PER_S) {
		limit->left_out++;
		return;
	}
	limit->clear_ns += SR_NS_PER_S;
	if (limit->left_out)
		sr_agent_note(config, "%llu lines like the next one were left out",
			      (unsigned long long)limit->left_out);
	limit->left_out = 0;
	va_start(args, format);
	write_line(config, format, args);
	va_end(args);
}
