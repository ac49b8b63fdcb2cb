/* What a task of bench/job_bench does first: says when its main() began. */
#include <stdio.h>
#include <time.h>

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%lld.%09ld\n", (long long)now.tv_sec, now.tv_nsec);
  return 0;
}
