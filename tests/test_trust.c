/* SPDX-License-Identifier: MIT */
/* What a client believes: every line of the file, every way to get one wrong. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_trust.h"

#define H8 "0123abcd"
#define HASH H8 H8 H8 H8 H8 H8 H8 H8
#define PCR(c) H8 H8 H8 H8 H8 H8 H8 H8 H8 H8 H8 "0123abc" c
#define ZEROS "000000000000000000000000000000000000000000000000"
#define MAGIC "sigring-trust 1\n"
#define ROOT "root " HASH "\n"
#define IMAGE "image " PCR("0") " " PCR("1") " " PCR("2")
#define MIN "manifest-min 7\n"

static struct sr_trust *trust, *again;
static struct sr_reason why;
static char *text;
static char dir[64], path[128];

static void begin(void)
{
	trust = calloc(2, sizeof *trust);
	text = malloc(SR_TRUST_BYTES_MAX);
	cr_assert(trust && text);
	again = trust + 1;
	(void)snprintf(dir, sizeof dir, "%s/sigring-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/trust", dir);
}

static void end(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
	free(text);
	free(trust);
}

TestSuite(trust, .init = begin, .fini = end, .timeout = 60);

static int parse(const char *lines)
{
	memset(&why, 0, sizeof why);
	return sr_trust_parse(trust, lines, strlen(lines), "trust", &why);
}

Test(trust, a_whole_file_is_read)
{
	cr_assert_eq(parse("# of the desk\n\n" MAGIC ROOT IMAGE "\n" IMAGE " 3=" PCR("3") " 8=" PCR(
			     "8") "\nmanifest " HASH "\n" MIN "max-age 60\nrequire boot-pcr"),
		     0, "%s", why.text);
	cr_assert_eq(trust->root.sha256[0], 0x01);
	cr_assert_eq(trust->root.sha256[31], 0xcd);
	cr_assert_eq(trust->image_count, 2);
	cr_assert_not(trust->images[0].with_pcr3 || trust->images[0].with_pcr8);
	cr_assert(trust->images[1].with_pcr3 && trust->images[1].with_pcr8);
	cr_assert_eq(trust->images[0].pcr0[47], 0xc0);
	cr_assert_eq(trust->images[0].pcr1[47], 0xc1);
	cr_assert_eq(trust->images[0].pcr2[47], 0xc2);
	cr_assert_eq(trust->images[1].pcr3[47], 0xc3);
	cr_assert_eq(trust->images[1].pcr8[47], 0xc8);
	cr_assert(trust->has_manifest && trust->manifest_hash[0] == 0x01);
	cr_assert_eq(trust->manifest_min, 7);
	cr_assert_eq(trust->age_s_max, 60);
	cr_assert(trust->boot_required);
}

Test(trust, root_aws_is_the_pinned_one)
{
	struct sr_attest_root aws;

	sr_attest_root_aws(&aws);
	cr_assert_eq(parse(MAGIC "root aws\n" IMAGE "\n" MIN), 0, "%s", why.text);
	cr_assert_arr_eq(&trust->root, &aws, sizeof aws);
	cr_assert_eq(trust->age_s_max, SR_TRUST_AGE_S_DEFAULT);
	cr_assert_not(trust->has_manifest || trust->boot_required);
}

Test(trust, each_wrong_line_is_named_with_what_it_wants)
{
	static const struct {
		const char *lines, *words;
	} wrong[] = {
		{ "", "is empty" },
		{ "# nothing\n", "is empty" },
		{ "root aws\n", ":1: the first line" },
		{ "sigring-trust 2\n", ":1: this version" },
		{ "sigring-trust 1 \n", ":1: this version" },
		{ "sigring-trust\n", ":1: unknown" },
		{ MAGIC MAGIC, ":2: this line is repeated" },
		{ MAGIC "root\n", ":2: unknown" },
		{ MAGIC "root AWS\n", ":2: root wants" },
		{ MAGIC "root  aws\n", ":2: root wants" },
		{ MAGIC " root aws\n", ":2: unknown" },
		{ MAGIC "root aws\r\n", ":2: root wants" },
		{ MAGIC "root " HASH "0\n", ":2: root wants" },
		{ MAGIC "root 0123ABCD" H8 H8 H8 H8 H8 H8 H8 "\n", ":2: root wants" },
		{ MAGIC ROOT ROOT, ":3: this line is repeated" },
		{ MAGIC ROOT "root aws\n", ":3: this line is repeated" },
		{ MAGIC "image " PCR("0") "\n", ":2: image wants" },
		{ MAGIC "image " PCR("0") " " PCR("1") "\n", ":2: image wants" },
		{ MAGIC "image " PCR("0") "  " PCR("1") " " PCR("2") "\n", ":2: image wants" },
		{ MAGIC "image " PCR("g") " " PCR("1") " " PCR("2") "\n", ":2: image wants" },
		{ MAGIC IMAGE " \n", ":2: behind" },
		{ MAGIC IMAGE "0\n", ":2: behind" },
		{ MAGIC IMAGE " 4=" PCR("0") "\n", ":2: behind" },
		{ MAGIC IMAGE " 3=" PCR("G") "\n", ":2: behind" },
		{ MAGIC IMAGE " 8=" PCR("0") " 3=" PCR("0") "\n", ":2: behind" },
		{ MAGIC "image " ZEROS ZEROS " " PCR("1") " " PCR("2") "\n", ":2: PCR 0 is zero" },
		{ MAGIC "manifest " H8 "\n", ":2: manifest wants" },
		{ MAGIC "manifest " HASH "\nmanifest " HASH "\n", ":3: this line is repeated" },
		{ MAGIC "manifest-min 0\n", ":2: manifest-min wants" },
		{ MAGIC "manifest-min 07\n", ":2: manifest-min wants" },
		{ MAGIC "manifest-min +7\n", ":2: manifest-min wants" },
		{ MAGIC "manifest-min 12345678901234567890\n", ":2: manifest-min wants" },
		{ MAGIC "manifest-min \n", ":2: manifest-min wants" },
		{ MAGIC MIN MIN, ":3: this line is repeated" },
		{ MAGIC "max-age 0\n", ":2: max-age wants" },
		{ MAGIC "max-age 86401\n", ":2: max-age wants" },
		{ MAGIC "max-age 60s\n", ":2: max-age wants" },
		{ MAGIC "require pcr16\n", ":2: require wants" },
		{ MAGIC "require boot-pcr \n", ":2: require wants" },
		{ MAGIC "require boot-pcr\nrequire boot-pcr\n", ":3: this line is repeated" },
		{ MAGIC "roots aws\n", ":2: unknown" },
		{ MAGIC IMAGE "\n" MIN, "has no root" },
		{ MAGIC ROOT MIN, "has no image" },
		{ MAGIC ROOT IMAGE "\n", "neither a manifest" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(parse(wrong[i].lines), -EBADMSG, "%zu is taken: %s", i,
			     wrong[i].lines);
		cr_assert(strstr(why.text, wrong[i].words), "%zu: `%s` does not say `%s`", i,
			  why.text, wrong[i].words);
	}
}

Test(trust, a_file_has_room_for_64_images_and_no_more)
{
	size_t bytes = (size_t)sprintf(text, "%s", MAGIC ROOT MIN);

	for (int i = 0; i < 64; i++)
		bytes += (size_t)sprintf(text + bytes, "%s\n", IMAGE);
	cr_assert_eq(sr_trust_parse(trust, text, bytes, "trust", &why), 0, "%s", why.text);
	cr_assert_eq(trust->image_count, 64);
	bytes += (size_t)sprintf(text + bytes, "%s\n", IMAGE);
	cr_assert_eq(sr_trust_parse(trust, text, bytes, "trust", &why), -EBADMSG);
	cr_assert(strstr(why.text, ":68: an image too many"), "%s", why.text);
}

static void check_same(void)
{
	cr_assert_arr_eq(&trust->root, &again->root, sizeof trust->root);
	cr_assert_eq(trust->image_count, again->image_count);
	for (size_t i = 0; i < trust->image_count; i++)
		cr_assert_arr_eq(&trust->images[i], &again->images[i], sizeof trust->images[i]);
	cr_assert_eq(trust->has_manifest, again->has_manifest);
	cr_assert_arr_eq(trust->manifest_hash, again->manifest_hash, sizeof trust->manifest_hash);
	cr_assert_eq(trust->manifest_min, again->manifest_min);
	cr_assert_eq(trust->age_s_max, again->age_s_max);
}

Test(trust, what_is_written_is_read_again)
{
	static const char *const files[] = {
		MAGIC ROOT IMAGE " 3=" PCR("3") "\n" IMAGE " 8=" PCR("8") "\nmanifest " HASH "\n",
		MAGIC "root aws\n" IMAGE "\n" MIN "max-age 86400\n",
		MAGIC "root aws\n" IMAGE "\nmanifest-min 9999999999999999999\n",
	};

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		size_t bytes;

		cr_assert_eq(parse(files[i]), 0, "%s", why.text);
		bytes = sr_trust_put(text, trust);
		cr_assert_eq(sr_trust_parse(again, text, bytes, "again", &why), 0, "%s", why.text);
		check_same();
	}
}

Test(trust, a_file_is_replaced_as_a_whole)
{
	struct stat st;

	cr_assert_eq(parse(MAGIC "root aws\n" IMAGE "\n" MIN), 0);
	for (int i = 0; i < 2; i++) {
		trust->manifest_min++;
		cr_assert_eq(sr_trust_save(path, trust, &why), 0, "%s", why.text);
		cr_assert_eq(sr_trust_load(again, path, &why), 0, "%s", why.text);
		check_same();
	}
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0644);
	cr_assert_eq(rmdir(dir), -1);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(rmdir(dir), 0, "nothing else was left there");
	cr_assert_eq(sr_trust_save(path, trust, &why), -ENOENT);
	cr_assert(strstr(why.text, path), "%s", why.text);
}

Test(trust, a_file_that_others_may_write_is_refused)
{
	static const mode_t wrong[] = { 0664, 0646, 0666, 0620 };
	char words[200];

	(void)snprintf(words, sizeof words, "chmod go-w %s", path);
	cr_assert_eq(parse(MAGIC "root aws\n" IMAGE "\n" MIN), 0);
	cr_assert_eq(sr_trust_save(path, trust, &why), 0);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(chmod(path, wrong[i]), 0);
		cr_assert_eq(sr_trust_load(again, path, &why), -EACCES, "%o", wrong[i]);
		cr_assert(strstr(why.text, words), "%s", why.text);
	}
	cr_assert_eq(chmod(path, 0444), 0);
	cr_assert_eq(sr_trust_load(again, path, &why), 0, "%s", why.text);
}

Test(trust, what_is_no_file_or_too_long_is_refused)
{
	char block[4096];
	int fd;

	cr_assert_eq(sr_trust_load(trust, path, &why), -ENOENT);
	cr_assert(strstr(why.text, "cannot open"), "%s", why.text);
	cr_assert_eq(sr_trust_load(trust, dir, &why), -EACCES);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(sr_trust_load(trust, path, &why), -EACCES, "and it did not hang");
	cr_assert_eq(unlink(path), 0);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	memset(block, '#', sizeof block);
	for (uint32_t i = 0; i < SR_TRUST_BYTES_MAX / sizeof block; i++)
		cr_assert_eq(write(fd, block, sizeof block), sizeof block);
	cr_assert_eq(sr_trust_load(trust, path, &why), -EBADMSG);
	cr_assert(strstr(why.text, "is empty"), "%s", why.text);
	cr_assert_eq(write(fd, "#", 1), 1);
	cr_assert_eq(sr_trust_load(trust, path, &why), -EBADMSG);
	cr_assert(strstr(why.text, "longer than"), "%s", why.text);
	(void)close(fd);
}

Test(trust, expectation_is_what_the_file_says)
{
	struct sr_setup_expect expect;

	cr_assert_eq(parse(MAGIC ROOT IMAGE "\nmanifest " HASH "\n"), 0);
	sr_trust_expect(&expect, trust);
	cr_assert(expect.images == trust->images && expect.image_count == 1);
	cr_assert(expect.manifest_hash == trust->manifest_hash);
	cr_assert(expect.manifest_version_min == 0 && expect.age_ms_max == 300000);
	cr_assert_arr_eq(&expect.root, &trust->root, sizeof expect.root);
	cr_assert_eq(parse(MAGIC ROOT IMAGE "\n" MIN), 0);
	sr_trust_expect(&expect, trust);
	cr_assert_null(expect.manifest_hash, "none is pinned");
	cr_assert_eq(expect.manifest_version_min, 7);
}
