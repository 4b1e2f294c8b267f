/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "sr_address.h"
#include "sr_config.h"
#include "sr_version.h"
#include "sr_wait.h"

static const struct sr_option *find(const struct sr_program *p, const char *name)
{
	for (size_t i = 0; i < p->option_count; i++)
		if (!strcmp(p->options[i].name, name))
			return &p->options[i];
	return NULL;
}

static void print_help(const struct sr_program *p)
{
	(void)printf("usage: %s [options]%s%s\n%s\n\n", p->name, *p->operands ? " " : "",
		     p->operands, p->purpose);
	for (size_t i = 0; i < p->option_count; i++) {
		const struct sr_option *o = &p->options[i];
		char left[64];

		(void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "",
			       o->argument ? o->argument : "");
		(void)printf("  %-28s %s\n", left, o->help);
	}
	(void)printf("  %-28s %s\n", "--config FILE", "take options from a file of `name value` lines");
	(void)printf("  %-28s %s\n", "--help", "print this and exit");
	(void)printf("  %-28s %s\n", "--version", "print the version and exit");
}

int sr_config_file(const struct sr_program *program, const char *path, struct sr_reason *why)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	unsigned int number = 0;
	int ret = 0;

	if (!f)
		return sr_reason_set(why, -errno, "cannot read %s: %s", path, strerror(errno));
	while (ret == 0 && fgets(line, sizeof line, f)) {
		struct sr_reason inner = { 0, "" };
		const struct sr_option *o;
		char *name;
		char *value;
		char *save;

		number++;
		if (!strchr(line, '\n') && !feof(f)) {
			ret = sr_reason_set(why, -EINVAL, "%s:%u: line is too long", path, number);
			break;
		}
		line[strcspn(line, "#\n")] = '\0';
		name = strtok_r(line, " \t", &save);
		if (!name)
			continue;
		value = strtok_r(NULL, " \t", &save);
		o = find(program, name);
		if (!o)
			ret = sr_reason_set(why, -EINVAL, "%s:%u: no such option: %s (see %s --help)",
					    path, number, name, program->name);
		else if (!value != !o->argument || (value && strtok_r(NULL, " \t", &save)))
			ret = sr_reason_set(why, -EINVAL, "%s:%u: %s takes %s", path, number, name,
					    o->argument ? "one value" : "no value");
		else if (o->set(o->target, value, o, &inner) < 0)
			ret = sr_reason_set(why, -EINVAL, "%s:%u: %.150s", path, number, inner.text);
	}
	(void)fclose(f);
	return ret;
}

int sr_config_args(const struct sr_program *program, int argc, char **argv, struct sr_reason *why)
{
	int i = 1;

	while (i < argc && !strncmp(argv[i], "--", 2)) {
		const char *name = argv[i] + 2;
		const struct sr_option *o = find(program, name);
		bool is_config = !strcmp(name, "config");
		int ret;

		i++;
		if (!*name) /* "--": operands follow */
			break;
		if (!strcmp(name, "help")) {
			print_help(program);
			exit(0);
		}
		if (!strcmp(name, "version")) {
			(void)printf("%s %s\n", program->name, SR_VERSION);
			exit(0);
		}
		if (!o && !is_config)
			return sr_reason_set(why, -EINVAL, "no such option: --%s (see %s --help)",
					     name, program->name);
		if ((is_config || o->argument) && i == argc)
			return sr_reason_set(why, -EINVAL, "--%s needs a value", name);
		if (is_config)
			ret = sr_config_file(program, argv[i++], why);
		else
			ret = o->set(o->target, o->argument ? argv[i++] : NULL, o, why);
		if (ret < 0)
			return ret;
	}
	return i;
}

int sr_program_fail(const struct sr_program *program, const struct sr_reason *why)
{
	(void)fprintf(stderr, "%s: %s\n", program->name, why->text);
	return why->error == -EINVAL ? 2 : 1;
}

