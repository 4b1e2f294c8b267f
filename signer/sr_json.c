/* SPDX-License-Identifier: MIT */
#include "sr_json.h"

#include <stdarg.h>
#include <stdio.h>

#include "sr_digits.h"

#define PATH_BYTES 96u

void sr_json_push(struct sr_json *json, const char *name, uint32_t index)
{
	if (json->depth < SR_JSON_DEPTH_MAX)
		json->path[json->depth] = (struct sr_json_step){ name, index };
	json->depth++;
}

void sr_json_pop(struct sr_json *json)
{
	json->depth--;
}

/* "keys[1].policy", or nothing. */
static void path_put(char path[PATH_BYTES], const struct sr_json *json)
{
	size_t used = 0;

	path[0] = '\0';
	for (uint32_t i = 0; i < json->depth && i < SR_JSON_DEPTH_MAX && used < PATH_BYTES; i++) {
		const struct sr_json_step *step = &json->path[i];
		char text[PATH_BYTES];
		int n = step->name ? snprintf(text, sizeof text, "%s%s", i ? "." : "", step->name) :
				     snprintf(text, sizeof text, "[%u]", step->index);

		if (n < 0 || (size_t)n >= PATH_BYTES - used)
			return;
		memcpy(path + used, text, (size_t)n + 1);
		used += (size_t)n;
	}
}

int sr_json_fail(const struct sr_json *json, const char *format, ...)
{
	char text[sizeof json->why->text], path[PATH_BYTES];
	unsigned int line = 1;
	va_list args;

	for (size_t i = 0; i < json->at && i < json->bytes; i++)
		line += json->text[i] == '\n';
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	path_put(path, json);
	return sr_reason_set(json->why, -EBADMSG, "%s, line %u: %.140s%s%s", json->what, line, text,
			     path[0] ? ", at " : "", path);
}

static void skip_space(struct sr_json *json)
{
	while (json->at < json->bytes && memchr(" \t\r\n", json->text[json->at], 4))
		json->at++;
}

static bool take(struct sr_json *json, char c)
{
	skip_space(json);
	if (json->at == json->bytes || json->text[json->at] != c)
		return false;
	json->at++;
	return true;
}

bool sr_json_is_string(struct sr_json *json)
{
	skip_space(json);
	return json->at < json->bytes && json->text[json->at] == '"';
}

int sr_json_text(struct sr_json *json, struct sr_json_string *s, size_t max)
{
	if (!take(json, '"'))
		return sr_json_fail(json, "a string in \" is expected");

	s->data = json->text + json->at;
	for (s->bytes = 0; json->at < json->bytes; s->bytes++, json->at++) {
		unsigned char c = (unsigned char)json->text[json->at];

		if (c == '"') {
			json->at++;
			return 0;
		}
		if (c < 0x20 || c > 0x7e || c == '\\')
			return sr_json_fail(json, "a string is printable ASCII, without a "
						  "backslash");
		if (s->bytes == max)
			return sr_json_fail(json, "a string is longer than %zu bytes", max);
	}
	return sr_json_fail(json, "the text ends within a string");
}

int sr_json_string(struct sr_json *json, struct sr_json_string *s)
{
	return sr_json_text(json, s, SR_JSON_STRING_BYTES_MAX);
}

int sr_json_copy(struct sr_json *json, char *out, size_t max)
{
	struct sr_json_string s;
	int ret = sr_json_text(json, &s, max);

	if (ret)
		return ret;
	memcpy(out, s.data, s.bytes);
	out[s.bytes] = '\0';
	return 0;
}

static bool ends_value(const struct sr_json *json)
{
	return json->at == json->bytes || memchr(" \t\r\n,]}", json->text[json->at], 7);
}

