#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

void die(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  exit(1);
}

double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

void *new_array(size_t count, size_t size) {
  void *memory = calloc(count == 0 ? 1 : count, size);
  if (memory == NULL) die("No memory is left.");
  return memory;
}

void *resized(void *memory, size_t size) {
  memory = realloc(memory, size);
  if (memory == NULL) die("No memory is left.");
  return memory;
}

static void text_reserve(struct text *text, size_t more) {
  size_t wanted = text->length + more;
  if (wanted <= text->size) return;
  size_t size = text->size == 0 ? 256 : text->size;
  while (size < wanted) size *= 2;
  text->bytes = resized(text->bytes, size);
  text->size = size;
}

void text_add(struct text *text, const char *bytes, size_t length) {
  text_reserve(text, length);
  if (length > 0) memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

void text_format(struct text *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int length = vsnprintf(NULL, 0, format, values);
  va_end(values);
  text_reserve(text, (size_t)length + 1);
  va_start(values, format);
  vsnprintf(text->bytes + text->length, (size_t)length + 1, format, values);
  va_end(values);
  text->length += (size_t)length;
}

void text_drop(struct text *text, size_t length) {
  text->length -= length;
  if (text->length > 0) memmove(text->bytes, text->bytes + length, text->length);
}

const char *find(const char *bytes, size_t length, const char *wanted, size_t wanted_length) {
  return memmem(bytes, length, wanted, wanted_length);
}

void prepare_socket(int descriptor) {
  int yes = 1;
  if (fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) < 0) die("fcntl: %s", strerror(errno));
  if (setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) < 0) die("TCP_NODELAY: %s", strerror(errno));
}

void watch(int epoll, int descriptor, unsigned events, void *data) {
  struct epoll_event event = {.events = events, .data.ptr = data};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

struct vocabulary read_vocabulary(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) die("%s: %s", path, strerror(errno));
  struct vocabulary vocabulary = {0};
  char *line = NULL;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
    if (line[length - 1] == '\n') length--;
    vocabulary.words = resized(vocabulary.words, (size_t)(vocabulary.count + 1) * sizeof *vocabulary.words);
    struct text *word = &vocabulary.words[vocabulary.count++];
    memset(word, 0, sizeof *word);
    text_add(word, line, (size_t)length);
  }
  free(line);
  fclose(file);
  if (vocabulary.count == 0) die("%s is empty.", path);
  return vocabulary;
}
