/* SPDX-License-Identifier: MIT */
/*
 * sr_numa.h - where memory lies. The one place that talks to libnuma.
 */
#ifndef SR_NUMA_H
#define SR_NUMA_H

#include "sr_base.h"

SR_BEGIN_DECLS

/* sr_numa_node_of_cpu - node of a CPU, or -1 where NUMA is not known. */
int sr_numa_node_of_cpu(int cpu);

/*
 * sr_numa_bind - have the pages of a mapping come from one node.
 *
 * Before the first touch. Returns 0; -ENOSYS without NUMA; -EPERM where mbind
 * is forbidden (containers); -EINVAL for a node that does not exist.
 */
SR_WARN_UNUSED int sr_numa_bind(void *mem, size_t bytes, int node);

SR_END_DECLS

#endif /* SR_NUMA_H */
