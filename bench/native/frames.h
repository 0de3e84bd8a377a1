/* The bytes of a model's answers, made once for each shape that is asked for. */
#ifndef FRAMES_H
#define FRAMES_H

#include "common.h"

/* The shape that a model's name gives: `tokens=N,rate=N` and, for tokens sent at once, `,writes=one` or `,writes=many`. */
struct shape {
  int tokens;
  /* Tokens a second; 0 sends all of them at once. */
  int rate;
  /* Each event in a separate write, as a provider in Node sends them. */
  bool many;
};

/* Everything but the HTTP head, in chunks of HTTP/1.1. */
struct frames {
  struct shape shape;
  char *model;
  /* The event with the role and the first token, in one chunk. */
  struct text begin;
  /* A token, by its place in the vocabulary. */
  struct text *tokens;
  /* The events behind the last token, and the last chunk. */
  struct text tail;
  /* The whole answer, for a model that sends it in one write. */
  struct text whole;
  /* The whole answer, an event each, for a model that sends it in many. */
  struct text *pieces;
  int pieces_count;
  struct frames *next;
};

/* Whether all of the answer is sent at once. */
bool is_sent_at_once(const struct shape *shape);

/* Returns the frames of the model with this name; NULL for an unknown name. */
const struct frames *frames_of(const struct vocabulary *vocabulary, const char *model, size_t length);

#endif
