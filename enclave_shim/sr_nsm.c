/* SPDX-License-Identifier: MIT */
#include "sr_nsm.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sr_secret.h"

/* As the kernel has it (linux/nsm.h, which older headers lack): two iovecs. */
struct nsm_raw {
	struct iovec request;
	struct iovec response;
};
#define NSM_IOCTL_RAW _IOWR(0x0A, 0, struct nsm_raw)
SR_STATIC_ASSERT(sizeof(struct nsm_raw) == 32, "nsm ABI");
SR_STATIC_ASSERT(NSM_IOCTL_RAW == SR_NSM_REQUEST, "nsm ABI");

static int exchange_ioctl(struct sr_nsm *nsm)
{
	struct nsm_raw raw = {
		.request = { .iov_base = nsm->request.data, .iov_len = nsm->request.bytes },
		.response = { .iov_base = nsm->response.data,
			      .iov_len = SR_NSM_RESPONSE_BYTES_MAX },
	};

	/* Not tried again after EINTR: a register that is extended twice is another. */
	if (ioctl(nsm->fd, NSM_IOCTL_RAW, &raw) < 0)
		return -errno;
	if (raw.response.iov_len > SR_NSM_RESPONSE_BYTES_MAX)
		return -EPROTO;
	nsm->response.bytes = raw.response.iov_len;
	return 0;
}

int sr_nsm_open(struct sr_nsm *nsm, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	nsm->fd = fd;
	nsm->exchange = exchange_ioctl;
	nsm->request.bytes = 0;
	nsm->response.bytes = 0;
	return 0;
}

void sr_nsm_close(struct sr_nsm *nsm)
{
	(void)close(nsm->fd);
	nsm->fd = -1;
}

/* Entropy has passed through them. */
static int finish(struct sr_nsm *nsm, int ret)
{
	sr_wipe(nsm->request.data, nsm->request.bytes);
	sr_wipe(nsm->response.data, nsm->response.bytes);
	nsm->request.bytes = 0;
	nsm->response.bytes = 0;
	return ret;
}

int sr_nsm_describe(struct sr_nsm *nsm, struct sr_evidence_module *info)
{
	int ret;

	sr_nsm_put_describe(&nsm->request);
	ret = nsm->exchange(nsm);
	if (ret == 0)
		ret = sr_nsm_get_describe(info, &nsm->response);
	return finish(nsm, ret);
}

int sr_nsm_random(struct sr_nsm *nsm, unsigned char *out, size_t bytes)
{
	unsigned char random[SR_NSM_RANDOM_BYTES_MAX];
	size_t filled = 0, tries = bytes / 8 + 8, got, take;
	int ret = 0;

	while (ret == 0 && filled < bytes) {
		sr_nsm_put_random(&nsm->request);
		ret = tries-- ? nsm->exchange(nsm) : -EPROTO;
		if (ret == 0)
			ret = sr_nsm_get_random(random, &got, &nsm->response);
		if (ret == 0) {
			take = got < bytes - filled ? got : bytes - filled;
			memcpy(out + filled, random, take);
			filled += take;
		}
		ret = finish(nsm, ret);
	}
	sr_wipe(random, sizeof random);
	if (ret)
		sr_wipe(out, filled);
	return ret;
}

int sr_nsm_attest(struct sr_nsm *nsm, unsigned char *document, size_t *document_bytes,
		  const struct sr_evidence_request *request)
{
	int ret = sr_nsm_put_attest(&nsm->request, request);

	if (ret)
		return ret;
	ret = nsm->exchange(nsm);
	if (ret == 0)
		ret = sr_nsm_get_attest(document, document_bytes, &nsm->response);
	return finish(nsm, ret);
}

int sr_nsm_pcr(struct sr_nsm *nsm, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], bool *locked,
	       uint32_t index)
{
	int ret = sr_nsm_put_pcr(&nsm->request, index);

	if (ret)
		return ret;
	ret = nsm->exchange(nsm);
	if (ret == 0)
		ret = sr_nsm_get_pcr(pcr, locked, &nsm->response);
	return finish(nsm, ret);
}

int sr_nsm_extend(struct sr_nsm *nsm, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index,
		  const unsigned char *data, size_t data_bytes)
{
	int ret = sr_nsm_put_extend(&nsm->request, index, data, data_bytes);

	if (ret)
		return ret;
	ret = nsm->exchange(nsm);
	if (ret == 0)
		ret = sr_nsm_get_extend(pcr, &nsm->response);
	return finish(nsm, ret);
}

int sr_nsm_lock(struct sr_nsm *nsm, uint32_t index)
{
	int ret = sr_nsm_put_lock(&nsm->request, index);

	if (ret)
		return ret;
	ret = nsm->exchange(nsm);
	if (ret == 0)
		ret = sr_nsm_get_lock(&nsm->response);
	return finish(nsm, ret);
}

static int evidence_attest(void *arg, unsigned char *document, size_t *document_bytes,
			   const struct sr_evidence_request *request)
{
	return sr_nsm_attest(arg, document, document_bytes, request);
}

static int evidence_pcr(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index)
{
	bool locked;

	return sr_nsm_pcr(arg, pcr, &locked, index);
}

static int evidence_describe(void *arg, struct sr_evidence_module *module)
{
	return sr_nsm_describe(arg, module);
}

static int evidence_extend(void *arg, unsigned char pcr[SR_EVIDENCE_PCR_BYTES], uint32_t index,
			   const unsigned char *data, size_t bytes)
{
	return sr_nsm_extend(arg, pcr, index, data, bytes);
}

static int evidence_lock(void *arg, uint32_t index)
{
	return sr_nsm_lock(arg, index);
}

static int evidence_random(void *arg, unsigned char *out, size_t bytes)
{
	return sr_nsm_random(arg, out, bytes);
}

struct sr_evidence sr_nsm_evidence(struct sr_nsm *nsm)
{
	return (struct sr_evidence){
		.name = "nsm",
		.arg = nsm,
		.attest = evidence_attest,
		.pcr = evidence_pcr,
		.describe = evidence_describe,
		.extend = evidence_extend,
		.lock = evidence_lock,
		.random = evidence_random,
	};
}
