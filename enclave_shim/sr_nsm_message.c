/* SPDX-License-Identifier: MIT */
#include "sr_nsm_message.h"

/* Major types and heads of CBOR (RFC 8949 section 3). */
enum { UINT = 0, NINT = 1, BYTES = 2, TEXT = 3, ARRAY = 4, MAP = 5, TAG = 6, SIMPLE = 7 };
#define CBOR_FALSE 0xf4u
#define CBOR_TRUE 0xf5u
#define CBOR_NULL 0xf6u
#define CBOR_BREAK 0xffu
#define DEPTH_MAX 4

/* ---- writing ---- */

static void put_byte(struct sr_nsm_message *m, unsigned int byte)
{
	m->data[m->bytes++] = (unsigned char)byte;
}

static void put_head(struct sr_nsm_message *m, unsigned int major, size_t value)
{
	if (value < 24) {
		put_byte(m, major << 5 | (unsigned int)value);
	} else if (value < 0x100) {
		put_byte(m, major << 5 | 24);
		put_byte(m, (unsigned int)value);
	} else {
		put_byte(m, major << 5 | 25);
		put_byte(m, (unsigned int)(value >> 8) & 0xff);
		put_byte(m, (unsigned int)value & 0xff);
	}
}

static void put_string(struct sr_nsm_message *m, unsigned int major, const void *data, size_t bytes)
{
	put_head(m, major, bytes);
	if (bytes)
		memcpy(m->data + m->bytes, data, bytes);
	m->bytes += bytes;
}

static void put_text(struct sr_nsm_message *m, const char *text)
{
	put_string(m, TEXT, text, strlen(text));
}

static void begin(struct sr_nsm_message *m, const char *call, unsigned int arguments)
{
	m->bytes = 0;
	put_head(m, MAP, 1);
	put_text(m, call);
	put_head(m, MAP, arguments);
}

static void put_optional(struct sr_nsm_message *m, const char *name, const unsigned char *data,
			 size_t bytes)
{
	put_text(m, name);
	if (data)
		put_string(m, BYTES, data, bytes);
	else
		put_byte(m, CBOR_NULL);
}

void sr_nsm_put_describe(struct sr_nsm_message *m)
{
	m->bytes = 0;
	put_text(m, "DescribeNSM");
}

void sr_nsm_put_random(struct sr_nsm_message *m)
{
	m->bytes = 0;
	put_text(m, "GetRandom");
}

/* Three names and heads are below 64 bytes. */
SR_STATIC_ASSERT(SR_EVIDENCE_NONCE_BYTES_MAX + SR_EVIDENCE_USER_DATA_BYTES_MAX +
				 SR_EVIDENCE_PUBLIC_KEY_BYTES_MAX + 64u <=
			 SR_NSM_REQUEST_BYTES_MAX,
		 "every request within the limits fits");

int sr_nsm_put_attest(struct sr_nsm_message *m, const struct sr_evidence_request *request)
{
	if (!sr_evidence_request_valid(request))
		return -EINVAL;
	begin(m, "Attestation", 3);
	put_optional(m, "user_data", request->user_data, request->user_data_bytes);
	put_optional(m, "nonce", request->nonce, request->nonce_bytes);
	put_optional(m, "public_key", request->public_key, request->public_key_bytes);
	return 0;
}

static int put_indexed(struct sr_nsm_message *m, const char *call, unsigned int arguments,
		       uint32_t index)
{
	if (index >= SR_EVIDENCE_PCRS)
		return -EINVAL;
	begin(m, call, arguments);
	put_text(m, "index");
	put_head(m, UINT, index);
	return 0;
}

int sr_nsm_put_pcr(struct sr_nsm_message *m, uint32_t index)
{
	return put_indexed(m, "DescribePCR", 1, index);
}

int sr_nsm_put_lock(struct sr_nsm_message *m, uint32_t index)
{
	return put_indexed(m, "LockPCR", 1, index);
}

int sr_nsm_put_extend(struct sr_nsm_message *m, uint32_t index, const unsigned char *data,
		      size_t data_bytes)
{
	int ret;

	if (data_bytes == 0 || data_bytes > SR_EVIDENCE_EXTEND_BYTES_MAX)
		return -EINVAL;
	ret = put_indexed(m, "ExtendPCR", 2, index);
	if (ret)
		return ret;
	put_text(m, "data");
	put_string(m, BYTES, data, data_bytes);
	return 0;
}

/* ---- reading ---- */

struct reader {
	const unsigned char *data;
	size_t bytes;
};

struct head {
	unsigned int major;
	bool indefinite;
	uint64_t value;
	const unsigned char *string; /* of BYTES and TEXT, value bytes of it */
};

static bool at_break(struct reader *r)
{
	if (r->bytes == 0 || r->data[0] != CBOR_BREAK)
		return false;
	r->data++;
	r->bytes--;
	return true;
}

