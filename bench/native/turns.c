#define _GNU_SOURCE
#include "turns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

#include "connection.h"

enum { events_max = 256 };

/* One number for each turn. */
struct times {
  double *ms;
  int count;
  int size;
};

static struct load load;
static struct times first;
static struct times whole;
static double started_at;
/* Conversations that have begun, and connections with an answer under way. */
static int conversations_begun;
static int running;
/* Idle connections, the longest idle first, in a ring. */
static struct connection **idle;
static int idle_from;
static int idle_count;
/* Turns at given times: how many have begun, and the timer of the next one. */
static int arrived;
static int timer;

static void add_time(struct times *times, double ms) {
  if (times->count == times->size) {
    times->size = times->size == 0 ? 1024 : 2 * times->size;
    times->ms = resized(times->ms, (size_t)times->size * sizeof *times->ms);
  }
  times->ms[times->count++] = ms;
}

/* Gives the connection its next turn, of a new conversation once its own has ended; false if no turn is left. */
static bool has_turn(struct connection *connection) {
  const struct job *job = load.job;
  if (connection->turns_left > 0) return true;
  if (conversations_begun >= job->conversations || (job->until_ms > 0 && now_ms() - started_at >= job->until_ms)) return false;
  connection->request = &job->requests[conversations_begun++ % job->requests_count];
  connection->turns_left = job->turns_each;
  return true;
}

static void begin_turn(struct connection *connection, double wanted_at) {
  connection->turns_left--;
  connection->wanted_at = wanted_at;
  running++;
  connection_send(connection);
}

static void set_timer(double ms) {
  long long nanoseconds = (long long)(ms * 1e6);
  struct itimerspec time = {.it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL) < 0) die("timerfd_settime: %s", strerror(errno));
}

/* Begins the turns that are wanted by now, as far as there are connections for them: the others wait, and that counts. */
static void begin_arrivals(void) {
  const struct job *job = load.job;
  double now = now_ms();
  for (; arrived < job->arrivals_count && idle_count > 0; arrived++) {
    double wanted_at = started_at + job->arrivals[arrived];
    if (wanted_at > now) return set_timer(wanted_at);
    struct connection *connection = idle[idle_from];
    idle_from = (idle_from + 1) % job->abreast;
    idle_count--;
    if (!has_turn(connection)) job_fail("There are fewer conversations than turns are wanted.");
    begin_turn(connection, wanted_at);
  }
}

static void ended(struct connection *connection, double now) {
  const struct job *job = load.job;
  running--;
  if (connection->answer.first_at != 0) add_time(&first, connection->answer.first_at - connection->wanted_at);
  add_time(&whole, now - connection->wanted_at);
  if (job->arrivals_count > 0) {
    idle[(idle_from + idle_count++) % job->abreast] = connection;
    return begin_arrivals();
  }
  if (has_turn(connection)) begin_turn(connection, now_ms());
}

static void begun(struct connection *connection) {
  (void)connection;
}

static void print_times(const char *name, const struct times *times) {
  printf("\"%s\":[", name);
  for (int index = 0; index < times->count; index++) printf(index == 0 ? "%.4f" : ",%.4f", times->ms[index]);
  printf("],");
}

static void begin(void) {
  const struct job *job = load.job;
  idle = new_array((size_t)job->abreast, sizeof *idle);
  started_at = now_ms();
  for (int index = 0; index < job->abreast; index++) {
    struct connection *connection = new_array(1, sizeof *connection);
    connection_init(connection, &load, job->ports[index % job->ports_count]);
    if (job->arrivals_count > 0) idle[idle_count++] = connection;
    else if (has_turn(connection)) begin_turn(connection, now_ms());
  }
  if (job->arrivals_count > 0) begin_arrivals();
}

void run_turns(const struct job *job) {
  load.job = job;
  load.begun = begun;
  load.ended = ended;
  load.epoll = epoll_create1(EPOLL_CLOEXEC);
  /* Timers may otherwise be 50 microseconds late. */
  prctl(PR_SET_TIMERSLACK, 1);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  watch(load.epoll, timer, EPOLLIN | EPOLLET, &timer);
  begin();
  struct epoll_event events[events_max];
  while (running > 0 || arrived < job->arrivals_count) {
    int ready = epoll_wait(load.epoll, events, events_max, -1);
    for (int index = 0; index < ready; index++) {
      if (events[index].data.ptr == &timer) begin_arrivals();
      else connection_ready(events[index].data.ptr, events[index].events);
    }
  }
  printf("{");
  print_times("firstMs", &first);
  print_times("wholeMs", &whole);
  printf("\"microseconds\":%lld}\n", used_microseconds());
}
