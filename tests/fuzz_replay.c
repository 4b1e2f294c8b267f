/* SPDX-License-Identifier: MIT */
/*
 * fuzz_replay.c - arbitrary lines of orders, as sigring-replay reads them.
 *
 * Checked besides what the sanitizers see: what is refused has a reason in words that a
 * terminal can take and leaves nothing behind; what is taken decodes, has the same digest
 * when it is read again, and can be written.
 */
#include <string.h>

#include "sr_desk.h"
#include "sr_type.h"

#define FUZZ_NAME "replay"
#define FUZZ_INPUT_BYTES 4096u
#ifdef SR_FUZZ_MAIN
#define FUZZ_MAKE fuzz_make_line
#define FUZZ_STOP fuzz_stop_lines
static void fuzz_stop_lines(void);
#endif
#include "fuzz_main.h"

#define BODY_MAX 4096u

#ifdef SR_FUZZ_MAIN
/* Honest lines; what is made of them has some characters changed, or a part of another. */
static const char *const honest[] = {
	"{\"venue\":\"hyperliquid\",\"key\":1,\"network\":\"mainnet\",\"action\":{\"type\":\"order\","
	"\"orders\":[{\"a\":1,\"b\":true,\"p\":\"25.2\",\"s\":\"1\",\"r\":false,\"t\":{\"limit\":"
	"{\"tif\":\"Gtc\"}}},{\"a\":1,\"b\":false,\"p\":\"9\",\"s\":\"1\",\"r\":true,\"t\":{\"trigger\":"
	"{\"isMarket\":true,\"triggerPx\":\"8\",\"tpsl\":\"sl\"}},\"c\":"
	"\"0x1e60610f0b3d420597c88c1fed2ad5ee\"}],\"grouping\":\"na\",\"builder\":{\"b\":"
	"\"0x1234567890123456789012345678901234567890\",\"f\":10}},\"nonce\":1,\"vaultAddress\":"
	"\"0x1719884eb866cb12b2287399b15f7db5e7d775ea\",\"expiresAfter\":7}",
	"{\"venue\":\"hyperliquid\",\"key\":1,\"network\":\"testnet\",\"action\":{\"type\":"
	"\"batchModify\",\"modifies\":[{\"oid\":9007199254740993,\"order\":{\"a\":1,\"b\":true,\"p\":"
	"\"1\",\"s\":\"1\",\"r\":false,\"t\":{\"limit\":{\"tif\":\"Alo\"}}}}]},\"nonce\":1}",
	"{\"venue\":\"hyperliquid\",\"key\":1,\"network\":\"testnet\",\"action\":{\"type\":\"cancel\","
	"\"cancels\":[{\"a\":1,\"o\":2}]},\"nonce\":1}",
	"{\"venue\":\"polymarket\",\"key\":1,\"version\":2,\"chainId\":137,\"exchange\":\"ctf\","
	"\"order\":{\"salt\":\"1\",\"maker\":\"0x1111111111111111111111111111111111111111\","
	"\"signer\":\"0x1111111111111111111111111111111111111111\",\"tokenId\":\"1234\",\"price\":"
	"\"0.3\",\"size\":\"16.9\",\"tickSize\":\"0.01\",\"side\":\"BUY\",\"signatureType\":3,"
	"\"timestamp\":\"1\",\"metadata\":"
	"\"0x0000000000000000000000000000000000000000000000000000000000000000\",\"builder\":"
	"\"0x0000000000000000000000000000000000000000000000000000000000000000\"},\"owner\":"
	"\"00000000-0000-0000-0000-000000000000\",\"orderType\":\"GTC\"}",
	"{\"venue\":\"polymarket\",\"key\":1,\"chainId\":80002,\"auth\":{\"address\":"
	"\"0x1111111111111111111111111111111111111111\",\"timestamp\":\"1\",\"nonce\":23}}",
	"{\"venue\":\"dydx\",\"key\":1,\"chainId\":\"dydx-mainnet-1\",\"accountNumber\":1,\"sequence\":"
	"1,\"gasLimit\":1,\"publicKey\":"
	"\"0x0291d1d9fd23334f3d53c3a5b50b56317d8964692320d73d22d7a0b115d5eb574f\",\"message\":"
	"{\"typeUrl\":\"/dydxprotocol.clob.MsgPlaceOrder\",\"value\":{\"order\":{\"orderId\":"
	"{\"subaccountId\":{\"owner\":\"dydx1wldnytkerzs39rs28djn0p9vvqer2x2k5x8hjy\",\"number\":0},"
	"\"clientId\":1,\"orderFlags\":0,\"clobPairId\":0},\"side\":\"SIDE_BUY\",\"quantums\":\"1\","
	"\"subticks\":\"1\",\"goodTilBlock\":1,\"timeInForce\":0,\"reduceOnly\":false}}}}",
	"{\"venue\":\"dydx\",\"key\":1,\"chainId\":\"dydx-testnet-4\",\"accountNumber\":1,\"sequence\":"
	"0,\"gasLimit\":1,\"publicKey\":"
	"\"0x0291d1d9fd23334f3d53c3a5b50b56317d8964692320d73d22d7a0b115d5eb574f\",\"message\":"
	"{\"typeUrl\":\"/dydxprotocol.clob.MsgBatchCancel\",\"value\":{\"subaccountId\":{\"owner\":"
	"\"dydx1wldnytkerzs39rs28djn0p9vvqer2x2k5x8hjy\",\"number\":0},\"goodTilBlock\":1,"
	"\"shortTermCancels\":[{\"clobPairId\":0,\"clientIds\":[1,2]},{\"clobPairId\":1,"
	"\"clientIds\":[9]}]}}}",
	"{\"venue\":\"grvt\",\"key\":1,\"chainId\":325,\"order\":{\"sub_account_id\":\"1\","
	"\"is_market\":false,\"time_in_force\":\"FILL_OR_KILL\",\"post_only\":false,\"reduce_only\":"
	"false,\"legs\":[{\"instrument\":\"A\",\"size\":\"1.0001\",\"limit_price\":\"3\","
	"\"is_buying_asset\":true}],\"signature\":{\"signer\":"
	"\"0x1111111111111111111111111111111111111111\",\"expiration\":\"1\",\"nonce\":1},"
	"\"metadata\":{\"client_order_id\":\"1\"}},\"instruments\":{\"A\":{\"instrument_hash\":"
	"\"0x030501\",\"base_decimals\":9}}}",
	"{\"venue\":\"ethereum\",\"key\":1,\"tx\":{\"type\":2,\"chainId\":1,\"nonce\":0,"
	"\"maxPriorityFeePerGas\":1,\"maxFeePerGas\":\"0x10\",\"gas\":21000,\"to\":null,\"value\":\"1\","
	"\"data\":\"0x00ff\",\"accessList\":[{\"address\":"
	"\"0x1111111111111111111111111111111111111111\",\"storageKeys\":"
	"[\"0x0000000000000000000000000000000000000000000000000000000000000001\"]}]}}",
	"{\"venue\":\"ethereum\",\"key\":1,\"message\":\"hello\"}",
	"{\"venue\":\"hibachi\",\"key\":1,\"order\":{\"nonce\":1,\"contractId\":1,\"quantity\":\"5\","
	"\"side\":\"BID\",\"price\":\"7\",\"maxFeesPercent\":\"0.00045\"}}",
	"{\"venue\":\"eip712\",\"key\":1,\"domain\":{\"name\":\"A\",\"chainId\":1},\"types\":{\"T\":["
	"{\"name\":\"a\",\"type\":\"uint8\"},{\"name\":\"b\",\"type\":\"U[]\"},{\"name\":\"c\",\"type\":"
	"\"bytes\"},{\"name\":\"d\",\"type\":\"int16\"}],\"U\":[{\"name\":\"x\",\"type\":\"string\"}]},"
	"\"primaryType\":\"T\",\"message\":{\"a\":255,\"b\":[{\"x\":\"y\"}],\"c\":\"0x01\",\"d\":-5},"
	"\"schema\":{\"nonce\":\"a\"}}",
	"{\"scheme\":\"ecdsa-sha256\",\"key\":1,\"message\":\"a\",\"id\":\"b\"}",
};

