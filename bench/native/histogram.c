#include "histogram.h"

#include <string.h>

/* Up to 64 µs a bucket is 1 µs wide; from there on each power of two has 32 of them. */
static int bucket_of(double ms) {
  if (ms <= 0) return 0;
  unsigned long long microseconds = (unsigned long long)(ms * 1e3);
  if (microseconds < 2 * histogram_steps) return (int)microseconds;
  int power = 63 - __builtin_clzll(microseconds) - 5;
  int bucket = power * histogram_steps + (int)(microseconds >> power);
  return bucket < histogram_buckets ? bucket : histogram_buckets - 1;
}

static double middle_of(int bucket) {
  if (bucket < 2 * histogram_steps) return bucket / 1e3;
  int power = bucket / histogram_steps - 1;
  double width = (double)(1ULL << power);
  return ((bucket - power * histogram_steps) * width + width / 2) / 1e3;
}

void histogram_add(struct histogram *histogram, double ms) {
  histogram->counts[bucket_of(ms)]++;
  histogram->total++;
}

void histogram_clear(struct histogram *histogram) {
  memset(histogram, 0, sizeof *histogram);
}

double histogram_quantile(const struct histogram *histogram, double share) {
  double wanted = share * (double)histogram->total;
  unsigned long long seen = 0;
  for (int bucket = 0; bucket < histogram_buckets; bucket++) {
    seen += histogram->counts[bucket];
    if (seen > 0 && (double)seen >= wanted) return middle_of(bucket);
  }
  return 0;
}
