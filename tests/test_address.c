/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <linux/vm_sockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sr_address.h"

static struct sr_address parse(const char *text)
{
	struct sr_reason why = { 0, "" };
	struct sr_address a;

	memset(&a, 0xee, sizeof a);
	cr_assert_eq(sr_address_parse(&a, text, &why), 0, "%s", why.text);
	return a;
}

Test(address, unix_path_is_taken_as_it_is)
{
	struct sr_address a = parse("unix:/run/a b:c.sock");
	const struct sockaddr_un *un = (const struct sockaddr_un *)(void *)&a.sock;

	cr_assert_eq(un->sun_family, AF_UNIX);
	cr_assert_str_eq(un->sun_path, "/run/a b:c.sock");
	cr_assert_eq(a.bytes, sizeof *un);
	cr_assert_str_eq(a.text, "unix:/run/a b:c.sock");
}

Test(address, vsock_has_a_number_or_any_and_a_port)
{
	struct sr_address a = parse("vsock:16:9000");
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)(void *)&a.sock;

	cr_assert_eq(vm->svm_family, AF_VSOCK);
	cr_assert_eq(vm->svm_cid, 16);
	cr_assert_eq(vm->svm_port, 9000);
	cr_assert_eq(a.bytes, sizeof *vm);
	a = parse("vsock:any:4294967294");
	cr_assert_eq(vm->svm_cid, VMADDR_CID_ANY);
	cr_assert_eq(vm->svm_port, 4294967294u);
}

Test(address, vsock_auto_has_the_cid_that_somebody_hears_of)
{
	uint32_t cid = 0;
	struct sr_address a = parse("vsock:auto:5000");
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)(void *)&a.sock;
	struct sr_address control;

	cr_assert(a.found);
	cr_assert_eq(vm->svm_port, 5000);
	cr_assert_eq(sr_address_connect(&a), -EHOSTUNREACH, "nobody listens for it");
	a.cid = &cid;
	cr_assert_eq(sr_address_connect(&a), -EHOSTUNREACH, "nobody knows yet");
	cr_assert_eq(sr_address_control(&a, &control, NULL), 0);
	cr_assert_eq(control.cid, &cid, "the control address follows");
}

Test(address, hybrid_has_a_path_and_a_port)
{
	struct sr_address a = parse("hybrid:/run/a:b/vm.vsock:5000");
	const struct sockaddr_un *un = (const struct sockaddr_un *)(void *)&a.sock;

	cr_assert(a.hybrid);
	cr_assert_eq(un->sun_family, AF_UNIX);
	cr_assert_str_eq(un->sun_path, "/run/a:b/vm.vsock");
	cr_assert_eq(a.port, 5000);
	cr_assert_str_eq(a.text, "hybrid:/run/a:b/vm.vsock:5000");
}

Test(address, nobody_listens_at_what_is_for_connecting)
{
	static const char *const wrong[] = { "hybrid:/tmp/x:5000", "vsock:auto:5000" };

	for (size_t i = 0; i < 2; i++) {
		struct sr_address a = parse(wrong[i]);
		struct sr_reason why = { 0, "" };

		cr_assert_eq(sr_address_listen(&a, SOCK_STREAM, 0600, &why), -EINVAL);
		cr_assert(strstr(why.text, "vsock:any:5000"), "%s", why.text);
	}
}

