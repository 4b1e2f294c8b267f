// SPDX-License-Identifier: MIT
// Transactions and messages, by ethers.
import { Transaction, hashMessage } from 'ethers';

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

// A quantity as nodes write it, or as people do.
const spelled = (random, v) => random.flag() ? '0x' + v.toString(16) : v.toString();

function accessList(random) {
	return Array.from({ length: random.below(4) }, () => ({ address: random.hex(20),
		storageKeys: Array.from({ length: random.below(4) }, () => random.hex(32)) }));
}

function transaction(random) {
	const kind = random.pick(['legacy', 'eip155', 'eip2930', 'eip1559']);
	const type = { legacy: 0, eip155: 0, eip2930: 1, eip1559: 2 }[kind];
	const price = random.bits(256), data = random.hex(random.below(random.chance(8) ? 1500 : 80));
	const common = { nonce: random.range(0n, SAFE - 1n), gasLimit: random.bits(64),
		value: random.bits(256) };
	const chainId = random.range(1n, SAFE);
	const fees = kind === 'eip1559' ?
		{ maxFeePerGas: price, maxPriorityFeePerGas: price ? random.range(0n, price) : 0n } :
		{ gasPrice: price };
	const to = random.chance(6) ? null : random.hex(20);
	const rest = { ...(kind === 'legacy' ? {} : { chainId }) };
	const list = type ? { accessList: accessList(random) } : {};
	const tx = { type, ...common, ...fees, ...rest };
	const line = Object.fromEntries(Object.entries(tx).map(([name, v]) => [name, spelled(random, BigInt(v))]));

	if (random.flag())
		delete line.type;
	return {
		digest: Transaction.from({ ...tx, nonce: Number(tx.nonce), to, data, ...list }).unsignedHash,
		line: { venue: 'ethereum', tx: { ...line, to, [random.pick(['data', 'input'])]: data, ...list } },
	};
}

function message(random) {
	const text = random.ascii(random.chance(8) ? 1200 : 120);

	return { digest: hashMessage(text), line: { venue: 'ethereum', message: text } };
}

export default {
	name: 'ethereum',
	sdks: ['ethers'],
	make: random => random.chance(6) ? message(random) : transaction(random),
};
