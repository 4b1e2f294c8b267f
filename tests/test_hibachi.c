/* SPDX-License-Identifier: MIT */
/* Hibachi's orders: the worked example of docs/adding-a-venue.md, proven like the others. */
#include "order_rig.h"

#include "sr_hibachi.h"

TestSuite(hibachi, .init = rig_setup, .fini = rig_teardown);

static int put(const struct sr_hibachi_order *order)
{
	int bytes = sr_hibachi_order_put(rig_body, sizeof rig_body, order);

	cr_assert_eq(bytes, (int)SR_HIBACHI_BYTES);
	return sr_order_decode(&rig_order, SR_TYPE_HIBACHI, rig_body, (uint32_t)bytes, &rig_env);
}

Test(hibachi, every_vector_gives_its_digest_and_signature)
{
	json_t *root = rig_vectors("hibachi.json"), *vector;
	size_t i;

	json_array_foreach(rig_array(root, "orders", 2), i, vector) {
		struct sr_hibachi_order order = {
			.nonce = rig_number(vector, "nonce"),
			.contract = (uint32_t)rig_number(vector, "contract"),
			.quantity = rig_number(vector, "quantity"),
			.price = rig_number(vector, "price"),
			.max_fee = rig_number(vector, "max_fee"),
		};
		struct sr_order_signature signature;
		unsigned char digest[32];
		int bytes;

		order.flags |= json_is_true(json_object_get(vector, "bid")) ? SR_HIBACHI_BID : 0u;
		order.flags |= order.price ? 0u : SR_HIBACHI_MARKET;
		cr_assert_eq(put(&order), 0);
		cr_assert_eq(sr_order_digest(digest, &rig_order, &rig_env), 0);
		rig_expect(vector, "digest", digest, 32, "order");
		rig_sign(&signature, rig_string(vector, "key"), digest);
		bytes = sr_order_signature_text(rig_text, sizeof rig_text, &rig_order, &signature,
						&rig_env);
		cr_assert_eq(bytes, 132);
		cr_assert_eq(memcmp(rig_text + 1, rig_string(vector, "signature"), 130), 0);
	}
	json_decref(root);
}

Test(hibachi, fields_out_of_their_bounds_are_refused)
{
	const struct sr_hibachi_order good = { 1, 2, SR_HIBACHI_BID, 3, 4, 5 };
	struct sr_hibachi_order order = good;

	cr_assert_eq(put(&order), 0);
	cr_assert_eq(rig_order.view.legs[0].price_decimals, SR_DECIMALS_BY_ASSET);
	order.quantity = 0;
	cr_assert_eq(put(&order), -EINVAL);
	order = good;
	order.price = 0;
	cr_assert_eq(put(&order), -EINVAL, "a limit without a price");
	order.flags |= SR_HIBACHI_MARKET;
	cr_assert_eq(put(&order), 0);
	order = good;
	order.flags = 4;
	cr_assert_eq(put(&order), -EINVAL);
}
