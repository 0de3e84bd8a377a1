/*
 * A model provider for the benchmarks: OpenAI's chat completions as a stream. The model's name says how many tokens come and how
 * fast (frames.h). The first token leaves with the head; each other one at its own time, one write each.
 *
 *   provider VOCABULARY    prints its port, a line, and ends with its standard input
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "frames.h"

enum { slots = 16384, events_max = 256, read_size = 64 * 1024 };

/* A client, and the answer to it that is under way. */
struct connection {
  int descriptor;
  /* The received part of its next request. */
  struct text in;
  /* Bytes that the kernel has not taken yet. */
  struct text out;
  const struct frames *frames;
  /* The next token's index and when it leaves. */
  int next;
  double due_at;
  /* True while it waits in the wheel; a connection closed meanwhile is freed at its time. */
  bool waits;
  bool closed;
  struct connection *later;
};

static struct vocabulary vocabulary;
static int epoll;
static int live;
/* Streams by the millisecond at which their next token leaves; a wait is always shorter than the wheel. */
static struct connection *wheel[slots];
static long long last_tick;

static void close_connection(struct connection *connection) {
  if (!connection->closed) close(connection->descriptor);
  connection->closed = true;
  if (connection->waits) return;
  free(connection->in.bytes);
  free(connection->out.bytes);
  free(connection);
}

