/* SPDX-License-Identifier: MIT */
/*
 * sr_venues.h - the table of venues: one row for each type of typed order.
 *
 * A row is the type's number in a request, the end of its constant's name, and the
 * name of the `struct sr_venue` that its pair of files defines (sr_order.h). Numbers
 * are ABI, at least 256, and are never reused. docs/adding-a-venue.md shows the rest.
 */
#ifndef SR_VENUES_H
#define SR_VENUES_H

#define SR_VENUES(ROW)				\
	ROW(256, HYPERLIQUID, hyperliquid)	\
	ROW(257, POLYMARKET, polymarket)	\
	ROW(258, DYDX, dydx)			\
	ROW(259, GRVT, grvt)			\
	ROW(260, ETHEREUM, ethereum)		\
	ROW(264, TYPED_DATA, typed_data)	\
	ROW(265, HIBACHI, hibachi)

enum sr_order_type {
#define SR_VENUE_NUMBER(number, constant, name) SR_TYPE_##constant = number,
	SR_VENUES(SR_VENUE_NUMBER)
#undef SR_VENUE_NUMBER
	SR_TYPE_TYPED_MIN = 256, /* below, types are blind (sr_type.h) */
};

#endif /* SR_VENUES_H */
