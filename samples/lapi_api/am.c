/* LAPI_Amsend: an active message. Its header handler runs in the target when the message's first packet arrives, and
 * says where the data goes; its completion handler runs when all of it is there. */
#include "sample.h"

#define LENGTH 100

static int inbox[LENGTH];
static int sum; /* what the completion handler computes */

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const int* data = parameter;
  int i;
  (void)context;
  for (i = 0; i < LENGTH; ++i) sum += data[i];
}

static void* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                            compl_hndlr_t** completion, void** parameter) {
  (void)context, (void)header, (void)header_length, (void)length;
  *completion = completion_handler;
  *parameter = inbox; /* what the completion handler is told */
  return inbox;       /* where the data goes */
}

int main(void) {
  int data[LENGTH];
  void* handler_of_buddy;
  lapi_cntr_t completed;
  int i;

  start();
  bzero(&completed, sizeof completed);
  handler_of_buddy = address_in_buddy((void*)header_handler);
  if (driver) {
    for (i = 0; i < LENGTH; ++i) data[i] = i;
    CALL(LAPI_Amsend(handle, buddy, handler_of_buddy, NULL, 0, data, sizeof data, NULL, NULL, &completed));
    wait_for(&completed); /* the buddy's completion handler has returned */
  }
  CALL(LAPI_Gfence(handle));
  CHECK(sum == (driver ? 0 : LENGTH * (LENGTH - 1) / 2));
  finish("LAPI_Amsend");
  return 0;
}
