/* SPDX-License-Identifier: MIT */
#include "sr_port.h"

#include <stdlib.h>

#include "sr_assert.h"

#define CREDITS_MAX 4096u

#define REPLY_BYTES (SR_FRAME_HEADER_BYTES + SR_CMP_BYTES)
#define END_CREDIT_BYTES (2u * SR_FRAME_HEADER_BYTES + SR_CREDIT_BYTES)
#define HELLO_BYTES (SR_FRAME_HEADER_BYTES + SR_HELLO_BYTES)
#define ASKED_BYTES (SR_FRAME_HEADER_BYTES + SR_STATUS_BYTES)

/* The room that a record on the way reserves for its answer, whatever it is. */
SR_STATIC_ASSERT(REPLY_BYTES >= END_CREDIT_BYTES, "an ended session fits a reply's room");
SR_STATIC_ASSERT(SR_OPENED_BYTES <= SR_STATUS_BYTES, "every answer fits ASKED_BYTES");
SR_STATIC_ASSERT(sizeof(struct sr_core_stats) == SR_STATUS_BYTES, "STATUS ABI");
SR_STATIC_ASSERT(offsetof(struct sr_core_stats, check_failed) == 8 * SR_FIELD_CHECK_FAILED,
		 "STATUS ABI");
SR_STATIC_ASSERT(offsetof(struct sr_core_stats, sessions) == 8 * SR_FIELD_SESSIONS, "STATUS ABI");
SR_STATIC_ASSERT(offsetof(struct sr_core_stats, unauthentic) == 8 * SR_FIELD_UNAUTHENTIC,
		 "STATUS ABI");

/* A record that waits; its bytes lie in the port's `records`. */
struct waiting {
	uint32_t session;
	uint32_t epoch;
	uint32_t bytes;
	uint64_t received; /* for the trace */
};

/* Places of records, in order of arrival. Holds as many as there are credits,
 * so it cannot overflow. */
struct queue {
	uint16_t *places;
	uint32_t head;
	uint32_t count;
};

enum { PRIORITY = 0, NORMAL = 1, QUEUES = 2 };

struct sr_port {
	struct sr_port_config config;
	bool alive; /* between begin and the end or the peer's first mistake */
	bool proven; /* since begin a record was answered */
	uint64_t fed; /* for the trace: when the last bytes came */

	uint32_t on_the_way; /* credits that the peer has not got back */
	uint32_t asked;      /* answers to OPEN and STATUS not yet written out */

	uint16_t *free_places; /* a stack */
	uint32_t free_count;
	struct waiting *waiting;
	unsigned char *records;
	struct queue queues[QUEUES];

	size_t in_bytes; /* of an incomplete frame */
	unsigned char in[SR_FRAME_BYTES_MAX];

	unsigned char *out;
	size_t out_room;  /* bytes that may have to wait, by the accounts above */
	size_t out_bytes; /* allocated: twice that, so that moving down is rare */
	size_t out_head;  /* written out up to here */
	size_t out_frame; /* first frame that is not wholly written out */
	size_t out_tail;
};

static bool config_valid(const struct sr_port_config *config)
{
	return config->core && config->stream < 64 && config->credit_records >= 1 &&
	       config->credit_records <= CREDITS_MAX &&
	       config->slot_bytes_max >= SR_SUB_BYTES_MIN &&
	       config->slot_bytes_max <= SR_SUB_BYTES_MAX && config->sessions_max >= 1 &&
	       config->sessions_max <= SR_SESSIONS_MAX && config->write_bytes_max >= 1 &&
	       config->write_bytes_max <= SR_WRITE_BYTES_MAX;
}

