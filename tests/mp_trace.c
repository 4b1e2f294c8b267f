/* SPDX-License-Identifier: MIT */
/*
 * The agent's trace over its attach socket: what it says of orders that passed, and who
 * is told nothing. That of the signer is in test_vault.c, and both in bench/exp01.
 */
#include "mp_raw.h"
#include "sr_counter.h"

#define ORDERS 40u
#define ROOM (sizeof(struct sr_attach_traced) + \
	      SR_TRACED_EVENTS_MAX * sizeof(struct sr_traced_event))

static struct mp_rig rig;
static union {
	struct sr_attach_traced traced;
	unsigned char bytes[ROOM];
} answer;

static void start(const char *trace, const char *option, const char *value)
{
	unsigned int n = 0;

	mp_rig_new(&rig, true);
	if (trace) {
		rig.agent_args[n++] = "--trace";
		rig.agent_args[n++] = trace;
	}
	if (option) {
		rig.agent_args[n++] = option;
		rig.agent_args[n++] = value;
	}
	mp_rig_start(&rig);
}

static void stop(void)
{
	mp_good_client(&rig);
	mp_rig_stop(&rig);
}

static void ask(int sock, uint64_t from)
{
	union sr_attach_message m = { .trace = { .from = from } };

	MP_EQ(sr_attach_send(sock, &m, SR_ATTACH_TRACE, NULL, 0), 0, "TRACE");
}

/* What the events of one answer are. */
static const struct sr_traced_event *told(int sock, uint64_t from)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t n;

	ask(sock, from);
	MP_EQ(poll(&p, 1, (int)(MP_BOUND_NS / SR_NS_PER_MS)), 1, "an answer to TRACE");
	n = recv(sock, answer.bytes, sizeof answer, MSG_DONTWAIT);
	MP_CHECK(n >= (ssize_t)sizeof answer.traced, "an answer of %zd bytes", n);
	MP_EQ(answer.traced.header.magic, SR_ATTACH_MAGIC, "magic");
	MP_EQ(answer.traced.header.type, SR_ATTACH_TRACED, "type");
	MP_EQ(answer.traced.header.bytes, (uint64_t)n, "length");
	MP_EQ(sizeof answer.traced + answer.traced.count * sizeof(struct sr_traced_event),
	      (uint64_t)n, "length of so many events");
	return (const void *)(&answer.traced + 1);
}

static void sign_orders(uint64_t *first)
{
	struct sr_client *client = mp_open(&rig, 1, 8);
	struct sr_session *session = mp_session(client, 0, 0);

	*first = session->first + session->submitted;
	for (uint64_t n = 0; n < ORDERS; n++)
		mp_order(&rig, client, session, n);
	sr_close(client);
}

/* One at a time: picked up, written, received, and so on. */
static void each_order_is_told(void)
{
	static const enum sr_traced_kind kinds[] = { SR_TRACED_PICKED, SR_TRACED_WRITTEN,
						     SR_TRACED_RECEIVED };
	const struct sr_traced_event *events;
	uint64_t first, at = 0;
	struct sr_counter here;
	int sock;

	start("64", NULL, NULL);
	sign_orders(&first);
	sock = raw_connect(&rig);
	events = told(sock, 0);
	MP_EQ(answer.traced.first, 0, "first event");
	MP_EQ(answer.traced.next, 3 * ORDERS, "events");
	MP_EQ(answer.traced.count, 3 * ORDERS, "events here");
	for (uint32_t i = 0; i < 3 * ORDERS; i++) {
		MP_EQ(events[i].at_kind & 3, kinds[i % 3], "kind");
		MP_EQ(events[i].seq, i % 3 == 1 ? 0 : first + i / 3, "slot word");
		MP_CHECK(events[i].at_kind >> 2 >= at, "event %u was before the last", i);
		at = events[i].at_kind >> 2;
	}
	sr_counter_describe(&here);
	MP_EQ(answer.traced.counter, here.kind, "counter");
	MP_CHECK(!memcmp(answer.traced.domain, here.domain, sizeof here.domain), "domain");
	(void)told(sock, 3 * ORDERS - 2);
	MP_EQ(answer.traced.count, 2, "the last two");
	(void)told(sock, UINT64_MAX);
	MP_EQ(answer.traced.count, 0, "events to come");
	/* A ring of 64 records has room for 256 events: of these 360 the last. */
	sign_orders(&first);
	sign_orders(&first);
	events = told(sock, 0);
	MP_EQ(answer.traced.first, 9 * ORDERS - 256, "the first that is left");
	MP_EQ(answer.traced.count, 256, "as many as there is room for");
	MP_EQ(events[255].seq, first + ORDERS - 1, "the last of all");
	(void)close(sock);
	stop();
}

static void without_one_there_is_nothing_to_tell(void)
{
	struct sr_reason why = { 0, "" };
	int sock;

	start(NULL, NULL, NULL);
	sock = raw_connect(&rig);
	ask(sock, 0);
	MP_EQ(raw_refusal(sock), SR_REFUSED_TRACE, "refusal");
	MP_EQ(sr_attach_refusal_reason(&why, SR_REFUSED_TRACE), -EACCES, "error");
	MP_CHECK(strstr(why.text, "--trace"), "`%s` does not say what to do", why.text);
	stop();
}

static void foreign_user(void *arg)
{
	int sock;

	(void)arg;
	MP_CHECK(setresuid(65534, 65534, 65534) == 0, "setresuid: %s", strerror(errno));
	sock = raw_connect(&rig);
	ask(sock, 0);
	MP_EQ(raw_refusal(sock), SR_REFUSED_TRACE, "refusal");
}

static void another_user_is_told_nothing(void)
{
	char upper[300];

	if (geteuid() != 0)
		mp_skip("only root can become another user");
	start("64", "--allow-uid", "any");
	(void)snprintf(upper, sizeof upper, "%s/..", rig.dir);
	MP_CHECK(chmod(upper, 0755) == 0 && chmod(rig.dir, 0755) == 0 &&
			 chmod(rig.socket, 0666) == 0, "chmod: %s", strerror(errno));
	mp_join(mp_fork(foreign_user, NULL), "a foreign user");
	stop();
}

static const struct mp_test tests[] = {
	{ "trace/each_order_is_told", each_order_is_told, 0 },
	{ "trace/without_one_there_is_nothing_to_tell", without_one_there_is_nothing_to_tell, 0 },
	{ "trace/another_user_is_told_nothing", another_user_is_told_nothing, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
