// SPDX-License-Identifier: MIT
// Transactions, by cosmjs; the messages in them by protobufjs from dydxprotocol/v4-chain's
// numbers of fields.
import { sha256 } from '@cosmjs/crypto';
import { encodeSecp256k1Pubkey } from '@cosmjs/amino';
import { fromHex, toBech32 } from '@cosmjs/encoding';
import { encodePubkey, makeAuthInfoBytes, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing';
import { TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx';
import protobuf from 'protobufjs';

const PROTO = `syntax = "proto3";
message SubaccountId { string owner = 1; uint32 number = 2; }
message OrderId { SubaccountId subaccountId = 1; fixed32 clientId = 2; uint32 orderFlags = 3; uint32 clobPairId = 4; }
message Builder { string builderAddress = 1; uint32 feePpm = 2; }
message Order { OrderId orderId = 1; int32 side = 2; uint64 quantums = 3; uint64 subticks = 4;
	optional uint32 goodTilBlock = 5; optional fixed32 goodTilBlockTime = 6; int32 timeInForce = 7; bool reduceOnly = 8;
	uint32 clientMetadata = 9; int32 conditionType = 10; uint64 conditionalOrderTriggerSubticks = 11;
	Builder builderCodeParameters = 13; }
message MsgPlaceOrder { Order order = 1; }
message MsgCancelOrder { OrderId orderId = 1; optional uint32 goodTilBlock = 2; optional fixed32 goodTilBlockTime = 3; }
message OrderBatch { uint32 clobPairId = 1; repeated uint32 clientIds = 2; }
message MsgBatchCancel { SubaccountId subaccountId = 1; repeated OrderBatch shortTermCancels = 2; uint32 goodTilBlock = 3; }`;
const root = protobuf.parse(PROTO).root.resolveAll(); // else lists are not packed
const U32 = 0xffffffff, SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const SIDES = ['', 'SIDE_BUY', 'SIDE_SELL'];
const TIFS = ['TIME_IN_FORCE_UNSPECIFIED', 'TIME_IN_FORCE_IOC', 'TIME_IN_FORCE_POST_ONLY', 'TIME_IN_FORCE_FILL_OR_KILL'];
const CONDITIONS = ['CONDITION_TYPE_UNSPECIFIED', 'CONDITION_TYPE_STOP_LOSS', 'CONDITION_TYPE_TAKE_PROFIT'];

// proto3 leaves out what is zero; protobufjs writes whatever is there. What is "optional" is
// written when it is there, and these are never zero here.
function sparse(value) {
	if (Array.isArray(value))
		return value.map(sparse);
	if (typeof value !== 'object' || value === null)
		return value;
	return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== 0 && v !== '0' && v !== false)
		.map(([name, v]) => [name, sparse(v)]));
}

function encodeMessage(name, value) {
	const type = root.lookupType(name);

	return type.encode(type.fromObject(sparse(value))).finish();
}

const address = random => toBech32('dydx', fromHex(random.hex(20).slice(2)));
const u32 = random => Number(random.bits(32));

function orderId(random, flags) {
	return { subaccountId: { owner: address(random), number: random.range(0, 128000) }, clientId: u32(random),
		orderFlags: flags, clobPairId: u32(random) };
}

const goodTil = (random, flags) => ({ [flags ? 'goodTilBlockTime' : 'goodTilBlock']: random.range(1, U32) });

function place(random) {
	const flags = random.pick([0, 0, 32, 64]), side = 1 + random.below(2);
	const timeInForce = flags === 64 ? random.pick([0, 2]) : random.below(4);
	const order = { orderId: orderId(random, flags), side, quantums: random.range(1n, (1n << 64n) - 1n).toString(),
		subticks: random.range(1n, (1n << 64n) - 1n).toString(), ...goodTil(random, flags), timeInForce,
		reduceOnly: random.flag(), clientMetadata: u32(random),
		conditionType: flags === 32 ? 1 + random.below(2) : 0,
		...(flags === 32 ? { conditionalOrderTriggerSubticks: random.range(1n, (1n << 64n) - 1n).toString() } : {}),
		...(random.chance(4) ? { builderCodeParameters: { builderAddress: address(random),
			feePpm: 1 + random.below(10000) } } : {}) };
	const names = random.flag();

	return { name: 'MsgPlaceOrder', value: { order }, json: { order: names ? { ...order, side: SIDES[side],
		timeInForce: TIFS[timeInForce], conditionType: CONDITIONS[order.conditionType] } : order } };
}

function cancel(random) {
	const flags = random.pick([0, 32, 64, 128]);
	const value = { orderId: orderId(random, flags), ...goodTil(random, flags) };

	return { name: 'MsgCancelOrder', value, json: value };
}

function batch(random) {
	// Rising pairs, each once, and each order once: what typed orders can say.
	const pairs = new Set(Array.from({ length: 1 + random.below(4) }, () => u32(random)));
	const shortTermCancels = [...pairs].sort((a, b) => a - b).map(clobPairId => ({ clobPairId,
		clientIds: [...new Set(Array.from({ length: 1 + random.below(20) }, () => u32(random)))] }));
	const value = { subaccountId: { owner: address(random), number: random.range(0, 128000) }, shortTermCancels,
		goodTilBlock: random.range(1, U32) };

	return { name: 'MsgBatchCancel', value, json: value };
}

// cosmjs-types writes numbers from 2^31 to 2^32 - 1 wrongly as uint64 (BinaryWriter.uint64, up
// to 0.11.0 at least): they are not asked.
function uint64(random) {
	const v = Number(random.range(0n, SAFE));

	return v >= 2 ** 31 && v < 2 ** 32 ? v - 2 ** 31 : v;
}

export default {
	name: 'dydx',
	sdks: ['@cosmjs/proto-signing', 'protobufjs'],
	make(random) {
		const { name, value, json } = random.pick([place, place, place, cancel, batch])(random);
		const typeUrl = `/dydxprotocol.clob.${name}`;
		const body = TxBody.encode(TxBody.fromPartial({ messages: [{ typeUrl,
			value: encodeMessage(name, value) }] })).finish();
		const publicKey = new Uint8Array([2 + random.below(2), ...fromHex(random.hex(32).slice(2))]);
		const [gas, sequence, account] = [0, 0, 0].map(() => uint64(random));
		const auth = makeAuthInfoBytes([{ pubkey: encodePubkey(encodeSecp256k1Pubkey(publicKey)), sequence }], [], gas,
			undefined, undefined);
		const chainId = random.pick(['dydx-mainnet-', 'dydx-testnet-']) + random.range(1, U32);
		const digest = sha256(makeSignBytes(makeSignDoc(body, auth, chainId, account)));

		return { digest: '0x' + Buffer.from(digest).toString('hex'),
			line: { venue: 'dydx', chainId, accountNumber: account, sequence, gasLimit: gas,
				publicKey: '0x' + Buffer.from(publicKey).toString('hex'), message: { typeUrl, value: json } } };
	},
};