Test(address, what_is_none_is_einval_and_says_so)
{
	static const char *const wrong[] = { "",
					     "unix:",
					     "unix",
					     "/run/x.sock",
					     "tcp:1:2",
					     "vsock:",
					     "vsock:1",
					     "vsock:1:",
					     "vsock::1",
					     "vsock:-1:2",
					     "vsock:1:2x",
					     "vsock:1 :2",
					     "vsock:4294967296:1",
					     "vsock:1:99999999999999999999",
					     "vsock:any",
					     "vsock:anyx:1",
					     "vsock: 1:2",
					     "vsock:auto",
					     "vsock:auto:",
					     "vsock:auto:x",
					     "vsock:autox:1",
					     "hybrid:",
					     "hybrid:/x",
					     "hybrid:/x:",
					     "hybrid::5000",
					     "hybrid:/x:5000x",
					     "hybrid:/x:4294967296",
					     "vsock:0x1:2" };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct sr_address a = { .bytes = 77 };
		struct sr_reason why = { 0, "" };

		cr_assert_eq(sr_address_parse(&a, wrong[i], &why), -EINVAL, "`%s`", wrong[i]);
		cr_assert(strstr(why.text, "write unix:PATH or vsock:CID:PORT"), "%s", why.text);
		cr_assert_eq(a.bytes, 77, "outputs are untouched on failure");
	}
}

Test(address, path_that_is_too_long_is_einval)
{
	char text[300] = "unix:";
	struct sr_reason why = { 0, "" };
	struct sr_address a;

	memset(text + 5, 'x', 107);
	cr_assert_eq(sr_address_parse(&a, text, &why), 0, "107 bytes and a zero fit");
	text[5 + 107] = 'x';
	cr_assert_eq(sr_address_parse(&a, text, &why), -EINVAL);
	cr_assert(strstr(why.text, "longer than 107 bytes"), "%s", why.text);
	memset(text + 5, 'x', sizeof text - 6);
	cr_assert_eq(sr_address_parse(&a, text, &why), -EINVAL);
}

/* ---- the control address ---- */

static void control_is(const char *hot, const char *control)
{
	struct sr_address a = parse(hot);
	struct sr_address want = parse(control);
	struct sr_reason why = { 0, "" };
	struct sr_address got;

	memset(&got, 0xee, sizeof got);
	cr_assert_eq(sr_address_control(&a, &got, &why), 0, "%s", why.text);
	cr_assert_str_eq(got.text, control);
	cr_assert_eq(got.bytes, want.bytes);
	cr_assert_arr_eq(&got.sock, &want.sock, sizeof got.sock);
}

Test(address, control_of_a_path_is_the_path_with_a_suffix)
{
	control_is("unix:/run/a b/c.sock", "unix:/run/a b/c.sock.control");
	control_is("unix:s", "unix:s.control");
}

Test(address, control_of_a_vsock_is_the_next_port)
{
	control_is("vsock:16:9000", "vsock:16:9001");
	control_is("vsock:any:9000", "vsock:any:9001");
	control_is("vsock:16:0", "vsock:16:1");
	control_is("vsock:4294967294:4294967293", "vsock:4294967294:4294967294");
}

static void no_control(const char *hot, const char *words)
{
	struct sr_address a = parse(hot);
	struct sr_address got = { .bytes = 77 };
	struct sr_reason why = { 0, "" };

	cr_assert_eq(sr_address_control(&a, &got, &why), -EINVAL, "`%s`", hot);
	cr_assert(strstr(why.text, words), "%s", why.text);
	cr_assert_eq(got.bytes, 77, "outputs are untouched on failure");
}

Test(address, control_of_a_hybrid_is_the_next_port)
{
	control_is("hybrid:/run/a:b:5000", "hybrid:/run/a:b:5001");
	control_is("vsock:auto:5000", "vsock:auto:5001");
}

Test(address, no_control_above_the_last_port)
{
	no_control("hybrid:/run/x:4294967294", "last port");
	no_control("vsock:16:4294967294", "last port");
	no_control("vsock:16:4294967295", "last port");
}

Test(address, no_control_for_a_path_that_is_too_long_with_the_suffix)
{
	char text[128] = "unix:";
	char control[128];

	memset(text + 5, 'x', 107 - 8);
	(void)snprintf(control, sizeof control, "%.104s.control", text);
	control_is(text, control);
	text[5 + 107 - 8] = 'x';
	no_control(text, "longer than 107 bytes");
	memset(text + 5, 'x', 107);
	no_control(text, "longer than 107 bytes");
}

/* ---- listening ---- */

static char dir[64];

