/* SPDX-License-Identifier: MIT */
/*
 * hyperliquid.c - quotes from a template: patch, submit, poll, render what to post.
 *
 *	cc docs/examples/hyperliquid.c $(pkg-config --cflags --libs sigring) -o hyperliquid
 *	export SIGRING_SOCKET=... SIGRING_IDENTITY=... SIGRING_TRUST=...
 *	./hyperliquid 8 [key]
 *
 * The key (1) has to be permitted hyperliquid/order on the test net, as in
 * docs/examples/manifest-development.json. Each quote is a buy of BTC (asset 0), post-only, a
 * dollar above the one before. For each that is signed the body to post is printed, one
 * line of JSON; it is for https://api.hyperliquid-testnet.xyz/exchange. Nothing is posted.
 *
 * What differs from order to order is in a struct sr_patch; everything else was encoded
 * once. The body that was submitted is kept until its completion comes, because the text
 * is rendered from it. Compiles as C11 and as C++17.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigring_order.h"

#define BTC 0u
#define IN_FLIGHT 4u /* a power of two */
#define BATCH 16
#define WAIT_NS 1000000u
#define TEXT_BYTES 2048u
#define DOLLAR UINT64_C(100000000) /* prices and sizes are scaled by 10^8 */

/* An order in flight: user_data of its request is its number. */
struct quote {
	unsigned char body[SR_TEMPLATE_BODY_BYTES];
	unsigned char client_id[SR_HL_CLOID_BYTES];
};

static struct sr_template quotes;
static struct quote in_flight[IN_FLIGHT];

/* Once, off the hot path: 0, or -errno. */
static int make_template(void)
{
	unsigned char body[SR_TEMPLATE_BODY_BYTES];
	struct sr_order *scratch = (struct sr_order *)malloc(sizeof *scratch);
	struct sr_order_env *env = NULL;
	struct sr_hl_order order;
	struct sr_hl_head head;
	int ret = scratch ? sr_order_env_new(&env) : -ENOMEM;

	memset(&head, 0, sizeof head);
	head.testnet = true;
	memset(&order, 0, sizeof order);
	order.asset = BTC;
	order.flags = SR_HL_BUY | SR_HL_CLOID;
	order.tif = SR_HL_ALO;
	order.price = 1; /* what is patched needs some value that is legal */
	order.size = 1;
	if (ret == 0)
		ret = sr_hl_order_put(body, sizeof body, &head, &order, 1);
	if (ret > 0)
		ret = sr_template_init(&quotes, SR_TYPE_HYPERLIQUID, body, (uint32_t)ret, scratch,
				       env);
	sr_order_env_delete(env);
	free(scratch);
	return ret;
}

/* 1 = submitted, 0 = not now, try again, or -errno: the session is over. */
static int submit(struct sr_session *session, uint32_t key, unsigned long number)
{
	struct quote *quote = &in_flight[number % IN_FLIGHT];
	struct sr_request request;
	struct sr_patch patch;
	int ret;

	memset(&patch, 0, sizeof patch);
	patch.price = (60000 + number) * DOLLAR;
	patch.size = DOLLAR / 1000;
	patch.nonce = 0; /* the signer numbers them: "venue_nonce": "given" or "either" */
	patch.client_id = quote->client_id;
	memcpy(quote->client_id, &number, sizeof number);
	sr_template_patch(quote->body, &quotes, &patch);

	memset(&request, 0, sizeof request);
	request.key = key;
	request.type = quotes.type;
	request.body = quote->body;
	request.body_bytes = quotes.body_bytes;
	request.user_data = number;
	ret = sr_submit(session, &request);
	if (ret == -EAGAIN || ret == -ENOTCONN)
		return 0;
	return ret < 0 ? ret : 1;
}

static void print_completion(const struct sr_completion *done)
{
	struct quote *quote = &in_flight[done->user_data % IN_FLIGHT];
	struct sr_order_signature signature;
	char text[TEXT_BYTES];
	int bytes;

	if (sr_order_completed(&signature, quote->body, done) < 0) {
		fprintf(stderr, "order %llu: %s%s%s\n", (unsigned long long)done->user_data,
			sr_status_name(done->status), done->status == SR_DENIED ? ", " : "",
			done->status == SR_DENIED ? sr_policy_name(done->policy) : "");
		return;
	}
	bytes = sr_template_render(text, sizeof text, &quotes, quote->body, &signature);
	if (bytes > 0)
		printf("%.*s\n", bytes, text);
}

static int run(struct sr_client *client, struct sr_session *session, uint32_t key,
	       unsigned long count)
{
	struct sr_completion done[BATCH];
	unsigned long sent = 0;
	unsigned long answered = 0;

	while (answered < count) {
		int n = 1;

		while (n > 0 && sent < count && sr_in_flight(session) < IN_FLIGHT) {
			n = submit(session, key, sent);
			sent += n > 0;
		}
		if (n < 0)
			return n;
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
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	uint32_t key = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
	struct sr_client *client;
	struct sr_session *session;
	struct sr_reason why;
	int ret = make_template();

	if (ret < 0) {
		fprintf(stderr, "hyperliquid: the template: %s\n", strerror(-ret));
		return 1;
	}
	if (sr_open(&client, NULL, &why) < 0) {
		fprintf(stderr, "hyperliquid: %s\n", why.text);
		return 1;
	}
	if (sr_session_open(&session, client, NULL, &why) < 0) {
		fprintf(stderr, "hyperliquid: %s\n", why.text);
		sr_close(client);
		return 1;
	}
	ret = run(client, session, key, count);
	if (ret < 0)
		fprintf(stderr, "hyperliquid: the session is over: %s\n", strerror(-ret));
	sr_close(client);
	return ret < 0;
}
