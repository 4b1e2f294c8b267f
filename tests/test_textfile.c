/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_textfile.h"

#define MAX 16u

static char dir[] = "/tmp/sigring-textfile-XXXXXX", path[64];
static struct sr_reason why;
static char *text;
static size_t bytes;

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/file", dir);
}

static void end(void)
{
	free(text);
	(void)unlink(path);
	(void)rmdir(dir);
}

TestSuite(textfile, .init = begin, .fini = end);

static void put_file(const char *what, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	cr_assert(fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what));
	cr_assert_eq(fchmod(fd, mode), 0);
	(void)close(fd);
}

static int read_it(bool anybodys)
{
	free(text);
	return sr_textfile_read(&text, &bytes, MAX, path, anybodys, &why);
}

Test(textfile, is_read_whole_or_not_at_all)
{
	put_file("", 0644);
	cr_assert_eq(read_it(false), 0);
	cr_assert_eq(bytes, 0);
	put_file("sixteen letters.", 0644);
	cr_assert_eq(read_it(false), 0);
	cr_assert_eq(bytes, MAX);
	cr_assert_arr_eq(text, "sixteen letters.", MAX);
	put_file("seventeen letters", 0644);
	cr_assert_eq(read_it(false), -EMSGSIZE);
	cr_assert_null(text);
	cr_assert(strstr(why.text, "longer than 16"), "%s", why.text);
}

Test(textfile, that_others_may_write_proves_nothing)
{
	static const mode_t modes[] = { 0664, 0646, 0622 };

	for (size_t i = 0; i < 3; i++) {
		put_file("x", modes[i]);
		cr_assert_eq(read_it(false), -EACCES);
		cr_assert_null(text);
		cr_assert(strstr(why.text, "chmod go-w"), "%s", why.text);
		cr_assert_eq(read_it(true), 0, "unless it proves itself");
	}
}

Test(textfile, of_another_user_proves_nothing)
{
	put_file("x", 0644);
	if (geteuid() != 0 || chown(path, 65534, 65534))
		cr_skip_test("only root can give a file away");
	cr_assert_eq(read_it(false), -EACCES);
	cr_assert(strstr(why.text, "chown it to user 0"), "%s", why.text);
	cr_assert_eq(read_it(true), 0, "unless it proves itself");
}

Test(textfile, is_a_regular_file_that_is_there)
{
	cr_assert_eq(read_it(true), -ENOENT);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(read_it(true), -EACCES); /* and does not hang */
	cr_assert(strstr(why.text, "no regular file"), "%s", why.text);
}