/* -EPROTO for what is cut off, reserved, or a string in pieces. */
static int get_head(struct reader *r, struct head *h)
{
	unsigned int low, more;

	if (r->bytes == 0)
		return -EPROTO;
	low = r->data[0] & 31u;
	more = low < 24 || low == 31 ? 0 : low < 28 ? 1u << (low - 24) : UINT_MAX;
	if (more > r->bytes - 1)
		return -EPROTO;
	*h = (struct head){ .major = r->data[0] >> 5, .indefinite = low == 31, .value = low };
	if (h->indefinite && h->major != ARRAY && h->major != MAP)
		return -EPROTO;
	if (more)
		h->value = 0;
	for (unsigned int i = 0; i < more; i++)
		h->value = h->value << 8 | r->data[1 + i];
	r->data += 1 + more;
	r->bytes -= 1 + more;
	if (h->major == BYTES || h->major == TEXT) {
		if (h->value > r->bytes)
			return -EPROTO;
		h->string = r->data;
		r->data += h->value;
		r->bytes -= h->value;
	}
	return 0;
}

/* Whether an array or a map goes on; @taken counts its entries so far. */
static bool goes_on(struct reader *r, const struct head *h, uint64_t taken)
{
	return h->indefinite ? !at_break(r) : taken < h->value;
}

static int skip(struct reader *r, int depth)
{
	struct head h;
	int ret = depth > DEPTH_MAX ? -EPROTO : get_head(r, &h);

	if (ret)
		return ret;
	if (h.major == TAG)
		return skip(r, depth + 1);
	if (h.major != ARRAY && h.major != MAP)
		return 0;
	for (uint64_t i = 0; ret == 0 && goes_on(r, &h, i); i++) {
		ret = skip(r, depth + 1);
		if (ret == 0 && h.major == MAP)
			ret = skip(r, depth + 1);
	}
	return ret;
}

static bool is_text(const struct head *h, const char *text)
{
	return h->major == TEXT && h->value == strlen(text) && !memcmp(h->string, text, h->value);
}

static int get_error(struct reader *r)
{
	static const struct {
		const char *name;
		int error;
	} errors[] = {
		{ "InvalidArgument", EINVAL },      { "InvalidIndex", ERANGE },
		{ "InvalidResponse", EBADMSG },     { "ReadOnlyIndex", EROFS },
		{ "InvalidOperation", EOPNOTSUPP }, { "BufferTooSmall", ENOBUFS },
		{ "InputTooLarge", EMSGSIZE },
	};
	struct head h;

	if (get_head(r, &h) || h.major != TEXT)
		return -EPROTO;
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (is_text(&h, errors[i].name))
			return -errors[i].error;
	return -EREMOTEIO;
}

/* A field that a response should have. */
struct field {
	const char *name;
	int (*take)(struct reader *r, void *out);
	void *out;
	bool seen;
};

static int get_field(struct reader *r, struct field *fields, size_t count)
{
	struct head key;

	if (get_head(r, &key) || key.major != TEXT)
		return -EPROTO;
	for (size_t i = 0; i < count; i++) {
		if (!is_text(&key, fields[i].name))
			continue;
		if (fields[i].seen)
			return -EPROTO;
		fields[i].seen = true;
		return fields[i].take(r, fields[i].out);
	}
	return skip(r, 0);
}

/* A map from the call's name to a map of fields, all of which have to be there. */
static int get_response(const struct sr_nsm_message *m, const char *call, struct field *fields,
			size_t count)
{
	struct reader r = { .data = m->data, .bytes = m->bytes };
	struct head outer, name, map;
	int ret = 0;

	if (m->bytes > sizeof m->data || get_head(&r, &outer) || outer.major != MAP ||
	    (!outer.indefinite && outer.value != 1) || get_head(&r, &name))
		return -EPROTO;
	if (is_text(&name, "Error"))
		return get_error(&r);
	if (!is_text(&name, call) || get_head(&r, &map) || map.major != MAP)
		return -EPROTO;
	for (uint64_t i = 0; ret == 0 && goes_on(&r, &map, i); i++)
		ret = get_field(&r, fields, count);
	if (ret)
		return ret;
	if ((outer.indefinite && !at_break(&r)) || r.bytes)
		return -EPROTO;
	for (size_t i = 0; i < count; i++)
		if (!fields[i].seen)
			return -EPROTO;
	return 0;
}

static int take_u16(struct reader *r, void *out)
{
	uint16_t *value = out;
	struct head h;

	if (get_head(r, &h) || h.major != UINT || h.value > UINT16_MAX)
		return -EPROTO;
	*value = (uint16_t)h.value;
	return 0;
}

static int take_bool(struct reader *r, void *out)
{
	bool *value = out;
	struct head h;

	if (get_head(r, &h) || h.major != SIMPLE ||
	    (h.value != (CBOR_FALSE & 31) && h.value != (CBOR_TRUE & 31)))
		return -EPROTO;
	*value = h.value == (CBOR_TRUE & 31);
	return 0;
}

