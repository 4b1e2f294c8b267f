// SPDX-License-Identifier: MIT
// Messages of random types in random domains, by ethers.
import { TypedDataEncoder } from 'ethers';

const MESSAGES_PER_TYPE = 25;

function atomic(random) {
	return random.pick([() => `uint${8 * (1 + random.below(32))}`, () => `int${8 * (1 + random.below(32))}`,
		() => `bytes${1 + random.below(32)}`, () => 'bool', () => 'address', () => 'bytes', () => 'string'])();
}

const array = (random, type) => random.chance(4) ? type + random.pick(['[]', '[]', '[1]', '[3]']) : type;

// Each struct has the next one in it, or more: all are reached, and none holds itself.
function typesMake(random) {
	const count = 1 + random.below(4), types = {};

	for (let i = 0; i < count; i++) {
		const list = Array.from({ length: 1 + random.below(6) }, (_, j) =>
			({ name: `m${j}`, type: array(random, atomic(random)) }));

		if (i + 1 < count)
			list.splice(random.below(list.length + 1), 0, { name: 'next', type: array(random, `S${i + 1}`) });
		// Names in another order than the structs': encodeType sorts them.
		types[`S${i}`] = list;
	}
	return renamed(random, types);
}

function renamed(random, types) {
	const letters = random.pick(['DCBA', 'ABCD', 'BADC']), text = JSON.stringify(types);

	return JSON.parse(text.replace(/S(\d)/g, (_, i) => `T${letters[i]}`));
}

function domainMake(random) {
	const all = { name: random.ascii(20), version: random.ascii(6), chainId: Number(random.range(0n, (1n << 53n) - 1n)),
		verifyingContract: random.hex(20), salt: random.hex(32) };
	const names = Object.keys(all).filter(() => random.chance(2));

	return Object.fromEntries((names.length ? names : ['name']).map(name => [name, all[name]]));
}

function value(random, types, type) {
	const [, base, size] = /^(.*?)(?:\[(\d*)\])?$/.exec(type);

	if (size !== undefined)
		return Array.from({ length: size === '' ? random.below(5) : Number(size) }, () => value(random, types, base));
	if (types[base])
		return Object.fromEntries(types[base].map(m => [m.name, value(random, types, m.type)]));
	const bits = Number(/\d*$/.exec(base)[0]);

	if (base.startsWith('uint'))
		return random.bits(bits).toString();
	if (base.startsWith('int'))
		return BigInt.asIntN(bits, random.bits(bits)).toString();
	if (base === 'bytes')
		return random.hex(random.below(40));
	if (base.startsWith('bytes'))
		return random.hex(bits);
	return base === 'bool' ? random.flag() : base === 'address' ? random.hex(20) : random.ascii(40);
}

// No less than it takes in a typed body, which has 4096 bytes.
function room(types, type, v) {
	const base = type.replace(/\[.*/, '');

	if (Array.isArray(v))
		return v.reduce((sum, item) => sum + room(types, base, item), 4);
	if (types[base])
		return types[base].reduce((sum, m) => sum + room(types, m.type, v[m.name]), 0);
	return base === 'string' || base === 'bytes' ? 4 + v.length : 32;
}

function message(random, types, primaryType) {
	for (;;) {
		const made = value(random, types, primaryType);

		if (room(types, primaryType, made) < 4000)
			return made;
	}
}

let types, domain, left = 0;

export default {
	name: 'eip712',
	sdks: ['ethers'],
	make(random) {
		if (left-- === 0) {
			types = typesMake(random);
			domain = domainMake(random);
			left = MESSAGES_PER_TYPE - 1;
		}
		const primaryType = Object.keys(types)[0], made = message(random, types, primaryType);

		return { digest: TypedDataEncoder.hash(domain, types, made),
			line: { venue: 'eip712', domain, types, primaryType, message: made } };
	},
};
