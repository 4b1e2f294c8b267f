/* SPDX-License-Identifier: MIT */
#include "sr_post.h"

#include <stdlib.h>

#include "sr_assert.h"
#include "sr_secret.h"

SR_STATIC_ASSERT(SR_POST_TASKS < SR_MAILBOX_SLOTS / 2, "a ring holds every task that there is");

int sr_post_new(struct sr_post **post)
{
	struct sr_post *p = aligned_alloc(SR_LINE_BYTES, sizeof *p);
	void *mem;
	int ret;

	if (!p)
		return -ENOMEM;
	memset(p, 0, sizeof *p);
	ret = sr_secret_alloc(&mem, SR_POST_TASKS * sizeof *p->tasks);
	if (ret) {
		free(p);
		return ret;
	}
	p->tasks = mem;
	while (p->free_count < SR_POST_TASKS) {
		p->free[p->free_count] = p->free_count;
		p->free_count++;
	}
	*post = p;
	return 0;
}

void sr_post_delete(struct sr_post *post)
{
	if (!post)
		return;

	for (uint32_t i = 0; i < SR_POST_TASKS; i++)
		sr_task_wipe(&post->tasks[i]);
	sr_secret_free(post->tasks, SR_POST_TASKS * sizeof *post->tasks);
	free(post);
}

uint64_t sr_post_locked_bytes(void)
{
	return SR_POST_TASKS * sizeof(struct sr_task);
}

struct sr_task *sr_post_task(struct sr_post *post)
{
	return post->free_count ? &post->tasks[post->free[--post->free_count]] : NULL;
}

void sr_post_release(struct sr_post *post, struct sr_task *task)
{
	SR_ASSERT(task >= post->tasks && task < post->tasks + SR_POST_TASKS);
	sr_task_wipe(task);
	post->free[post->free_count++] = (uint32_t)(task - post->tasks);
}

void sr_post_send(struct sr_post *post, struct sr_task *task)
{
	int ret = sr_mailbox_put(&post->to, (struct sr_mail){ .object = task });

	SR_ASSERT(ret == 0);
	post->out++;
}

struct sr_task *sr_post_back(struct sr_post *post)
{
	struct sr_mail mail;

	if (sr_mailbox_get(&post->back, &mail))
		return NULL;
	post->out--;
	return mail.object;
}

bool sr_post_settled(struct sr_post *post, uint64_t token[2])
{
	struct sr_post_settled *s = &post->settled;
	uint64_t tail = sr_load_relaxed(&s->tail);

	/* Pairs with the release in sr_post_tell(): the token is whole. */
	if (tail == sr_load_acquire(&s->head))
		return false;
	memcpy(token, s->tokens[tail % SR_POST_SETTLED], sizeof s->tokens[0]);
	sr_store_release(&s->tail, tail + 1);
	return true;
}

void sr_post_do(struct sr_post *post, struct sr_core *core)
{
	struct sr_mail mail;

	while (sr_mailbox_get(&post->to, &mail) == 0) {
		int ret;

		sr_core_task(core, mail.object);
		ret = sr_mailbox_put(&post->back, mail);
		SR_ASSERT(ret == 0);
	}
}

void sr_post_tell(struct sr_post *post, struct sr_core *core)
{
	struct sr_post_settled *s = &post->settled;
	uint64_t head = sr_load_relaxed(&s->head);
	uint64_t token[2];

	/* Pairs with the release in sr_post_settled(): the place is free. What finds none
	 * stays with the core, and the gate's own clock frees its place in the end. */
	while (head - sr_load_acquire(&s->tail) < SR_POST_SETTLED && sr_core_settled(core, token)) {
		memcpy(s->tokens[head % SR_POST_SETTLED], token, sizeof token);
		sr_store_release(&s->head, ++head);
	}
}
