/* SPDX-License-Identifier: MIT */
/* By itself: the one thing of typed orders that allocates. */
#include <stdlib.h>

#include "sr_hash.h"
#include "sr_order.h"

int sr_order_env_new(struct sr_order_env **env)
{
	struct sr_order_env *made = calloc(1, sizeof *made);
	int ret;

	if (!made)
		return -ENOMEM;
	ret = sr_hasher_new(&made->hasher);
	if (ret) {
		free(made);
		return ret;
	}
	*env = made;
	return 0;
}

void sr_order_env_delete(struct sr_order_env *env)
{
	if (!env)
		return;
	sr_hasher_delete(env->hasher);
	free(env);
}