void sr_program_log(void *program, const char *text)
{
	(void)fprintf(stderr, "%s: %s\n", ((const struct sr_program *)program)->name, text);
}

int sr_config_number(const char *value, uint64_t min, uint64_t max, uint64_t *number)
{
	unsigned long long v;
	char *end;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno || *end || v < min || v > max)
		return -EINVAL;
	*number = v;
	return 0;
}

int sr_set_u32(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	uint64_t v;

	if (sr_config_number(value, o->min, o->max, &v) < 0)
		return sr_reason_set(why, -EINVAL, "%s must be a number from %llu to %llu, not `%s`",
				     o->name, (unsigned long long)o->min,
				     (unsigned long long)o->max, value);
	*(uint32_t *)target = (uint32_t)v;
	return 0;
}

int sr_set_pow2(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	uint64_t v;

	if (sr_config_number(value, o->min, o->max, &v) < 0 || !sr_is_pow2(v))
		return sr_reason_set(why, -EINVAL,
				     "%s must be a power of two from %llu to %llu, not `%s`",
				     o->name, (unsigned long long)o->min,
				     (unsigned long long)o->max, value);
	*(uint32_t *)target = (uint32_t)v;
	return 0;
}

int sr_set_pow2_or_0(void *target, const char *value, const struct sr_option *o,
		     struct sr_reason *why)
{
	uint64_t v;

	if (sr_config_number(value, 0, 0, &v) < 0)
		return sr_set_pow2(target, value, o, why);
	*(uint32_t *)target = 0;
	return 0;
}

int sr_set_lines(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	uint64_t v;

	if (sr_config_number(value, o->min, o->max, &v) < 0 || v % SR_LINE_BYTES)
		return sr_reason_set(why, -EINVAL,
				     "%s must be a multiple of %u from %llu to %llu, not `%s`",
				     o->name, SR_LINE_BYTES, (unsigned long long)o->min,
				     (unsigned long long)o->max, value);
	*(uint32_t *)target = (uint32_t)v;
	return 0;
}

int sr_set_true(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	(void)value, (void)o, (void)why;
	*(bool *)target = true;
	return 0;
}

int sr_set_false(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	(void)value, (void)o, (void)why;
	*(bool *)target = false;
	return 0;
}

int sr_set_text(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	char *copy = strdup(value); /* lives as long as the program */

	if (!copy)
		return sr_reason_set(why, -ENOMEM, "%s: out of memory", o->name);
	*(const char **)target = copy;
	return 0;
}

int sr_set_cpu(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	uint64_t v;

	if (sr_config_number(value, 0, 1023, &v) < 0)
		return sr_reason_set(why, -EINVAL, "%s must be the number of a CPU, not `%s`",
				     o->name, value);
	*(int *)target = (int)v;
	return 0;
}

int sr_set_wait(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	int policy = sr_wait_from_name(value);

	if (policy < 0)
		return sr_reason_set(why, -EINVAL,
				     "%s must be auto, spin, yield or block, not `%s`", o->name,
				     value);
	*(enum sr_wait_policy *)target = (enum sr_wait_policy)policy;
	return 0;
}

int sr_set_address(void *target, const char *value, const struct sr_option *o,
		   struct sr_reason *why)
{
	(void)o;
	return sr_address_parse(target, value, why);
}

int sr_set_socket(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	char text[sizeof((struct sr_address *)0)->text];

	if (strlen(value) > sizeof text - sizeof "unix:")
		return sr_reason_set(why, -EINVAL, "%s: path is longer than %zu bytes", o->name,
				     sizeof text - sizeof "unix:");
	(void)snprintf(text, sizeof text, "unix:%s", value);
	return sr_address_parse(target, text, why);
}

int sr_set_mode(void *target, const char *value, const struct sr_option *o, struct sr_reason *why)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (end == value || *end || mode > 0777)
		return sr_reason_set(why, -EINVAL, "%s must be octal permission bits, not `%s`",
				     o->name, value);
	*(unsigned int *)target = (unsigned int)mode;
	return 0;
}
