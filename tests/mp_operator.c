/* SPDX-License-Identifier: MIT */
/* Operators at the control address of a real sigring-signer, message by message; what
 * sigringctl makes of it is in mp_vault.c. */
#include "mp_sealed.h"
#include "sr_channel.h"
#include "sr_command.h"
#include "sr_pairfile_operator.h"

static struct mp_sealed s;

static void begin(void)
{
	sealed_new(&s);
	mp_start_signer(&s.rig);
}

/* What an operator has. In protected memory. */
struct operator {
	struct sr_pairfile file;
	struct sr_operator_pair pair;
	struct sr_channel channel;
};

/* A conversation as far as its channel. */
static struct operator *enter(struct mp_talk *t, unsigned char *text, size_t room)
{
	struct sr_setup_config config = {
		.expect = &t->expect, .s = &t->pair, .ephemeral = t->ephemeral, .is_operator = true
	};
	struct sr_reason why = { 0 };
	struct operator *o;
	size_t bytes;
	void *mem;

	MP_EQ(sr_secret_alloc(&mem, sizeof *o), 0, "protected memory");
	o = mem;
	MP_CHECK(sr_pairfile_load(&o->file, &sr_pairfile_operator, s.op, &why) == 0, "%s", why.text);
	MP_EQ(sr_operator_pair_make(&o->pair, o->file.secret), 0, "pair");
	MP_EQ(getrandom(t->ephemeral, 32, 0), 32, "getrandom");
	MP_EQ(getrandom(config.nonce, 32, 0), 32, "getrandom");
	MP_EQ(getrandom(config.token, 16, 0), 16, "getrandom");
	MP_EQ(sr_setup_start(&t->setup, t->out, &bytes, &config, sealed_unix_ms()), SR_SETUP_OK,
	      "start");
	sealed_send(t->fd, t->out, bytes);
	while (!sr_setup_done(&t->setup))
		MP_EQ(sealed_step(t), SR_SETUP_OK, "set-up of an operator");
	MP_EQ(sr_setup_finish(&t->setup, &t->keys, &t->result), 0, "finish");
	MP_EQ(sr_channel_init(&o->channel, &t->keys, text, room), 0, "channel");
	return o;
}

static size_t put_list(unsigned char *out, struct operator *o, const struct mp_talk *t,
		       uint64_t sequence)
{
	struct sr_command command = { .kind = SR_COMMAND_LIST, .sig_count = 1 };
	unsigned char hash[SR_HASH_BYTES], text[SR_COMMAND_HEADER_BYTES + SR_COMMAND_SIG_BYTES];
	size_t at = 0, bytes;
	struct sr_hasher *hasher;

	MP_EQ(sr_hasher_new(&hasher), 0, "hasher");
	MP_EQ(sr_command_hash(hasher, hash, &command, t->keys.h, sequence), 0, "hash");
	sr_hasher_delete(hasher);
	MP_EQ(sr_operator_sign(&o->pair, &command.sigs[0], SR_COMMAND_PURPOSE, hash), 0, "sign");
	MP_EQ(sr_command_put(text, &command), sizeof text, "command");
	MP_EQ(sr_channel_put(&o->channel, out, &bytes, text, sizeof text, &at), 0, "seal");
	return bytes;
}

static void hear_list(struct operator *o, struct mp_talk *t)
{
	struct sr_command_result result;
	struct sr_control message;
	int ret;

	while ((ret = sr_control_cut(&message, t->in, t->bytes)) == -EAGAIN) {
		struct pollfd p = { .fd = t->fd, .events = POLLIN };

		MP_EQ(poll(&p, 1, 20000), 1, "a result");
		MP_CHECK(sealed_recv(t->fd, t->in, &t->bytes, sizeof t->in), "hung up");
	}
	MP_EQ(ret, 0, "a message");
	MP_EQ(sr_channel_take(&o->channel, &message), 0, "a text");
	MP_EQ(sr_command_result_get(&result, o->channel.text, o->channel.text_bytes), 0,
	      "a result");
	MP_EQ(result.code, SR_COMMAND_DONE, "done");
	t->bytes -= message.bytes;
	memmove(t->in, t->in + message.bytes, t->bytes);
}

static void leave(struct operator *o, struct mp_talk *t)
{
	sr_channel_wipe(&o->channel);
	sr_secret_free(o, sizeof *o);
	sealed_end(t);
}

static unsigned char result_text[SR_COMMAND_RESULT_BYTES_MAX + 1];
static unsigned char sealed_commands[2 * SR_CONTROL_BYTES_MAX];

/* Nothing comes that would remind the signer of the second one. */
static void command_that_was_sent_ahead_is_obeyed(void)
{
	struct operator *o;
	struct mp_talk *t;
	size_t bytes;

	begin();
	t = sealed_talk(&s, s.trader);
	o = enter(t, result_text, sizeof result_text);
	bytes = put_list(sealed_commands, o, t, 0);
	bytes += put_list(sealed_commands + bytes, o, t, 1);
	sealed_send(t->fd, sealed_commands, bytes);
	hear_list(o, t);
	hear_list(o, t);
	leave(o, t);
	mp_rig_stop(&s.rig);
}

static void operator_who_was_obeyed_is_pushed_out_by_nobody(void)
{
	struct operator *o;
	struct mp_talk *t;
	int fds[200];

	begin();
	t = sealed_talk(&s, s.trader);
	o = enter(t, result_text, sizeof result_text);
	for (uint64_t i = 0; i < 2; i++) {
		sealed_send(t->fd, sealed_commands, put_list(sealed_commands, o, t, i));
		hear_list(o, t);
		for (size_t j = 0; j < 200 && i == 0; j++)
			fds[j] = sealed_connect(s.control);
	}
	for (size_t i = 0; i < 200; i++)
		(void)close(fds[i]);
	leave(o, t);
	mp_rig_stop(&s.rig);
}

static const struct mp_test tests[] = {
	{ "operator/command_that_was_sent_ahead_is_obeyed", command_that_was_sent_ahead_is_obeyed,
	  0 },
	{ "operator/who_was_obeyed_is_pushed_out_by_nobody",
	  operator_who_was_obeyed_is_pushed_out_by_nobody, 0 },
};

int main(int argc, char **argv)
{
	return mp_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
