/* One streamed answer: checks that every character comes once, in order, and then one terminal event. */
#ifndef ANSWER_H
#define ANSWER_H

#include "common.h"
#include "histogram.h"

/* Framing of a server's events, and the text that every answer must have. */
struct expected {
  /* The bytes before an event's text, up to and with the opening quote of its JSON string. */
  struct text text;
  /* A text in the event of a completed answer only. */
  struct text completed;
  /* A text in an event of failure only. */
  struct text failed;
  /* The text as it arrives, and where each token ends in it. */
  struct text wire;
  size_t *ends;
  int tokens;
  /* Milliseconds between two tokens of the provider. */
  double interval_ms;
};

/* Counts over all answers. */
struct counts {
  unsigned long long tokens;
  /* Events with text. */
  unsigned long long deltas;
  /* Delay of each two events of one answer compared to the provider's tokens. */
  struct histogram lateness;
};

struct answer {
  const struct expected *expected;
  struct counts *counts;
  /* Time of the first text, by now_ms(); 0 before it. */
  double first_at;
  double last_at;
  size_t position;
  int tokens;
  int terminals;
  /* The event that has not come whole yet. */
  struct text rest;
};

void expect_tokens(struct expected *expected, const struct vocabulary *vocabulary, int tokens);

void answer_start(struct answer *answer, const struct expected *expected, struct counts *counts);

/* Takes a piece of the body that came at this time. Returns its fault, or NULL. */
const char *answer_take(struct answer *answer, const char *bytes, size_t length, double now);

/* Ends the answer. Returns its fault, or NULL. */
const char *answer_end(const struct answer *answer);

#endif
