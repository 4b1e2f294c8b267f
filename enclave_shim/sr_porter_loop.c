/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sr_clock.h"
#include "sr_porter_state.h"

#define ACCEPTS_MAX 16u /* a turn */
#define PAUSE_NS (100 * SR_NS_PER_MS)
#define TASKS_MS 2     /* until tasks that are out have come back */
#define SETTLED_MS 20  /* until a session has settled */
#define LATE_MS 250    /* until a conversation may be late */
#define CONSOLE_MS 1000 /* until it may be time to say how things are */
#define CONSOLE_NS (10 * SR_NS_PER_S)

/* ---- places ---- */

static void hang_up(struct sr_porter *p, struct sr_porter_talk *t, uint64_t now_ns)
{
	sr_gate_leave(p->gate, &t->gate, now_ns);
	(void)close(t->fd);
	t->fd = -1;
	if (p->asker == t)
		p->asker = NULL;
}

static struct sr_porter_talk *make_place(struct sr_porter *p, uint64_t now_ns)
{
	struct sr_porter_talk *silent = NULL;

	for (uint32_t i = 0; i < SR_PORTER_TALKS; i++) {
		struct sr_porter_talk *t = &p->talks[i];

		if (t->fd < 0)
			return t;
		if (!t->obeyed && t->state != SR_PORTER_WAITS &&
		    (!silent || t->heard_ns < silent->heard_ns))
			silent = t;
	}
	if (silent)
		hang_up(p, silent, now_ns);
	return silent;
}

static void begin(struct sr_porter *p, int fd, uint64_t now_ns)
{
	struct sr_porter_talk *t = make_place(p, now_ns);

	if (!t) {
		(void)close(fd);
		return;
	}
	t->fd = fd;
	t->state = SR_PORTER_LISTENS;
	t->obeyed = false;
	t->heard_ns = now_ns;
	t->in_bytes = t->out_bytes = t->out_sent = 0;
	sr_gate_enter(p->gate, &t->gate, now_ns);
}

static void accept_talks(struct sr_porter *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			begin(p, fd, now_ns);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			/* Short of descriptors, it would be ready for ever. */
			if (errno != EAGAIN)
				p->accept_after_ns = now_ns + PAUSE_NS;
			return;
		}
	}
}

static void answer_knocks(struct sr_porter *p, uint64_t now_ns)
{
	struct sr_knock k;

	while (read(p->knock_fds[0], &k, sizeof k) == (ssize_t)sizeof k) {
		if (k.kind == SR_KNOCK_TALK)
			begin(p, k.fd, now_ns);
		else if (k.kind == SR_KNOCK_RELOAD)
			p->reload = true;
		else if (k.kind == SR_KNOCK_OPEN)
			p->open = true;
		else
			p->stopping = true;
	}
}

/* ---- one conversation ---- */

/* Whoever is refused is told why, and may be hostile: the log hears of one a second. */
static void note_refusal(struct sr_porter *p, const struct sr_porter_talk *t, uint64_t now_ns)
{
	struct sr_control message;
	uint64_t left_out;
	uint32_t code;

	if (sr_control_whole(&message, t->out, t->out_bytes) ||
	    sr_control_refused_get(&code, &message) ||
	    !sr_note_limit_take(&p->note_limit, 1, now_ns, &left_out))
		return;
	sr_porter_note(p, "a conversation was refused: %s (and %llu before that were not logged)",
		       sr_refusal_text(code), (unsigned long long)left_out);
}

/* Handed over before the client hears of it: it is there when the first record comes. */
static void admit(struct sr_porter *p, struct sr_porter_talk *t)
{
	struct sr_task *next = sr_post_task(p->post);

	if (!next) {
		sr_gate_withdraw(p->gate, t->out, &t->out_bytes, &p->next->admission);
		t->state = SR_PORTER_ENDS;
		return;
	}
	p->next->kind = SR_TASK_ADMIT;
	sr_post_send(p->post, p->next);
	p->next = next;
}

static void carry_out(struct sr_porter *p, struct sr_porter_talk *t, enum sr_gate_verdict verdict,
		      uint64_t now_ns)
{
	switch (verdict) {
	case SR_GATE_ANSWER:
	case SR_GATE_MORE:
		t->state = SR_PORTER_LISTENS;
		break;
	case SR_GATE_ADMIT:
		admit(p, t);
		break;
	case SR_GATE_COMMAND:
		t->state = SR_PORTER_ASKS;
		break;
	case SR_GATE_REFUSED:
		t->state = SR_PORTER_ENDS;
		note_refusal(p, t, now_ns);
		break;
	case SR_GATE_SILENT:
	default:
		t->out_bytes = 0;
		t->state = SR_PORTER_ENDS;
		break;
	}
}

