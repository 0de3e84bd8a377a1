/* The load's job, as read from its standard input, and its messages on standard output. */
#ifndef JOB_H
#define JOB_H

#include "answer.h"

struct job {
  /* One long answer on each connection; else turns, one after another on each. */
  bool streams;
  int *ports;
  int ports_count;
  struct text *requests;
  int requests_count;
  /* Number of conversations; conversation i sends request i, from the first again when there are no more. */
  int conversations;
  int turns_each;
  /* Connections at a time; of streams, how many begin at a time. */
  int abreast;
  /* No conversation begins after so many milliseconds; 0 where there is no such time. */
  double until_ms;
  /* When turns are wanted, in milliseconds from the beginning; none where each waits for the one before. */
  double *arrivals;
  int arrivals_count;
  /* The status that answers must have. Where it is not 200 there is nothing else to check. */
  int status;
  struct expected expected;
};

/* Lines of a name and a value, up to the line `go`; a request is the number of its bytes, and they follow. */
struct job read_job(const struct vocabulary *vocabulary);

/* Ends the load with the fault of an answer. */
_Noreturn void job_fail(const char *reason);

/* Microseconds of CPU time that the load has used. */
long long used_microseconds(void);

#endif
