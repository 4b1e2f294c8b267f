// SPDX-License-Identifier: MIT
// Orders of three versions and proofs of a key, by ethers' EIP-712; addresses and types are
// those of Polymarket/clob-client-v2 (MIT).
import { TypedDataEncoder } from 'ethers';

const CONTRACTS = {
	137: { 1: ['0x4bFb41d5B3570DeFd03C39a9A4D8dE6Bd8B8982E', '0xC5d563A36AE78145C45a50134d48A1215220f80a'],
		2: ['0xE111180000d2663C0091e4f400237545B87B996B', '0xe2222d279d744050d28e00520010520000310F59'],
		3: ['0xe3333700cA9d93003F00f0F71f8515005F6c00Aa'] },
	80002: { 1: ['0xdFE02Eb6733538f8Ea35D585af8DE5958AD99E40', '0xC5d563A36AE78145C45a50134d48A1215220f80a'],
		2: ['0xE111180000d2663C0091e4f400237545B87B996B', '0xe2222d279d744050d28e00520010520000310F59'],
		3: ['0x9fE6e61422AdB6F610d8597F9684b16912D50C3D'] },
};
const members = text => text.split(',').map(m => ({ type: m.split(' ')[0], name: m.split(' ')[1] }));
const V1 = members('uint256 salt,address maker,address signer,address taker,uint256 tokenId,uint256 makerAmount,' +
	'uint256 takerAmount,uint256 expiration,uint256 nonce,uint256 feeRateBps,uint8 side,uint8 signatureType');
const V2 = members('uint256 salt,address maker,address signer,uint256 tokenId,uint256 makerAmount,uint256 takerAmount,' +
	'uint8 side,uint8 signatureType,uint256 timestamp,bytes32 metadata,bytes32 builder');
const WRAP = members('Order contents,string name,string version,uint256 chainId,address verifyingContract,bytes32 salt');
const AUTH = members('address address,string timestamp,uint256 nonce,string message');
const AUTH_TEXT = 'This message attests that I control the given wallet';
const ZERO = '0x' + '00'.repeat(32);

function order(random, chainId) {
	const version = 1 + random.below(3), signatureType = random.below(version === 1 ? 3 : 4);
	const contracts = CONTRACTS[chainId][version], exchange = random.below(contracts.length);
	const domain = { name: 'Polymarket CTF Exchange', version: `${version}`, chainId,
		verifyingContract: contracts[exchange] };
	const maker = random.hex(20), same = signatureType === 0 || signatureType === 3;
	const orderType = random.pick(['GTC', 'GTD', 'FOK', 'FAK']);
	const expiration = orderType === 'GTD' ? random.range(1n, 1n << 40n) : 0n;
	const common = { salt: random.bits(53), maker, signer: same ? maker : random.hex(20),
		tokenId: random.bits(256), makerAmount: random.range(1n, (1n << 64n) - 1n),
		takerAmount: random.range(1n, (1n << 64n) - 1n), side: random.below(2), signatureType };
	const message = version === 1 ?
		{ ...common, taker: random.hex(20), expiration, nonce: random.bits(64), feeRateBps: random.bits(64) } :
		{ ...common, timestamp: random.bits(64), metadata: random.hex(32), builder: random.hex(32) };
	const text = Object.fromEntries(Object.entries(message).map(([name, v]) =>
		[name, typeof v === 'bigint' ? v.toString() : v]));

	text.side = random.flag() ? message.side : ['BUY', 'SELL'][message.side];
	if (version !== 1 && expiration)
		text.expiration = expiration.toString();
	return {
		digest: signatureType === 3 ?
			TypedDataEncoder.hash(domain, { TypedDataSign: WRAP, Order: V2 },
				{ contents: message, name: 'DepositWallet', version: '1', chainId,
					verifyingContract: maker, salt: ZERO }) :
			TypedDataEncoder.hash(domain, { Order: version === 1 ? V1 : V2 }, message),
		line: { venue: 'polymarket', version, chainId, exchange: ['ctf', 'negRisk'][exchange],
			order: text, orderType },
	};
}

function auth(random, chainId) {
	const message = { address: random.hex(20), timestamp: random.bits(64).toString(), nonce: random.bits(64),
		message: AUTH_TEXT };

	return {
		digest: TypedDataEncoder.hash({ name: 'ClobAuthDomain', version: '1', chainId }, { ClobAuth: AUTH }, message),
		line: { venue: 'polymarket', chainId, auth: { ...message, nonce: message.nonce.toString() } },
	};
}

export default {
	name: 'polymarket',
	sdks: ['ethers'],
	make(random) {
		const chainId = random.pick([137, 80002]);

		return random.chance(10) ? auth(random, chainId) : order(random, chainId);
	},
};
