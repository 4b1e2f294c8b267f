/* SPDX-License-Identifier: MIT */
/*
 * What only AF_VSOCK has: in a guest, with SIGRING_STREAM=vsock (tests/guest/vsock.sh).
 * Agent and signer are the programs as they are shipped, and find each other at CID 1.
 */
#include "mp_traders.h"
#include "sr_heartbeat.h"

#define ORDERS 600u
#define WINDOW 64u
#define SMALL_WRITE 512

static struct mp_rig rig;

static void need_vsock(void)
{
	if (!mp_over_vsock())
		mp_skip("no socket of AF_VSOCK is opened but in a guest: make test-vsock");
}

/* @sessions at once, each with as many under way as fit; every signature is verified. */
static void sign_orders(uint32_t sessions, uint64_t orders)
{
	struct sr_client *client = mp_open(&rig, sessions, WINDOW);
	struct sr_session *session[4];
	uint64_t submitted[4] = { 0 }, answered[4] = { 0 }, done = 0;
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	for (uint32_t i = 0; i < sessions; i++)
		session[i] = mp_session(client, 0, 0);
	for (uint32_t i = 0; done < sessions * orders; i = (i + 1) % sessions) {
		struct sr_completion c;

		while (submitted[i] < orders && mp_submit(session[i], i, submitted[i], 0) == 0)
			submitted[i]++;
		while (sr_poll(session[i], &c, 1) == 1) {
			MP_CHECK(c.status == SR_OK && c.user_data == answered[i],
				 "order %llu of session %u is %s", (unsigned long long)c.user_data,
				 i, sr_status_name(c.status));
			mp_verify(&rig, i, &c);
			answered[i]++;
			done++;
		}
		MP_CHECK(sr_now_ns() < end_ns, "%llu of %llu orders are answered",
			 (unsigned long long)done, (unsigned long long)(sessions * orders));
		(void)sched_yield();
	}
	MP_EQ(mp_signer_counter(&rig, "signed"), sessions * orders, "the signer's own count");
	MP_EQ(mp_counter(&rig, "signer", "repeats"), 0, "repeats");
	sr_close(client);
}

static void thousands_of_orders_are_signed_and_verified(void)
{
	need_vsock();
	mp_rig_new_sealed(&rig, true);
	mp_rig_start(&rig);
	sign_orders(2, ORDERS);
	mp_rig_stop(&rig);
}

/* Both limits are kept, and a record that is cut in two arrives as one. */
static void writes_are_as_short_as_they_are_told_to_be(void)
{
	static const char *const limit[] = { "--write-bytes-max", "512", "--signer-write-bytes-max",
					     "512" };
	long long bytes;
	size_t n = 0;

	need_vsock();
	mp_rig_new_sealed(&rig, true);
	while (rig.signer_args[n])
		n++;
	memcpy(rig.signer_args + n, limit + 2, 2 * sizeof limit[0]);
	memcpy(rig.agent_args, limit, 2 * sizeof limit[0]);
	mp_rig_start(&rig);
	sign_orders(1, 100);
	bytes = mp_counter(&rig, "agent", "written_bytes");
	MP_CHECK(bytes > 100 * SR_SUB_BYTES_DEFAULT &&
			 bytes <= SMALL_WRITE * mp_counter(&rig, "agent", "writes"),
		 "%lld bytes in %lld writes", bytes, mp_counter(&rig, "agent", "writes"));
	mp_rig_stop(&rig);
}

/* To the agent of this very guest. Returns what came back, -1 for a hang-up. */
static int heartbeat(void)
{
	struct sr_address at;
	struct pollfd p = { .events = POLLOUT };
	unsigned char byte = SR_HEARTBEAT_BYTE;
	ssize_t n;

	MP_EQ(sr_address_parse(&at, "vsock:1:9000", NULL), 0, "address");
	p.fd = sr_address_connect(&at);
	MP_CHECK(p.fd >= 0, "connect: %s", strerror(-p.fd));
	MP_EQ(poll(&p, 1, 10000), 1, "connected");
	(void)!send(p.fd, &byte, 1, MSG_NOSIGNAL); /* may be hung up on by now */
	p.events = POLLIN;
	byte = 0;
	MP_EQ(poll(&p, 1, 10000), 1, "an answer");
	n = recv(p.fd, &byte, 1, 0);
	(void)close(p.fd);
	return n == 1 ? byte : -1;
}

/* Any process of the machine that the agent runs on could speak so. */
static void heartbeat_from_no_enclave_is_refused(void)
{
	char find[64];

	need_vsock();
	mp_rig_new_sealed(&rig, true);
	(void)snprintf(find, sizeof find, "vsock:auto:%s", strrchr(rig.stream, ':') + 1);
	rig.agent_args[0] = "--signer";
	rig.agent_args[1] = find;
	mp_rig_start(&rig);
	MP_EQ(heartbeat(), -1, "the answer");
	mp_await_lines(rig.agent_log, "refused a heartbeat from CID 1", 1);
	mp_sleep_us(600000);
	MP_EQ(mp_counter(&rig, "stream", "times_up"), 0, "streams");
	mp_rig_stop(&rig);
}

/* `auto` has no CID before that, and then the one that it came from. */
static void enclave_is_found_by_its_heartbeat(void)
{
	struct sr_client *client;
	struct sr_session *session;
	char find[64];

	need_vsock();
	mp_rig_new_sealed(&rig, true);
	(void)snprintf(find, sizeof find, "vsock:auto:%s", strrchr(rig.stream, ':') + 1);
	rig.agent_args[0] = "--signer";
	rig.agent_args[1] = find;
	rig.agent_args[2] = "--heartbeat";
	rig.agent_args[3] = "vsock:1:9000";
	mp_rig_start(&rig);
	mp_sleep_us(600000);
	MP_EQ(mp_counter(&rig, "stream", "times_up"), 0, "streams before a heartbeat");
	MP_EQ(heartbeat(), SR_HEARTBEAT_BYTE, "the answer");
	mp_await_lines(rig.agent_log, "an enclave has started, with CID 1", 1);
	client = mp_open(&rig, 1, 16);
	session = mp_session(client, 0, 0);
	for (uint64_t n = 0; n < 20; n++)
		mp_order(&rig, client, session, n);
	sr_close(client);
	mp_rig_stop(&rig);
}

int main(int argc, char **argv)
{
	static const struct mp_test tests[] = {
		{ "vsock/thousands_of_orders_are_signed_and_verified",
		  thousands_of_orders_are_signed_and_verified, 0 },
		{ "vsock/writes_are_as_short_as_they_are_told_to_be",
		  writes_are_as_short_as_they_are_told_to_be, 0 },
		{ "vsock/heartbeat_from_no_enclave_is_refused",
		  heartbeat_from_no_enclave_is_refused, 0 },
		{ "vsock/enclave_is_found_by_its_heartbeat", enclave_is_found_by_its_heartbeat, 0 },
	};

	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