int sr_port_new(struct sr_port **port, const struct sr_port_config *config)
{
	uint32_t credits = config->credit_records;
	struct sr_port *p;

	if (!config_valid(config))
		return -EINVAL;
	p = calloc(1, sizeof *p);
	if (!p)
		return -ENOMEM;

	p->config = *config;
	/* Credits and questions come back when their frame has left whole, so
	 * this also holds the frame that is half written out. */
	p->out_room = HELLO_BYTES + (size_t)credits * REPLY_BYTES +
		      (size_t)SR_ASKED_MAX(config->sessions_max) * ASKED_BYTES;
	p->out_bytes = 2 * p->out_room;
	p->out = malloc(p->out_bytes);
	p->records = calloc(credits, config->slot_bytes_max);
	p->waiting = calloc(credits, sizeof *p->waiting);
	p->free_places = calloc(credits, sizeof *p->free_places);
	p->queues[PRIORITY].places = calloc(credits, sizeof *p->free_places);
	p->queues[NORMAL].places = calloc(credits, sizeof *p->free_places);
	if (!p->out || !p->records || !p->waiting || !p->free_places ||
	    !p->queues[PRIORITY].places || !p->queues[NORMAL].places) {
		sr_port_delete(p);
		return -ENOMEM;
	}
	*port = p;
	return 0;
}

void sr_port_delete(struct sr_port *port)
{
	if (!port)
		return;

	free(port->queues[PRIORITY].places);
	free(port->queues[NORMAL].places);
	free(port->free_places);
	free(port->waiting);
	free(port->records);
	free(port->out);
	free(port);
}

/*
 * Room for one frame of at most `bytes`. Never fails: each caller holds a
 * credit, or has counted a question, and out_room is the sum of those.
 */
static unsigned char *out_reserve(struct sr_port *port, size_t bytes)
{
	if (port->out_tail + bytes > port->out_bytes) {
		size_t kept = port->out_tail - port->out_frame;

		memmove(port->out, port->out + port->out_frame, kept);
		port->out_head -= port->out_frame;
		port->out_frame = 0;
		port->out_tail = kept;
	}
	SR_DCHECK(port->out_tail + bytes <= port->out_bytes);
	return port->out + port->out_tail;
}

static void put_hello(struct sr_port *port)
{
	const struct sr_port_config *config = &port->config;
	struct sr_hello hello = {
		.protocol = SR_PROTOCOL,
		.credit_records = config->credit_records,
		.slot_bytes_max = config->slot_bytes_max,
		.write_bytes_max = config->write_bytes_max,
		.sessions_max = config->sessions_max,
		.features = sr_core_unsealed(config->core) ? SR_HELLO_UNSEALED : 0,
		.boot_id = { config->boot_id[0], config->boot_id[1] },
	};
	unsigned char *out = out_reserve(port, HELLO_BYTES);

	sr_hello_put(out + SR_FRAME_HEADER_BYTES, &hello);
	port->out_tail += sr_frame_put(out, SR_FRAME_HELLO, 0, 0, SR_HELLO_BYTES);
}

void sr_port_begin(struct sr_port *port)
{
	uint32_t credits = port->config.credit_records;

	sr_port_end(port);
	for (uint32_t i = 0; i < credits; i++)
		port->free_places[i] = (uint16_t)(credits - 1 - i);
	port->free_count = credits;
	put_hello(port);
	port->alive = true;
}

void sr_port_end(struct sr_port *port)
{
	sr_core_stream_lost(port->config.core, port->config.stream);
	port->alive = false;
	port->proven = false;
	port->on_the_way = 0;
	port->asked = 0;
	port->free_count = 0;
	for (int i = 0; i < QUEUES; i++)
		port->queues[i].head = port->queues[i].count = 0;
	port->in_bytes = 0;
	port->out_head = port->out_frame = port->out_tail = 0;
}

/* An answer to a question; a peer that asks on without reading is cut off. */
static int ask(struct sr_port *port)
{
	if (port->asked == SR_ASKED_MAX(port->config.sessions_max))
		return -EPROTO;
	port->asked++;
	return 0;
}

