/* The common part of the provider and the load: errors, time, memory, text that grows, and sockets. */
#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stddef.h>

/* Ends the program with a message on stderr. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Milliseconds of the monotonic clock. */
double now_ms(void);

/* Like calloc and realloc; the program ends if there is no memory left. */
void *new_array(size_t count, size_t size);
void *resized(void *memory, size_t size);

/* Bytes that grow at their end. All zero is the empty text. */
struct text {
  char *bytes;
  size_t length;
  size_t size;
};

void text_add(struct text *text, const char *bytes, size_t length);
/* Adds formatted text, with a NUL behind it that is not counted. */
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes so many bytes from the beginning. */
void text_drop(struct text *text, size_t length);

/* Returns the first place of the wanted bytes; NULL if they are not there. */
const char *find(const char *bytes, size_t length, const char *wanted, size_t wanted_length);

/* A TCP socket that does not block and sends at once. */
void prepare_socket(int descriptor);

/* Watches a descriptor for the events of epoll; `data` comes back with them. */
void watch(int epoll, int descriptor, unsigned events, void *data);

/* The pieces of text that every answer is made of, JSON-escaped, again and again from the first. */
struct vocabulary {
  struct text *words;
  int count;
};

/* Reads one piece a line. */
struct vocabulary read_vocabulary(const char *path);

#endif
