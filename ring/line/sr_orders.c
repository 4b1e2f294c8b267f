/* SPDX-License-Identifier: MIT */
#include "sr_orders.h"

#include <stdarg.h>
#include <stdlib.h>

#include <jansson.h>

#include "sr_desk.h"
#include "sr_type.h"

#define FIELD_SHOWN_MAX 40 /* characters of the file's own text in a message */

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, SR_ORDERS_WHY_BYTES, format, args);
	va_end(args);
	for (char *p = why; *p; p++) /* the file's text must not drive a terminal */
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return -EINVAL;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int sr_orders_unhex(unsigned char *out, const char *hex, size_t digits)
{
	if (digits % 2)
		return -EINVAL;
	for (size_t i = 0; i < digits; i += 2) {
		int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		out[i / 2] = (unsigned char)(high * 16 + low);
	}
	return 0;
}

static int check_members(json_t *root, char *why)
{
	static const char *const known[] = { "scheme", "key", "message", "hex", "id", "source" };
	const char *name;
	json_t *value;

	json_object_foreach(root, name, value) {
		size_t i = 0;

		while (i < sizeof known / sizeof known[0] && strcmp(name, known[i]) != 0)
			i++;
		if (i == sizeof known / sizeof known[0])
			return refuse(why, "unknown field \"%.*s\"", FIELD_SHOWN_MAX, name);
		if (strcmp(name, "key") != 0 && !json_is_string(value))
			return refuse(why, "\"%s\" is not a string", name);
	}
	return 0;
}

/* Of a typed line; the rest of it is its venue's. */
static int check_texts(const json_t *root, char *why)
{
	static const char *const texts[] = { "id", "source" };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const json_t *value = json_object_get(root, texts[i]);

		if (value && !json_is_string(value))
			return refuse(why, "\"%s\" is not a string", texts[i]);
	}
	return 0;
}

static int read_scheme(struct sr_order_line *order, const json_t *root, char *why)
{
	const char *name = json_string_value(json_object_get(root, "scheme"));
	uint32_t type;

	if (!name)
		return refuse(why, "no \"scheme\"");
	type = sr_type_from_name(name);
	if (!type)
		return refuse(why, "unknown scheme \"%.*s\"", FIELD_SHOWN_MAX, name);
	order->type = (uint16_t)type;
	return 0;
}

static int read_key(struct sr_order_line *order, const json_t *root, char *why)
{
	const json_t *key = json_object_get(root, "key");

	if (!key)
		return refuse(why, "no \"key\"");
	if (!json_is_integer(key))
		return refuse(why, "\"key\" is not a whole number");
	if (json_integer_value(key) < 1 || json_integer_value(key) > UINT32_MAX)
		return refuse(why, "key %lld is not in 1 .. %u", (long long)json_integer_value(key),
			      UINT32_MAX);
	order->key = (uint32_t)json_integer_value(key);
	return 0;
}

static int read_body(struct sr_order_line *order, const json_t *root, uint32_t body_max, char *why)
{
	const json_t *hex = json_object_get(root, "hex");
	const json_t *message = json_object_get(root, "message");
	const json_t *given = hex ? hex : message;
	size_t length, bytes;

	if (!given)
		return refuse(why, "neither \"message\" nor \"hex\"");
	if (hex && message)
		return refuse(why, "both \"message\" and \"hex\"");
	length = json_string_length(given);
	if (hex && length % 2)
		return refuse(why, "odd number of hex digits (%zu)", length);
	bytes = hex ? length / 2 : length;
	if (bytes > body_max)
		return refuse(why, "body of %zu bytes is too long for the slot, which carries %u",
			      bytes, body_max);
	if (order->type == SR_ECDSA_DIGEST && bytes != SR_DIGEST_BYTES)
		return refuse(why, "a digest has %u bytes, not %zu", SR_DIGEST_BYTES, bytes);
	if (!sr_type_body_valid(order->type, (uint32_t)bytes))
		return refuse(why, "%s takes no body of %zu bytes", sr_type_name(order->type),
			      bytes);

	order->body_bytes = (uint16_t)bytes;
	if (!bytes)
		return 0;
	order->body = malloc(bytes);
	if (!order->body)
		return -ENOMEM;
	if (!hex)
		memcpy(order->body, json_string_value(given), bytes);
	else if (sr_orders_unhex(order->body, json_string_value(given), length))
		return refuse(why, "\"hex\" has a character that is no hex digit");
	return 0;
}

static int read_id(struct sr_order_line *order, const json_t *root, char *why)
{
	const json_t *id = json_object_get(root, "id");

	if (!id)
		return 0;
	if (json_string_length(id) > SR_ORDERS_ID_MAX)
		return refuse(why, "\"id\" of %zu bytes is longer than %u", json_string_length(id),
			      SR_ORDERS_ID_MAX);
	order->id = strdup(json_string_value(id));
	return order->id ? 0 : -ENOMEM;
}

