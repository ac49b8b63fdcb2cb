/* LAPI_Get: fetches data from a task that does not take part. The origin counter says when it is here, the target
 * counter tells the other task that its data has been read. */
#include "sample.h"

#define LENGTH 100

static int offered[LENGTH];
static lapi_cntr_t taken;

int main(void) {
  int data[LENGTH];
  int* offered_by_buddy;
  lapi_cntr_t* taken_of_buddy;
  lapi_cntr_t here;
  int i;

  start();
  bzero(&here, sizeof here);
  for (i = 0; i < LENGTH; ++i) offered[i] = 1000 * task + i;
  offered_by_buddy = address_in_buddy(offered);
  taken_of_buddy = address_in_buddy(&taken);
  if (driver) {
    CALL(LAPI_Get(handle, buddy, sizeof data, offered_by_buddy, data, taken_of_buddy, &here));
    wait_for(&here);
    for (i = 0; i < LENGTH; ++i) CHECK(data[i] == 1000 * (int)buddy + i);
  } else {
    wait_for(&taken);
    bzero(offered, sizeof offered);
  }
  finish("LAPI_Get");
  return 0;
}