#define HONEST (sizeof honest / sizeof honest[0])

static uint64_t below(uint64_t limit)
{
	return fuzz_random() % limit;
}

/* Characters that mean something to a reader of such lines. */
static char character(void)
{
	static const char some[] = "\n\"{}[]:,0123456789.-+eExXaAfFtrnul\\ \x01\x7f\xff";

	return below(4) ? some[below(sizeof some - 1)] : (char)below(256);
}

static size_t fuzz_make_line(uint8_t *input, size_t room)
{
	const char *line = honest[below(HONEST)], *other = honest[below(HONEST)];
	size_t bytes = strlen(line), at, count;

	require(bytes < room, "a line that is too long");
	memcpy(input, line, bytes);
	for (uint64_t changes = below(4); changes; changes--) {
		at = below(bytes);
		switch (below(4)) {
		case 0: /* a part of another line over it */
			count = below(24);
			if (at + count < bytes && count < strlen(other))
				memcpy(input + at, other + below(strlen(other) - count), count);
			break;
		case 1: /* something is missing */
			count = 1 + below(12);
			if (at + count < bytes) {
				memmove(input + at, input + at + count, bytes - at - count);
				bytes -= count;
			}
			break;
		default:
			input[at] = (uint8_t)character();
			break;
		}
	}
	return bytes;
}
#endif

