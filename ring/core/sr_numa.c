/* SPDX-License-Identifier: MIT */
#include <numa.h>
#include <numaif.h>

#include "sr_numa.h"

int sr_numa_node_of_cpu(int cpu)
{
	if (numa_available() < 0 || cpu < 0)
		return -1;
	return numa_node_of_cpu(cpu);
}

int sr_numa_bind(void *mem, size_t bytes, int node)
{
	struct bitmask *mask;
	int ret = 0;

	if (numa_available() < 0)
		return -ENOSYS;
	if (node < 0 || node > numa_max_node())
		return -EINVAL;
	mask = numa_allocate_nodemask();
	if (!mask)
		return -ENOMEM;
	numa_bitmask_setbit(mask, (unsigned int)node);
	if (mbind(mem, bytes, MPOL_BIND, mask->maskp, mask->size + 1, 0) < 0)
		ret = -errno;
	numa_free_nodemask(mask);
	return ret;
}
