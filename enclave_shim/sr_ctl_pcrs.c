/* SPDX-License-Identifier: MIT */
#include "sr_ctl_pcrs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_digits.h"
#include "sr_eif.h"

/* The whole of a regular file, to be freed; NULL with errno. */
static unsigned char *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char *data = NULL;
	size_t room = 0, have = 0;
	struct stat st;
	ssize_t n = -1;
	int error;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		room = (size_t)st.st_size + 1; /* and a look at whether it has grown */
		if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (st.st_size > (off_t)SR_EIF_BYTES_MAX)
			errno = EFBIG;
		else
			data = malloc(room);
	}
	while (data && have < room && (n = read(fd, data + have, room - have)) > 0)
		have += (size_t)n;
	error = errno;
	(void)close(fd);
	errno = error;
	if (data && n < 0) {
		free(data);
		return NULL;
	}
	*bytes = have;
	return data;
}

static void print_pcr(const char *before, const unsigned char pcr[SR_EIF_PCR_BYTES])
{
	char digits[2 * SR_EIF_PCR_BYTES + 1] = { 0 };

	sr_digits_put(digits, pcr, SR_EIF_PCR_BYTES);
	printf("%s%s", before, digits);
}

int sr_ctl_pcrs(const char *path)
{
	struct sr_reason why = { 0, "" };
	struct sr_eif eif;
	size_t bytes;
	unsigned char *data = read_file(path, &bytes);
	int ret;

	if (!data) {
		fprintf(stderr, "sigringctl attest: cannot read %s: %s\n", path, strerror(errno));
		return 1;
	}
	ret = sr_eif_measure(&eif, data, bytes, &why);
	free(data);
	if (ret) {
		fprintf(stderr, "sigringctl attest: %s: %s\n", path, why.text);
		return 1;
	}
	print_pcr("image ", eif.pcr[0]);
	print_pcr(" ", eif.pcr[1]);
	print_pcr(" ", eif.pcr[2]);
	if (eif.is_signed)
		print_pcr(" 8=", eif.pcr8);
	printf("\n");
	if (fflush(stdout)) {
		fprintf(stderr, "sigringctl attest: cannot write to standard output\n");
		return 1;
	}
	return 0;
}
