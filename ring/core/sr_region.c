/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sr_frame.h"
#include "sr_numa.h"
#include "sr_record.h"
#include "sr_region.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14; older C libraries lack the names */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif

#define PAGE_BYTES 4096u
#define HUGE_BYTES (2u * 1024u * 1024u)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

uint32_t sr_layout_hash(void)
{
	static const uint32_t facts[] = {
		SR_LINE_BYTES,
		sizeof(struct sr_region_header),
		offsetof(struct sr_region_header, region_bytes),
		offsetof(struct sr_region_header, slots_offset),
		offsetof(struct sr_beat, sleeping),
		offsetof(struct sr_session_block, state),
		offsetof(struct sr_session_block, forwarded),
		SR_SUB_DEADLINE,
		SR_SUB_KIND,
		SR_SUB_BODY,
		SR_TAG_BYTES,
		SR_CMP_BYTES,
		SR_CMP_KIND,
		SR_CMP_STATUS,
		SR_CMP_BODY,
		SR_CMP_BODY_BYTES,
	};
	const unsigned char *p = (const unsigned char *)facts;
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof facts; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

bool sr_geometry_valid(const struct sr_geometry *g)
{
	return g->sessions >= 1 && g->sessions <= SR_REGION_SESSIONS_MAX && sr_is_pow2(g->depth) &&
	       g->depth >= SR_DEPTH_MIN && g->depth <= SR_DEPTH_MAX &&
	       g->slot_bytes % SR_LINE_BYTES == 0 && g->slot_bytes >= SR_CMP_BYTES &&
	       g->slot_bytes <= SR_SUB_BYTES_MAX;
}

static uint32_t slots_offset(const struct sr_geometry *g)
{
	return (uint32_t)sr_align_up((2 + g->sessions) * SR_LINE_BYTES, PAGE_BYTES);
}

uint64_t sr_region_bytes(const struct sr_geometry *g)
{
	uint64_t slots = (uint64_t)g->sessions * g->depth * g->slot_bytes;

	return sr_align_up(slots_offset(g) + slots, PAGE_BYTES);
}

/* Field 22 of /proc/self/stat: with the pid it names this process for good. */
static uint64_t start_ticks(void)
{
	char line[1024];
	uint64_t ticks = 0;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	char *p;

	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof line - 1);
	(void)close(fd);
	if (n <= 0)
		return 0;
	line[n] = '\0';
	p = strrchr(line, ')'); /* the name before it may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoull(p + 1, NULL, 10);
	return ticks;
}

static void fill(struct sr_region *r, enum sr_region_kind kind)
{
	struct sr_region_header *h = (struct sr_region_header *)(void *)r->base;

	h->abi_major = SR_ABI_MAJOR;
	h->abi_minor = SR_ABI_MINOR;
	h->layout_hash = sr_layout_hash();
	h->kind = kind;
	h->region_bytes = r->bytes;
	h->sessions = r->geometry.sessions;
	h->depth = r->geometry.depth;
	h->slot_bytes = r->geometry.slot_bytes;
	h->slots_offset = r->slots_offset;
	h->creator_pid = (uint64_t)getpid();
	h->creator_start_ticks = start_ticks();
	for (uint32_t i = 0; i < r->geometry.sessions; i++) {
		struct sr_slots s = sr_region_slots(r, i);

		sr_slots_reset(&s, 0);
	}
	/* Pairs with the acquire in check_header(). */
	sr_store_release(&h->magic, SR_REGION_MAGIC);
}

static int lock_pages(const struct sr_region *r, struct sr_reason *why)
{
	struct rlimit lim = { 0, 0 };
	int err;

	if (!mlock(r->base, r->bytes))
		return 0;
	err = -errno;
	(void)getrlimit(RLIMIT_MEMLOCK, &lim);
	return sr_reason_set(why, err == -EPERM ? -ENOMEM : err,
			     "cannot lock %zu KiB of memory (limit %llu KiB): raise it with "
			     "LimitMEMLOCK= in the systemd unit or `ulimit -l`",
			     r->bytes / 1024, (unsigned long long)lim.rlim_cur / 1024);
}

/* One try, with huge pages or without. On failure nothing is left behind. */
static int make_pages(struct sr_region *r, uint32_t flags, int node, struct sr_reason *why)
{
	bool huge = flags & SR_REGION_TRY_HUGE;
	size_t bytes = (size_t)sr_region_bytes(&r->geometry);
	void *mem;
	int ret;

	r->bytes = huge ? sr_align_up(bytes, HUGE_BYTES) : bytes;
	r->fd = memfd_create("sigring", MFD_CLOEXEC | MFD_ALLOW_SEALING |
						(huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0u));
	if (r->fd < 0)
		return sr_reason_set(why, -errno, "memfd_create failed: %s", strerror(errno));
	if (ftruncate(r->fd, (off_t)r->bytes) < 0) {
		ret = sr_reason_set(why, -errno, "cannot size a region of %zu KiB: %s",
				    r->bytes / 1024, strerror(errno));
		goto close;
	}
	mem = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (mem == MAP_FAILED) {
		ret = sr_reason_set(why, -errno, "cannot map a region of %zu KiB: %s",
				    r->bytes / 1024, strerror(errno));
		goto close;
	}
	r->base = mem;
	if (node >= 0 && sr_numa_bind(mem, r->bytes, node) < 0)
		r->notes |= SR_NOTE_NO_NUMA;
	if (madvise(mem, r->bytes, MADV_DONTFORK) < 0 ||
	    madvise(mem, r->bytes, MADV_POPULATE_WRITE) < 0) {
		int err = errno == EFAULT || errno == EHWPOISON ? ENOMEM : errno;

		ret = sr_reason_set(why, err == EINVAL ? -ENOSYS : -err,
				    err == EINVAL ? "the kernel cannot populate a mapping: Linux "
						    "5.14 or later is needed" :
						    "memory is short: cannot populate a region "
						    "(check the cgroup's memory limit)");
		goto unmap;
	}
	if (flags & SR_REGION_MLOCK) {
		ret = lock_pages(r, why);
		if (ret < 0)
			goto unmap;
	}
	return 0;
unmap:
	(void)munmap(mem, r->bytes);
close:
	(void)close(r->fd);
	return ret;
}

