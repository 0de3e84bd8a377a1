/* Durations counted in buckets whose width is at most a thirty-second of their durations. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

enum { histogram_steps = 32, histogram_buckets = 40 * histogram_steps };

struct histogram {
  unsigned long long counts[histogram_buckets];
  unsigned long long total;
};

/* Negative durations count as none. */
void histogram_add(struct histogram *histogram, double ms);
void histogram_clear(struct histogram *histogram);

/* The milliseconds below which the share lies: the middle of a bucket; 0 of no durations. */
double histogram_quantile(const struct histogram *histogram, double share);

#endif
