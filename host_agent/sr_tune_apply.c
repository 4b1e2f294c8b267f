/* SPDX-License-Identifier: MIT */
#include "sr_tune_apply.h"
#include "sr_tune_record.h"

struct tally {
	FILE *out;
	unsigned int changed;
	unsigned int refused; /* by the kernel, for good */
	unsigned int failed;
};

static bool is_interrupt(const char *path)
{
	return !strncmp(path, "/proc/irq/", 10);
}

/* Interrupts that the kernel places itself, and some of the timer's: EIO or EPERM. */
static void print_refusal(struct tally *t, const char *path, int error)
{
	if (is_interrupt(path) && (error == -EIO || error == -EPERM)) {
		t->refused++;
		(void)fprintf(t->out,
			      "kept      %s: the kernel lets nobody move this one\n",
			      path);
		return;
	}
	t->failed++;
	(void)fprintf(t->out, "FAILED    %s: %s\n", path, strerror(-error));
}

/* Writes one setting; the record is ahead of the host at each moment. */
static int change(const struct sr_tune_host *host, struct sr_tune_record *r, struct tally *t,
		  const char *item, const struct sr_tune_setting *s)
{
	char now[SR_TUNE_VALUE_BYTES];
	char after[SR_TUNE_VALUE_BYTES];
	int error = sr_tune_value(host, s->path, now);
	int ret;

	if (error < 0) {
		print_refusal(t, s->path, error);
		return 0;
	}
	if (!r) {
		t->changed++;
		(void)fprintf(t->out, "would set %s: %s -> %s (%s)\n", s->path, now, s->value,
			      item);
		return 0;
	}
	ret = sr_tune_record_add(r, s->path, now, s->value);
	if (ret < 0)
		return ret;
	error = sr_tune_write(host, s->path, s->value);
	if (sr_tune_value(host, s->path, after) < 0)
		memcpy(after, error < 0 ? now : s->value, sizeof after);
	if (!sr_tune_same(s->path, after, s->value)) {
		ret = sr_tune_record_add(r, s->path, s->value, after);
		if (ret < 0)
			return ret;
	}
	if (error < 0) {
		print_refusal(t, s->path, error);
		return 0;
	}
	t->changed++;
	(void)fprintf(t->out, "set       %s: %s -> %s (%s)", s->path, now, after, item);
	if (!sr_tune_same(s->path, after, s->value))
		(void)fprintf(t->out, "; asked for %s", s->value);
	(void)fputc('\n', t->out);
	return 0;
}

static int change_all(const struct sr_tune_host *host, struct sr_tune_record *r, struct tally *t,
		      unsigned int *others)
{
	int ret = 0;

	for (size_t i = 0; i < sr_tune_item_count && ret == 0; i++) {
		const struct sr_tune_item *item = &sr_tune_items[i];
		struct sr_tune_finding found;

		sr_tune_look(item, host, &found);
		for (size_t k = 0; k < found.setting_count && ret == 0; k++)
			ret = change(host, r, t, item->name, &found.settings[k]);
		if (found.incomplete) {
			t->failed++;
			(void)fprintf(t->out, "FAILED    %s: too many settings, or too long ones\n",
				      item->name);
		}
		*others += found.verdict != SR_TUNE_OK && found.setting_count == 0;
		sr_tune_found_free(&found);
	}
	return ret;
}

int sr_tune_apply(const struct sr_tune_host *host, const char *state, bool dry_run, FILE *out,
		  struct sr_reason *why)
{
	struct tally t = { .out = out };
	struct sr_tune_record record;
	unsigned int others = 0;
	int ret;

	if (!dry_run) {
		ret = sr_tune_record_open(&record, state, host, true, why);
		if (ret < 0)
			return ret;
	}
	ret = change_all(host, dry_run ? NULL : &record, &t, &others);
	if (!dry_run)
		(void)sr_tune_record_close(&record, ret == 0 && record.count == 0);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot note in %.180s what is changed: %s; stopped",
				     state, strerror(-ret));
	(void)fprintf(out, "%u %s, %u kept by the kernel, %u failed", t.changed,
		      dry_run ? "to change" : "changed", t.refused, t.failed);
	if (others)
		(void)fprintf(out, "; %u items need more than this: sigring-tune check", others);
	if (!dry_run && t.changed)
		(void)fprintf(out, "; undo by sigring-tune revert");
	(void)fputc('\n', out);
	return t.failed ? 1 : 0;
}

static void put_back(const struct sr_tune_host *host, const struct sr_tune_change *c, bool dry_run,
		     struct tally *t)
{
	char now[SR_TUNE_VALUE_BYTES];
	int error;

	if (sr_tune_same(c->path, c->was,
			 c->left)) /* the write was refused, or undone by a later one */
		return;
	error = sr_tune_value(host, c->path, now);
	if (error < 0) {
		print_refusal(t, c->path, error);
		return;
	}
	if (sr_tune_same(c->path, now, c->was)) {
		(void)fprintf(t->out, "as before %s: %s\n", c->path, now);
		return;
	}
	if (!sr_tune_same(c->path, now, c->left)) {
		t->refused++;
		(void)fprintf(t->out,
			      "left      %s: %s, since somebody changed it; we had set %s\n",
			      c->path, now, c->left);
		return;
	}
	error = dry_run ? 0 : sr_tune_write(host, c->path, c->was);
	if (error < 0) {
		print_refusal(t, c->path, error);
		return;
	}
	t->changed++;
	(void)fprintf(t->out, "%s %s: %s -> %s\n", dry_run ? "would set" : "set back ", c->path,
		      now, c->was);
}

int sr_tune_revert(const struct sr_tune_host *host, const char *state, bool dry_run, FILE *out,
		   struct sr_reason *why)
{
	struct tally t = { .out = out };
	struct sr_tune_record record;
	int ret = sr_tune_record_open(&record, state, host, false, why);

	if (ret == -ENOENT)
		return sr_reason_set(why, ret, "nothing is recorded in %.180s", state);
	if (ret < 0)
		return ret;
	if (record.stale)
		(void)fprintf(out, "the host was restarted since: its settings went with that\n");
	for (size_t i = record.count; i-- > 0;)
		put_back(host, &record.changes[i], dry_run, &t);
	ret = sr_tune_record_close(&record, !dry_run && t.failed == 0);
	if (ret < 0)
		return sr_reason_set(why, ret, "cannot remove %.180s: %s", state, strerror(-ret));
	(void)fprintf(out, "%u %s, %u left alone, %u failed\n", t.changed,
		      dry_run ? "to set back" : "set back", t.refused, t.failed);
	return t.failed ? 1 : 0;
}
