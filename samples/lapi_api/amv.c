/* LAPI_Amsendv: an active message whose data lies in several places on both sides. The header handler answers with a
 * vector; with LAPI_GEN_GENERIC its pieces may differ from the sender's. */
#include "sample.h"

#define LENGTH 90

static int inbox[LENGTH];
static int sum;

/* Three pieces, the last first. What a header handler returns stays as it is until the message is complete. */
static void* pieces[3] = {inbox + 60, inbox + 30, inbox};
static ulong lengths[3] = {30 * sizeof(int), 30 * sizeof(int), 30 * sizeof(int)};
static lapi_vec_t pieces_of_inbox = {LAPI_GEN_GENERIC, 3, pieces, lengths};

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const int* data = parameter;
  int i;
  (void)context;
  for (i = 0; i < LENGTH; ++i) sum += data[i];
}

static lapi_vec_t* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                                  compl_hndlr_t** completion, void** parameter) {
  (void)context, (void)header, (void)header_length, (void)length;
  *completion = completion_handler;
  *parameter = inbox;
  return &pieces_of_inbox;
}

int main(void) {
  int front[50], back[40];
  void* parts[2] = {front, back};
  ulong sizes[2] = {sizeof front, sizeof back};
  lapi_vec_t parts_of_data = {LAPI_GEN_GENERIC, 2, parts, sizes};
  void* handler_of_buddy;
  lapi_cntr_t completed;
  int i;

  start();
  bzero(&completed, sizeof completed);
  handler_of_buddy = address_in_buddy((void*)header_handler);
  if (driver) {
    for (i = 0; i < 50; ++i) front[i] = i;
    for (i = 0; i < 40; ++i) back[i] = 50 + i;
    CALL(LAPI_Amsendv(handle, buddy, handler_of_buddy, NULL, 0, &parts_of_data, NULL, NULL, &completed));
    wait_for(&completed);
  }
  CALL(LAPI_Gfence(handle));
  if (!driver) {
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == (i < 30 ? 60 + i : i < 60 ? i : i - 60));
    CHECK(sum == LENGTH * (LENGTH - 1) / 2);
  }
  finish("LAPI_Amsendv");
  return 0;
}
