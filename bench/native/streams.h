/* Many long answers at a time, each on a separate connection. */
#ifndef STREAMS_H
#define STREAMS_H

#include "job.h"

/*
 * Runs them, and prints lines of JSON: `{"begun":true}` once each has had some text. For each line `mark` on the
 * standard input, which may come then, and with `"over":true` at the end of the last answer, it prints the progress so far, and the lateness since the last mark.
 */
void run_streams(const struct job *job);

#endif
