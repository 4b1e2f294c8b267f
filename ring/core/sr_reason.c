/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "sr_reason.h"

int sr_reason_set(struct sr_reason *why, int error, const char *format, ...)
{
	va_list args;

	if (!why)
		return error;
	why->error = error;
	va_start(args, format);
	(void)vsnprintf(why->text, sizeof why->text, format, args);
	va_end(args);
	return error;
}