static int take_open(struct sr_port *port, const struct sr_frame *frame)
{
	struct sr_open_request request;
	struct sr_opened opened;
	unsigned char *out;
	uint32_t session = 0;

	if (sr_open_get(&request, frame) || ask(port))
		return -EPROTO;

	opened.cookie = request.cookie;
	opened.result = (uint32_t)sr_core_open(port->config.core, &session, &request, frame->epoch,
					       port->config.stream);
	out = out_reserve(port, ASKED_BYTES);
	sr_opened_put(out + SR_FRAME_HEADER_BYTES, &opened);
	port->out_tail +=
		sr_frame_put(out, SR_FRAME_OPENED, session, frame->epoch, SR_OPENED_BYTES);
	return 0;
}

static int take_status(struct sr_port *port, const struct sr_frame *frame)
{
	struct sr_core_stats stats;
	unsigned char *out;

	if (frame->payload_bytes != 0 || ask(port))
		return -EPROTO;

	sr_core_stats_get(port->config.core, &stats);
	out = out_reserve(port, ASKED_BYTES);
	memcpy(out + SR_FRAME_HEADER_BYTES, &stats, sizeof stats);
	port->out_tail += sr_frame_put(out, SR_FRAME_STATUS, 0, frame->epoch, SR_STATUS_BYTES);
	return 0;
}

static int take_end(struct sr_port *port, const struct sr_frame *frame)
{
	if (frame->payload_bytes != 0)
		return -EPROTO;

	/* Session numbers are easy to guess; one stream does not end another's. */
	if (sr_core_on_stream(port->config.core, frame->session, port->config.stream))
		sr_core_end(port->config.core, frame->session, frame->epoch);
	return 0;
}

static int take_data(struct sr_port *port, const struct sr_frame *frame)
{
	bool priority = sr_core_priority(port->config.core, frame->session);
	struct queue *queue = &port->queues[priority ? PRIORITY : NORMAL];
	uint32_t credits = port->config.credit_records;
	uint32_t place;

	if (frame->payload_bytes < SR_SUB_BYTES_MIN ||
	    frame->payload_bytes > port->config.slot_bytes_max || port->on_the_way == credits)
		return -EPROTO;

	port->on_the_way++;
	place = port->free_places[--port->free_count];
	port->waiting[place].session = frame->session;
	port->waiting[place].epoch = frame->epoch;
	port->waiting[place].bytes = frame->payload_bytes;
	port->waiting[place].received = port->fed;
	memcpy(port->records + (size_t)place * port->config.slot_bytes_max, frame->payload,
	       frame->payload_bytes);
	queue->places[(queue->head + queue->count) % credits] = (uint16_t)place;
	queue->count++;
	return 0;
}

static int take_frame(struct sr_port *port, const struct sr_frame *frame)
{
	switch (frame->kind) {
	case SR_FRAME_DATA:
		return take_data(port, frame);
	case SR_FRAME_OPEN:
		return take_open(port, frame);
	case SR_FRAME_END:
		return take_end(port, frame);
	case SR_FRAME_STATUS:
		return take_status(port, frame);
	default:
		return -EPROTO;
	}
}

/* Goes on with the frame that an earlier read left incomplete: first to its
 * length, which is judged before more is kept, then to its end. */
static size_t complete_frame(struct sr_port *port, const unsigned char *data, size_t bytes)
{
	size_t whole = port->in_bytes < 4 ? 4 : sr_get32(port->in);
	size_t more = whole - port->in_bytes;

	if (more > bytes)
		more = bytes;
	memcpy(port->in + port->in_bytes, data, more);
	port->in_bytes += more;
	return more;
}

static int feed(struct sr_port *port, const unsigned char *data, size_t bytes)
{
	struct sr_frame frame;
	int ret;

	while (bytes) {
		size_t used;

		if (port->in_bytes) {
			used = complete_frame(port, data, bytes);
			ret = sr_frame_cut(&frame, port->in, port->in_bytes);
			if (!ret)
				port->in_bytes = 0;
		} else {
			ret = sr_frame_cut(&frame, data, bytes);
			used = ret ? 0 : frame.bytes;
			if (ret == -EAGAIN)
				used = complete_frame(port, data, bytes);
		}
		if (!ret)
			ret = take_frame(port, &frame);
		if (ret && ret != -EAGAIN)
			return ret;
		data += used;
		bytes -= used;
	}
	return 0;
}

