/* LAPI_Put: copies data to a task that does not take part. The target counter tells it that the data is there. */
#include "sample.h"

#define LENGTH 100

static int inbox[LENGTH];
static lapi_cntr_t arrived;

int main(void) {
  int data[LENGTH];
  int* inbox_of_buddy;
  lapi_cntr_t* arrived_of_buddy;
  int i;

  start();
  inbox_of_buddy = address_in_buddy(inbox);
  arrived_of_buddy = address_in_buddy(&arrived);
  if (driver) {
    for (i = 0; i < LENGTH; ++i) data[i] = 3 * i;
    CALL(LAPI_Put(handle, buddy, sizeof data, inbox_of_buddy, data, arrived_of_buddy, NULL, NULL));
  } else {
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 3 * i);
  }
  /* `data` is this function's: the fence waits until the buddy has it. */
  CALL(LAPI_Gfence(handle));
  finish("LAPI_Put");
  return 0;
}
