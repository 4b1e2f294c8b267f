/* SPDX-License-Identifier: MIT */
#include "sr_getrandom.h"

#include <sys/random.h>

static int get(void *arg, unsigned char *out, size_t bytes)
{
	(void)arg;
	while (bytes) {
		ssize_t n = getrandom(out, bytes, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		out += n;
		bytes -= (size_t)n;
	}
	return 0;
}

const struct sr_entropy sr_getrandom = { .get = get };
