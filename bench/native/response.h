/* One answer in HTTP/1.1 as it arrives: its status, and its body without the transfer's framing. */
#ifndef RESPONSE_H
#define RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

enum { response_line_max = 8192 };

struct response {
  enum { part_head, part_size, part_chunk, part_chunk_end, part_last_end, part_body, part_whole } part;
  int status;
  /* Bytes of the chunk or of the body that are still to come. */
  size_t left;
  /* The head, or the line between two chunks, as far as it has come. */
  char line[response_line_max];
  size_t line_length;
};

void response_start(struct response *response);

/* Takes received bytes and hands on the pieces of the body. Returns why they cannot be read, or NULL. */
typedef const char *response_piece(void *context, const char *bytes, size_t length);
const char *response_take(struct response *response, const char *bytes, size_t length, response_piece *piece, void *context);

#endif
