/* SPDX-License-Identifier: MIT */
/*
 * sr_porter_state.h - what the files of the porter share: its state, private to them.
 *
 * sr_porter.c makes one and has what other threads call, sr_porter_loop.c is its thread,
 * sr_porter_status.c what it says of the signer.
 */
#ifndef SR_PORTER_STATE_H
#define SR_PORTER_STATE_H

#include "sr_note_limit.h"
#include "sr_porter.h"
#include "sr_thread.h"
#include "sr_vault.h"

enum sr_porter_talk_state {
	SR_PORTER_LISTENS = 0, /* for its next message, when its answer has been sent */
	SR_PORTER_ASKS = 1,    /* its command waits for the vault */
	SR_PORTER_WAITS = 2,   /* its command is being obeyed */
	SR_PORTER_ENDS = 3,    /* to be hung up on, when its answer has been sent */
};

struct sr_porter_talk {
	int fd; /* -1: the place is free */
	enum sr_porter_talk_state state;
	bool obeyed; /* an operator's: a command of it was */
	uint64_t heard_ns;
	struct sr_gate_talk gate;
	size_t in_bytes;
	size_t out_bytes;
	size_t out_sent;
	unsigned char in[SR_CONTROL_BYTES_MAX];
	unsigned char out[SR_CONTROL_BYTES_MAX];
};

/* What other threads say to it, through a pipe. */
enum sr_knock_kind {
	SR_KNOCK_STOP = 1,
	SR_KNOCK_RELOAD = 2,
	SR_KNOCK_TALK = 3,
	SR_KNOCK_OPEN = 4,
};

struct sr_knock {
	uint32_t kind;
	int32_t fd; /* SR_KNOCK_TALK: it is the porter's from here on */
};

struct sr_porter {
	struct sr_porter_config config;
	struct sr_entropy entropy;
	struct sr_drbg *drbg;
	struct sr_gate *gate;
	struct sr_vault *vault;
	struct sr_operators operators;
	struct sr_manifest manifest; /* in force */
	struct sr_post *post;
	struct sr_task *next;         /* an admission is written here */
	struct sr_task *order;        /* the vault's, while it is out */
	struct sr_porter_talk *asker; /* whose command that is; NULL: nobody's, or gone */
	uint64_t told_version;        /* of the manifest that trust_out speaks of */
	uint64_t noted_version;       /* that the log speaks of */
	uint64_t accept_after_ns;
	uint64_t console_ns; /* when the log was last told how things are */
	struct sr_note_limit note_limit; /* of refusals */
	bool reload;         /* the manifest's file, as soon as the vault is free */
	bool open;           /* takes in who connects */
	bool stopping;
	int listen_fd;
	int knock_fds[2]; /* a pipe: to read, to write */
	struct sr_thread thread;
	struct sr_porter_talk talks[SR_PORTER_TALKS];
};

/* sr_porter.c */
void sr_porter_note(const struct sr_porter *porter, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Read the manifest's file and put it in force. The task is for the signing thread;
 * sr_vault_continue() must follow. */
SR_WARN_UNUSED int sr_porter_manifest_read(struct sr_porter *porter, struct sr_task **task,
					   struct sr_reason *why);

/* Tell who trusts this signer which manifest is in force, if that is news. */
SR_WARN_UNUSED int sr_porter_tell(struct sr_porter *porter, struct sr_reason *why);

/* sr_porter_status.c: see sr_vault_config. */
void sr_porter_describe(void *porter, struct sr_command_status *status);

/* Tell the log how things are, with what the signing thread said. */
void sr_porter_console(struct sr_porter *porter, const struct sr_task_status *told);

/* sr_porter_loop.c */
void *sr_porter_run(void *porter);

#endif /* SR_PORTER_STATE_H */