static void make_dir(void)
{
	(void)snprintf(dir, sizeof dir, "%s/sigring-XXXXXX", P_tmpdir);
	cr_assert(mkdtemp(dir));
}

static void remove_dir(void)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/s", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

static struct sr_address in_dir(char path[128])
{
	char text[160];

	(void)snprintf(path, 128, "%s/s", dir);
	(void)snprintf(text, sizeof text, "unix:%s", path);
	return parse(text);
}

TestSuite(listen, .init = make_dir, .fini = remove_dir);

Test(listen, file_has_the_mode_that_was_asked_for)
{
	char path[128];
	struct sr_address a = in_dir(path);
	struct stat st;
	int fd;

	for (unsigned int mode = 0600; mode <= 0666; mode += 066) {
		fd = sr_address_listen(&a, SOCK_STREAM, mode, NULL);
		cr_assert(fd >= 0);
		cr_assert_eq(stat(path, &st), 0);
		cr_assert_eq(st.st_mode & 0777, mode);
		(void)close(fd);
	}
}

Test(listen, socket_of_a_dead_process_is_replaced)
{
	char path[128];
	struct sr_address a = in_dir(path);
	int fd = sr_address_listen(&a, SOCK_SEQPACKET, 0600, NULL);

	cr_assert(fd >= 0);
	(void)close(fd); /* its file stays */
	fd = sr_address_listen(&a, SOCK_SEQPACKET, 0600, NULL);
	cr_assert(fd >= 0);
	(void)close(fd);
}

Test(listen, socket_that_answers_is_eaddrinuse)
{
	char path[128];
	struct sr_address a = in_dir(path);
	struct sr_reason why = { 0, "" };
	int fd = sr_address_listen(&a, SOCK_STREAM, 0600, NULL);

	cr_assert(fd >= 0);
	cr_assert_eq(sr_address_listen(&a, SOCK_STREAM, 0600, &why), -EADDRINUSE);
	cr_assert(strstr(why.text, "running process"), "%s", why.text);
	(void)close(fd);
}

Test(listen, socket_of_the_other_type_that_is_alive_is_not_replaced)
{
	char path[128];
	struct sr_address a = in_dir(path);
	struct sr_reason why = { 0, "" };
	int fd = sr_address_listen(&a, SOCK_STREAM, 0600, NULL);

	cr_assert(fd >= 0);
	cr_assert_eq(sr_address_listen(&a, SOCK_SEQPACKET, 0600, &why), -EADDRINUSE);
	(void)close(fd);
}

Test(listen, file_that_is_no_socket_is_left_alone)
{
	char path[128];
	struct sr_address a = in_dir(path);
	struct sr_reason why = { 0, "" };
	FILE *f = fopen(path, "we");

	cr_assert(f);
	(void)fclose(f);
	cr_assert_eq(sr_address_listen(&a, SOCK_STREAM, 0600, &why), -EADDRINUSE);
	cr_assert(strstr(why.text, "no socket"), "%s", why.text);
	cr_assert_eq(access(path, F_OK), 0);
}

Test(listen, missing_directory_is_said)
{
	struct sr_address a = parse("unix:/nonexistent/dir/s");
	struct sr_reason why = { 0, "" };

	cr_assert_eq(sr_address_listen(&a, SOCK_STREAM, 0600, &why), -ENOENT);
	cr_assert(strstr(why.text, "/nonexistent/dir/s"), "%s", why.text);
}

Test(listen, connect_reaches_it_and_does_not_block)
{
	char path[128];
	struct sr_address a = in_dir(path);
	int fd = sr_address_listen(&a, SOCK_STREAM, 0600, NULL);
	int peer;

	cr_assert(fd >= 0);
	peer = sr_address_connect(&a);
	cr_assert(peer >= 0);
	(void)close(peer);
	(void)close(fd);
	cr_assert_eq(sr_address_connect(&a), -ECONNREFUSED);
	(void)unlink(path);
	cr_assert_eq(sr_address_connect(&a), -ENOENT);
}
