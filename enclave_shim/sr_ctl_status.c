/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "sigring.h"
#include "sr_attach.h"
#include "sr_ctl_status.h"

#define ANSWER_MS 2000

static int usage(FILE *out, int code)
{
	(void)fprintf(out, "usage: sigringctl status [--socket PATH] [--json]\n");
	return code;
}

/* Returns a string to free, or NULL with a message printed. */
static char *ask(const char *path)
{
	union sr_attach_message m;
	struct pollfd p = { .events = POLLIN };
	char *answer = malloc(SR_STATUS_BYTES_MAX + 1);
	int sock = sr_attach_connect(path);
	ssize_t n = -1;

	if (sock < 0) {
		(void)fprintf(stderr,
			      "sigringctl: no agent at %s (%s): start sigring-agent or "
			      "sigring-local, or give --socket\n",
			      path, strerror(-sock));
		free(answer);
		return NULL;
	}
	p.fd = sock;
	if (answer && sr_attach_send(sock, &m, SR_ATTACH_STATUS, NULL, 0) == 0 &&
	    poll(&p, 1, ANSWER_MS) > 0)
		n = recv(sock, answer, SR_STATUS_BYTES_MAX, MSG_DONTWAIT);
	(void)close(sock);
	if (n == (ssize_t)sizeof m.refused && sr_get32(answer) == SR_ATTACH_MAGIC) {
		struct sr_reason why;

		memcpy(&m.refused, answer, sizeof m.refused);
		(void)sr_attach_refusal_reason(&why, m.refused.code);
		(void)fprintf(stderr, "sigringctl: %s\n", why.text);
		n = -1;
	} else if (n <= 0) {
		(void)fprintf(stderr, "sigringctl: the agent at %s does not answer\n", path);
	}
	if (n <= 0) {
		free(answer);
		return NULL;
	}
	answer[n] = '\0';
	return answer;
}

static void print_group(const json_t *status, const char *name)
{
	const char *key;
	json_t *value;

	(void)printf("%s\n", name);
	json_object_foreach(json_object_get(status, name), key, value) {
		if (json_is_integer(value))
			(void)printf("  %-16s %lld\n", key, (long long)json_integer_value(value));
		else if (json_is_string(value))
			(void)printf("  %-16s %s\n", key, json_string_value(value));
	}
}

static const char *word(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static long long number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static void print_client(const json_t *client)
{
	json_t *session;
	size_t i;

	(void)printf("process %lld of user %lld: depth %lld, slots of %lld bytes, %s\n",
		     number(client, "pid"), number(client, "uid"), number(client, "depth"),
		     number(client, "slot_bytes"),
		     json_is_true(json_object_get(client, "huge_pages")) ?
			     "2 MiB pages" :
			     "4 KiB PAGES (no huge pages were to be had)");
	json_array_foreach(json_object_get(client, "sessions"), i, session)
		(void)printf("  session %-3lld %-8s %-6s %-9s forwarded %lld, answered %lld, given %lld, "
			     "resent %lld\n",
			     number(session, "index"),
			     word(session, "class"),
			     json_is_true(json_object_get(session, "sealed")) ? "sealed" : "clear",
			     word(session, "state"),
			     number(session, "forwarded"), number(session, "answered"),
			     number(session, "given"), number(session, "resent"));
}

static int print_status(const char *text)
{
	json_error_t error;
	json_t *status = json_loads(text, 0, &error);
	json_t *client;
	size_t i;

	if (!status || !json_is_string(json_object_get(status, "transport"))) {
		(void)fprintf(stderr, "sigringctl: the agent's answer makes no sense: %s\n",
			      status ? "no transport" : error.text);
		json_decref(status);
		return 1;
	}
	(void)printf("records            %s\n",
		     json_is_true(json_object_get(status, "sealed")) ? "sealed" : "UNSEALED");
	(void)printf("transport          %s\n", word(status, "transport"));
	print_group(status, "stream");
	print_group(status, "agent");
	print_group(status, "relay");
	print_group(status, "signer");
	json_array_foreach(json_object_get(status, "clients"), i, client)
		print_client(client);
	if (json_is_true(json_object_get(status, "truncated")))
		(void)printf("and more processes than one answer holds\n");
	json_decref(status);
	return 0;
}

int sr_ctl_status(int argc, char **argv)
{
	const char *path = getenv("SIGRING_SOCKET");
	bool as_json = false;
	char *text;
	int ret = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			as_json = true;
		else if (!strcmp(argv[i], "--socket") && i + 1 < argc)
			path = argv[++i];
		else if (!strcmp(argv[i], "--help"))
			return usage(stdout, 0);
		else
			return usage(stderr, 2);
	}
	text = ask(path ? path : SR_SOCKET_DEFAULT);
	if (!text)
		return 1;
	if (as_json)
		(void)puts(text);
	else
		ret = print_status(text);
	free(text);
	return ret;
}
