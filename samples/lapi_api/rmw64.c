/* LAPI_Rmw64: LAPI_Rmw for 64-bit variables. */
#include "sample.h"

#define LARGE (1LL << 40)

static long long word;

static long long modify(Rmw_ops_t operation, long long* variable, long long* input) {
  lapi_cntr_t answered;
  long long previous = -1;
  bzero(&answered, sizeof answered);
  CALL(LAPI_Rmw64(handle, operation, buddy, variable, input, &previous, &answered));
  wait_for(&answered);
  return previous;
}

int main(void) {
  long long* word_of_buddy;
  long long more = 2 * LARGE, bit = 1, value = -5;
  long long guess[2] = {3 * LARGE + 1, 4 * LARGE};

  start();
  word = LARGE;
  word_of_buddy = address_in_buddy(&word);
  if (driver) {
    CHECK(modify(FETCH_AND_ADD, word_of_buddy, &more) == LARGE);
    CHECK(modify(FETCH_AND_OR, word_of_buddy, &bit) == 3 * LARGE);
    CHECK(modify(COMPARE_AND_SWAP, word_of_buddy, guess) == TRUE);
    CHECK(modify(SWAP, word_of_buddy, &value) == 4 * LARGE);
  }
  CALL(LAPI_Gfence(handle));
  CHECK(word == (driver ? LARGE : -5));
  finish("LAPI_Rmw64");
  return 0;
}
