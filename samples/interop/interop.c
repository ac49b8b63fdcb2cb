/* Tasks of 32 and 64 bits in one job: they learn each other's addresses as 64-bit numbers with LAPI_Address_init64 and
 * move data with LAPI_Xfer. Build this file twice, once for each word size; deploy/README.md says how. */
#include "sample.h"

#define LENGTH 1000

static int inbox[LENGTH];
static lapi_cntr_t arrived;

/* The buddy's number for what this task calls `own`. */
static lapi_long_t number_in_buddy(lapi_long_t own) {
  lapi_long_t number;
  lapi_long_t* table = malloc((size_t)tasks * sizeof(lapi_long_t));
  CHECK(table != NULL);
  CALL(LAPI_Address_init64(handle, own, table));
  number = table[buddy];
  free(table);
  return number;
}

int main(void) {
  int data[LENGTH], back[LENGTH];
  lapi_long_t inbox_of_buddy, arrived_of_buddy, bits_of_buddy;
  lapi_cntr_t fetched;
  lapi_xfer_t transfer;
  int i;

  start();
  bzero(&fetched, sizeof fetched);
  inbox_of_buddy = number_in_buddy((lapi_long_t)(ulong)inbox);
  arrived_of_buddy = number_in_buddy((lapi_long_t)(ulong)&arrived);
  bits_of_buddy = number_in_buddy(8 * sizeof(void*));
  CHECK(bits_of_buddy == 32 || bits_of_buddy == 64);
  printf("task %d has %d bits, its buddy has %d\n", task, (int)(8 * sizeof(void*)), (int)bits_of_buddy);

  /* Each task puts numbers into its buddy's inbox, */
  for (i = 0; i < LENGTH; ++i) data[i] = 1000 * task + i;
  bzero(&transfer, sizeof transfer);
  transfer.Put.Xfer_type = LAPI_PUT_XFER;
  transfer.Put.tgt = buddy;
  transfer.Put.tgt_addr = inbox_of_buddy;
  transfer.Put.org_addr = data;
  transfer.Put.len = sizeof data;
  transfer.Put.tgt_cntr = arrived_of_buddy;
  CALL(LAPI_Xfer(handle, &transfer));
  wait_for(&arrived);
  for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 1000 * (int)buddy + i);
  CALL(LAPI_Gfence(handle));

  /* and gets them back from there. */
  bzero(&transfer, sizeof transfer);
  transfer.Get.Xfer_type = LAPI_GET_XFER;
  transfer.Get.tgt = buddy;
  transfer.Get.tgt_addr = inbox_of_buddy;
  transfer.Get.org_addr = back;
  transfer.Get.len = sizeof back;
  transfer.Get.org_cntr = &fetched;
  CALL(LAPI_Xfer(handle, &transfer));
  wait_for(&fetched);
  CHECK(memcmp(back, data, sizeof back) == 0);
  finish("words of different sizes");
  return 0;
}