int sr_region_create(struct sr_region *region, enum sr_region_kind kind,
		     const struct sr_geometry *geometry, uint32_t flags, int node,
		     struct sr_reason *why)
{
	struct sr_region r = { .geometry = *geometry, .fd = -1 };
	int ret = -ENOMEM;

	if (!sr_geometry_valid(geometry))
		return sr_reason_set(why, -EINVAL,
				     "impossible geometry: %u sessions of %u slots of %u bytes",
				     geometry->sessions, geometry->depth, geometry->slot_bytes);
	r.slots_offset = slots_offset(geometry);
	if (flags & SR_REGION_TRY_HUGE) {
		ret = make_pages(&r, flags, node, NULL);
		if (ret < 0)
			r.notes = SR_NOTE_NO_HUGE_PAGES;
	}
	if (ret < 0)
		ret = make_pages(&r, flags & ~SR_REGION_TRY_HUGE, node, why);
	if (ret < 0)
		return ret;
	fill(&r, kind);
	if (fcntl(r.fd, F_ADD_SEALS, SEALS) < 0) {
		ret = sr_reason_set(why, -errno == -EINVAL ? -ENOSYS : -errno,
				    "cannot seal a region: %s; Linux 5.1 or later is needed",
				    strerror(errno));
		sr_region_drop(&r);
		return ret;
	}
	*region = r;
	return 0;
}

static int check_file(int fd, uint64_t *bytes, const struct sr_geometry *g, struct sr_reason *why)
{
	uint64_t want = sr_region_bytes(g);
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return sr_reason_set(why, -EBADF, "the peer sent a descriptor that is no memfd");
	if ((seals & SEALS) != SEALS)
		return sr_reason_set(why, -EPERM,
				     "the peer's region can still be resized or written: seals "
				     "0x%x are missing",
				     (unsigned int)(SEALS & ~seals));
	if (fstat(fd, &st) < 0)
		return sr_reason_set(why, -errno, "cannot stat the peer's region: %s",
				     strerror(errno));
	if ((uint64_t)st.st_size != want && (uint64_t)st.st_size != sr_align_up(want, HUGE_BYTES))
		return sr_reason_set(why, -EPROTO,
				     "the peer's region has %lld bytes, %llu were agreed",
				     (long long)st.st_size, (unsigned long long)want);
	*bytes = (uint64_t)st.st_size;
	return 0;
}

static int check_header(const struct sr_region *r, enum sr_region_kind kind,
			struct sr_reason *why)
{
	const struct sr_region_header *shared = (const struct sr_region_header *)(void *)r->base;
	struct sr_region_header h;

	/* Pairs with the release in fill(). */
	if (sr_load_acquire(&shared->magic) != SR_REGION_MAGIC)
		return sr_reason_set(why, -EPROTO, "the peer's region has no magic number");
	memcpy(&h, shared, sizeof h); /* judged once, here; never read again */
	if (h.abi_major != SR_ABI_MAJOR || h.layout_hash != sr_layout_hash())
		return sr_reason_set(why, -EPROTO,
				     "the peer was built for region layout %u/%08x, this program "
				     "for %u/%08x: install the same version of both",
				     h.abi_major, h.layout_hash, SR_ABI_MAJOR, sr_layout_hash());
	if (h.kind != (uint32_t)kind || h.region_bytes != r->bytes ||
	    h.sessions != r->geometry.sessions || h.depth != r->geometry.depth ||
	    h.slot_bytes != r->geometry.slot_bytes || h.slots_offset != r->slots_offset)
		return sr_reason_set(why, -EPROTO,
				     "the peer's region has another geometry than was agreed");
	return 0;
}

int sr_region_join(struct sr_region *region, enum sr_region_kind kind,
		   const struct sr_geometry *geometry, int fd, struct sr_reason *why)
{
	struct sr_region r = { .geometry = *geometry, .fd = -1 };
	uint64_t bytes = 0;
	void *mem;
	int ret;

	if (!sr_geometry_valid(geometry))
		return sr_reason_set(why, -EPROTO, "impossible geometry");
	r.slots_offset = slots_offset(geometry);
	ret = check_file(fd, &bytes, geometry, why);
	if (ret < 0)
		return ret;
	r.bytes = bytes;
	mem = mmap(NULL, r.bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return sr_reason_set(why, -errno, "cannot map the peer's region: %s",
				     strerror(errno));
	r.base = mem;
	if (madvise(mem, r.bytes, MADV_DONTFORK) < 0 ||
	    madvise(mem, r.bytes, MADV_POPULATE_READ) < 0) {
		ret = sr_reason_set(why, errno == EFAULT ? -ENOMEM : -errno,
				    "cannot populate the peer's region: %s", strerror(errno));
		goto unmap;
	}
	ret = check_header(&r, kind, why);
	if (ret < 0)
		goto unmap;
	*region = r;
	return 0;
unmap:
	(void)munmap(mem, r.bytes);
	return ret;
}

void sr_region_drop(struct sr_region *region)
{
	if (!region->base)
		return;
	(void)munmap(region->base, region->bytes);
	if (region->fd >= 0)
		(void)close(region->fd);
	memset(region, 0, sizeof *region);
	region->fd = -1;
}
