/* There and back with LAPI_Put: the driver puts numbers to its buddy, which waits for its target counter, adds its own
 * and puts the sums back; the driver waits for its target counter. */
#include "sample.h"

#define LENGTH 100

static int inbox[LENGTH];
static lapi_cntr_t arrived;

int main(void) {
  int numbers[LENGTH];
  int* inbox_of_buddy;
  lapi_cntr_t* arrived_of_buddy;
  int i;

  start();
  for (i = 0; i < LENGTH; ++i) numbers[i] = driver ? i : 1000;
  inbox_of_buddy = address_in_buddy(inbox);
  arrived_of_buddy = address_in_buddy(&arrived);
  if (driver) {
    CALL(LAPI_Put(handle, buddy, sizeof numbers, inbox_of_buddy, numbers, arrived_of_buddy, NULL, NULL));
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 1000 + i);
  } else {
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) numbers[i] += inbox[i];
    CALL(LAPI_Put(handle, buddy, sizeof numbers, inbox_of_buddy, numbers, arrived_of_buddy, NULL, NULL));
  }
  CALL(LAPI_Gfence(handle));
  finish("accumulate and return, LAPI_Put");
  return 0;
}
