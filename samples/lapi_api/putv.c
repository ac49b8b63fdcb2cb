/* LAPI_Putv: copies several pieces to several places. The origin describes both sides, with addresses of the target
 * on that side; LAPI_GEN_IOVECTOR wants as many pieces of the same lengths on both. */
#include "sample.h"

static int inbox[100];
static lapi_cntr_t arrived;

int main(void) {
  int front[10], back[20];
  void* from[2] = {front, back};
  void* to[2];
  ulong sizes[2] = {sizeof front, sizeof back};
  lapi_vec_t here = {LAPI_GEN_IOVECTOR, 2, from, sizes};
  lapi_vec_t there = {LAPI_GEN_IOVECTOR, 2, to, sizes};
  int* inbox_of_buddy;
  lapi_cntr_t* arrived_of_buddy;
  lapi_cntr_t completed;
  int i;

  start();
  bzero(&completed, sizeof completed);
  inbox_of_buddy = address_in_buddy(inbox);
  arrived_of_buddy = address_in_buddy(&arrived);
  if (driver) {
    for (i = 0; i < 10; ++i) front[i] = 1;
    for (i = 0; i < 20; ++i) back[i] = 2;
    to[0] = inbox_of_buddy + 80;
    to[1] = inbox_of_buddy + 40;
    CALL(LAPI_Putv(handle, buddy, &there, &here, arrived_of_buddy, NULL, &completed));
    wait_for(&completed);
  } else {
    wait_for(&arrived);
    for (i = 0; i < 100; ++i) CHECK(inbox[i] == (i >= 80 && i < 90 ? 1 : i >= 40 && i < 60 ? 2 : 0));
  }
  finish("LAPI_Putv");
  return 0;
}