static struct sr_desk *desk;
static unsigned long long taken, refused;

#ifdef SR_FUZZ_MAIN
static void fuzz_stop_lines(void)
{
	printf("# %llu lines taken, %llu refused\n", taken, refused);
	require(taken != 0 && refused != 0, "one of the two was not looked at");
	sr_desk_delete(desk);
}
#endif

static void judge(const struct sr_order_line *order, const char *text, size_t bytes)
{
	static const unsigned char rs[64] = { 1 };
	char why[SR_ORDERS_WHY_BYTES];
	struct sr_order_line again;
	struct sr_desk_text written;
	int err;

	taken++;
	require(order->body_bytes <= BODY_MAX && order->key, "a body or key out of bounds");
	require(sr_orders_parse(&again, desk, text, bytes, BODY_MAX, why) == 0, "read once only");
	require(again.type == order->type && again.body_bytes == order->body_bytes &&
			(!order->body_bytes || !memcmp(again.body, order->body, order->body_bytes)),
		"another body");
	require(!memcmp(again.digest, order->digest, sizeof order->digest), "another digest");
	sr_orders_release(&again);
	err = sr_desk_write(desk, &written, order, 0, rs, 1);
	if (order->type <= SR_TYPE_BLIND_MAX)
		require(err == -ENOENT, "a blind order has a venue");
	else
		require(err == 0 && written.post_bytes && written.signature_bytes, "not written");
}

static void refused_line(void *arg, uint32_t line, const char *what)
{
	uint32_t *last = arg;

	require(line > *last && what[0], "lines out of order, or no reason");
	*last = line;
}

/* The same bytes as a file. */
static void read_file(char *text, size_t bytes)
{
	struct sr_orders orders;
	uint32_t lines = 1, last = 0;
	FILE *file = fmemopen(text, bytes, "r");

	require(file != NULL, "no memory");
	for (size_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	require(sr_orders_read(&orders, file, BODY_MAX, true, refused_line, &last) == 0,
		"an error that is not due");
	require(orders.count + orders.bad <= lines && last <= lines, "more lines than there are");
	sr_orders_free(&orders);
	(void)fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static unsigned int since_new;
	char why[SR_ORDERS_WHY_BYTES] = "";
	struct sr_order_line order;
	char *text;
	int err;

	if (bytes > FUZZ_INPUT_BYTES)
		return 0;
	/* Schemas of all lines stay at a desk, as of all lines of a file. */
	if (!desk || since_new++ == 1000) {
		sr_desk_delete(desk);
		require(sr_desk_new(&desk) == 0, "no desk");
		since_new = 0;
	}
	/* Of its own size, so that the sanitizers see a read behind its end. */
	text = malloc(bytes ? bytes : 1);
	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	err = sr_orders_parse(&order, desk, text, bytes, BODY_MAX, why);
	require(err == 0 || err == -EINVAL, "an error that is not due");
	if (!err) {
		judge(&order, text, bytes);
		sr_orders_release(&order);
	} else {
		refused++;
		require(why[0] && memchr(why, 0, sizeof why), "no reason");
		for (const char *p = why; *p; p++)
			require((unsigned char)*p >= 0x20 && *p != 0x7f, "drives a terminal");
	}
	if (bytes && memchr(text, '\n', bytes))
		read_file(text, bytes);
	free(text);
	return 0;
}
