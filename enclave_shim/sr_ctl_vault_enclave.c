/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <time.h>

#include "sr_ctl_file.h"
#include "sr_ctl_vault_work.h"
#include "sr_digits.h"

static void print_time(uint64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	char text[32] = "?";
	struct tm tm;

	if (unix_ms / 1000 < 253402300800u && gmtime_r(&seconds, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	printf("time          %s.%03uZ, by which policies go\n", text, (unsigned int)(unix_ms % 1000));
}

static void print_offset(const char *label, int64_t ms, const char *of)
{
	if (ms == INT64_MAX)
		printf("%snot known: the security module did not answer\n", label);
	else
		printf("%s%+" PRId64 " ms%s\n", label, ms, of);
}

static void print_pcrs(const struct sr_command_status *s)
{
	char digits[2 * SR_ATTEST_PCR_BYTES + 1] = { 0 };

	if (s->pcrs_unknown) {
		printf("image         not known: the security module did not answer\n");
		return;
	}
	printf("image        ");
	for (int i = 0; i < 3; i++) {
		sr_digits_put(digits, s->pcr[i], SR_ATTEST_PCR_BYTES);
		printf(" %s", digits);
	}
	printf("\n");
}

static void print_status(const struct sr_command_status *s)
{
	printf("boot          %016" PRIx64 "%016" PRIx64 "\n", s->boot_id[0], s->boot_id[1]);
	printf("version       %s, attested by %s\n", s->version, s->evidence);
	printf("uptime        %" PRIu64 " s\n", s->uptime_ms / 1000);
	print_time(s->unix_ms);
	print_offset("drift         ", s->drift_ms, ", the security module's clock less that time");
	print_offset("host clock    ", s->host_ms, ", likewise; it decides nothing");
	if (s->manifest_version)
		printf("manifest      version %" PRIu64 "\n", s->manifest_version);
	else
		printf("manifest      none is in force\n");
	printf("keys          %u\n", s->keys);
	printf("sessions      %u of %u\n", s->sessions, s->sessions_max);
	if (s->pool_slots)
		printf("presignatures %u of %u\n", s->pool_depth, s->pool_slots);
	else
		printf("presignatures no pool\n");
	printf("signed        %" PRIu64 "\n", s->signed_ok);
	printf("denied        %" PRIu64 "\n", s->denied);
	printf("memory        %" PRIu64 " KiB at its peak\n", s->memory_kib);
	printf("draining      %s\n", s->draining ? "yes: nothing is signed" : "no");
	print_pcrs(s);
}

int sr_ctl_vault_status(struct sr_ctl_work *work)
{
	struct sr_command_result result;
	struct sr_command_status status;
	int ret = sr_ctl_vault_open(work);

	if (!ret)
		ret = sr_ctl_vault_command(work, &result, SR_COMMAND_STATUS, NULL, 0);
	if (ret)
		return ret;
	if (sr_command_status_get(&status, result.body))
		return sr_ctl_fail(work, "the signer's answer makes no sense");
	print_status(&status);
	return fflush(stdout) ? sr_ctl_fail(work, "cannot write to standard output") : EXIT_DONE;
}

int sr_ctl_vault_drain(struct sr_ctl_work *work)
{
	unsigned char body[SR_COMMAND_DRAIN_BYTES];
	struct sr_command_result result;
	int ret = sr_ctl_vault_open(work);

	if (ret)
		return ret;
	sr_command_drain_put(body, !work->off);
	return sr_ctl_vault_command(work, &result, SR_COMMAND_DRAIN, body, sizeof body);
}

int sr_ctl_enclave(int argc, char **argv)
{
	bool help = sr_ctl_help_wanted(argc, argv);

	if (!help && argc >= 2 && sr_ctl_vault_has("enclave", argv[1]))
		return sr_ctl_vault(argc, argv);
	(void)fprintf(help ? stdout : stderr, "usage:\n");
	sr_ctl_vault_usage(help ? stdout : stderr, "enclave");
	return help ? EXIT_DONE : EXIT_USAGE;
}
