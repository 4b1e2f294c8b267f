// SPDX-License-Identifier: MIT
// Random orders at sigring-replay --offline and at the venues' SDKs: the digests must be equal,
// and for some of them the deterministic signature too.
//
//	node difftest.mjs BIN ORDERS [SEED [VENUE]]
//
// ORDERS are for each venue. Prints `ok difftest/VENUE` or `not ok ...` for each.
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SigningKey } from 'ethers';
import { Random, json } from './random.mjs';
import dydx from './dydx.mjs';
import eip712 from './eip712.mjs';
import ethereum from './ethereum.mjs';
import grvt from './grvt.mjs';
import hyperliquid from './hyperliquid.mjs';
import polymarket from './polymarket.mjs';

const [bin, count, seed = `${Date.now()}`, only] = process.argv.slice(2);
const CHUNK = 10000; // orders a run of the program
const SIGNED = 200; // of which each so-many-eth signature is compared
const SECRET = '0123456789012345678901234567890123456789012345678901234567890123';
const signer = new SigningKey('0x' + SECRET);

// Its exit status says no more than the results do.
function replay(dir) {
	return new Promise(resolve => execFile(join(bin, 'sigring-replay'), ['--offline', '--keep-going',
		'--keys', join(dir, 'keys'), '--out', join(dir, 'out'), join(dir, 'orders')],
	{ maxBuffer: 1 << 28 }, (error, stdout, stderr) => resolve(error ? stderr.slice(0, 2000) : '')));
}

function check(result, made, at) {
	if (result?.status !== 'OK')
		throw new Error(`${result?.status}: ${result?.why}: ${json(made.line)}`);
	if ('0x' + result.digest !== made.digest)
		throw new Error(`digest ${result.digest}, not ${made.digest}: ${json(made.line)}`);
	if (at % SIGNED)
		return;
	const s = signer.sign(made.digest);

	if ('0x' + result.r !== s.r || '0x' + result.s !== s.s || result.v !== s.v)
		throw new Error(`another signature: ${json(made.line)}`);
}

async function chunk(venue, random, dir, orders) {
	const made = Array.from({ length: orders }, () => venue.make(random));

	await writeFile(join(dir, 'orders'), made.map(m => json({ ...m.line, key: 1 }) + '\n').join(''));
	await rm(join(dir, 'out'), { force: true });
	const said = await replay(dir);
	let seen = 0;

	try {
		for await (const line of createInterface({ input: createReadStream(join(dir, 'out')) })) {
			const result = JSON.parse(line);

			check(result, made[result.line - 1], seen++);
		}
	} catch (error) {
		throw error.code === 'ENOENT' ? new Error(said) : error;
	}
	if (seen !== orders)
		throw new Error(`${seen} results of ${orders} orders: ${said}`);
}

async function compare(venue, dir) {
	const random = new Random(BigInt(seed)), total = Number(count);

	for (let done = 0; done < total; done += CHUNK)
		await chunk(venue, random, dir, Math.min(CHUNK, total - done));
	console.log(`ok difftest/${venue.name}\n# ${total} orders, ${Math.ceil(total / SIGNED)} signatures, ` +
		`against ${venue.sdks.join(', ')}`);
}

const dir = await mkdtemp(join(tmpdir(), 'sigring-difftest-'));

console.log(`# seed ${seed}`);
try {
	await mkdir(join(dir, 'keys'), { mode: 0o700 });
	await writeFile(join(dir, 'keys', '1.key'), `sigring-key 1\nid 1\npermit ecdsa-digest\nuid any\nsecret ${SECRET}\n`,
		{ mode: 0o600 });
	for (const venue of [hyperliquid, polymarket, dydx, grvt, ethereum, eip712]) {
		if (only && only !== venue.name)
			continue;
		await compare(venue, dir).catch(error => {
			process.exitCode = 1;
			console.log(`not ok difftest/${venue.name}: seed ${seed}: ${error.message.slice(0, 3000)}`);
		});
	}
} finally {
	await rm(dir, { recursive: true, force: true });
}
