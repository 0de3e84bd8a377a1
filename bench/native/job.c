#define _GNU_SOURCE
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void add_port(struct job *job, int port) {
  job->ports = resized(job->ports, (size_t)(job->ports_count + 1) * sizeof *job->ports);
  job->ports[job->ports_count++] = port;
}

static void add_arrival(struct job *job, double ms) {
  job->arrivals = resized(job->arrivals, (size_t)(job->arrivals_count + 1) * sizeof *job->arrivals);
  job->arrivals[job->arrivals_count++] = ms;
}

static void add_request(struct job *job, size_t length) {
  job->requests = resized(job->requests, (size_t)(job->requests_count + 1) * sizeof *job->requests);
  struct text *request = &job->requests[job->requests_count++];
  request->bytes = new_array(length, 1);
  request->length = request->size = length;
  if (fread(request->bytes, 1, length, stdin) != length) die("A request is not whole.");
}

static void set(struct job *job, const struct vocabulary *vocabulary, const char *name, const char *value) {
  if (strcmp(name, "streams") == 0) job->streams = true;
  else if (strcmp(name, "port") == 0) add_port(job, atoi(value));
  else if (strcmp(name, "request") == 0) add_request(job, strtoul(value, NULL, 10));
  else if (strcmp(name, "at") == 0) add_arrival(job, atof(value));
  else if (strcmp(name, "conversations") == 0) job->conversations = atoi(value);
  else if (strcmp(name, "turns_each") == 0) job->turns_each = atoi(value);
  else if (strcmp(name, "abreast") == 0) job->abreast = atoi(value);
  else if (strcmp(name, "until") == 0) job->until_ms = atof(value);
  else if (strcmp(name, "status") == 0) job->status = atoi(value);
  else if (strcmp(name, "interval") == 0) job->expected.interval_ms = atof(value);
  else if (strcmp(name, "tokens") == 0) expect_tokens(&job->expected, vocabulary, atoi(value));
  else if (strcmp(name, "text") == 0) text_format(&job->expected.text, "%s", value);
  else if (strcmp(name, "completed") == 0) text_format(&job->expected.completed, "%s", value);
  else if (strcmp(name, "failed") == 0) text_format(&job->expected.failed, "%s", value);
  else die("A job has no %s.", name);
}

struct job read_job(const struct vocabulary *vocabulary) {
  struct job job = {.turns_each = 1, .abreast = 1, .status = 200};
  char *line = NULL;
  size_t size = 0;
  for (;;) {
    ssize_t length = getline(&line, &size, stdin);
    if (length <= 0) die("The job has no end.");
    line[length - 1] = '\0';
    if (strcmp(line, "go") == 0) break;
    char *space = strchr(line, ' ');
    if (space != NULL) *space = '\0';
    set(&job, vocabulary, line, space == NULL ? "" : space + 1);
  }
  free(line);
  if (job.requests_count == 0 || job.ports_count == 0) die("The job has nothing to send, or nowhere.");
  if (job.conversations == 0) job.conversations = job.requests_count;
  return job;
}

void job_fail(const char *reason) {
  printf("{\"error\":\"");
  for (const unsigned char *at = (const unsigned char *)reason; *at != '\0'; at++) {
    if (*at == '"' || *at == '\\') printf("\\%c", *at);
    else if (*at < 32) printf("\\u%04x", *at);
    else putchar(*at);
  }
  printf("\"}\n");
  fflush(stdout);
  exit(1);
}

long long used_microseconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}
