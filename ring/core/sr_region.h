/* SPDX-License-Identifier: MIT */
/*
 * sr_region.h - shared memory between a trading process and the agent.
 *
 * A region is a memfd that one process creates, fills and writes, and one other
 * maps read-only. A trading process and its agent have a pair: the submission
 * region is the client's, the completion region the agent's; so the memory
 * management unit enforces one writer for every word. A region holds the slots
 * of all the process' sessions; both regions of a pair have the same number of
 * sessions and the same depth.
 *
 *	0      header          128   written once, before the magic
 *	128    beat            128   the creator's, for the whole region
 *	256    session blocks  128 each, the creator's, one a session
 *	...    slots of session 0, 1, ... from slots_offset (4096-aligned),
 *	       depth * slot_bytes each
 *
 * Order of making one: create, size, map, bind to the node, populate, lock, fill,
 * magic (release), seal against shrinking, growing, future writable maps and
 * further seals, hand over. The receiver checks the seals and the size, maps,
 * populates (a shortage is an error at attach, never a SIGBUS later), checks the
 * header against what was agreed, copies it, and never reads it again.
 * No mapping is inherited by a forked child.
 */
#ifndef SR_REGION_H
#define SR_REGION_H

#include "sr_base.h"
#include "sr_reason.h"
#include "sr_slot.h"

#define SR_REGION_MAGIC 0x31676e6972676973u /* "sigring1" in memory */
#define SR_ABI_MAJOR 1u
#define SR_ABI_MINOR 0u

#define SR_REGION_SESSIONS_MAX 64u

enum sr_region_kind {
	SR_REGION_SUBMISSION = 1,
	SR_REGION_COMPLETION = 2,
};

/* Page 0. Its layout is ABI; sr_layout_hash() covers it. */
struct SR_ALIGNED(SR_LINE_BYTES) sr_region_header {
	uint64_t magic; /* stored last, with release */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t layout_hash;
	uint32_t kind;
	uint32_t features;
	uint64_t region_bytes;
	uint32_t sessions;
	uint32_t depth;
	uint32_t slot_bytes;
	uint32_t slots_offset;
	uint64_t creator_pid;
	uint64_t creator_start_ticks; /* /proc/PID/stat, field 22 */
};

SR_STATIC_ASSERT(offsetof(struct sr_region_header, layout_hash) == 12, "region header ABI");
SR_STATIC_ASSERT(offsetof(struct sr_region_header, region_bytes) == 24, "region header ABI");
SR_STATIC_ASSERT(offsetof(struct sr_region_header, creator_pid) == 48, "region header ABI");
SR_STATIC_ASSERT(sizeof(struct sr_region_header) == SR_LINE_BYTES, "region header ABI");

/* The creator's words about himself. */
struct SR_ALIGNED(SR_LINE_BYTES) sr_beat {
	uint64_t heartbeat_ns; /* CLOCK_MONOTONIC of his last turns */
	uint32_t sleeping;     /* completion region: the agent waits for doorbells */
};

SR_STATIC_ASSERT(offsetof(struct sr_beat, sleeping) == 8, "beat ABI");
SR_STATIC_ASSERT(sizeof(struct sr_beat) == SR_LINE_BYTES, "beat ABI");

/* The creator's words about one session. */
struct SR_ALIGNED(SR_LINE_BYTES) sr_session_block {
	uint32_t sleeping;   /* submission region: its thread waits for a doorbell */
	uint32_t state;      /* completion region: enum sr_link_state */
	uint64_t forwarded;  /* completion region: records sent to the signer ... */
	uint64_t answered;   /* ... completions published ... */
	uint64_t given;      /* ... of them, by the agent itself ... */
	uint64_t resent;     /* ... records sent again after a stream was lost */
};

SR_STATIC_ASSERT(offsetof(struct sr_session_block, forwarded) == 8, "session block ABI");
SR_STATIC_ASSERT(offsetof(struct sr_session_block, resent) == 32, "session block ABI");
SR_STATIC_ASSERT(sizeof(struct sr_session_block) == SR_LINE_BYTES, "session block ABI");