/* At most one message: the next is looked at when this one's answer has left. */
static void listen_to(struct sr_porter *p, struct sr_porter_talk *t, uint64_t now_ns)
{
	struct sr_control message;
	enum sr_gate_verdict verdict;
	int ret = sr_control_cut(&message, t->in, t->in_bytes);

	if (ret == -EAGAIN)
		return;
	t->out_bytes = t->out_sent = 0;
	if (ret) {
		t->state = SR_PORTER_ENDS;
		return;
	}
	verdict = sr_gate_take(p->gate, &t->gate, t->out, &t->out_bytes, &p->next->admission,
			       message.data, message.bytes, now_ns);
	t->in_bytes -= message.bytes;
	memmove(t->in, t->in + message.bytes, t->in_bytes);
	carry_out(p, t, verdict, now_ns);
}

static bool receive(struct sr_porter_talk *t, uint64_t now_ns)
{
	ssize_t n = recv(t->fd, t->in + t->in_bytes, sizeof t->in - t->in_bytes, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	t->in_bytes += (size_t)n;
	t->heard_ns = now_ns;
	return n > 0;
}

static bool transmit(const struct sr_porter *p, struct sr_porter_talk *t)
{
	size_t bytes = t->out_bytes - t->out_sent;
	ssize_t n;

	if (bytes == 0)
		return true;
	if (bytes > p->config.write_bytes_max)
		bytes = p->config.write_bytes_max;
	n = send(t->fd, t->out + t->out_sent, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	t->out_sent += (size_t)n;
	return true;
}

static bool talking(const struct sr_porter_talk *t)
{
	return t->state == SR_PORTER_LISTENS && t->out_sent == t->out_bytes;
}

/* What it has to hear and what it has said already: what lies here is looked at as soon
 * as the answer before has left, for nothing may come that would remind us. */
static void go_on(struct sr_porter *p, struct sr_porter_talk *t, uint64_t now_ns)
{
	size_t heard, said;

	do {
		heard = t->in_bytes;
		said = t->out_sent;
		if (!transmit(p, t)) {
			hang_up(p, t, now_ns);
			return;
		}
		if (talking(t))
			listen_to(p, t, now_ns);
	} while (t->in_bytes < heard || t->out_sent != said);
	if (t->state == SR_PORTER_ENDS && t->out_sent == t->out_bytes)
		hang_up(p, t, now_ns);
}

static void attend(struct sr_porter *p, struct sr_porter_talk *t, short events, uint64_t now_ns)
{
	if (sr_gate_late(&t->gate, now_ns) || (events & POLLERR) ||
	    (talking(t) && (events & (POLLIN | POLLHUP)) && !receive(t, now_ns)) ||
	    (!talking(t) && (events & POLLHUP)))
		hang_up(p, t, now_ns);
	else if (events)
		go_on(p, t, now_ns);
}

/* ---- the vault and the signing thread ---- */

static void order(struct sr_porter *p, struct sr_task *task, struct sr_porter_talk *asker)
{
	p->order = task;
	p->asker = asker;
	sr_post_send(p->post, task);
}

static void answer_to(struct sr_porter *p, struct sr_porter_talk *t,
		      const struct sr_vault_answer *answer, uint64_t now_ns)
{
	enum sr_gate_verdict verdict;

	t->out_bytes = t->out_sent = 0;
	t->obeyed |= answer->authorised;
	verdict = sr_gate_result(p->gate, &t->gate, t->out, &t->out_bytes, answer->authorised,
				 answer->text, answer->bytes, now_ns);
	carry_out(p, t, verdict, now_ns);
	go_on(p, t, now_ns);
}

static void note_manifest(struct sr_porter *p)
{
	struct sr_reason why = { 0 };

	if (sr_porter_tell(p, &why))
		sr_porter_note(p, "clients are not told of the manifest in force: %s", why.text);
	if (p->noted_version != p->manifest.version)
		sr_porter_note(p, "manifest version %llu is in force: identities %u, keys %u",
			       (unsigned long long)p->manifest.version, p->manifest.identity_count,
			       p->manifest.key_count);
	p->noted_version = p->manifest.version;
}

static void take_back(struct sr_porter *p, struct sr_task *task, uint64_t now_ns)
{
	struct sr_vault_answer answer;

	if (task != p->order) {
		if (task->kind == SR_TASK_STATUS)
			sr_porter_console(p, &task->status);
		else if (task->result)
			sr_gate_settle(p->gate, task->admission.terms.token);
		sr_post_release(p->post, task);
		return;
	}
	p->order = NULL;
	sr_vault_continue(p->vault, &answer);
	if (p->asker)
		answer_to(p, p->asker, &answer, now_ns);
	p->asker = NULL;
	note_manifest(p);
}

static void reload(struct sr_porter *p)
{
	struct sr_reason why = { 0 };
	struct sr_task *task;

	p->reload = false;
	if (!p->config.manifest)
		sr_porter_note(p, "no manifest is read again: --manifest names no file");
	else if (sr_porter_manifest_read(p, &task, &why))
		sr_porter_note(p, "the manifest in force stays: %s", why.text);
	else
		order(p, task, NULL);
}

/* One command at a time. */
static void ask_vault(struct sr_porter *p, uint64_t now_ns)
{
	for (uint32_t i = 0; i < SR_PORTER_TALKS && !sr_vault_busy(p->vault); i++) {
		struct sr_porter_talk *t = &p->talks[i];
		struct sr_vault_answer answer;
		struct sr_gate_command command;
		struct sr_task *task;

		if (t->fd < 0 || t->state != SR_PORTER_ASKS)
			continue;
		t->state = SR_PORTER_WAITS;
		sr_gate_command_get(p->gate, &t->gate, &command);
		if (sr_vault_take(p->vault, &answer, &task, &command) == SR_VAULT_TASK)
			order(p, task, t);
		else
			answer_to(p, t, &answer, now_ns);
	}
}

static void ask_for_console(struct sr_porter *p, uint64_t now_ns)
{
	struct sr_task *task;

	if (!p->config.console || now_ns - p->console_ns < CONSOLE_NS)
		return;
	task = sr_post_task(p->post);
	if (!task)
		return;
	p->console_ns = now_ns;
	task->kind = SR_TASK_STATUS;
	sr_post_send(p->post, task);
}

static void look_at_post(struct sr_porter *p, uint64_t now_ns)
{
	struct sr_task *task;
	uint64_t token[2];

	while ((task = sr_post_back(p->post)))
		take_back(p, task, now_ns);
	while (sr_post_settled(p->post, token))
		sr_gate_settle(p->gate, token);
	if (p->reload && !sr_vault_busy(p->vault))
		reload(p);
	ask_vault(p, now_ns);
	ask_for_console(p, now_ns);
}

/* ---- the loop ---- */

static bool somebody_asks(const struct sr_porter *p)
{
	for (uint32_t i = 0; i < SR_PORTER_TALKS; i++)
		if (p->talks[i].fd >= 0 && p->talks[i].state == SR_PORTER_ASKS)
			return true;
	return false;
}

static int patience_ms(const struct sr_porter *p, nfds_t talks, uint64_t now_ns)
{
	struct sr_gate_stats stats;

	if (p->post->out)
		return TASKS_MS;
	if (somebody_asks(p)) /* who had one answered in this turn, and had sent the next */
		return 0;
	sr_gate_stats_get(p->gate, &stats, now_ns);
	if (stats.waiting)
		return SETTLED_MS;
	if (talks || p->accept_after_ns)
		return LATE_MS;
	return p->config.console ? CONSOLE_MS : -1;
}

static short wanted(const struct sr_porter_talk *t)
{
	if (t->out_sent < t->out_bytes)
		return POLLOUT;
	return t->state == SR_PORTER_LISTENS ? POLLIN : 0;
}

static void turn(struct sr_porter *p)
{
	struct pollfd fds[SR_PORTER_TALKS + 2];
	struct sr_porter_talk *talks[SR_PORTER_TALKS];
	uint64_t now_ns = sr_now_ns();
	nfds_t count = 0;

	for (uint32_t i = 0; i < SR_PORTER_TALKS; i++) {
		struct sr_porter_talk *t = &p->talks[i];

		if (t->fd < 0)
			continue;
		talks[count] = t;
		fds[count++] = (struct pollfd){ .fd = t->fd, .events = wanted(t) };
	}
	if (now_ns >= p->accept_after_ns)
		p->accept_after_ns = 0;
	fds[count] = (struct pollfd){ .fd = p->knock_fds[0], .events = POLLIN };
	fds[count + 1] = (struct pollfd){
		.fd = p->open && !p->accept_after_ns ? p->listen_fd : -1, .events = POLLIN
	};
	(void)poll(fds, count + 2, patience_ms(p, count, now_ns));

	now_ns = sr_now_ns();
	for (nfds_t i = 0; i < count; i++)
		attend(p, talks[i], fds[i].revents, now_ns);
	if (fds[count].revents)
		answer_knocks(p, now_ns);
	if (fds[count + 1].revents)
		accept_talks(p, now_ns);
	look_at_post(p, now_ns); /* last: what it finds nothing wakes us for */
}

static void note_end(const struct sr_porter *p)
{
	struct sr_gate_stats stats;
	uint64_t refused = 0;

	sr_gate_stats_get(p->gate, &stats, sr_now_ns());
	for (uint32_t i = 0; i < SR_REFUSALS; i++)
		refused += stats.refused[i];
	sr_porter_note(p,
		       "sessions set up: %llu (%llu by ticket); refused: %llu; waiting for a "
		       "record: %llu; commands of operators: %llu",
		       (unsigned long long)stats.admitted, (unsigned long long)stats.by_ticket,
		       (unsigned long long)refused, (unsigned long long)stats.waiting,
		       (unsigned long long)stats.commands);
}

void *sr_porter_run(void *arg)
{
	struct sr_porter *p = arg;

	if (p->manifest.version)
		note_manifest(p);
	else
		sr_porter_note(p, "no manifest is in force: nobody may use any key until "
				  "operators load one");
	while (!p->stopping)
		turn(p);
	note_end(p);
	return NULL;
}