/* Sends in one system call; bytes that a full socket does not take follow when it has room. */
static void send_bytes(struct connection *connection, const char *bytes, size_t length) {
  if (connection->out.length > 0) return text_add(&connection->out, bytes, length);
  ssize_t sent = send(connection->descriptor, bytes, length, MSG_NOSIGNAL);
  /* A connection that is broken is closed when it is read. */
  if (sent < 0 && errno != EAGAIN) return;
  size_t done = sent < 0 ? 0 : (size_t)sent;
  if (done == length) return;
  text_add(&connection->out, bytes + done, length - done);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = connection};
  epoll_ctl(epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

static void send_rest(struct connection *connection) {
  ssize_t sent = send(connection->descriptor, connection->out.bytes, connection->out.length, MSG_NOSIGNAL);
  if (sent > 0) text_drop(&connection->out, (size_t)sent);
  if (connection->out.length > 0) return;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

static void schedule(struct connection *connection) {
  long long at = (long long)connection->due_at + 1;
  if (at <= last_tick) at = last_tick + 1;
  connection->waits = true;
  connection->later = wheel[at % slots];
  wheel[at % slots] = connection;
}

/* The next token leaves; behind the last one comes the end. */
static void advance(struct connection *connection) {
  const struct frames *frames = connection->frames;
  const struct text *token = &frames->tokens[connection->next++ % vocabulary.count];
  if (connection->next < frames->shape.tokens) {
    send_bytes(connection, token->bytes, token->length);
    connection->due_at += 1000.0 / frames->shape.rate;
    return schedule(connection);
  }
  static struct text last;
  last.length = 0;
  text_add(&last, token->bytes, token->length);
  text_add(&last, frames->tail.bytes, frames->tail.length);
  connection->frames = NULL;
  live--;
  send_bytes(connection, last.bytes, last.length);
}

static void tick(void) {
  long long now = (long long)now_ms();
  for (long long at = last_tick + 1; at <= now; at++) {
    last_tick = at;
    struct connection *due = wheel[at % slots];
    wheel[at % slots] = NULL;
    while (due != NULL) {
      struct connection *connection = due;
      due = connection->later;
      connection->waits = false;
      if (connection->closed) close_connection(connection);
      else advance(connection);
    }
  }
}

/* Returns the head of an answer, with the date of this second. */
static const struct text *http_head(void) {
  static struct text head;
  static time_t made_at;
  time_t now = time(NULL);
  if (now == made_at) return &head;
  made_at = now;
  char date[64];
  strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
  head.length = 0;
  text_format(&head, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nDate: %s\r\nTransfer-Encoding: chunked\r\n\r\n", date);
  return &head;
}

/* Sends the head and the bytes behind it in one write. */
static void send_with_head(struct connection *connection, const struct text *text) {
  static struct text answer;
  const struct text *head = http_head();
  answer.length = 0;
  text_add(&answer, head->bytes, head->length);
  text_add(&answer, text->bytes, text->length);
  send_bytes(connection, answer.bytes, answer.length);
}

/* Later tokens of streams that begin together do not leave together: the golden ratio spreads them evenly. */
static double phase(void) {
  static double next;
  double phase = next;
  next += 0.61803398875;
  if (next >= 1) next -= 1;
  return phase;
}

static void begin(struct connection *connection, const struct frames *frames) {
  if (is_sent_at_once(&frames->shape)) {
    if (!frames->shape.many) return send_with_head(connection, &frames->whole);
    send_with_head(connection, &frames->pieces[0]);
    for (int index = 1; index < frames->pieces_count; index++) send_bytes(connection, frames->pieces[index].bytes, frames->pieces[index].length);
    return;
  }
  if (live++ == 0) last_tick = (long long)now_ms();
  connection->frames = frames;
  connection->next = 1;
  connection->due_at = now_ms() + 1000.0 / frames->shape.rate * (0.5 + phase() / 2);
  send_with_head(connection, &frames->begin);
  schedule(connection);
}

/* The model's name in a JSON body. A quote in a user's text is escaped, so that it does not look like one of a name. */
static const struct frames *asked_for(const char *body, size_t length) {
  static const char key[] = "\"model\"";
  const char *end = body + length;
  const char *at = find(body, length, key, sizeof key - 1);
  if (at == NULL) return NULL;
  for (at += sizeof key - 1; at < end && (*at == ' ' || *at == ':'); at++) continue;
  if (at == end || *at++ != '"') return NULL;
  const char *quote = memchr(at, '"', (size_t)(end - at));
  return quote == NULL ? NULL : frames_of(&vocabulary, at, (size_t)(quote - at));
}

static void answer(struct connection *connection, const char *head, const char *body, size_t length) {
  static const char route[] = "POST /v1/chat/completions ";
  static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 37\r\n\r\n{\"error\":{\"message\":\"no such model\"}}";
  const struct frames *frames = strncmp(head, route, sizeof route - 1) == 0 ? asked_for(body, length) : NULL;
  if (frames == NULL) send_bytes(connection, none, sizeof none - 1);
  else begin(connection, frames);
}

/* Returns the end of the body that begins at `from`; 0 while it has not come whole. */
static size_t body_end(const struct text *in, size_t from, const char *head) {
  const char *length = strcasestr(head, "\r\ncontent-length:");
  if (length != NULL) {
    size_t end = from + strtoul(length + 17, NULL, 10);
    return end <= in->length ? end : 0;
  }
  if (strcasestr(head, "\r\ntransfer-encoding:") == NULL) return from;
  /* The chunks are not taken apart: a model's name that two of them share would not be found, and be answered with 404. */
  const char *last = find(in->bytes + from, in->length - from, "\r\n0\r\n\r\n", 7);
  return last == NULL ? 0 : (size_t)(last - in->bytes) + 7;
}

/* Answers the requests that have come whole. */
static void take_requests(struct connection *connection) {
  struct text *in = &connection->in;
  for (;;) {
    char *head_end = (char *)find(in->bytes, in->length, "\r\n\r\n", 4);
    if (in->length == 0 || head_end == NULL) return;
    size_t from = (size_t)(head_end - in->bytes) + 4;
    *head_end = '\0';
    size_t end = body_end(in, from, in->bytes);
    if (end > 0) answer(connection, in->bytes, in->bytes + from, end - from);
    *head_end = '\r';
    if (end == 0) return;
    text_drop(in, end);
  }
}

static void take(struct connection *connection, unsigned events) {
  static char bytes[read_size];
  if (events & EPOLLOUT) send_rest(connection);
  if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  ssize_t length = recv(connection->descriptor, bytes, sizeof bytes, 0);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) {
    if (connection->frames != NULL) live--;
    connection->frames = NULL;
    return close_connection(connection);
  }
  text_add(&connection->in, bytes, (size_t)length);
  take_requests(connection);
}

static int listen_somewhere(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0) die("listen: %s", strerror(errno));
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

static void accept_all(int listener) {
  for (int descriptor; (descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    prepare_socket(descriptor);
    struct connection *connection = new_array(1, sizeof *connection);
    connection->descriptor = descriptor;
    watch(epoll, descriptor, EPOLLIN, connection);
  }
}

int main(int count, char **arguments) {
  if (count != 2) die("provider VOCABULARY");
  vocabulary = read_vocabulary(arguments[1]);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  int listener = listen_somewhere();
  int input = STDIN_FILENO;
  watch(epoll, listener, EPOLLIN, &listener);
  watch(epoll, input, EPOLLIN, &input);
  struct epoll_event events[events_max];
  for (;;) {
    int ready = epoll_wait(epoll, events, events_max, live > 0 ? 1 : -1);
    for (int index = 0; index < ready; index++) {
      void *whose = events[index].data.ptr;
      if (whose == &input) return 0;
      if (whose == &listener) accept_all(listener);
      else take(whose, events[index].events);
    }
    if (live > 0) tick();
  }
}
