/* SPDX-License-Identifier: MIT */
/*
 * mp_raw.h - a client without the library: every message and every slot is the
 * test's own, so that it can say and write what the library never would.
 */
#ifndef MP_RAW_H
#define MP_RAW_H

#include "mp_common.h"
#include "sr_frame.h"

struct mp_raw {
	int sock;
	struct sr_geometry geometry;
	struct sr_region submission; /* ours */
	struct sr_region completion; /* the agent's */
	uint64_t first;
	uint64_t token[2];
};

__attribute__((unused)) static int raw_connect(const struct mp_rig *rig)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	int sock;

	while ((sock = sr_attach_connect(rig->socket)) == -EAGAIN && sr_now_ns() < end_ns)
		mp_sleep_us(200);
	MP_CHECK(sock >= 0, "connect: %s", strerror(-sock));
	return sock;
}

/* The next message, or -errno; waits for it. */
__attribute__((unused)) static int raw_recv(int sock, union sr_attach_message *m, int fds[2],
					    int *fd_count)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	*fd_count = 0;
	MP_CHECK(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)) > 0, "the agent does not answer");
	return sr_attach_recv(sock, m, fds, fd_count);
}

__attribute__((unused)) static void raw_hello(union sr_attach_message *m, uint32_t sessions,
					      uint32_t depth)
{
	memset(m, 0, sizeof *m);
	m->hello.abi_major = SR_ABI_MAJOR;
	m->hello.abi_minor = SR_ABI_MINOR;
	m->hello.layout_hash = sr_layout_hash();
	m->hello.sessions = sessions;
	m->hello.depth = depth;
	m->hello.slot_bytes = SR_SUB_BYTES_DEFAULT;
	m->hello.attach_epoch = 1;
	m->hello.now_ns = sr_now_ns();
}

/* The refusal that comes next, after which the agent hangs up. */
__attribute__((unused)) static uint32_t raw_refusal(int sock)
{
	union sr_attach_message m;
	int fds[2];
	int count;
	int ret = raw_recv(sock, &m, fds, &count);

	MP_EQ(ret, 0, "receiving a refusal");
	MP_EQ(m.header.type, SR_ATTACH_REFUSED, "type of the answer");
	MP_EQ(raw_recv(sock, &m, fds, &count), -ECONNRESET, "what follows a refusal");
	(void)close(sock);
	return m.refused.code;
}

/* As far as the agent's OFFER. */
__attribute__((unused)) static int raw_offered(const struct mp_rig *rig, uint32_t sessions,
					       uint32_t depth)
{
	union sr_attach_message m;
	int sock = raw_connect(rig);
	int fds[2];
	int count;

	raw_hello(&m, sessions, depth);
	MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_HELLO, NULL, 0), 0, "HELLO");
	MP_EQ(raw_recv(sock, &m, fds, &count), 0, "receiving OFFER");
	MP_EQ(m.header.type, SR_ATTACH_OFFER, "type of the answer to HELLO");
	return sock;
}

__attribute__((unused)) static int raw_send_region(int sock, int fd, uint64_t bytes)
{
	union sr_attach_message m;

	memset(&m, 0, sizeof m);
	m.region.region_bytes = bytes;
	return sr_attach_send(sock, &m, SR_ATTACH_REGION, &fd, 1);
}

/* The whole attach with the region that is there. */
__attribute__((unused)) static void raw_attach_again(struct mp_raw *raw, const struct mp_rig *rig)
{
	struct sr_geometry back = { raw->geometry.sessions, raw->geometry.depth, SR_CMP_BYTES };
	struct sr_reason why = { 0, "" };
	union sr_attach_message m;
	int fds[2];
	int count;

	raw->sock = raw_offered(rig, back.sessions, back.depth);
	MP_EQ(raw_send_region(raw->sock, raw->submission.fd, raw->submission.bytes), 0, "REGION");
	MP_EQ(raw_recv(raw->sock, &m, fds, &count), 0, "receiving WELCOME");
	MP_CHECK(m.header.type == SR_ATTACH_WELCOME && count == 1,
		 "the agent's answer to REGION: %u", m.header.type);
	MP_EQ(sr_region_join(&raw->completion, SR_REGION_COMPLETION, &back, fds[0], &why), 0,
	      why.text);
	(void)close(fds[0]);
	MP_EQ(sr_attach_send(raw->sock, &m, SR_ATTACH_READY, NULL, 0), 0, "READY");
}

