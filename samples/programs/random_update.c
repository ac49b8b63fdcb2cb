/* Random updates: every task changes words all over the tables of all tasks, first with LAPI_Rmw64 and then with
 * LAPI_Put. The results are exact: each task works out what everybody has done to its table.
 *
 * random_update [LOG2 [ROUNDS]]: a table has 2^LOG2 words (12), and each task goes ROUNDS times (1) through as many
 * updates as all tables have words. Task 0 prints what an update took. */
#include <time.h>

#include "sample.h"

#define BURST 64 /* read-modify-writes that are begun before the first one is waited for */

typedef unsigned long long word_t;

static word_t words;   /* of a table */
static word_t* sums;   /* that everybody adds to */
static word_t* places; /* a table for each task, which alone puts there */
static void **all_sums, **all_places;

/* A permutation of the words of all tables: as i runs through them, so does the result. The factor is a prime. */
static word_t shuffled(word_t i, int by) {
  const word_t count = words * (word_t)tasks;
  return (i * 2654435761u + (word_t)by * (count / 3 + 1)) % count;
}

static word_t value_of(word_t i, int by, int round) { return (i + 1) * 1000003u + (word_t)(by * 97 + round); }

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void tell(const char* what, double begin, word_t updates) {
  if (task == 0) printf("%s: %.0f ns an update\n", what, (seconds() - begin) / (double)updates * 1e9);
}

static void add_everywhere(const word_t* order, word_t count, int rounds) {
  lapi_cntr_t done;
  word_t i, open = 0;
  int round;
  CALL(LAPI_Setcntr(handle, &done, 0));
  for (round = 0; round < rounds; ++round) {
    for (i = 0; i < count; ++i) {
      const uint target = (uint)(order[i] / words);
      long long more = (long long)value_of(i, task, round);
      CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, target, (long long*)all_sums[target] + order[i] % words, &more, NULL,
                      &done));
      if (++open == BURST) {
        CALL(LAPI_Waitcntr(handle, &done, BURST, NULL));
        open = 0;
      }
    }
  }
  CALL(LAPI_Waitcntr(handle, &done, (int)open, NULL));
}

static void put_everywhere(const word_t* order, word_t count, int rounds) {
  word_t i;
  int round;
  for (round = 0; round < rounds; ++round) {
    for (i = 0; i < count; ++i) {
      const uint target = (uint)(order[i] / words);
      word_t* const place = (word_t*)all_places[target] + (word_t)task * words + order[i] % words;
      word_t value = value_of(i, task, round);
      CALL(LAPI_Put(handle, target, sizeof value, place, &value, NULL, NULL, NULL)); /* short: copied at once */
    }
    CALL(LAPI_Fence(handle)); /* the next round's values come after this one's */
  }
}

/* What all tasks have done to this one's tables. */
static void check_tables(word_t count, int rounds) {
  word_t* const expected = (word_t*)calloc(words, sizeof(word_t));
  word_t i;
  int by, round;
  CHECK(expected != NULL);
  for (by = 0; by < tasks; ++by) {
    for (i = 0; i < count; ++i) {
      const word_t place = shuffled(i, by);
      if (place / words != (word_t)task) continue;
      for (round = 0; round < rounds; ++round) expected[place % words] += value_of(i, by, round);
      CHECK(places[(word_t)by * words + place % words] == value_of(i, by, rounds - 1));
    }
  }
  for (i = 0; i < words; ++i) CHECK(sums[i] == expected[i]);
  free(expected);
}

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? atoi(argv[2]) : 1;
  word_t count, i, *order;
  double begin;
  words = (word_t)1 << (argc > 1 ? atoi(argv[1]) : 12);
  start();
  count = words * (word_t)tasks;
  sums = (word_t*)calloc(words, sizeof(word_t));
  places = (word_t*)calloc(count, sizeof(word_t));
  order = (word_t*)malloc(count * sizeof(word_t));
  all_sums = (void**)malloc((size_t)tasks * sizeof(void*));
  all_places = (void**)malloc((size_t)tasks * sizeof(void*));
  CHECK(rounds > 0 && sums && places && order && all_sums && all_places);
  for (i = 0; i < count; ++i) order[i] = shuffled(i, task);
  CALL(LAPI_Address_init(handle, sums, all_sums));
  CALL(LAPI_Address_init(handle, places, all_places));

  begin = seconds();
  add_everywhere(order, count, rounds);
  CALL(LAPI_Gfence(handle));
  tell("read-modify-write", begin, count * (word_t)rounds);
  begin = seconds();
  put_everywhere(order, count, rounds);
  CALL(LAPI_Gfence(handle));
  tell("put", begin, count * (word_t)rounds);

  check_tables(count, rounds);
  finish("random updates");
  return 0;
}
