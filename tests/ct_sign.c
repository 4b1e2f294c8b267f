/* SPDX-License-Identifier: MIT */
/*
 * ct_sign.c - does a branch or an index depend on a secret?
 *
 * Secrets are marked as undefined memory; memcheck then reports each jump and
 * each address that depends on one. What the signer lets out on purpose (a
 * public key, a signature, whether 32 bytes are a key) is declassified where it
 * leaves, in sr_ct.h's words, which exist in a build with SR_CT only.
 *
 *	valgrind --suppressions=tests/valgrind.supp build/ct/ct_sign
 *
 * Exit code 0: nothing was reported and every signature was right. --control
 * branches on a secret once and succeeds only when that is reported. Without
 * valgrind the program fails, unless it is told --no-valgrind.
 */
#include "ct_main.h"
#include "sr_core.h"
#include "sr_ct.h"
#include "sr_curve.h"
#include "sr_getrandom.h"
#include "sr_keyfile.h"
#include "sr_keyring.h"
#include "sr_message.h"
#include "sr_record.h"
#include "sr_secret.h"
#include "sr_slot.h"
#include "sr_type.h"

#define SLOT 384u
#define SECRET_TEXT "2a2A2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a"
#define PERMIT "permit ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340\nuid any\n"

static const char *const key_texts[] = {
	"sigring-key 1\nid 1\nnonce hedged\n" PERMIT "secret " SECRET_TEXT "\n",
	"sigring-key 1\nid 2\nnonce rfc6979\n" PERMIT "secret " SECRET_TEXT "\n",
	"sigring-key 1\nid 3\nnonce presign-only\n" PERMIT "secret " SECRET_TEXT "\n",
};
#define KEYS 3u

/* In protected memory. */
struct load {
	char text[512];
	unsigned char seckey[SR_SECKEY_BYTES];
};

/* A key file's text, its digits hidden, through the parser into the ring. */
static void load_key(struct sr_keyring *ring, const struct sr_curve *curve, const char *source)
{
	struct load *load;
	struct sr_keyfile_error why;
	struct sr_key_info info;
	size_t bytes = strlen(source);
	void *mem;

	REQUIRE(bytes < sizeof load->text);
	REQUIRE(sr_secret_alloc(&mem, sizeof *load) == 0);
	load = mem;
	memcpy(load->text, source, bytes);
	hide(strstr(load->text, SECRET_TEXT), strlen(SECRET_TEXT));
	REQUIRE(sr_keyfile_parse(&info, load->seckey, load->text, bytes, "text", &why) == 0);
	REQUIRE(sr_keyring_add(ring, curve, &info, load->seckey) == 0);
	sr_secret_free(mem, sizeof *load);
}

/* One request through the core, as an order takes it. */
static void sign(struct sr_core *core, const struct sr_keyring *ring, const struct sr_curve *curve,
		 uint32_t session, uint64_t n, uint32_t key, uint16_t type)
{
	unsigned char record[SLOT] = { 0 }, reply[SR_CMP_BYTES], digest[32];
	unsigned char *request = record + SR_SUB_BODY;
	const unsigned char *sig = reply + SR_CMP_BODY + SR_REP_SIG;
	const unsigned char *pubkey = sr_keyring_info(ring, key - 1)->pubkey;

	sr_put64(record, n);
	record[SR_SUB_KIND] = SR_KIND_UNSEALED;
	sr_put32(request + SR_REQ_KEY, key);
	sr_put16(request + SR_REQ_TYPE, type);
	sr_put16(request + SR_REQ_BODY_BYTES, 32);
	memset(request + SR_REQ_BODY, 0x77, 32);
	REQUIRE(sr_core_record(core, reply, session, 1, 0, record, SLOT) == SR_CORE_REPLY);
	REQUIRE(sr_get16(reply + SR_CMP_BODY + SR_REP_STATUS) == SR_OK);

	memset(digest, 0x77, sizeof digest);
	if (type == SR_ECDSA_DIGEST)
		REQUIRE(sr_ecdsa_verify(curve, sig, digest, pubkey) == 0);
	if (type == SR_BIP340)
		REQUIRE(sr_bip340_verify(curve, sig, digest, 32, pubkey) == 0);
}

/* The kernel's bytes, and nobody may look at them. */
static int hidden_entropy(void *arg, unsigned char *out, size_t bytes)
{
	int ret = sr_getrandom.get(sr_getrandom.arg, out, bytes);

	(void)arg;
	hide(out, bytes);
	return ret;
}

/* What the pool's filler does, and what its taker does, both on hidden nonces. */
static void sign_all(struct sr_keyring *ring, const struct sr_curve *curve)
{
	const struct sr_entropy entropy = { .get = hidden_entropy };
	struct sr_core_config config = {
		.sign = {
			.keys = ring,
			.entropy = &entropy,
			.pool_slots = 16,
			.pool_low = 8,
			.pool_batch = 4,
		},
		.sessions_max = 1,
		.depth_max = 16,
		.slot_bytes_max = SLOT,
		.clear = &sr_core_clear,
	};
	struct sr_open_request request = { .depth = 16, .slot_bytes = SLOT };
	struct sr_core *core;
	uint32_t session;
	uint64_t n = 0;

	REQUIRE(sr_core_new(&core, &config) == 0);
	REQUIRE(sr_pool_fill(sr_core_pool(core)) == 0);
	REQUIRE(sr_core_open(core, &session, &request, 1, 0) == SR_OPENED_OK);
	for (uint32_t key = 1; key <= KEYS; key++)
		for (uint16_t type = 1; type <= SR_TYPE_BLIND_MAX; type++)
			sign(core, ring, curve, session, n++, key, type);
	sr_core_delete(core);
}

static void branch_on_secret(const struct sr_keyring *ring)
{
	static volatile unsigned int taken;

	if (sr_keyring_secret(ring, 0)[5] & 1)
		taken++;
}

int main(int argc, char **argv)
{
	bool control = ct_begin(argc, argv);
	unsigned char seed[32] = { 5 };
	struct sr_keyring *ring;
	struct sr_curve *curve;

	hide(seed, sizeof seed);
	REQUIRE(sr_curve_new(&curve, seed) == 0);
	REQUIRE(sr_keyring_new(&ring) == 0);
	for (uint32_t i = 0; i < KEYS; i++)
		load_key(ring, curve, key_texts[i]);
	sign_all(ring, curve);
	if (control)
		branch_on_secret(ring);
	sr_keyring_delete(ring);
	sr_curve_delete(curve);

	return ct_end(control, "key loading, nonces, refill and every scheme depend on no secret");
}
