/* SPDX-License-Identifier: MIT */
/*
 * peers.cc - single-producer single-consumer rings of other libraries, for bench_ring.
 *
 * A shared object of its own, built by build.sh, so that nothing else of this project
 * needs a C++ compiler or these libraries. Each ring carries messages of 256 bytes by
 * value, 256 deep (ck_ring: 511), one ring a direction, in memory that both processes map at the same
 * address. Loops are here, as they would be in a program that uses the library: no call
 * a message goes through a pointer.
 */
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>

#ifdef PEER_BOOST
#include <boost/lockfree/spsc_queue.hpp>
#endif
namespace {

constexpr unsigned depth = 256;

struct message {
	std::uint64_t number;
	unsigned char rest[248];
};

void hold(std::uint64_t ns)
{
	timespec t;
	std::uint64_t now, end = 0;

	if (!ns)
		return;
	do {
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = std::uint64_t(t.tv_sec) * 1000000000u + std::uint64_t(t.tv_nsec);
		end = end ? end : now + ns;
	} while (now < end);
}

#ifdef PEER_BOOST
struct boost_queue {
	static constexpr const char *key = "boost", *name = "boost::lockfree::spsc_queue";
	boost::lockfree::spsc_queue<message, boost::lockfree::capacity<depth>> queue;

	bool put(const message &m) { return queue.push(m); }
	bool get(message &m) { return queue.pop(m); }
};
#endif

template <class Queue> struct pair {
	alignas(128) Queue out;
	alignas(128) Queue back;

	static void make(void *memory) { new (memory) pair; }

	static int ask(void *memory, std::uint32_t count, std::uint64_t *number)
	{
		pair *p = static_cast<pair *>(memory);
		message m, reply;

		std::memset(&m, 0x5a, sizeof m);
		while (count--) {
			m.number = ++*number;
			while (!p->out.put(m))
				;
			while (!p->back.get(reply))
				;
			if (reply.number != m.number)
				return -1;
		}
		return 0;
	}

	static void serve(void *memory, std::uint32_t count, std::uint64_t delay_ns)
	{
		pair *p = static_cast<pair *>(memory);
		message m;

		while (count--) {
			while (!p->out.get(m))
				;
			hold(delay_ns);
			while (!p->back.put(m))
				;
		}
	}
};

struct peer {
	const char *key;
	const char *name;
	std::size_t bytes;
	void (*make)(void *);
	int (*ask)(void *, std::uint32_t, std::uint64_t *);
	void (*serve)(void *, std::uint32_t, std::uint64_t);
};

template <class Queue> constexpr peer row()
{
	return { Queue::key, Queue::name, sizeof(pair<Queue>), pair<Queue>::make, pair<Queue>::ask,
		 pair<Queue>::serve };
}

} // namespace

extern "C" {
#ifdef PEER_CK
/* ck.c: Concurrency Kit's header is no C++. */
struct sr_ck_memory {
	alignas(128) unsigned char bytes[512 * 1024];
};
void sr_ck_make(void *memory);
int sr_ck_ask(void *memory, std::uint32_t count, std::uint64_t *number);
void sr_ck_serve(void *memory, std::uint32_t count, std::uint64_t delay_ns);
#endif
extern const peer sr_peers[];
}

/* As struct sr_peer of bench/sr_ring_peers.h; ends with a key of NULL. */
const peer sr_peers[] = {
#ifdef PEER_CK
	{ "ck", "ck_ring (Concurrency Kit), by value", sizeof(sr_ck_memory), sr_ck_make, sr_ck_ask,
	  sr_ck_serve },
#endif
#ifdef PEER_BOOST
	row<boost_queue>(),
#endif
	{ nullptr, nullptr, 0, nullptr, nullptr, nullptr },
};
