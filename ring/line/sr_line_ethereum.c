/* SPDX-License-Identifier: MIT */
#include "sr_ethereum.h"
#include "sr_line.h"

/* More do not fit into a body. */
#define ENTRIES_MAX (SR_ETH_BYTES_MAX / 24u)
#define KEYS_MAX (SR_ETH_BYTES_MAX / 32u)

struct access_list {
	struct sr_eth_access entries[ENTRIES_MAX];
	unsigned char addresses[ENTRIES_MAX][20];
	unsigned char keys[KEYS_MAX][32];
	uint32_t key_count;
};

/* A quantity of 64 bits: an integer, or digits as a string, hex behind 0x. */
static uint64_t quantity(const struct sr_node *tx, const char *name)
{
	unsigned char v[32];
	uint64_t n;

	sr_node_u256(tx, name, v);
	if (!sr_all_zero(v, 24))
		sr_node_fail(tx, "%s: expected less than 2^64", name);
	memcpy(&n, v + 24, sizeof n);
	return __builtin_bswap64(n);
}

/* The one of two names that is there. */
static const char *either(const struct sr_node *tx, const char *a, const char *b)
{
	if (sr_node_has(tx, a) && sr_node_has(tx, b))
		sr_node_fail(tx, "expected %s or %s, not both", a, b);
	return sr_node_has(tx, b) ? b : a;
}

static void entry_read(struct access_list *list, uint32_t at, const struct sr_node *entry)
{
	struct sr_node keys;
	uint32_t count;

	sr_node_members(entry, "address storageKeys");
	sr_node_hex(entry, "address", list->addresses[at], 20);
	count = sr_node_count(entry, "storageKeys", 0, KEYS_MAX - list->key_count);
	keys = sr_node_get(entry, "storageKeys");
	list->entries[at] = (struct sr_eth_access){ .address = list->addresses[at],
						    .keys = list->keys[list->key_count],
						    .key_count = count };
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node key = sr_node_item(&keys, i);

		sr_node_hex(&key, NULL, list->keys[list->key_count++], 32);
	}
}

static uint32_t access_read(struct access_list *list, const struct sr_node *tx)
{
	uint32_t count = sr_node_count(tx, "accessList", 0, ENTRIES_MAX);
	struct sr_node entries = sr_node_get(tx, "accessList");

	list->key_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sr_node entry = sr_node_item(&entries, i);

		if (list->key_count >= KEYS_MAX)
			sr_node_fail(&entry, "expected at most %u storage keys in all", KEYS_MAX);
		else
			entry_read(list, i, &entry);
	}
	return count;
}

/* By the fields that each form alone has; `type`, when it is there, must agree. */
static enum sr_eth_action form_read(const struct sr_node *tx)
{
	static const uint64_t types[] = {
		[SR_ETH_LEGACY] = 0, [SR_ETH_EIP155] = 0, [SR_ETH_EIP2930] = 1, [SR_ETH_EIP1559] = 2
	};
	enum sr_eth_action form = SR_ETH_LEGACY;

	if (sr_node_has(tx, "maxFeePerGas"))
		form = SR_ETH_EIP1559;
	else if (sr_node_has(tx, "accessList"))
		form = SR_ETH_EIP2930;
	else if (sr_node_has(tx, "chainId"))
		form = SR_ETH_EIP155;
	if (sr_node_has(tx, "type") && quantity(tx, "type") != types[form])
		sr_node_fail(tx, "type: expected %u for a transaction with these fields",
			     (unsigned int)types[form]);
	sr_node_members(tx, form == SR_ETH_EIP1559 ?
				    "type chainId nonce maxPriorityFeePerGas maxFeePerGas gas "
				    "gasLimit to value data input accessList" :
				    "type chainId nonce gasPrice gas gasLimit to value data input "
				    "accessList");
	return form;
}

/* It must be said: null makes a contract. */
static const unsigned char *to_read(unsigned char to[20], const struct sr_node *tx)
{
	struct sr_node node = sr_node_get(tx, "to");

	if (!node.value || json_is_null(node.value))
		return NULL;
	sr_node_hex(&node, NULL, to, 20);
	return to;
}

static int transaction_convert(struct sr_line *line, const struct sr_node *root)
{
	struct sr_node tx = sr_node_get(root, "tx");
	unsigned char data[SR_LINE_BODY_BYTES], to[20];
	struct sr_eth_transaction t = { .action = form_read(&tx), .data = data };
	struct access_list list;

	sr_node_members(root, SR_LINE_COMMON "tx");
	if (t.action != SR_ETH_LEGACY)
		t.chain_id = quantity(&tx, "chainId");
	t.nonce = quantity(&tx, "nonce");
	t.gas = quantity(&tx, either(&tx, "gas", "gasLimit"));
	sr_node_u256(&tx, t.action == SR_ETH_EIP1559 ? "maxFeePerGas" : "gasPrice", t.price);
	if (t.action == SR_ETH_EIP1559)
		sr_node_u256(&tx, "maxPriorityFeePerGas", t.tip);
	t.to = to_read(to, &tx);
	sr_node_u256(&tx, "value", t.value);
	t.data_bytes = sr_node_hex_any(&tx, either(&tx, "data", "input"), data, sizeof data);
	if (sr_node_has(&tx, "accessList")) {
		t.access_count = access_read(&list, &tx);
		t.access = list.entries;
	}
	if (root->reader->err)
		return -EINVAL;
	return sr_eth_transaction_put(line->body, SR_LINE_BODY_BYTES, &t);
}

int sr_line_ethereum(struct sr_line *line, const struct sr_node *root)
{
	unsigned char data[SR_LINE_BODY_BYTES];
	const char *text = (const char *)data;
	uint32_t bytes;

	if (sr_node_has(root, "tx"))
		return transaction_convert(line, root);
	sr_node_members(root, SR_LINE_COMMON "tx message messageHex");
	if (sr_node_has(root, "message") == sr_node_has(root, "messageHex")) {
		sr_node_fail(root, "expected one of tx, message, messageHex");
		return -EINVAL;
	}
	if (sr_node_has(root, "message")) {
		text = sr_node_text(root, "message", sizeof data);
		bytes = (uint32_t)strlen(text);
	} else {
		bytes = sr_node_hex_any(root, "messageHex", data, sizeof data);
	}
	return sr_eth_message_put(line->body, SR_LINE_BODY_BYTES, text, bytes);
}
