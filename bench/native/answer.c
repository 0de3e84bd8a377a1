#include "answer.h"

#include <stdio.h>
#include <string.h>

static char told[1024];

void expect_tokens(struct expected *expected, const struct vocabulary *vocabulary, int tokens) {
  expected->tokens = tokens;
  expected->ends = new_array((size_t)tokens, sizeof *expected->ends);
  for (int index = 0; index < tokens; index++) {
    const struct text *word = &vocabulary->words[index % vocabulary->count];
    text_add(&expected->wire, word->bytes, word->length);
    expected->ends[index] = expected->wire.length;
  }
}

void answer_start(struct answer *answer, const struct expected *expected, struct counts *counts) {
  struct text rest = answer->rest;
  memset(answer, 0, sizeof *answer);
  answer->expected = expected;
  answer->counts = counts;
  answer->rest = rest;
  answer->rest.length = 0;
}

/* The quote that ends a JSON string which begins at `at`: one before which an even number of backslashes stands. */
static const char *string_end(const char *at, const char *end) {
  for (const char *quote = at; (quote = memchr(quote, '"', (size_t)(end - quote))) != NULL; quote++) {
    const char *before = quote;
    while (before > at && before[-1] == '\\') before--;
    if ((quote - before) % 2 == 0) return quote;
  }
  return NULL;
}

static const char *take_text(struct answer *answer, const char *from, const char *event_end, double now) {
  const struct expected *expected = answer->expected;
  const char *end = string_end(from, event_end);
  if (end == NULL) return "The text of an event has no end.";
  size_t length = (size_t)(end - from);
  if (length == 0) return NULL;
  if (length > expected->wire.length - answer->position || memcmp(expected->wire.bytes + answer->position, from, length) != 0) {
    snprintf(told, sizeof told, "Not the text at %zu: %.*s", answer->position, (int)(length < 200 ? length : 200), from);
    return told;
  }
  answer->position += length;
  while (answer->tokens < expected->tokens && expected->ends[answer->tokens] <= answer->position) {
    answer->tokens++;
    answer->counts->tokens++;
  }
  answer->counts->deltas++;
  if (answer->first_at == 0) answer->first_at = now;
  else histogram_add(&answer->counts->lateness, now - answer->last_at - expected->interval_ms);
  answer->last_at = now;
  return NULL;
}

static bool holds(const char *event, size_t length, const struct text *mark) {
  return find(event, length, mark->bytes, mark->length) != NULL;
}

static const char *take_event(struct answer *answer, const char *event, size_t length, double now) {
  const struct expected *expected = answer->expected;
  const char *text = find(event, length, expected->text.bytes, expected->text.length);
  if (text != NULL) return take_text(answer, text + expected->text.length, event + length, now);
  if (holds(event, length, &expected->completed)) {
    answer->terminals++;
  } else if (holds(event, length, &expected->failed)) {
    snprintf(told, sizeof told, "The answer failed: %.*s", (int)(length < 800 ? length : 800), event);
    return told;
  }
  return NULL;
}

const char *answer_take(struct answer *answer, const char *bytes, size_t length, double now) {
  const bool kept = answer->rest.length > 0;
  if (kept) {
    text_add(&answer->rest, bytes, length);
    bytes = answer->rest.bytes;
    length = answer->rest.length;
  }
  size_t at = 0;
  for (const char *end; (end = find(bytes + at, length - at, "\n\n", 2)) != NULL;) {
    const char *wrong = take_event(answer, bytes + at, (size_t)(end - bytes) - at, now);
    if (wrong != NULL) return wrong;
    at = (size_t)(end - bytes) + 2;
  }
  if (kept) text_drop(&answer->rest, at);
  else text_add(&answer->rest, bytes + at, length - at);
  return NULL;
}

const char *answer_end(const struct answer *answer) {
  if (answer->position != answer->expected->wire.length) {
    snprintf(told, sizeof told, "%zu of %zu characters came.", answer->position, answer->expected->wire.length);
    return told;
  }
  if (answer->terminals != 1) {
    snprintf(told, sizeof told, "%d terminal events came.", answer->terminals);
    return told;
  }
  return NULL;
}
