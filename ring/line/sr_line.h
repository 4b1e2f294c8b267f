/* SPDX-License-Identifier: MIT */
/*
 * sr_line.h - a venue's own JSON to the body of a typed order.
 *
 * One function for each venue reads a line's object by sr_node.h and calls the venue's
 * builder (ring/order). Field names are those of the venue's API; sigring-replay(1) lists
 * them. What the JSON cannot say wrongly is not judged here: sr_desk_read() lets
 * sr_order_decode() judge the body, as the signer will.
 */
#ifndef SR_LINE_H
#define SR_LINE_H

#include "sr_base.h"
#include "sr_node.h"
#include "sr_schema.h"

#define SR_LINE_BODY_BYTES 4096u
#define SR_LINE_TEXT_BYTES 65536u /* of a body to post */

/* Members that each line may have, for sr_node_members(). */
#define SR_LINE_COMMON "venue key id source "

/* Where a body goes. */
struct sr_line {
	unsigned char *body; /* SR_LINE_BODY_BYTES */
	struct sr_line_schemas *schemas;
};

/* The schemas that lines of EIP-712 have brought along, each once. */
struct sr_line_schemas {
	struct sr_schema *list;
	char **texts; /* the JSON that each was made of */
	uint32_t count;
	uint32_t room;
};

SR_BEGIN_DECLS

/* Return the bytes of the body, or -errno; of use when the reader noted nothing. */
int sr_line_hyperliquid(struct sr_line *line, const struct sr_node *root);
int sr_line_polymarket(struct sr_line *line, const struct sr_node *root);
int sr_line_dydx(struct sr_line *line, const struct sr_node *root);
int sr_line_grvt(struct sr_line *line, const struct sr_node *root);
int sr_line_ethereum(struct sr_line *line, const struct sr_node *root);
int sr_line_hibachi(struct sr_line *line, const struct sr_node *root);
int sr_line_typed_data(struct sr_line *line, const struct sr_node *root);

/*
 * sr_line_schema - the schema of a line of EIP-712, made or found.
 *
 * @index: out, of schemas->list. Returns 0, or -errno; notes at the reader.
 */
SR_WARN_UNUSED int sr_line_schema(uint32_t *index, struct sr_line_schemas *schemas,
				  const struct sr_node *root);
void sr_line_schemas_free(struct sr_line_schemas *schemas);

SR_END_DECLS

#endif /* SR_LINE_H */
