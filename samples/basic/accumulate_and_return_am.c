/* There and back with active messages: the driver sends numbers, its buddy adds its own and sends the sums back from
 * the completion handler. Which of the two a message is, and the factor, travel in the user header; the header handler
 * passes them on to the completion handler in a structure. */
#include "sample.h"

#define LENGTH 100

struct header {
  int back; /* false: numbers for the buddy; true: sums for the driver */
  int factor;
};

/* What the completion handler is told. */
struct message {
  struct header header;
  int source;
  int length; /* numbers */
};

static int inbox[LENGTH], numbers[LENGTH];
static struct message incoming;
static void* handler_of_buddy;
static lapi_cntr_t sent;
static int returned; /* a flag of our own, no counter of the library */

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const struct message* message = parameter;
  int i;
  if (message->header.back) {
    __atomic_store_n(&returned, 1, __ATOMIC_RELEASE);
    return;
  }
  for (i = 0; i < message->length; ++i) numbers[i] += message->header.factor * inbox[i];
  incoming.header.back = TRUE;
  CALL(LAPI_Amsend(*context, (uint)message->source, handler_of_buddy, &incoming.header, sizeof incoming.header, numbers,
                   (ulong)message->length * sizeof(int), NULL, &sent, NULL));
}

static void* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                            compl_hndlr_t** completion, void** parameter) {
  const lapi_return_info_t* about = (const lapi_return_info_t*)length;
  (void)context;
  if (*header_length != sizeof(struct header) || about->msg_len != sizeof inbox) return NULL;
  memcpy(&incoming.header, header, sizeof(struct header));
  incoming.source = about->src;
  incoming.length = (int)(about->msg_len / sizeof(int));
  *completion = completion_handler;
  *parameter = &incoming;
  return inbox;
}

int main(void) {
  struct header header = {FALSE, 10};
  int i;

  start();
  for (i = 0; i < LENGTH; ++i) numbers[i] = driver ? i : 1000;
  handler_of_buddy = address_in_buddy((void*)header_handler);
  CALL(LAPI_Gfence(handle)); /* everybody has that address before the first message comes */
  if (driver) {
    CALL(LAPI_Amsend(handle, buddy, handler_of_buddy, &header, sizeof header, numbers, sizeof numbers, NULL, NULL,
                     NULL));
    while (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE)) CALL(LAPI_Probe(handle));
    for (i = 0; i < LENGTH; ++i) CHECK(inbox[i] == 1000 + 10 * i);
  } else {
    wait_for(&sent);
  }
  CALL(LAPI_Gfence(handle));
  finish("accumulate and return, LAPI_Amsend");
  return 0;
}
