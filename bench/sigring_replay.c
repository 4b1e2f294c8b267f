/* SPDX-License-Identifier: MIT */
/*
 * sigring-replay - the example engine: replays a file of orders through
 * libsigring and checks every signature that comes back.
 *
 * One trading thread owns the session. It touches nothing but memory while it
 * runs: results have their place before the first order goes out. A second
 * thread does the library's cold work. Verification comes after the run,
 * because one check costs more than ten signatures.
 */
#include "sr_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void on_interrupt(int number)
{
	(void)number;
	sr_replay_interrupted = 1;
}

/* Linux lends more than it has and kills for it later: ask before. */
static size_t bytes_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t kib = SIZE_MAX / 1024;
	char line[128];

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
			break;
	if (file)
		(void)fclose(file);
	return kib * 1024;
}

/* Every page that the run will write to is there before it starts. */
static int make_room(struct sr_replay *rp)
{
	size_t bytes = rp->set.count * sizeof *rp->results;
	size_t later = rp->set.count * 2 * sizeof(uint64_t); /* two histograms */
	void *memory = MAP_FAILED;

	if (bytes + later < bytes_available())
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "%s: no memory for %" PRIu64 " results (%zu MiB): lower --count\n",
			SR_REPLAY_PROGRAM, rp->set.count, bytes >> 20);
		return -ENOMEM;
	}
	rp->results = memory;
	return 0;
}

static void print_way(const struct sr_replay *rp)
{
	FILE *out = rp->set.json ? stderr : stdout;

	if (rp->set.offline)
		fprintf(out, "%s: OFFLINE: no ring, no policy, keys of files in this process\n",
			SR_REPLAY_PROGRAM);
	else
		fprintf(out, "%s: records are %s on their way to the signer\n", SR_REPLAY_PROGRAM,
			rp->set.unsealed ? "UNSEALED (neither encrypted nor authenticated)" :
					   "sealed");
	(void)fflush(out);
}

static int replay(struct sr_replay *rp)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	int err;

	print_way(rp);
	if (sr_replay_orders_load(rp)) {
		if (rp->refused_count) /* every line was: they are told all the same */
			(void)!sr_replay_results_write(rp);
		return SR_EXIT_BAD_INPUT;
	}
	if ((rp->set.offline ? sr_replay_offline_load(rp) : sr_replay_keys_load(rp)) ||
	    sr_replay_keys_match(rp))
		return SR_EXIT_BAD_INPUT;
	if (!rp->set.count)
		rp->set.count = rp->orders.count;
	if (make_room(rp))
		return SR_EXIT_BAD_INPUT;
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGTERM, &interrupt, NULL);
	err = rp->set.offline ? sr_replay_offline_run(rp) : sr_replay_run(rp);
	if (err)
		return err == -ENOTCONN ? SR_EXIT_NO_AGENT : SR_EXIT_BAD_INPUT;
	sr_replay_verify(rp);
	return sr_replay_report(rp);
}

static void release(struct sr_replay *rp)
{
	sr_histogram_delete(&rp->submit);
	sr_histogram_delete(&rp->intended);
	if (rp->results)
		(void)munmap(rp->results, rp->set.count * sizeof *rp->results);
	sr_replay_offline_end(rp);
	free(rp->refused);
	free(rp->key_of);
	free(rp->keys);
	sr_orders_free(&rp->orders);
}

int main(int argc, char **argv)
{
	struct sr_replay rp = { .submitted = 0 };
	int status;

	if (sr_replay_options_read(&rp.set, argc, argv))
		return SR_EXIT_BAD_INPUT;
	if (rp.set.help) {
		sr_replay_help_print(stdout);
		return 0;
	}
	if (rp.set.version) {
		printf("%s %s, libsigring %s\n", SR_REPLAY_PROGRAM, SR_VERSION, sr_version());
		return 0;
	}
	status = replay(&rp);
	release(&rp);
	return status;
}
