/* SPDX-License-Identifier: MIT */
#include "sr_refill.h"

#include <stdlib.h>
#include <time.h>

#include "sr_thread.h"

#define STACK_BYTES (256u * 1024u)
#define REST_NS 1000000L
#define PENANCE_S 1

struct sr_refill {
	struct sr_pool *pool;
	struct sr_thread thread;
	uint32_t stopping;
};

static void *run(void *arg)
{
	const struct timespec rest = { 0, REST_NS }, penance = { PENANCE_S, 0 };
	struct sr_refill *r = arg;

	while (!sr_load32_relaxed(&r->stopping)) {
		int ret = sr_pool_step(r->pool);

		if (ret <= 0)
			(void)nanosleep(ret < 0 ? &penance : &rest, NULL);
	}
	return NULL;
}

int sr_refill_start(struct sr_refill **refill, struct sr_pool *pool, int not_on_cpu,
		    bool shares_core)
{
	const struct sr_thread_place place = { .not_on_cpu = not_on_cpu,
					       .when_idle = shares_core };
	struct sr_refill *r = calloc(1, sizeof *r);
	int ret;

	if (!r)
		return -ENOMEM;
	r->pool = pool;
	ret = sr_thread_start(&r->thread, STACK_BYTES, &place, run, r);
	if (ret) {
		free(r);
		return ret;
	}
	*refill = r;
	return 0;
}

void sr_refill_stop(struct sr_refill *refill)
{
	if (!refill)
		return;

	sr_store32_relaxed(&refill->stopping, 1);
	sr_thread_join(&refill->thread);
	free(refill);
}
