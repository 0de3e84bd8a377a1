/*
 * The clients of the benchmarks: send requests, check every answer, and report their times.
 *
 * load VOCABULARY    takes a job (job.h) on its standard input and answers with lines of JSON
 */
#include "common.h"
#include "job.h"
#include "streams.h"
#include "turns.h"

int main(int count, char **arguments) {
  if (count != 2) die("load VOCABULARY");
  struct vocabulary vocabulary = read_vocabulary(arguments[1]);
  struct job job = read_job(&vocabulary);
  if (job.streams) run_streams(&job);
  else run_turns(&job);
  return 0;
}
