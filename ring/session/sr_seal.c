/* SPDX-License-Identifier: MIT */
#include "sr_seal.h"

#include "sr_secret.h"

#define LABEL "sigring record"
#define CONTEXT_BYTES 9u
#define EPOCH_MASK ((1ull << SR_SEAL_EPOCH_SHIFT) - 1)

/* The last epoch is not used: the nonce that makes the next key lies in it. */
#define EPOCHS (UINT64_MAX >> SR_SEAL_EPOCH_SHIFT)

static bool acceptable(const struct sr_seal_config *c)
{
	if (c->depth < SR_DEPTH_MIN || c->depth > SR_DEPTH_MAX || !sr_is_pow2(c->depth))
		return false;
	if (c->way != SR_AEAD_SEAL && c->way != SR_AEAD_OPEN)
		return false;
	if (c->direction == SR_SEAL_COMPLETION)
		return c->record_bytes == SR_CMP_BYTES;
	return c->direction == SR_SEAL_SUBMISSION && c->record_bytes >= SR_SUB_BYTES_MIN &&
	       c->record_bytes <= SR_SUB_BYTES_MAX;
}

int sr_seal_init(struct sr_seal *seal, const struct sr_seal_config *config)
{
	unsigned char context[CONTEXT_BYTES];
	int ret = -EINVAL;

	sr_wipe(seal, sizeof *seal);
	if (!acceptable(config))
		return ret;

	context[0] = (unsigned char)config->direction;
	sr_put64(context + 1, config->first);
	ret = sr_noise_export(config->keys, seal->scratch, LABEL, context, sizeof context);

	/* The other two get their keys when their epoch is near. */
	for (uint32_t i = 0; i < SR_SEAL_KEYS && !ret; i++) {
		ret = sr_aead_init(&seal->aead[i], config->way, seal->scratch);
		sr_wipe(seal->scratch, sizeof seal->scratch);
	}
	if (ret) {
		sr_seal_wipe(seal);
		return ret;
	}
	seal->first = config->first;
	seal->record_bytes = config->record_bytes;
	seal->header_bytes = config->direction == SR_SEAL_COMPLETION ? SR_CMP_BODY : SR_SUB_BODY;
	seal->depth = config->depth;
	seal->way = (uint8_t)config->way;
	seal->alive = true;
	return 0;
}

void sr_seal_wipe(struct sr_seal *seal)
{
	for (uint32_t i = 0; i < SR_SEAL_KEYS; i++)
		sr_aead_wipe(&seal->aead[i]);
	sr_wipe(seal, sizeof *seal);
}

void sr_seal_forget(struct sr_seal *seal)
{
	struct sr_aead kept[SR_SEAL_KEYS];

	for (uint32_t i = 0; i < SR_SEAL_KEYS; i++) {
		if (seal->aead[i].ctx)
			sr_aead_forget(&seal->aead[i]);
		kept[i] = (struct sr_aead){ .ctx = seal->aead[i].ctx };
	}
	sr_wipe(seal, sizeof *seal);
	memcpy(seal->aead, kept, sizeof kept);
}

static int derive_next(struct sr_seal *seal)
{
	struct sr_aead *now = &seal->aead[seal->epoch % SR_SEAL_KEYS];
	struct sr_aead *next = &seal->aead[(seal->epoch + 1) % SR_SEAL_KEYS];
	int ret = sr_aead_next(next, now, seal->scratch);

	seal->has_next = !ret;
	return ret;
}

int sr_seal_step(struct sr_seal *seal)
{
	struct sr_aead *aead;
	int ret;

	if (SR_UNLIKELY(!seal->alive))
		return -ENOKEY;
	if (SR_UNLIKELY(!seal->has_next)) {
		ret = derive_next(seal);
		return ret ? ret : 1;
	}
	aead = &seal->aead[(seal->next >> SR_SEAL_EPOCH_SHIFT) % SR_SEAL_KEYS];
	if (aead->is_ready && aead->ready_n == seal->next)
		return 0;
	sr_aead_prepare(aead, seal->next);
	return 1;
}

