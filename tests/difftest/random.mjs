// SPDX-License-Identifier: MIT
// Random values that repeat by their seed; bounds come more often than chance would have it.

export class Random {
	constructor(seed) {
		this.state = BigInt.asUintN(64, BigInt(seed)) || 1n;
	}

	// xorshift64*
	word() {
		let x = this.state;
		x ^= x >> 12n;
		x = BigInt.asUintN(64, x ^ (x << 25n));
		x ^= x >> 27n;
		this.state = x;
		return BigInt.asUintN(64, x * 0x2545f4914f6cdd1dn);
	}

	below(limit) {
		return Number((this.word() >> 11n) % BigInt(limit));
	}

	chance(oneIn) {
		return this.below(oneIn) === 0;
	}

	flag() {
		return this.chance(2);
	}

	pick(list) {
		return list[this.below(list.length)];
	}

	// An integer of up to `bits` bits whose length is as random as its value.
	bits(bits) {
		let v = 0n;

		for (let i = 0; i < bits; i += 64)
			v = (v << 64n) | this.word();
		if (this.chance(16))
			return this.pick([0n, 1n, (1n << BigInt(bits)) - 1n, 1n << BigInt(bits - 1)]);
		return BigInt.asUintN(1 + this.below(bits), v);
	}

	// From min to max, both bigint or both number.
	range(min, max) {
		if (typeof min === 'number')
			return Number(this.range(BigInt(min), BigInt(max)));
		const span = max - min + 1n, bits = span.toString(2).length;

		return min + this.bits(bits) % span;
	}

	hex(bytes) {
		let text = '0x';

		for (let i = 0; i < bytes; i++)
			text += this.chance(24) ? '00' : this.below(256).toString(16).padStart(2, '0');
		return text;
	}

	ascii(max) {
		let text = '';

		for (let n = this.below(max + 1); n > 0; n--)
			text += String.fromCharCode(0x20 + this.below(0x5f));
		return text;
	}
}

// An integer of `places` decimals, without a zero at its end.
export function decimal(v, places) {
	const digits = v.toString().padStart(places + 1, '0');
	const fraction = digits.slice(digits.length - places).replace(/0+$/, '');

	return digits.slice(0, digits.length - places) + (fraction ? '.' + fraction : '');
}

// The same number as an API may be sent it.
export function padded(random, text, places) {
	const point = text.indexOf('.'), has = point < 0 ? 0 : text.length - point - 1;
	const zeros = random.chance(3) ? random.below(places - has + 1) : 0;

	return zeros ? text + (has ? '' : '.') + '0'.repeat(zeros) : text;
}

// The same object with its members in another order.
export function shuffled(random, value) {
	if (Array.isArray(value))
		return value.map(item => shuffled(random, item));
	if (typeof value !== 'object' || value === null)
		return value;
	const names = Object.keys(value);

	for (let i = names.length - 1; i > 0; i--) {
		const j = random.below(i + 1);
		[names[i], names[j]] = [names[j], names[i]];
	}
	return Object.fromEntries(names.map(name => [name, shuffled(random, value[name])]));
}

// JSON in which integers of any size are digits.
export function json(value) {
	return JSON.stringify(value, (_, v) => typeof v === 'bigint' ? `@int:${v}` : v)
		.replace(/"@int:(-?\d+)"/g, '$1');
}
