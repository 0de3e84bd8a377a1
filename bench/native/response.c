#define _GNU_SOURCE
#include "response.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

void response_start(struct response *response) {
  response->part = part_head;
  response->status = 0;
  response->left = 0;
  response->line_length = 0;
}

static void take_head(struct response *response) {
  const char *head = response->line;
  response->status = response->line_length < 12 ? 0 : atoi(head + 9);
  if (strcasestr(head, "\r\ntransfer-encoding: chunked") != NULL) {
    response->part = part_size;
    return;
  }
  const char *length = strcasestr(head, "\r\ncontent-length:");
  response->left = length == NULL ? 0 : strtoul(length + 17, NULL, 10);
  response->part = response->left == 0 ? part_whole : part_body;
}

static const char *take_size(struct response *response) {
  char *end;
  response->left = strtoul(response->line, &end, 16);
  if (end == response->line) return "A chunk has no size.";
  response->part = response->left == 0 ? part_last_end : part_chunk;
  return NULL;
}

static const char *take_line(struct response *response) {
  response->line[response->line_length] = '\0';
  const char *wrong = NULL;
  if (response->part == part_head) take_head(response);
  else if (response->part == part_size) wrong = take_size(response);
  else if (response->line_length != 0) wrong = "A chunk is longer than it says.";
  else response->part = response->part == part_chunk_end ? part_size : part_whole;
  response->line_length = 0;
  return wrong;
}

/* Adds to the line up to its end; returns how many bytes that were. */
static size_t add_line(struct response *response, const char *bytes, size_t length, bool *ended) {
  const size_t mark = response->part == part_head ? 4 : 2;
  size_t room = response_line_max - 1 - response->line_length;
  size_t count = length < room ? length : room;
  /* The line end may begin in the bytes before. */
  size_t from = response->line_length < mark ? 0 : response->line_length - mark + 1;
  size_t before = response->line_length;
  memcpy(response->line + before, bytes, count);
  const char *end = find(response->line + from, before + count - from, "\r\n\r\n", mark);
  *ended = end != NULL;
  response->line_length = end == NULL ? before + count : (size_t)(end - response->line);
  return end == NULL ? count : response->line_length + mark - before;
}

const char *response_take(struct response *response, const char *bytes, size_t length, response_piece *piece, void *context) {
  const char *wrong = NULL;
  while (length > 0 && wrong == NULL) {
    if (response->part == part_whole) return "Bytes came behind the end of an answer.";
    size_t count;
    if (response->part == part_chunk || response->part == part_body) {
      count = length < response->left ? length : response->left;
      wrong = piece(context, bytes, count);
      response->left -= count;
      if (response->left == 0) response->part = response->part == part_chunk ? part_chunk_end : part_whole;
    } else {
      bool ended;
      count = add_line(response, bytes, length, &ended);
      if (ended) wrong = take_line(response);
      else if (response->line_length == response_line_max - 1) wrong = "A head is too long.";
    }
    bytes += count;
    length -= count;
  }
  return wrong;
}