int sr_port_feed(struct sr_port *port, const void *data, size_t bytes)
{
	if (!port->alive)
		return -EPROTO;

	port->fed = sr_trace_now(sr_core_trace(port->config.core));
	if (feed(port, data, bytes)) {
		port->alive = false;
		return -EPROTO;
	}
	return 0;
}

static void put_credit(struct sr_port *port, uint32_t records)
{
	unsigned char *out = out_reserve(port, SR_FRAME_HEADER_BYTES + SR_CREDIT_BYTES);

	sr_put32(out + SR_FRAME_HEADER_BYTES, records);
	port->out_tail += sr_frame_put(out, SR_FRAME_CREDIT, 0, 0, SR_CREDIT_BYTES);
}

static void sign_one(struct sr_port *port, uint32_t place)
{
	const struct waiting *w = &port->waiting[place];
	const unsigned char *record = port->records + (size_t)place * port->config.slot_bytes_max;
	unsigned char *out = out_reserve(port, REPLY_BYTES);
	struct sr_trace *trace = sr_core_trace(port->config.core);

	sr_trace_begin(trace, w->received);
	switch (sr_core_record(port->config.core, out + SR_FRAME_HEADER_BYTES, w->session, w->epoch,
			       port->config.stream, record, w->bytes)) {
	case SR_CORE_REPLY:
		port->proven = true;
		port->out_tail +=
			sr_frame_put(out, SR_FRAME_REPLY, w->session, w->epoch, SR_CMP_BYTES);
		sr_trace_end(trace, sr_get64(record));
		break;
	case SR_CORE_ENDED:
		port->out_tail += sr_frame_put(out, SR_FRAME_END, w->session, w->epoch, 0);
		put_credit(port, 1);
		break;
	case SR_CORE_DROPPED:
		put_credit(port, 1);
		break;
	}
}

uint32_t sr_port_sign(struct sr_port *port, uint32_t max)
{
	uint32_t taken = 0;

	for (; taken < max && port->alive; taken++) {
		struct queue *queue =
			&port->queues[port->queues[PRIORITY].count ? PRIORITY : NORMAL];
		uint32_t place;

		if (queue->count == 0)
			break;
		place = queue->places[queue->head];
		queue->head = (queue->head + 1) % port->config.credit_records;
		queue->count--;
		sign_one(port, place);
		port->free_places[port->free_count++] = (uint16_t)place;
	}
	return taken;
}

bool sr_port_proven(const struct sr_port *port)
{
	return port->proven;
}

uint32_t sr_port_waiting(const struct sr_port *port)
{
	return port->queues[PRIORITY].count + port->queues[NORMAL].count;
}

size_t sr_port_output(const struct sr_port *port, const void **data)
{
	*data = port->out + port->out_head;
	return port->out_tail - port->out_head;
}

/* A credit is the peer's again when the frame that returns it has left. */
static void settle(struct sr_port *port, const unsigned char *frame)
{
	switch (sr_get32(frame + 12)) {
	case SR_FRAME_REPLY:
		port->on_the_way--;
		break;
	case SR_FRAME_CREDIT:
		port->on_the_way -= sr_get32(frame + SR_FRAME_HEADER_BYTES);
		break;
	case SR_FRAME_OPENED:
	case SR_FRAME_STATUS:
		port->asked--;
		break;
	default:
		break;
	}
}

void sr_port_sent(struct sr_port *port, size_t bytes)
{
	port->out_head += bytes;
	while (port->out_frame < port->out_head) {
		const unsigned char *frame = port->out + port->out_frame;
		uint32_t whole = sr_get32(frame);

		if (port->out_frame + whole > port->out_head)
			break;
		settle(port, frame);
		port->out_frame += whole;
	}
	if (port->out_head == port->out_tail)
		port->out_head = port->out_frame = port->out_tail = 0;
}