/* What the agent says of a session in its block. */
enum sr_link_state {
	SR_LINK_CLOSED = 0,
	SR_LINK_OPEN = 1,
	SR_LINK_NO_SIGNER = 2, /* stream is down; sending goes on when it is back */
	SR_LINK_LOST = 3,      /* nothing of it will be signed any more */
};

struct sr_geometry {
	uint32_t sessions;   /* 1 .. SR_REGION_SESSIONS_MAX */
	uint32_t depth;      /* a power of two, SR_DEPTH_MIN .. SR_DEPTH_MAX */
	uint32_t slot_bytes; /* a multiple of SR_LINE_BYTES, 128 .. SR_SUB_BYTES_MAX */
};

/* A mapped region: private memory. */
struct sr_region {
	unsigned char *base; /* NULL when there is none */
	size_t bytes;
	int fd; /* the creator's, to hand over; -1 at the receiver */
	struct sr_geometry geometry; /* the checked private copy */
	uint32_t slots_offset;
	uint32_t notes; /* SR_NOTE_*: what the host did not allow */
};

#define SR_NOTE_NO_HUGE_PAGES 1u /* fell back to 4 KiB pages */
#define SR_NOTE_NO_NUMA 2u       /* could not be bound to the node */

#define SR_REGION_TRY_HUGE 1u
#define SR_REGION_MLOCK 2u

SR_BEGIN_DECLS

/* sr_layout_hash - FNV-1a over every size and offset that both sides share. */
uint32_t sr_layout_hash(void);

/* sr_geometry_valid - within the limits above? Do this before any arithmetic. */
bool sr_geometry_valid(const struct sr_geometry *geometry);

/* sr_region_bytes - bytes of a region of valid geometry, in 4 KiB pages. */
uint64_t sr_region_bytes(const struct sr_geometry *geometry);

/*
 * sr_region_create - make, populate, lock, fill and seal a region.
 *
 * @region: out, written only on success.
 * @flags:  SR_REGION_TRY_HUGE, SR_REGION_MLOCK.
 * @node:   NUMA node for its pages, -1 = anywhere.
 * @why:    may be NULL.
 *
 * Returns 0; -EINVAL (geometry); -ENOMEM (memory, or the memlock limit);
 * -ENOSYS (kernel older than 5.14 or without memfd seals); another -errno of the
 * step that failed. Missing huge pages and a forbidden mbind are notes.
 */
SR_WARN_UNUSED int sr_region_create(struct sr_region *region, enum sr_region_kind kind,
				    const struct sr_geometry *geometry, uint32_t flags, int node,
				    struct sr_reason *why);

/*
 * sr_region_join - map a region that a peer created, read-only, and judge it.
 *
 * @fd:       any descriptor a peer sent; not taken over, may be closed after.
 * @geometry: what was agreed; the header must say the same.
 *
 * Returns 0; -EBADF (no memfd); -EPERM (seals are missing); -EPROTO (size, magic,
 * version, layout or geometry differ); -ENOMEM (pages are short). Whatever the
 * peer does to the file afterwards, a read of the mapping cannot fault.
 */
SR_WARN_UNUSED int sr_region_join(struct sr_region *region, enum sr_region_kind kind,
				  const struct sr_geometry *geometry, int fd,
				  struct sr_reason *why);

/* sr_region_drop - unmap and close; an empty region is legal. */
void sr_region_drop(struct sr_region *region);

/* Parts of a region; @index < geometry.sessions. */
static inline struct sr_beat *sr_region_beat(const struct sr_region *region)
{
	return (struct sr_beat *)(void *)(region->base + SR_LINE_BYTES);
}

static inline struct sr_session_block *sr_region_block(const struct sr_region *region,
						       uint32_t index)
{
	return (struct sr_session_block *)(void *)(region->base +
						   (2 + (size_t)index) * SR_LINE_BYTES);
}

static inline struct sr_slots sr_region_slots(const struct sr_region *region, uint32_t index)
{
	const struct sr_geometry *g = &region->geometry;
	struct sr_slots s;

	s.base = region->base + region->slots_offset +
		 (size_t)index * g->depth * g->slot_bytes;
	s.mask = g->depth - 1;
	s.slot_bytes = g->slot_bytes;
	return s;
}

SR_END_DECLS

#endif /* SR_REGION_H */
