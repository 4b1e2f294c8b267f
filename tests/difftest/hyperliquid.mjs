// SPDX-License-Identifier: MIT
// L1 actions: the hash of @nktkas/hyperliquid, and once more by @msgpack/msgpack alone.
import { encode } from '@msgpack/msgpack';
import { createL1ActionHash } from '@nktkas/hyperliquid/signing';
import { TypedDataEncoder, concat, getBytes, keccak256, toBeHex } from 'ethers';
import { decimal, padded, shuffled } from './random.mjs';

const DOMAIN = { name: 'Exchange', version: '1', chainId: 1337,
	verifyingContract: '0x0000000000000000000000000000000000000000' };
const AGENT = { Agent: [{ name: 'source', type: 'string' }, { name: 'connectionId', type: 'bytes32' }] };
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

// As SDKs have them: a number where it is exact.
const integer = v => v <= SAFE ? Number(v) : v;
const U64 = (1n << 64n) - 1n;
const amount = random => decimal(random.range(1n, U64), 8);
const cloid = random => random.hex(16);
const asset = random => Number(random.bits(32));
const oid = random => integer(random.bits(63));

function order(random, whole) {
	const trigger = whole || random.chance(4);
	// Their product is a notional below 2^64 millionths: more is refused.
	const price = random.range(1n, U64), most = (U64 * 10n ** 10n) / price;
	const size = random.range(1n, most < U64 ? most : U64);
	const made = { a: asset(random), b: random.flag(), p: decimal(price, 8),
		s: whole && random.flag() ? '0' : decimal(size, 8),
		r: whole || random.flag(),
		t: trigger ? { trigger: { isMarket: random.flag(), triggerPx: amount(random),
			tpsl: random.pick(['tp', 'sl']) } } :
			{ limit: { tif: random.pick(['Gtc', 'Ioc', 'Alo', 'FrontendMarket', 'LiquidationMarket']) } } };

	return random.chance(3) ? { ...made, c: cloid(random) } : made;
}

const list = (random, make) => Array.from({ length: 1 + random.below(random.chance(8) ? 40 : 4) }, make);

const actions = {
	order(random) {
		const grouping = random.chance(8) ? { p: 1 + Number(random.bits(32)) % 0xffffffff } :
			random.pick(['na', 'na', 'na', 'normalTpsl', 'positionTpsl']);
		const made = { type: 'order',
			orders: list(random, () => order(random, grouping === 'positionTpsl')), grouping };

		return random.chance(4) ? { ...made, builder: { b: random.hex(20), f: 1 + random.below(1000) } } : made;
	},
	cancel: random => ({ type: 'cancel',
		cancels: list(random, () => ({ a: asset(random), o: oid(random) })) }),
	cancelByCloid: random => ({ type: 'cancelByCloid',
		cancels: list(random, () => ({ asset: asset(random), cloid: cloid(random) })) }),
	modify: random => ({ type: 'modify', oid: random.flag() ? oid(random) : cloid(random),
		order: order(random, false) }),
	batchModify: random => ({ type: 'batchModify',
		modifies: list(random, () => ({ oid: random.flag() ? oid(random) : cloid(random),
			order: order(random, false) })) }),
	scheduleCancel: random => random.flag() ? { type: 'scheduleCancel' } :
		{ type: 'scheduleCancel', time: integer(random.range(1n, (1n << 63n) - 1n)) },
	updateLeverage: random => ({ type: 'updateLeverage', asset: asset(random), isCross: random.flag(),
		leverage: 1 + random.below(1000) }),
	updateIsolatedMargin: random => ({ type: 'updateIsolatedMargin', asset: asset(random),
		isBuy: random.flag(),
		ntli: Number(random.range(1n, SAFE)) * (random.flag() ? 1 : -1) }),
	noop: () => ({ type: 'noop' }),
};
const weights = ['order', 'order', 'order', 'order', ...Object.keys(actions)];

// Zeros at the end of decimals, and members in another order: one meaning.
function spelled(random, value) {
	if (Array.isArray(value))
		return value.map(item => spelled(random, item));
	if (typeof value !== 'object' || value === null)
		return value;
	return Object.fromEntries(Object.entries(value).map(([name, v]) =>
		[name, ['p', 's', 'triggerPx'].includes(name) && typeof v === 'string' ?
			padded(random, v, 8) : spelled(random, v)]));
}

// With useBigInt64 a number above 32 bits would be a float.
function wide(value) {
	if (Array.isArray(value))
		return value.map(wide);
	if (typeof value === 'number')
		return value >= 2 ** 32 || value < -(2 ** 31) ? BigInt(value) : value;
	if (typeof value !== 'object' || value === null)
		return value;
	return Object.fromEntries(Object.entries(value).map(([name, v]) => [name, wide(v)]));
}

function byMsgpack({ action, nonce, vaultAddress, expiresAfter }) {
	return keccak256(concat([encode(wide(action), { useBigInt64: true }), toBeHex(nonce, 8),
		vaultAddress ? '0x01' + vaultAddress.slice(2) : '0x00',
		expiresAfter === undefined ? '0x' : concat(['0x00', toBeHex(expiresAfter, 8)])]));
}

export default {
	name: 'hyperliquid',
	sdks: ['@nktkas/hyperliquid', '@msgpack/msgpack', 'ethers'],
	make(random) {
		const action = actions[random.pick(weights)](random);
		const nonce = Number(random.range(1n, SAFE)), testnet = random.flag();
		const vaultAddress = random.chance(3) ? random.hex(20) : undefined;
		const expiresAfter = random.chance(3) ? Number(random.range(1n, SAFE)) : undefined;
		const args = { action, nonce, vaultAddress, expiresAfter };
		const hash = createL1ActionHash(args);

		if (hash !== byMsgpack(args))
			throw new Error(`the SDKs differ about ${JSON.stringify(args, (_, v) => typeof v === 'bigint' ? `${v}` : v)}`);
		return {
			digest: TypedDataEncoder.hash(DOMAIN, AGENT,
				{ source: testnet ? 'b' : 'a', connectionId: getBytes(hash) }),
			line: { venue: 'hyperliquid', network: testnet ? 'testnet' : 'mainnet',
				action: shuffled(random, spelled(random, action)), nonce,
				vaultAddress: vaultAddress ?? null, expiresAfter: expiresAfter ?? null },
		};
	},
};
