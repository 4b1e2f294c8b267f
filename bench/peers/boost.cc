/* SPDX-License-Identifier: MIT */
/* boost.cc - boost::lockfree::spsc_queue, 256 deep. The one thing here that needs C++. */
#include <new>

#include <boost/lockfree/spsc_queue.hpp>

#include "peer.h"

namespace {

template <unsigned n> struct element {
	unsigned char bytes[n];
};

template <unsigned n>
using queue = boost::lockfree::spsc_queue<element<n>, boost::lockfree::capacity<256>>;

template <unsigned n> struct pair {
	alignas(128) queue<n> out;
	alignas(128) queue<n> back;
};

template <unsigned n> SR_PEER_INLINE bool put(void *q, const void *e)
{
	return static_cast<queue<n> *>(q)->push(*static_cast<const element<n> *>(e));
}

template <unsigned n> SR_PEER_INLINE bool get(void *q, void *e)
{
	return static_cast<queue<n> *>(q)->pop(*static_cast<element<n> *>(e));
}

template <unsigned n> void make(void *memory)
{
	new (memory) pair<n>;
}

constexpr auto boost_64_make = make<64>, boost_256_make = make<256>, boost_1024_make = make<1024>;

SR_PEER_ENDS(boost_64, pair<64>, put<64>, get<64>)
SR_PEER_ENDS(boost_256, pair<256>, put<256>, get<256>)
SR_PEER_ENDS(boost_1024, pair<1024>, put<1024>, get<1024>)

} // namespace

extern "C" {
extern const sr_peer SR_PEER_LIST(boost)[SR_PEER_SIZES];
const sr_peer SR_PEER_LIST(boost)[SR_PEER_SIZES] = {
	SR_PEER_ROW(boost_64, 64, pair<64>),
	SR_PEER_ROW(boost_256, 256, pair<256>),
	SR_PEER_ROW(boost_1024, 1024, pair<1024>),
};
}
