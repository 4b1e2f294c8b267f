/* SPDX-License-Identifier: MIT */
/*
 * mp_traders.h - a rig whose sessions are sealed: an operator, a manifest with two
 * traders and the rig's key, and the trust file that the signer writes at each start.
 */
#ifndef MP_TRADERS_H
#define MP_TRADERS_H

#include "mp_common.h"

/* Runs sigringctl, and gives what it prints first: 64 digits of a public key. */
static void mp_pair_new(struct mp_rig *rig, const char *noun, const char *file, char hex[65])
{
	const char *argv[] = { "sigringctl", noun, "new", "--out", file, NULL };
	char out[400];
	char *text;

	(void)snprintf(out, sizeof out, "%s/%s.public", rig->dir, noun);
	(void)unlink(out);
	MP_EQ(mp_run(argv, out), 0, noun);
	text = mp_read_file(out);
	for (const char *at = text; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL)) {
		if (strspn(at, "0123456789abcdef") < 64)
			continue;
		memcpy(hex, at, 64);
		hex[64] = '\0';
		free(text);
		return;
	}
	mp_fail("no public key in `%s`", text);
}

static void mp_write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	MP_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
}

/* A manifest of this version, signed: both traders may use the rig's key. */
__attribute__((unused)) static void mp_manifest_write(struct mp_rig *rig, unsigned int version,
						      char traders[2][65])
{
	char operator[400];
	char text[2048];
	char pubkey[67];
	const char *argv[] = { "sigringctl", "manifest",    "sign", "--operator",
			       operator,     rig->manifest, NULL };

	for (size_t i = 0; i < sizeof rig->pubkey; i++)
		(void)snprintf(pubkey + 2 * i, 3, "%02x", rig->pubkey[i]);
	(void)snprintf(operator, sizeof operator, "%s/operator.pair", rig->dir);
	(void)snprintf(text, sizeof text,
		       "{ \"sigring_manifest\": 1, \"version\": %u,\n"
		       "  \"identities\": [ { \"name\": \"mm-1\", \"public_key\": \"%s\" },\n"
		       "                  { \"name\": \"mm-2\", \"public_key\": \"%s\" } ],\n"
		       "  \"keys\": [ { \"id\": %u, \"public_key\": \"%s\", \"nonce\": \"%s\",\n"
		       "    \"permit\": [\"ecdsa-sha256\", \"ecdsa-keccak256\", \"ecdsa-digest\", "
		       "\"bip340\"],\n"
		       "    \"identities\": [\"mm-1\", \"mm-2\"] } ] }\n",
		       version, traders[0], traders[1], MP_KEY, pubkey, mp_nonce);
	mp_write_file(rig->manifest, text);
	MP_EQ(mp_run(argv, rig->signer_log), 0, "sigringctl manifest sign");
}

/* What a program with a signer in it is told, behind what it is told already. */
static void mp_sealed_args(const struct mp_rig *rig, const char **args)
{
	const char *more[] = { "--operators", rig->operators, "--operators-needed", "1",
			       "--manifest",  rig->manifest,  "--trust-out",        rig->trust };
	size_t n = 0;

	while (args[n])
		n++;
	MP_CHECK(n + sizeof more / sizeof more[0] < MP_ARGS_MAX, "too many arguments");
	memcpy(args + n, more, sizeof more);
}

/* The directory with all that it takes; nothing is started. */
__attribute__((unused)) static void mp_rig_new_sealed(struct mp_rig *rig, bool split)
{
	char file[400];
	char traders[2][65];
	char key[66];

	mp_rig_new(rig, split);
	rig->sealed = true;
	(void)snprintf(rig->operators, sizeof rig->operators, "%.250s/operators", rig->dir);
	(void)snprintf(rig->manifest, sizeof rig->manifest, "%.250s/manifest", rig->dir);
	(void)snprintf(rig->trust, sizeof rig->trust, "%.250s/trust", rig->dir);
	(void)snprintf(file, sizeof file, "%s/operator.pair", rig->dir);
	mp_pair_new(rig, "operator", file, key);
	key[64] = '\n';
	key[65] = '\0';
	mp_write_file(rig->operators, key);
	for (unsigned int i = 0; i < 2; i++) {
		(void)snprintf(rig->identities[i], sizeof rig->identities[i],
			       "%.250s/trader%u.pair", rig->dir, i);
		mp_pair_new(rig, "identity", rig->identities[i], traders[i]);
	}
	mp_manifest_write(rig, 1, traders);
	mp_sealed_args(rig, split ? rig->signer_args : rig->agent_args);
}

#endif /* MP_TRADERS_H */
