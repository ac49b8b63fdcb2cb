/* Linked with a program: of every two puts of task 1 the first arrives after the second. LAPI promises no order, so no
 * program may mind. For short puts to one target that move no counter of the origin. */
#include <stddef.h>
#include <string.h>

#include "lapi.h"

static struct {
  char data[64];
  void* place;
  lapi_cntr_t* counter;
} late;

LAPI_PUBLIC int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
                         lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  int task = 0, error;
  PLAPI_Qenv(hndl, TASK_ID, &task);
  if (task == 1 && late.place == NULL) {
    memcpy(late.data, org_addr, len);
    late.place = tgt_addr;
    late.counter = tgt_cntr;
    return LAPI_SUCCESS;
  }
  error = PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
  if (task != 1) return error;
  PLAPI_Fence(hndl);
  error = PLAPI_Put(hndl, tgt, len, late.place, late.data, late.counter, NULL, NULL);
  late.place = NULL;
  return error;
}