static int read_blind(struct sr_order_line *order, json_t *root, uint32_t body_max, char *why)
{
	int err = check_members(root, why);

	if (!err)
		err = read_scheme(order, root, why);
	if (!err)
		err = read_key(order, root, why);
	if (!err)
		err = read_id(order, root, why);
	return err ? err : read_body(order, root, body_max, why);
}

static int read_typed(struct sr_order_line *order, struct sr_desk *desk, const json_t *root,
		      uint32_t body_max, char *why)
{
	int err = check_texts(root, why);

	if (!err)
		err = read_key(order, root, why);
	if (!err)
		err = read_id(order, root, why);
	return err ? err : sr_desk_read(desk, order, root, body_max, why);
}

int sr_orders_parse(struct sr_order_line *order, struct sr_desk *desk, const char *text,
		    size_t bytes, uint32_t body_max, char why[SR_ORDERS_WHY_BYTES])
{
	struct sr_order_line made = { .line = 0 };
	json_error_t error;
	json_t *root;
	int err;

	if (bytes > SR_ORDERS_LINE_MAX)
		return refuse(why, "line is longer than %u bytes", SR_ORDERS_LINE_MAX);
	if (body_max > UINT16_MAX)
		body_max = UINT16_MAX;
	root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!root)
		return refuse(why, "not JSON: %s (column %d)", error.text, error.column);
	if (!json_is_object(root))
		err = refuse(why, "not a JSON object");
	else if (desk && json_object_get(root, "venue"))
		err = read_typed(&made, desk, root, body_max, why);
	else
		err = read_blind(&made, root, body_max, why);
	json_decref(root);
	if (err) {
		sr_orders_release(&made);
		return err;
	}
	*order = made;
	return 0;
}

void sr_orders_release(struct sr_order_line *order)
{
	free(order->body);
	free(order->id);
	order->body = NULL;
	order->id = NULL;
}

void sr_orders_free(struct sr_orders *orders)
{
	for (uint32_t i = 0; i < orders->count; i++)
		sr_orders_release(&orders->list[i]);
	free(orders->list);
	sr_desk_delete(orders->desk);
	memset(orders, 0, sizeof *orders);
}

static int append(struct sr_orders *orders, const struct sr_order_line *order)
{
	if (orders->count == SR_ORDERS_COUNT_MAX)
		return -E2BIG;
	if (orders->count == orders->room) {
		uint32_t room = orders->room ? 2 * orders->room : 256;
		struct sr_order_line *list = realloc(orders->list, room * sizeof *list);

		if (!list)
			return -ENOMEM;
		orders->list = list;
		orders->room = room;
	}
	orders->list[orders->count++] = *order;
	return 0;
}

/*
 * One line into @text, of which @limit bytes are kept: a longer line is read to
 * its end and reported by its length alone, so that a file without newlines
 * costs no memory. Returns 0 at the end of the file.
 */
static int next_line(FILE *file, char *text, size_t limit, size_t *bytes)
{
	size_t n = 0;
	int c = getc_unlocked(file);

	if (c == EOF)
		return 0;
	for (; c != EOF && c != '\n'; c = getc_unlocked(file)) {
		if (n < limit)
			text[n] = (char)c;
		n++;
	}
	*bytes = n;
	return 1;
}

static bool blank(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

int sr_orders_read(struct sr_orders *orders, FILE *file, uint32_t body_max, bool keep_going,
		   sr_orders_refused *refused, void *arg)
{
	char why[SR_ORDERS_WHY_BYTES];
	char *text = malloc(SR_ORDERS_LINE_MAX);
	size_t bytes;
	int err = 0;

	memset(orders, 0, sizeof *orders);
	if (!text || sr_desk_new(&orders->desk)) {
		free(text);
		return -ENOMEM;
	}
	for (uint32_t line = 1; next_line(file, text, SR_ORDERS_LINE_MAX, &bytes); line++) {
		struct sr_order_line order;

		if (bytes <= SR_ORDERS_LINE_MAX && blank(text, bytes))
			continue;
		err = sr_orders_parse(&order, orders->desk, text, bytes, body_max, why);
		if (err == -EINVAL) {
			err = 0;
			orders->bad++;
			refused(arg, line, why);
			if (keep_going)
				continue;
			break;
		}
		if (err)
			break;
		order.line = line;
		err = append(orders, &order);
		if (err) {
			sr_orders_release(&order);
			break;
		}
	}
	free(text);
	return !err && ferror(file) ? -EIO : err;
}
