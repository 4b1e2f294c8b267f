/* SPDX-License-Identifier: MIT */
/*
 * fork() in a client, and what a trading thread asks of the kernel: nothing.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "mp_common.h"

static struct mp_rig rig;

/* ---- fork ---- */

struct family {
	struct sr_client *client;
	struct sr_session *session;
	int ready; /* the child writes a byte when it has checked itself */
	int leave; /* and ends when this is closed */
};

static void child_checks(const struct family *f)
{
	struct sr_request rq = { .key = MP_KEY, .type = SR_ECDSA_SHA256 };
	struct sr_session *session = NULL;
	struct sr_completion c;
	struct sr_client_stats stats;
	struct sr_reason why = { 0, "" };
	void *body = NULL;

	MP_EQ(mp_submit(f->session, 1, 0, 0), -EPERM, "sr_submit in a child");
	MP_EQ(sr_submit_many(f->session, &rq, 1), -EPERM, "sr_submit_many in a child");
	MP_EQ(sr_reserve(f->session, &body), -EPERM, "sr_reserve in a child");
	MP_CHECK(!body, "sr_reserve wrote its output in a child");
	MP_EQ(sr_poll(f->session, &c, 1), -EPERM, "sr_poll in a child");
	MP_EQ(sr_ready(f->session), 0, "sr_ready in a child");
	MP_EQ(sr_wait(f->session, 1000000), 0, "sr_wait in a child, which has an error to tell");
	MP_EQ(sr_session_open(&session, f->client, NULL, &why), -EPERM,
	      "sr_session_open in a child");
	MP_CHECK(strstr(why.text, "client of its own"), "`%s`", why.text);
	MP_EQ(sr_service(f->client, NULL), -EPERM, "sr_service in a child");
	sr_reattach(f->client);
	MP_EQ(sr_service(f->client, NULL), -EPERM, "sr_service after sr_reattach in a child");
	sr_client_stats_get(f->client, &stats); /* the region is not mapped here */
	MP_EQ(stats.attached, 0, "a child that counts as attached");
}

static void child_main(void *arg)
{
	const struct family *f = arg;
	char byte = 0;

	child_checks(f);
	MP_EQ(write(f->ready, &byte, 1), 1, "write");
	while (read(f->leave, &byte, 1) > 0) /* until the parent closes its end */
		;
	child_checks(f);
	sr_session_close(f->client, f->session);
	sr_close(f->client);
	mp_good_client(&rig); /* one of its own works */
}

static long long attached(void)
{
	json_t *status = mp_status(&rig);
	long long n = (long long)json_array_size(json_object_get(status, "clients"));

	json_decref(status);
	return n;
}

static void await_attached(long long want, const char *what)
{
	uint64_t end_ns = sr_now_ns() + MP_BOUND_NS;

	while (attached() != want) {
		MP_CHECK(sr_now_ns() < end_ns, "%s: %lld are attached", what, attached());
		mp_sleep_us(5000);
	}
}

/* The family's client: forks, goes on, ends while its child lives. */
static void parent_main(void *arg)
{
	int *pipes = arg;
	struct family f = { .ready = pipes[1], .leave = pipes[2] };
	uint64_t n = 0;
	char byte;

	f.client = mp_open(&rig, 2, 16);
	f.session = mp_session(f.client, 0, 0);
	(void)mp_session(f.client, 0, 0);
	while (n < 50)
		mp_order(&rig, f.client, f.session, n++);
	for (int i = 0; i < 10; i++)
		MP_EQ(mp_submit(f.session, 1, n + (uint64_t)i, 0), 0, "sr_submit");
	(void)close(pipes[3]); /* or the child would hold it open */
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, 0);
		child_main(&f);
		(void)fflush(stdout);
		_exit(0);
	}
	for (int i = 0; i < 10; i++) { /* what was in flight is the parent's */
		struct sr_completion c;

		mp_next(f.client, f.session, &c);
		MP_CHECK(c.status == SR_OK && c.user_data == n++, "status %s",
			 sr_status_name(c.status));
	}
	MP_EQ(read(pipes[0], &byte, 1), 1, "waiting for the child");
	while (n < 200)
		mp_order(&rig, f.client, f.session, n++);
	_exit(0); /* without closing: the kernel hangs up, if nobody else holds on */
}

static void child_gets_eperm_and_the_parent_goes_on(void)
{
	int ready[2];
	int leave[2];
	int pipes[4];
	pid_t parent;
	int status;

	mp_rig_new(&rig, true);
	mp_rig_start(&rig);
	MP_CHECK(pipe(ready) == 0 && pipe(leave) == 0, "pipe: %s", strerror(errno));
	memcpy(pipes, ready, sizeof ready);
	memcpy(pipes + 2, leave, sizeof leave);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	parent = mp_fork(parent_main, pipes);
	(void)close(ready[0]);
	(void)close(ready[1]);
	mp_join(parent, "the parent");
	/* The child lives, and so would its copy of the socket. */
	await_attached(0, "after the parent's end");
	(void)close(leave[0]);
	(void)close(leave[1]);
	for (int i = 0;; i++) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0 && pid != rig.agent && pid != rig.signer)
			break;
		MP_CHECK(i < 20000, "the child hangs");
		mp_sleep_us(1000);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		_exit(1); /* it has said why */
	MP_EQ(status, 0, "status of the child");
	mp_rig_stop(&rig);
}

