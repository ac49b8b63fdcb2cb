/* LAPI_Rmw: changes an int of another task atomically and says what it was. All tasks draw tickets from task 0, and no
 * number is given twice; then each driver uses the other operations on its buddy's variable. */
#include "sample.h"

#define TICKETS 100

static int next_ticket;
static int word;

/* One operation, to its end. */
static int modify(RMW_ops_t operation, uint target, int* variable, int* input) {
  lapi_cntr_t answered;
  int previous = -1;
  bzero(&answered, sizeof answered);
  CALL(LAPI_Rmw(handle, operation, target, variable, input, &previous, &answered));
  wait_for(&answered);
  return previous;
}

static void draw_tickets(void) {
  int one = 1, last = -1, i;
  void** counters = malloc((size_t)tasks * sizeof(void*));
  CHECK(counters != NULL);
  CALL(LAPI_Address_init(handle, &next_ticket, counters));
  for (i = 0; i < TICKETS; ++i) {
    const int ticket = modify(FETCH_AND_ADD, 0, counters[0], &one);
    CHECK(ticket > last && ticket < TICKETS * tasks);
    last = ticket;
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) CHECK(next_ticket == TICKETS * tasks);
  free(counters);
}

int main(void) {
  int* word_of_buddy;
  int bits = 6, value = 50;
  int right_guess[2] = {50, 99}, wrong_guess[2] = {51, 98};

  start();
  draw_tickets();
  word = 1;
  word_of_buddy = address_in_buddy(&word);
  if (driver) {
    CHECK(modify(FETCH_AND_OR, buddy, word_of_buddy, &bits) == 1);
    CHECK(modify(SWAP, buddy, word_of_buddy, &value) == 7);
    CHECK(modify(COMPARE_AND_SWAP, buddy, word_of_buddy, wrong_guess) == FALSE);
    CHECK(modify(COMPARE_AND_SWAP, buddy, word_of_buddy, right_guess) == TRUE);
  }
  CALL(LAPI_Gfence(handle));
  CHECK(word == (driver ? 1 : 99));
  finish("LAPI_Rmw");
  return 0;
}
