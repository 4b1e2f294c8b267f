/* SPDX-License-Identifier: MIT */
/*
 * engine.c - a small complete engine: open, submit, poll, close.
 *
 *	cc docs/examples/engine.c $(pkg-config --cflags --libs sigring) -o engine
 *	export SIGRING_SOCKET=... SIGRING_IDENTITY=... SIGRING_TRUST=...
 *	./engine 8
 *
 * The environment names the agent, the key pair that the manifest knows us by, and
 * the file that says which signer is believed. Orders are sealed from here to there.
 * Sends the given number of orders, four in flight, and prints a line for each.
 * One thread does everything here. In an engine the loop belongs to a trading
 * thread and sr_service() to a cold one: the trading thread then makes no system
 * call. Compiles as C11 and as C++17.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigring.h"

#define KEY 1u
#define IN_FLIGHT 4u
#define BATCH 16
#define WAIT_NS 1000000u /* between two looks at the agent, when nothing comes */

static void print_completion(const struct sr_completion *c)
{
	printf("order %llu: %s", (unsigned long long)c->user_data, sr_status_name(c->status));
	if (c->status == SR_DENIED)
		printf(" (%s)", sr_policy_name(c->policy));
	if (c->sigkind != SR_SIG_NONE) {
		printf(" ");
		for (size_t i = 0; i < SR_SIG_BYTES; i++)
			printf("%02x", c->signature[i]);
		printf(" recovery id %u", c->recovery_id);
	}
	printf("\n");
}

/* 1 = submitted, 0 = not now, try again, or -errno: the session is over. */
static int submit(struct sr_session *session, unsigned long number)
{
	struct sr_request request;
	void *body;
	int bytes;
	int ret = sr_reserve(session, &body);

	if (ret == -EAGAIN || ret == -ENOTCONN)
		return 0;
	if (ret < 0)
		return ret;
	bytes = snprintf((char *)body, sr_body_max(session), "{\"order\":%lu}", number);
	memset(&request, 0, sizeof request);
	request.key = KEY;
	request.type = SR_ECDSA_KECCAK256;
	request.body_bytes = (uint16_t)bytes;
	request.user_data = number;
	ret = sr_commit(session, &request);
	return ret < 0 ? ret : 1;
}

static int run(struct sr_client *client, struct sr_session *session, unsigned long count)
{
	struct sr_completion done[BATCH];
	unsigned long sent = 0;
	unsigned long answered = 0;
	int ret = 0;

	while (answered < count) {
		int n = 1;

		while (n > 0 && sent < count && sr_in_flight(session) < IN_FLIGHT) {
			n = submit(session, sent);
			sent += n > 0;
		}
		if (n < 0) {
			ret = n;
			count = sent; /* what is in flight is answered all the same */
		}
		n = sr_poll(session, done, BATCH);
		for (int i = 0; i < n; i++)
			print_completion(&done[i]);
		if (n > 0) {
			answered += (unsigned long)n;
			continue;
		}
		if (n < 0 && n != -ENOTCONN) /* that one mends itself */
			return n;
		(void)!sr_wait(session, WAIT_NS);
		(void)sr_service(client, NULL);
	}
	return ret;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	struct sr_client *client;
	struct sr_session *session;
	struct sr_reason why;
	int ret;

	if (sr_open(&client, NULL, &why) < 0) {
		fprintf(stderr, "engine: %s\n", why.text);
		return 1;
	}
	if (sr_session_open(&session, client, NULL, &why) < 0) {
		fprintf(stderr, "engine: %s\n", why.text);
		sr_close(client);
		return 1;
	}
	ret = run(client, session, count);
	if (ret < 0)
		fprintf(stderr, "engine: the session is over: %s\n",
			ret == -ESTALE	? "the signer has been restarted" :
			ret == -EBADMSG ? "the agent lied about an order" :
					  strerror(-ret));
	sr_close(client);
	return ret < 0;
}
