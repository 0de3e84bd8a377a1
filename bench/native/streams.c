#define _GNU_SOURCE
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "connection.h"

enum { events_max = 256 };

static struct load load;
static struct connection *connections;
/* Numbers of answers requested, begun and ended. */
static int asked_count;
static int begun_count;
static int ended_count;

/* Connects only now: where streams are opened some at a time, a slow server has no room in its queue for all connections at once. */
static void ask_next(void) {
  const struct job *job = load.job;
  if (asked_count == job->requests_count) return;
  struct connection *connection = &connections[asked_count];
  connection_init(connection, &load, job->ports[asked_count % job->ports_count]);
  connection->request = &job->requests[asked_count++];
  connection_send(connection);
}

static void begun(struct connection *connection) {
  (void)connection;
  ask_next();
  if (++begun_count < load.job->requests_count) return;
  printf("{\"begun\":true}\n");
  fflush(stdout);
}

static void ended(struct connection *connection, double now) {
  (void)now;
  ended_count++;
  connection_close(connection);
}

static void print_mark(bool over) {
  struct counts *counts = &load.counts;
  fputs(over ? "{\"over\":true," : "{", stdout);
  printf("\"tokens\":%llu,\"deltas\":%llu,", counts->tokens, counts->deltas);
  printf("\"lateP50\":%.4f,\"lateP99\":%.4f,", histogram_quantile(&counts->lateness, 0.5), histogram_quantile(&counts->lateness, 0.99));
  printf("\"microseconds\":%lld}\n", used_microseconds());
  fflush(stdout);
  histogram_clear(&counts->lateness);
}

/* Each line is a mark; the end of the input means that the reader has gone. */
static void take_commands(void) {
  char bytes[256];
  ssize_t length = read(STDIN_FILENO, bytes, sizeof bytes);
  if (length <= 0) exit(1);
  for (ssize_t index = 0; index < length; index++) {
    if (bytes[index] == '\n') print_mark(false);
  }
}

void run_streams(const struct job *job) {
  load.job = job;
  load.begun = begun;
  load.ended = ended;
  load.epoll = epoll_create1(EPOLL_CLOEXEC);
  connections = new_array((size_t)job->requests_count, sizeof *connections);
  int input = STDIN_FILENO;
  watch(load.epoll, input, EPOLLIN, &input);
  for (int index = 0; index < job->abreast; index++) ask_next();
  struct epoll_event events[events_max];
  while (ended_count < job->requests_count) {
    int ready = epoll_wait(load.epoll, events, events_max, -1);
    for (int index = 0; index < ready; index++) {
      if (events[index].data.ptr == &input) take_commands();
      else connection_ready(events[index].data.ptr, events[index].events);
    }
  }
  print_mark(true);
}
