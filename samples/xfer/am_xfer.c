/* LAPI_Xfer that does what LAPI_Amsend does: a header handler says where the data goes, a completion handler works on
 * it, and the completion counter tells the sender that it has. */
#include "sample.h"

#define LENGTH 100

static int inbox[LENGTH];
static int sum;

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const int* data = parameter;
  int i;
  (void)context;
  for (i = 0; i < LENGTH; ++i) sum += data[i];
}

static void* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                            compl_hndlr_t** completion, void** parameter) {
  int sender = -1;
  (void)context, (void)length;
  if (*header_length == sizeof sender) memcpy(&sender, header, sizeof sender);
  if (sender != (int)buddy) return NULL; /* the data is thrown away */
  *completion = completion_handler;
  *parameter = inbox;
  return inbox;
}

int main(void) {
  int data[LENGTH];
  void* handler_of_buddy;
  lapi_cntr_t completed;
  lapi_xfer_t transfer;
  int i;

  start();
  bzero(&completed, sizeof completed);
  handler_of_buddy = address_in_buddy((void*)header_handler);
  if (driver) {
    for (i = 0; i < LENGTH; ++i) data[i] = i;
    bzero(&transfer, sizeof transfer);
    transfer.Am.Xfer_type = LAPI_AM_XFER;
    transfer.Am.tgt = buddy;
    transfer.Am.hdr_hdl = (lapi_long_t)(ulong)handler_of_buddy;
    transfer.Am.uhdr = &task;
    transfer.Am.uhdr_len = sizeof task;
    transfer.Am.udata = data;
    transfer.Am.udata_len = sizeof data;
    transfer.Am.cmpl_cntr = &completed;
    CALL(LAPI_Xfer(handle, &transfer));
    wait_for(&completed);
  }
  CALL(LAPI_Gfence(handle));
  CHECK(sum == (driver ? 0 : LENGTH * (LENGTH - 1) / 2));
  finish("LAPI_Xfer, active message");
  return 0;
}