__attribute__((unused)) static void raw_attach(struct mp_raw *raw, const struct mp_rig *rig,
					       uint32_t sessions, uint32_t depth)
{
	struct sr_reason why = { 0, "" };

	memset(raw, 0, sizeof *raw);
	raw->geometry = (struct sr_geometry){ sessions, depth, SR_SUB_BYTES_DEFAULT };
	MP_EQ(sr_region_create(&raw->submission, SR_REGION_SUBMISSION, &raw->geometry, 0, -1, &why),
	      0, why.text);
	raw_attach_again(raw, rig);
}

static uint32_t raw_ask_open(struct mp_raw *raw, uint32_t index, uint32_t flags, uint64_t published)
{
	union sr_attach_message m;
	int fds[2];
	int count;

	memset(&m, 0, sizeof m);
	m.open.index = index;
	m.open.flags = flags;
	m.open.first = raw->first;
	m.open.published = published;
	memcpy(m.open.token, raw->token, sizeof raw->token);
	MP_EQ(sr_attach_send(raw->sock, &m, SR_ATTACH_OPEN, NULL, 0), 0, "OPEN");
	MP_EQ(raw_recv(raw->sock, &m, fds, &count), 0, "receiving OPENED");
	MP_EQ(m.header.type, SR_ATTACH_OPENED, "type of the answer to OPEN");
	return m.opened.result;
}

__attribute__((unused)) static uint32_t raw_open(struct mp_raw *raw, uint32_t index, uint64_t first)
{
	struct sr_slots slots = sr_region_slots(&raw->submission, index);

	sr_slots_reset(&slots, first);
	raw->first = first;
	(void)!getrandom(raw->token, sizeof raw->token, 0);
	return raw_ask_open(raw, index, 0, 0);
}

/* As raw_open(), until there is a signer. */
__attribute__((unused)) static void raw_open_ok(struct mp_raw *raw, uint32_t index, uint64_t first)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;
	uint32_t result;

	while ((result = raw_open(raw, index, first)) == SR_RESULT_NO_SIGNER) {
		MP_CHECK(sr_now_ns() < end_ns, "the agent finds no signer");
		mp_sleep_us(1000);
	}
	MP_EQ(result, SR_RESULT_OK, "result of OPEN");
}

/* A good request as a record, in private memory. */
__attribute__((unused)) static void raw_record(unsigned char record[SR_SUB_BYTES_DEFAULT],
					       uint64_t sender, uint64_t number)
{
	unsigned char *request = record + SR_SUB_BODY;

	memset(record, 0, SR_SUB_BYTES_DEFAULT);
	sr_put64(record + SR_SUB_KIND, SR_KIND_UNSEALED);
	sr_put32(request + SR_REQ_KEY, MP_KEY);
	sr_put16(request + SR_REQ_TYPE, SR_ECDSA_SHA256);
	sr_put16(request + SR_REQ_BODY_BYTES, MP_BODY_BYTES);
	mp_body(request + SR_REQ_BODY, sender, number);
}

__attribute__((unused)) static void raw_detach(struct mp_raw *raw)
{
	if (raw->sock >= 0)
		(void)close(raw->sock);
	raw->sock = -1;
	sr_region_drop(&raw->submission);
	sr_region_drop(&raw->completion);
}

#endif /* MP_RAW_H */
