/* There and back with LAPI_Xfer: as accumulate_and_return_put.c, but the first put is a structure. LAPI_Xfer names
 * addresses of the target as 64-bit numbers. */
#include "sample.h"

#define LENGTH 100

static int inbox[LENGTH];
static lapi_cntr_t arrived;

int main(void) {
  int numbers[LENGTH];
  int* inbox_of_buddy;
  lapi_cntr_t* arrived_of_buddy;
  lapi_xfer_t transfer;
  int i;

  start();
  for (i = 0; i < LENGTH; ++i) numbers[i] = driver ? i : 1000;
  inbox_of_buddy = address_in_buddy(inbox);
  arrived_of_buddy = address_in_buddy(&arrived);
  if (driver) {
    bzero(&transfer, sizeof transfer);
    transfer.Put.Xfer_type = LAPI_PUT_XFER;
    transfer.Put.tgt = buddy;
    transfer.Put.tgt_addr = (lapi_long_t)(ulong)inbox_of_buddy;
    transfer.Put.org_addr = numbers;
    transfer.Put.len = sizeof numbers;
    transfer.Put.tgt_cntr = (lapi_long_t)(ulong)arrived_of_buddy;
    CALL(LAPI_Xfer(handle, &transfer));
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 1000 + i);
  } else {
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) numbers[i] += inbox[i];
    CALL(LAPI_Put(handle, buddy, sizeof numbers, inbox_of_buddy, numbers, arrived_of_buddy, NULL, NULL));
  }
  CALL(LAPI_Gfence(handle));
  finish("accumulate and return, LAPI_Xfer");
  return 0;
}