static int take_bytes(struct reader *r, void *out)
{
	struct head *h = out;

	return get_head(r, h) || h->major != BYTES ? -EPROTO : 0;
}

static int take_module_id(struct reader *r, void *out)
{
	char *text = out;
	struct head h;

	if (get_head(r, &h) || h.major != TEXT || h.value == 0 || h.value > SR_EVIDENCE_MODULE_BYTES_MAX)
		return -EPROTO;
	for (uint64_t i = 0; i < h.value; i++)
		if (h.string[i] < 0x20 || h.string[i] > 0x7e)
			return -EPROTO;
	memcpy(text, h.string, h.value);
	text[h.value] = '\0';
	return 0;
}

static int take_locked(struct reader *r, void *out)
{
	uint32_t *mask = out;
	struct head h;
	uint16_t index;

	if (get_head(r, &h) || h.major != ARRAY)
		return -EPROTO;
	for (uint64_t i = 0; goes_on(r, &h, i); i++) {
		if (take_u16(r, &index) || index >= SR_EVIDENCE_PCRS)
			return -EPROTO;
		*mask |= (uint32_t)1 << index;
	}
	return 0;
}

static int take_digest(struct reader *r, void *out)
{
	struct head h;

	(void)out;
	return get_head(r, &h) || !is_text(&h, "SHA384") ? -EPROTO : 0;
}

int sr_nsm_get_describe(struct sr_evidence_module *info, const struct sr_nsm_message *m)
{
	struct sr_evidence_module got = { 0 };
	struct field fields[] = {
		{ .name = "version_major", .take = take_u16, .out = &got.version_major },
		{ .name = "version_minor", .take = take_u16, .out = &got.version_minor },
		{ .name = "version_patch", .take = take_u16, .out = &got.version_patch },
		{ .name = "module_id", .take = take_module_id, .out = got.id },
		{ .name = "max_pcrs", .take = take_u16, .out = &got.pcrs_max },
		{ .name = "locked_pcrs", .take = take_locked, .out = &got.locked_mask },
		{ .name = "digest", .take = take_digest },
	};
	int ret = get_response(m, "DescribeNSM", fields, sizeof fields / sizeof fields[0]);

	if (ret == 0)
		*info = got;
	return ret;
}

/* A response that is one byte string. */
static int get_bytes(const struct sr_nsm_message *m, const char *call, const char *name,
		     struct head *h)
{
	struct field field = { .name = name, .take = take_bytes, .out = h };

	return get_response(m, call, &field, 1);
}

int sr_nsm_get_random(unsigned char *random, size_t *random_bytes, const struct sr_nsm_message *m)
{
	struct head h;
	int ret = get_bytes(m, "GetRandom", "random", &h);

	if (ret)
		return ret;
	if (h.value == 0 || h.value > SR_NSM_RANDOM_BYTES_MAX)
		return -EPROTO;
	memcpy(random, h.string, h.value);
	*random_bytes = h.value;
	return 0;
}

int sr_nsm_get_attest(unsigned char *document, size_t *document_bytes,
		      const struct sr_nsm_message *m)
{
	struct head h;
	int ret = get_bytes(m, "Attestation", "document", &h);

	if (ret)
		return ret;
	if (h.value == 0 || h.value > SR_EVIDENCE_DOC_BYTES_MAX)
		return -EPROTO;
	memcpy(document, h.string, h.value);
	*document_bytes = h.value;
	return 0;
}

int sr_nsm_get_pcr(unsigned char pcr[SR_EVIDENCE_PCR_BYTES], bool *locked,
		   const struct sr_nsm_message *m)
{
	bool lock;
	struct head h;
	struct field fields[] = {
		{ .name = "lock", .take = take_bool, .out = &lock },
		{ .name = "data", .take = take_bytes, .out = &h },
	};
	int ret = get_response(m, "DescribePCR", fields, 2);

	if (ret)
		return ret;
	if (h.value != SR_EVIDENCE_PCR_BYTES)
		return -EPROTO;
	memcpy(pcr, h.string, SR_EVIDENCE_PCR_BYTES);
	*locked = lock;
	return 0;
}

int sr_nsm_get_extend(unsigned char pcr[SR_EVIDENCE_PCR_BYTES], const struct sr_nsm_message *m)
{
	struct head h;
	int ret = get_bytes(m, "ExtendPCR", "data", &h);

	if (ret)
		return ret;
	if (h.value != SR_EVIDENCE_PCR_BYTES)
		return -EPROTO;
	memcpy(pcr, h.string, SR_EVIDENCE_PCR_BYTES);
	return 0;
}

int sr_nsm_get_lock(const struct sr_nsm_message *m)
{
	struct reader r = { .data = m->data, .bytes = m->bytes };
	struct head h;

	if (m->bytes > sizeof m->data || get_head(&r, &h))
		return -EPROTO;
	if (h.major == MAP)
		return get_response(m, "LockPCR", NULL, 0);
	return is_text(&h, "LockPCR") && r.bytes == 0 ? 0 : -EPROTO;
}
