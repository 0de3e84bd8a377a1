#define _GNU_SOURCE
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char last_chunk[] = "0\r\n\r\n";

bool is_sent_at_once(const struct shape *shape) {
  return shape->rate == 0 || shape->tokens == 1;
}

static bool read_shape(const char *model, struct shape *shape) {
  int end = 0;
  if (sscanf(model, "tokens=%d,rate=%d%n", &shape->tokens, &shape->rate, &end) != 2 || end == 0) return false;
  const char *rest = model + end;
  shape->many = strcmp(rest, ",writes=many") == 0;
  return shape->tokens > 0 && shape->rate >= 0 && (shape->many || *rest == '\0' || strcmp(rest, ",writes=one") == 0);
}

static void add_chunk(struct text *text, const struct text *events) {
  text_format(text, "%zx\r\n", events->length);
  text_add(text, events->bytes, events->length);
  text_add(text, "\r\n", 2);
}

static struct text chunk_of(const struct text *events) {
  struct text chunk = {0};
  add_chunk(&chunk, events);
  return chunk;
}

static void add_event(struct text *text, const char *model, const char *rest) {
  text_format(text, "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"%s\",%s}\n\n", model, rest);
}

static void add_role(struct text *text, const char *model) {
  add_event(text, model, "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]");
}

static void add_token(struct text *text, const char *model, const struct text *word) {
  struct text rest = {0};
  text_format(&rest, "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%.*s\"},\"finish_reason\":null}]", (int)word->length, word->bytes);
  add_event(text, model, rest.bytes);
  free(rest.bytes);
}

/* Makes the events after the last token: the finish reason, the usage, and the end of the stream. */
static void make_tail_events(struct text events[3], const char *model, int tokens) {
  struct text usage = {0};
  text_format(&usage, "\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":%d,\"total_tokens\":%d}", tokens, 10 + tokens);
  add_event(&events[0], model, "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]");
  add_event(&events[1], model, usage.bytes);
  text_format(&events[2], "data: [DONE]\n\n");
  free(usage.bytes);
}

/* The tokens of an answer, the first of them behind the role, as one chunk. */
static struct text chunk_of_tokens(const struct vocabulary *vocabulary, const char *model, int tokens) {
  struct text events = {0};
  add_role(&events, model);
  for (int index = 0; index < tokens; index++) add_token(&events, model, &vocabulary->words[index % vocabulary->count]);
  struct text chunk = chunk_of(&events);
  free(events.bytes);
  return chunk;
}

static void add_piece(struct frames *frames, const struct text *event) {
  frames->pieces[frames->pieces_count++] = chunk_of(event);
}

/* Every event in a separate chunk, and the last chunk after them. */
static void make_pieces(struct frames *frames, const struct vocabulary *vocabulary, const struct text tail[3]) {
  int tokens = frames->shape.tokens;
  frames->pieces = new_array((size_t)tokens + 5, sizeof *frames->pieces);
  struct text role = {0};
  add_role(&role, frames->model);
  add_piece(frames, &role);
  free(role.bytes);
  for (int index = 0; index < tokens; index++) {
    struct text event = {0};
    add_token(&event, frames->model, &vocabulary->words[index % vocabulary->count]);
    add_piece(frames, &event);
    free(event.bytes);
  }
  for (int index = 0; index < 3; index++) add_piece(frames, &tail[index]);
  text_add(&frames->pieces[frames->pieces_count++], last_chunk, sizeof last_chunk - 1);
}

static void make_frames(struct frames *frames, const struct vocabulary *vocabulary) {
  struct text tail[3] = {{0}};
  make_tail_events(tail, frames->model, frames->shape.tokens);
  struct text events = {0};
  for (int index = 0; index < 3; index++) text_add(&events, tail[index].bytes, tail[index].length);
  add_chunk(&frames->tail, &events);
  text_add(&frames->tail, last_chunk, sizeof last_chunk - 1);
  free(events.bytes);
  if (!is_sent_at_once(&frames->shape)) {
    frames->begin = chunk_of_tokens(vocabulary, frames->model, 1);
    frames->tokens = new_array((size_t)vocabulary->count, sizeof *frames->tokens);
    for (int index = 0; index < vocabulary->count; index++) {
      struct text event = {0};
      add_token(&event, frames->model, &vocabulary->words[index]);
      frames->tokens[index] = chunk_of(&event);
      free(event.bytes);
    }
  } else if (frames->shape.many) {
    make_pieces(frames, vocabulary, tail);
  } else {
    frames->whole = chunk_of_tokens(vocabulary, frames->model, frames->shape.tokens);
    text_add(&frames->whole, frames->tail.bytes, frames->tail.length);
  }
  for (int index = 0; index < 3; index++) free(tail[index].bytes);
}

const struct frames *frames_of(const struct vocabulary *vocabulary, const char *model, size_t length) {
  static struct frames *known = NULL;
  for (struct frames *one = known; one != NULL; one = one->next) {
    if (strlen(one->model) == length && memcmp(one->model, model, length) == 0) return one;
  }
  char *name = strndup(model, length);
  struct shape shape;
  if (name == NULL || !read_shape(name, &shape)) {
    free(name);
    return NULL;
  }
  struct frames *frames = new_array(1, sizeof *frames);
  frames->shape = shape;
  frames->model = name;
  make_frames(frames, vocabulary);
  frames->next = known;
  known = frames;
  return frames;
}
