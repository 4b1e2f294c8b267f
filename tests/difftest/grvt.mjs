// SPDX-License-Identifier: MIT
// Orders and transfers, by ethers' EIP-712; types are those of gravity-technologies/grvt-pysdk
// (Apache-2.0).
import { TypedDataEncoder } from 'ethers';
import { decimal } from './random.mjs';

const members = text => text.split(',').map(m => ({ type: m.split(' ')[0], name: m.split(' ')[1] }));
const PLAIN = 'uint64 subAccountID,bool isMarket,uint8 timeInForce,bool postOnly,bool reduceOnly,OrderLeg[] legs,';
const ORDER = members(PLAIN + 'uint32 nonce,int64 expiration');
const WITH_FEE = members(PLAIN + 'address builder,uint32 builderFee,uint32 nonce,int64 expiration');
const LEG = members('uint256 assetID,uint64 contractSize,uint64 limitPrice,bool isBuyingContract');
const TRANSFER = members('address fromAccount,uint64 fromSubAccount,address toAccount,uint64 toSubAccount,' +
	'uint8 tokenCurrency,uint64 numTokens,uint32 nonce,int64 expiration');
const TIFS = ['GOOD_TILL_TIME', 'ALL_OR_NONE', 'IMMEDIATE_OR_CANCEL', 'FILL_OR_KILL'];
const CURRENCIES = ['USD', 'USDC', 'USDT'];
const U64 = (1n << 64n) - 1n;

// Digits behind the last decimal are cut off.
const tail = (random, text, places) => !random.chance(4) ? text :
	(text.includes('.') ? text.padEnd(text.indexOf('.') + 1 + places, '0') :
		text + '.' + '0'.repeat(places)) + random.below(1000);

function order(random, domain, signature) {
	const isMarket = random.chance(4), fee = random.chance(3), instruments = {};
	const builder = random.hex(20), builderFee = Number(random.bits(32));
	const legs = Array.from({ length: 1 + random.below(random.chance(6) ? 20 : 2) }, (_, i) => ({
		name: `LEG_${i}`, decimals: random.below(19), assetID: random.range(1n, (1n << 256n) - 1n),
		contractSize: random.range(1n, U64), limitPrice: isMarket ? 0n : random.range(1n, U64),
		isBuyingContract: random.flag() }));
	const message = { subAccountID: random.bits(64), isMarket, timeInForce: 1 + random.below(4),
		postOnly: random.flag(), reduceOnly: random.flag(), legs, nonce: signature.nonce,
		expiration: BigInt(signature.expiration), builder, builderFee };

	for (const leg of legs)
		instruments[leg.name] = { instrument_hash: '0x' + leg.assetID.toString(16), base_decimals: leg.decimals };
	return {
		digest: TypedDataEncoder.hash(domain, fee ? { OrderWithBuilderFee: WITH_FEE, OrderLeg: LEG } :
			{ Order: ORDER, OrderLeg: LEG }, message),
		line: { venue: 'grvt', chainId: domain.chainId, instruments,
			order: { sub_account_id: message.subAccountID.toString(), is_market: isMarket,
				time_in_force: TIFS[message.timeInForce - 1], post_only: message.postOnly,
				reduce_only: message.reduceOnly,
				legs: legs.map(leg => ({ instrument: leg.name,
					size: tail(random, decimal(leg.contractSize, leg.decimals), leg.decimals),
					...(isMarket ? {} : { limit_price: tail(random, decimal(leg.limitPrice, 9), 9) }),
					is_buying_asset: leg.isBuyingContract })),
				...(fee ? { builder, builder_fee: decimal(BigInt(builderFee), 4) } : {}),
				signature, metadata: { client_order_id: random.bits(64).toString() } } },
	};
}

function transfer(random, domain, signature) {
	const message = { fromAccount: random.hex(20), fromSubAccount: random.bits(64), toAccount: random.hex(20),
		toSubAccount: random.bits(64), tokenCurrency: 1 + random.below(3), numTokens: random.range(1n, U64),
		nonce: signature.nonce, expiration: BigInt(signature.expiration) };

	return {
		digest: TypedDataEncoder.hash(domain, { Transfer: TRANSFER }, message),
		line: { venue: 'grvt', chainId: domain.chainId, transfer: {
			from_account_id: message.fromAccount, from_sub_account_id: message.fromSubAccount.toString(),
			to_account_id: message.toAccount, to_sub_account_id: message.toSubAccount.toString(),
			currency: CURRENCIES[message.tokenCurrency - 1], num_tokens: decimal(message.numTokens, 6),
			signature } },
	};
}

export default {
	name: 'grvt',
	sdks: ['ethers'],
	make(random) {
		const domain = { name: 'GRVT Exchange', version: '0', chainId: random.pick([325, 326, 327]) };
		const signature = { signer: random.hex(20), expiration: random.range(1n, (1n << 63n) - 1n).toString(),
			nonce: Number(random.bits(32)) };

		return random.chance(6) ? transfer(random, domain, signature) : order(random, domain, signature);
	},
};