int sr_json_number(struct sr_json *json, uint64_t *value, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	size_t begin, digits;

	skip_space(json);
	begin = json->at;
	while (json->at < json->bytes && json->text[json->at] >= '0' &&
	       json->text[json->at] <= '9' && json->at - begin < 17)
		v = 10 * v + (uint64_t)(json->text[json->at++] - '0');
	digits = json->at - begin;

	/* No other program may read 7e2, 7.5 or 07 as something else. */
	if (digits == 0 || (digits > 1 && json->text[begin] == '0') || v < min || v > max ||
	    !ends_value(json))
		return sr_json_fail(json,
				    "a decimal integer from %llu to %llu is expected, digits alone",
				    (unsigned long long)min, (unsigned long long)max);
	*value = v;
	return 0;
}

static bool take_word(struct sr_json *json, const char *word)
{
	size_t bytes = strlen(word), begin = json->at;

	if (json->bytes - begin < bytes || memcmp(json->text + begin, word, bytes) != 0)
		return false;
	json->at += bytes;
	if (ends_value(json))
		return true;
	json->at = begin;
	return false;
}

int sr_json_flag(struct sr_json *json, bool *value)
{
	skip_space(json);
	*value = take_word(json, "true");
	if (!*value && !take_word(json, "false"))
		return sr_json_fail(json, "true or false is expected");
	return 0;
}

int sr_json_digits(struct sr_json *json, unsigned char *out, size_t bytes)
{
	struct sr_json_string s;
	int ret = sr_json_string(json, &s);

	if (ret)
		return ret;
	if (s.bytes != 2 * bytes || sr_digits_get(out, s.data, bytes))
		return sr_json_fail(json, "%zu hexadecimal digits, lower case, are expected",
				    2 * bytes);
	return 0;
}

int sr_json_array(struct sr_json *json, int (*item)(struct sr_json *json, void *to), void *to)
{
	uint32_t index = 0;
	int ret;

	if (!take(json, '['))
		return sr_json_fail(json, "a list in [ ] is expected");
	if (take(json, ']'))
		return 0;
	do {
		sr_json_push(json, NULL, index++);
		ret = item(json, to);
		if (ret)
			return ret;
		sr_json_pop(json);
	} while (take(json, ','));
	return take(json, ']') ? 0 : sr_json_fail(json, "a comma or ] is expected");
}

static int take_field(struct sr_json *json, const struct sr_json_field *fields, size_t count,
		      uint32_t *met, void *to)
{
	struct sr_json_string name;
	int ret = sr_json_string(json, &name);

	if (ret)
		return ret;
	for (size_t i = 0; i < count; i++) {
		if (strlen(fields[i].name) != name.bytes ||
		    memcmp(fields[i].name, name.data, name.bytes) != 0)
			continue;
		if (*met & (1u << i))
			return sr_json_fail(json, "field \"%s\" is repeated", fields[i].name);
		*met |= 1u << i;
		if (!take(json, ':'))
			return sr_json_fail(json, "a colon is expected behind \"%s\"",
					    fields[i].name);
		sr_json_push(json, fields[i].name, 0);
		ret = fields[i].take(json, to);
		if (!ret)
			sr_json_pop(json);
		return ret;
	}
	return sr_json_fail(json, "field \"%.*s\" is not known here", (int)name.bytes, name.data);
}

int sr_json_object(struct sr_json *json, const struct sr_json_field *fields, size_t count, void *to)
{
	uint32_t met = 0;
	int ret;

	if (!take(json, '{'))
		return sr_json_fail(json, "an object in { } is expected");
	if (!take(json, '}')) {
		do {
			ret = take_field(json, fields, count, &met, to);
			if (ret)
				return ret;
		} while (take(json, ','));
		if (!take(json, '}'))
			return sr_json_fail(json, "a comma or } is expected");
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].required && !(met & (1u << i)))
			return sr_json_fail(json, "field \"%s\" is missing", fields[i].name);
	return 0;
}

int sr_json_end(struct sr_json *json)
{
	skip_space(json);
	return json->at == json->bytes ? 0 : sr_json_fail(json, "something stands behind the end");
}