/* Forking from several threads, with clients coming and going. */
static void *fork_often(void *arg)
{
	for (int i = 0; i < (mp_long ? 2000 : 100); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(0);
		MP_CHECK(waitpid(pid, &status, 0) == pid && status == 0, "a forked child: %x",
			 (unsigned int)status);
	}
	sr_store32_release(arg, 1);
	return NULL;
}

static void forks_beside_opening_and_closing(void)
{
	uint32_t done = 0;
	pthread_t thread;
	unsigned int fds;

	mp_rig_new(&rig, false);
	mp_rig_start(&rig);
	mp_good_client(&rig);
	fds = mp_fd_count(getpid());
	MP_EQ(pthread_create(&thread, NULL, fork_often, &done), 0, "pthread_create");
	while (!sr_load32_acquire(&done))
		mp_good_client(&rig);
	(void)pthread_join(thread, NULL);
	MP_EQ(mp_fd_count(getpid()), fds, "our descriptors afterwards");
	mp_rig_stop(&rig);
}

/* ---- no system calls ---- */

static void forbid_everything(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	MP_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs: %s", strerror(errno));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(MP_SKIPPED);
}

struct quiet {
	uint64_t orders; /* to be done */
	uint64_t done;
	uint64_t wrong;
	uint64_t first_status;
};

/* Submits, polls, submits: by every call of a trading thread in its turn. */
static void quiet_loop(struct sr_session *session, struct quiet *q)
{
	struct sr_completion c[16];
	unsigned char text[MP_BODY_BYTES] = { 7 };
	struct sr_request rq = {
		.key = MP_KEY, .type = SR_ECDSA_SHA256, .body_bytes = MP_BODY_BYTES, .body = text
	};
	struct sr_session_stats stats;
	uint64_t sent = 0;

	while (q->done < q->orders) {
		void *body;
		int n;

		rq.user_data = sent;
		rq.deadline_ns = sent % 7 ? 0 : sr_now_ns() + 3600ull * SR_NS_PER_S;
		if (sent < q->orders && sr_credits(session)) {
			if (sent % 3 == 0) {
				sent += sr_submit(session, &rq) == 0;
			} else if (sent % 3 == 1) {
				n = sr_submit_many(session, &rq, 1);
				sent += n > 0 ? (uint64_t)n : 0;
			} else if (sr_reserve(session, &body) == 0) {
				memcpy(body, text, sizeof text);
				sent += sr_commit(session, &rq) == 0;
			}
		}
		(void)sr_ready(session);
		n = sr_poll(session, c, 16);
		for (int i = 0; i < n; i++) {
			if (c[i].status != SR_OK && !q->wrong++)
				q->first_status = c[i].status;
			q->done++;
		}
		if (n < 0) {
			q->wrong++;
			break;
		}
		(void)!sr_wait(session, 0);
	}
	sr_session_stats_get(session, &stats);
	q->wrong += stats.completed != q->orders;
}

static void quiet_client(void *arg)
{
	struct sr_options opt;
	struct sr_client *client;
	struct sr_session *session;
	struct sr_reason why = { 0, "" };

	mp_options(&opt, &rig);
	opt.wait = SR_WAIT_SPIN;
	opt.depth = 64;
	opt.stale_ns = 3600ull * SR_NS_PER_S;
	MP_EQ(sr_open(&client, &opt, &why), 0, why.text);
	session = mp_session(client, 0, 0);
	(void)sr_now_ns(); /* the dynamic linker finds the vDSO at the first call */
	forbid_everything();
	quiet_loop(session, arg);
	(void)syscall(SYS_exit_group, 0);
}

static void trading_thread_makes_no_system_call(void)
{
	struct quiet *q = mp_shared(sizeof *q);
	pid_t pid;
	int status;

	q->orders = mp_long ? 1000000 : 100000;
	mp_rig_new(&rig, false);
	mp_rig_start(&rig);
	pid = mp_fork(quiet_client, q);
	status = mp_reap(pid, (mp_long ? 20 : 2) * MP_BOUND_NS, "a client under seccomp");
	if (WIFEXITED(status) && WEXITSTATUS(status) == MP_SKIPPED)
		mp_skip("no seccomp filter can be set here");
	MP_CHECK(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS),
		 "it made a system call after %llu orders", (unsigned long long)q->done);
	MP_EQ(status, 0, "status of the client");
	MP_EQ(q->done, q->orders, "orders answered");
	MP_CHECK(q->wrong == 0, "%llu answers are wrong, the first is %s",
		 (unsigned long long)q->wrong, sr_status_name((uint32_t)q->first_status));
	mp_rig_stop(&rig);
}

static const struct mp_test tests[] = {
	{ "fork/child_gets_eperm_and_the_parent_goes_on", child_gets_eperm_and_the_parent_goes_on,
	  0 },
	{ "fork/beside_opening_and_closing", forks_beside_opening_and_closing, 0 },
	{ "quiet/trading_thread_makes_no_system_call", trading_thread_makes_no_system_call, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
