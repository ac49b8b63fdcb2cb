/* LAPI_Getv: fetches several pieces from several places. The origin describes both sides, with addresses of the target
 * on that side. */
#include "sample.h"

static int offered[100];

int main(void) {
  int front[10], back[20];
  void* to[2] = {front, back};
  void* from[2];
  ulong sizes[2] = {sizeof front, sizeof back};
  lapi_vec_t here = {LAPI_GEN_IOVECTOR, 2, to, sizes};
  lapi_vec_t there = {LAPI_GEN_IOVECTOR, 2, from, sizes};
  int* offered_by_buddy;
  lapi_cntr_t fetched;
  int i;

  start();
  bzero(&fetched, sizeof fetched);
  for (i = 0; i < 100; ++i) offered[i] = 1000 * task + i;
  offered_by_buddy = address_in_buddy(offered);
  if (driver) {
    from[0] = offered_by_buddy + 80;
    from[1] = offered_by_buddy + 40;
    CALL(LAPI_Getv(handle, buddy, &there, &here, NULL, &fetched));
    wait_for(&fetched);
    for (i = 0; i < 10; ++i) CHECK(front[i] == 1000 * (int)buddy + 80 + i);
    for (i = 0; i < 20; ++i) CHECK(back[i] == 1000 * (int)buddy + 40 + i);
  }
  finish("LAPI_Getv");
  return 0;
}
