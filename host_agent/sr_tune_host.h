/* SPDX-License-Identifier: MIT */
/*
 * sr_tune_host.h - a host as /proc and /sys show it, or a recorded tree of them.
 *
 * A path is written as on the host itself, "/proc/cmdline", and looked up below
 * the root of the tree. What is read is text that anybody may have written there:
 * it is bounded, cut at the first newline where one line is wanted, and judged by
 * those who read it.
 *
 * The loops are the CPUs that poll: a trading thread's, the agent's, the signer's.
 * They are named by the caller; without that they are the isolated ones; without
 * those nobody can tell, and the set is empty.
 */
#ifndef SR_TUNE_HOST_H
#define SR_TUNE_HOST_H

#include "sr_cpus.h"
#include "sr_reason.h"

#define SR_TUNE_PATH_BYTES 192u
#define SR_TUNE_VALUE_BYTES 512u /* a mask of SR_CPUS_MAX CPUs has 287 */
#define SR_TUNE_LINE_BYTES 4096u

struct sr_tune_host {
	char root[SR_TUNE_PATH_BYTES]; /* "" for the host that we run on */
	struct sr_cpus online;
	struct sr_cpus isolated;
	struct sr_cpus loops;
	bool loops_named;    /* by the caller */
	uint32_t huge_pages; /* of 2 MiB, wanted */
	char cmdline[SR_TUNE_LINE_BYTES];
};

SR_BEGIN_DECLS

/*
 * sr_tune_host_read - look at a host.
 *
 * @root:       directory of a recorded tree, or "/" or "".
 * @loops:      CPUs that poll, or an empty set.
 * @huge_pages: how many pages of 2 MiB are wanted.
 *
 * Returns 0; -ENOENT where there is no list of CPUs below @root; -EINVAL where it
 * makes no sense; -ENAMETOOLONG.
 */
SR_WARN_UNUSED int sr_tune_host_read(struct sr_tune_host *host, const char *root,
				     const struct sr_cpus *loops, uint32_t huge_pages,
				     struct sr_reason *why);

/*
 * sr_tune_text - the first line of a file, without its newline.
 *
 * Returns 0, or -errno: -ENOENT where there is none, -EFBIG for a longer line.
 * @text is written only on success.
 */
SR_WARN_UNUSED int sr_tune_text(const struct sr_tune_host *host, const char *path, char *text,
				size_t bytes);

/*
 * sr_tune_value - a setting as it stands, in the form in which it is written.
 *
 * Of a file that shows all choices, `always [madvise] never`, the one in force.
 * @value has SR_TUNE_VALUE_BYTES. Returns as sr_tune_text().
 */
SR_WARN_UNUSED int sr_tune_value(const struct sr_tune_host *host, const char *path,
				 char value[SR_TUNE_VALUE_BYTES]);

/* sr_tune_number - a whole number with its sign. 0; -errno; -EINVAL for anything else. */
SR_WARN_UNUSED int sr_tune_number(const struct sr_tune_host *host, const char *path,
				  long long *number);

/* sr_tune_list, sr_tune_mask - a file that holds a set of CPUs. 0, or -errno. */
SR_WARN_UNUSED int sr_tune_list(const struct sr_tune_host *host, const char *path,
				struct sr_cpus *set);
SR_WARN_UNUSED int sr_tune_mask(const struct sr_tune_host *host, const char *path,
				struct sr_cpus *set);

/*
 * sr_tune_write - change a setting: one write, as the kernel wants it.
 *
 * Returns 0, or -errno of the open or the write.
 */
SR_WARN_UNUSED int sr_tune_write(const struct sr_tune_host *host, const char *path,
				 const char *value);

/*
 * sr_tune_boot_option - the value of an option of the kernel's command line.
 *
 * @value: of SR_TUNE_LINE_BYTES; "" for an option without `=`. Of several, the last.
 * Returns whether it is there.
 */
bool sr_tune_boot_option(const struct sr_tune_host *host, const char *name,
			 char value[SR_TUNE_LINE_BYTES]);

/* sr_tune_path - the place of a path below the root. 0, or -ENAMETOOLONG. */
SR_WARN_UNUSED int sr_tune_path(const struct sr_tune_host *host, const char *path, char *full,
				size_t bytes);

SR_END_DECLS

#endif /* SR_TUNE_HOST_H */
