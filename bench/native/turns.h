/* Turns one after another on each of some connections: as fast as the server answers, or at given times. */
#ifndef TURNS_H
#define TURNS_H

#include "job.h"

/* Runs the turns and prints one line of JSON: how long each took to its first text and to its end, in milliseconds. */
void run_turns(const struct job *job);

#endif
