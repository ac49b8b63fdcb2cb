/* LAPI_Xfer that does what LAPI_Put does, with a send completion handler, which runs when the data may be changed. */
#include "sample.h"

#define LENGTH 10000

static int inbox[LENGTH];
static lapi_cntr_t arrived;
static int times_sent;

static void sent(lapi_handle_t* context, void* parameter, lapi_sh_info_t* about) {
  (void)context;
  if (about->reason == LAPI_SUCCESS && about->src == buddy) __atomic_fetch_add((int*)parameter, 1, __ATOMIC_RELEASE);
}

int main(void) {
  static int data[LENGTH];
  void* inbox_of_buddy;
  void* arrived_of_buddy;
  lapi_cntr_t completed;
  lapi_xfer_t transfer;
  int i;

  start();
  bzero(&completed, sizeof completed);
  inbox_of_buddy = address_in_buddy(inbox);
  arrived_of_buddy = address_in_buddy(&arrived);
  if (driver) {
    for (i = 0; i < LENGTH; ++i) data[i] = 7 * i;
    bzero(&transfer, sizeof transfer); /* what is not set below is not wanted */
    transfer.Put.Xfer_type = LAPI_PUT_XFER;
    transfer.Put.tgt = buddy;
    transfer.Put.tgt_addr = (lapi_long_t)(ulong)inbox_of_buddy;
    transfer.Put.org_addr = data;
    transfer.Put.len = sizeof data;
    transfer.Put.shdlr = sent;
    transfer.Put.sinfo = &times_sent; /* what the handler is told */
    transfer.Put.tgt_cntr = (lapi_long_t)(ulong)arrived_of_buddy;
    transfer.Put.cmpl_cntr = &completed;
    CALL(LAPI_Xfer(handle, &transfer));
    wait_for(&completed);
    while (__atomic_load_n(&times_sent, __ATOMIC_ACQUIRE) == 0) CALL(LAPI_Probe(handle));
    CHECK(times_sent == 1);
  } else {
    wait_for(&arrived);
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 7 * i);
  }
  finish("LAPI_Xfer, put");
  return 0;
}
