/* SPDX-License-Identifier: MIT */
/*
 * sr_ctl_vault_work.h - what the files of sr_ctl_vault share, private to them.
 *
 * sr_ctl_vault.c has the command line and the commands without a secret in them,
 * sr_ctl_vault_key.c those that make, open or seal one, sr_ctl_vault_say.c what operators
 * say about policies, sr_ctl_vault_enclave.c what they say to the signer as a whole.
 */
#ifndef SR_CTL_VAULT_WORK_H
#define SR_CTL_VAULT_WORK_H

#include "sr_ctl_session.h"
#include "sr_ctl_vault.h"
#include "sr_pairfile.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct sr_ctl_work;

struct sr_ctl_command {
	const char *noun;
	const char *name;
	int (*run)(struct sr_ctl_work *work);
	const char *options;
	bool with_file;
	const char *arguments;
	const char *help;
};

/* In protected memory. */
struct sr_ctl_secrets {
	struct sr_pairfile file;
	struct sr_noise_pair pair; /* who opens a blob, and who seals the next */
	unsigned char key[SR_SECKEY_BYTES];
	unsigned char random[32];
};

/* What a subcommand works with, and its options. */
struct sr_ctl_work {
	const struct sr_ctl_command *command;
	struct sr_ctl_where where;
	struct sr_ctl_session *session;
	struct sr_curve *curve;
	struct sr_ctl_secrets *secrets;
	const char *recovery;
	const char *recovery_identity;
	const char *out;
	const char *prefix;
	const char *file;
	const char *asset;
	const char *min;
	const char *max;
	const char *window;
	const char *unexpired;
	uint64_t sequence;
	uint64_t seconds;
	bool off;
	bool has_seconds;
	uint32_t id;
	char text[SR_ENVELOPE_BYTES_MAX + 1]; /* one more, to see that it is too long */
};

/* Exit codes, with what is wrong on stderr. */
int sr_ctl_fail(const struct sr_ctl_work *work, const char *text);
int sr_ctl_fail_usage(const struct sr_ctl_work *work, const char *text);
int sr_ctl_fail_file(const struct sr_ctl_work *work, const char *path, int error);

/* secrets->random anew. */
int sr_ctl_vault_draw(const struct sr_ctl_work *work);

int sr_ctl_vault_open(struct sr_ctl_work *work);
int sr_ctl_vault_command(struct sr_ctl_work *work, struct sr_command_result *result, uint32_t kind,
			 const void *body, size_t bytes);
int sr_ctl_vault_print(const struct sr_ctl_work *work, const struct sr_command_key *key);

/* sr_ctl_vault_key.c */
int sr_ctl_vault_generate(struct sr_ctl_work *work);
int sr_ctl_vault_rotate(struct sr_ctl_work *work);
int sr_ctl_vault_restore(struct sr_ctl_work *work);
int sr_ctl_vault_import(struct sr_ctl_work *work);

/* sr_ctl_vault_enclave.c */
int sr_ctl_vault_status(struct sr_ctl_work *work);
int sr_ctl_vault_drain(struct sr_ctl_work *work);

/* sr_ctl_vault_say.c */
int sr_ctl_vault_say_option(struct sr_ctl_work *work, int letter, const char *value);
int sr_ctl_vault_kill(struct sr_ctl_work *work);
int sr_ctl_vault_lease(struct sr_ctl_work *work);
int sr_ctl_vault_band(struct sr_ctl_work *work);
int sr_ctl_vault_seed(struct sr_ctl_work *work);

#endif /* SR_CTL_VAULT_WORK_H */