/* The key for number n, if it is at hand or may be made. */
static int find_key(struct sr_seal *seal, uint64_t n, struct sr_aead **aead)
{
	uint64_t epoch = n >> SR_SEAL_EPOCH_SHIFT;
	int ret = 0;

	if (SR_UNLIKELY(epoch != seal->epoch)) {
		if (epoch >= EPOCHS)
			ret = -ERANGE;
		else if (epoch == seal->epoch + 1)
			ret = seal->has_next ? 0 : derive_next(seal);
		else if (epoch + 1 != seal->epoch || !seal->has_old)
			ret = -ERANGE;
	}
	*aead = &seal->aead[epoch % SR_SEAL_KEYS];
	return ret;
}

/* Number n is ours, or authentic: its epoch has begun, and ends the one before. */
static void move_on(struct sr_seal *seal, uint64_t n)
{
	uint64_t epoch = n >> SR_SEAL_EPOCH_SHIFT;

	if (epoch == seal->epoch + 1) {
		seal->epoch = epoch;
		seal->has_old = true;
		seal->has_next = false;
	}
	if (SR_UNLIKELY(seal->has_old) && epoch == seal->epoch && (n & EPOCH_MASK) >= seal->depth) {
		sr_aead_forget(&seal->aead[(epoch - 1) % SR_SEAL_KEYS]);
		seal->has_old = false;
	}
}

/* The bit of number n among those of the last depth numbers. */
static uint64_t *bit_of(struct sr_seal *seal, uint64_t n, uint64_t *bit)
{
	uint64_t at = n & (seal->depth - 1);

	*bit = 1ull << at % 64;
	return &seal->spent[at / 64];
}

/* Takes a number for good, or says why it cannot be had. */
static int spend(struct sr_seal *seal, uint64_t n)
{
	uint64_t *word, bit;

	if (n < seal->next) {
		if (seal->next - n > seal->depth)
			return -ERANGE;
		word = bit_of(seal, n, &bit);
		if (*word & bit)
			return -EALREADY;
	} else if (n - seal->next >= seal->depth) {
		memset(seal->spent, 0, sizeof seal->spent);
		seal->next = n + 1;
	}
	/* The bits of what is skipped were those of numbers a depth before. */
	for (; seal->next <= n; seal->next++) {
		word = bit_of(seal, seal->next, &bit);
		*word &= ~bit;
	}
	word = bit_of(seal, n, &bit);
	*word |= bit;
	return 0;
}

int sr_seal_apply(struct sr_seal *seal, uint64_t n, unsigned char *record)
{
	unsigned char *body, *tag;
	struct sr_aead *aead;
	int ret;

	if (SR_UNLIKELY(!seal->alive))
		return -ENOKEY;
	if (SR_UNLIKELY(seal->way != SR_AEAD_SEAL || sr_get64(record) != seal->first + n))
		return -EINVAL;
	ret = find_key(seal, n, &aead);
	if (SR_LIKELY(!ret))
		ret = spend(seal, n);
	if (SR_UNLIKELY(ret))
		return ret;

	body = record + seal->header_bytes;
	tag = record + seal->record_bytes - SR_TAG_BYTES;
	ret = sr_aead_seal(aead, body, tag, n, record, seal->header_bytes, body,
			   (size_t)(tag - body));
	move_on(seal, n);
	return ret;
}

int sr_seal_open(struct sr_seal *seal, uint64_t n, unsigned char *body, const unsigned char *record)
{
	const unsigned char *sealed, *tag;
	struct sr_aead *aead;
	int ret;

	if (SR_UNLIKELY(!seal->alive))
		return -ENOKEY;
	if (SR_UNLIKELY(seal->way != SR_AEAD_OPEN))
		return -EINVAL;
	if (SR_UNLIKELY(find_key(seal, n, &aead)))
		return -EBADMSG;

	sealed = record + seal->header_bytes;
	tag = record + seal->record_bytes - SR_TAG_BYTES;
	ret = sr_aead_open(aead, body, tag, n, record, seal->header_bytes, sealed,
			   (size_t)(tag - sealed));
	if (SR_UNLIKELY(ret))
		return ret;
	move_on(seal, n);
	if (n >= seal->next)
		seal->next = n + 1;
	return 0;
}
