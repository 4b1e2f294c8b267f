/* SPDX-License-Identifier: MIT */
#include "sr_host.h"
#include "sr_tune_check.h"
#include "sr_version.h"

void sr_tune_json_string(FILE *out, const char *text)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			(void)fprintf(out, "\\%c", c);
		else if (c < 0x20)
			(void)fprintf(out, "\\u%04x", c);
		else
			(void)fputc(c < 0x7f ? c : '?', out);
	}
	(void)fputc('"', out);
}

static void print_json(FILE *out, const char *comma, const struct sr_tune_item *item,
		       const struct sr_tune_finding *f)
{
	(void)fprintf(out, "%s{\"item\":\"%s\",\"verdict\":\"%s\",\"text\":", comma, item->name,
		      sr_tune_verdict_name(f->verdict));
	sr_tune_json_string(out, f->text);
	(void)fputs(",\"fix\":", out);
	sr_tune_json_string(out, f->verdict ? f->fix : "");
	(void)fprintf(out, ",\"settings\":%zu}", f->setting_count);
}

static void print_line(struct sr_host_check *check, const struct sr_tune_item *item,
		       const struct sr_tune_finding *f)
{
	if (f->verdict == SR_TUNE_OK)
		sr_host_check_line(check, 0, "%s: %s", item->name, f->text);
	else
		sr_host_check_line(check, (int)f->verdict, "%s: %s: %s", item->name, f->text,
				   f->fix);
}

int sr_tune_check(const struct sr_tune_host *host, FILE *out, bool json)
{
	struct sr_host_check check = { .out = out };
	char list[SR_CPUS_TEXT_BYTES];

	if (json) {
		(void)fprintf(out,
			      "{\"program\":\"sigring-tune\",\"version\":\"%s\",\"loops\":\"%s\","
			      "\"items\":[",
			      SR_VERSION, sr_cpus_to_list(&host->loops, list, sizeof list));
	}
	for (size_t i = 0; i < sr_tune_item_count; i++) {
		struct sr_tune_finding found;

		sr_tune_look(&sr_tune_items[i], host, &found);
		if (json) {
			check.failed += found.verdict == SR_TUNE_FAIL;
			check.warned += found.verdict == SR_TUNE_WARN;
			print_json(out, i ? "," : "", &sr_tune_items[i], &found);
		} else {
			print_line(&check, &sr_tune_items[i], &found);
		}
		sr_tune_found_free(&found);
	}
	if (!json)
		return sr_host_check_end(&check);
	(void)fprintf(out, "],\"failed\":%u,\"warned\":%u}\n", check.failed, check.warned);
	return check.failed ? 1 : 0;
}
