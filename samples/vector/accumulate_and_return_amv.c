/* There and back with LAPI_Amsendv: the driver sends the even and the odd numbers of two arrays in one message; its
 * buddy receives them in one array, adds its own, and sends the sums back, which arrive in two arrays again. Direction
 * and offset travel in the user header and reach the completion handler in a structure. */
#include "sample.h"

#define LENGTH 50 /* of each half */

struct header {
  int back; /* false: numbers for the buddy; true: sums for the driver */
  int offset;
};

struct message {
  struct header header;
  int source;
};

static int evens[LENGTH], odds[LENGTH]; /* the driver's */
static int together[2 * LENGTH];        /* the buddy's: the evens, then the odds */
static struct message incoming;
static void* handler_of_buddy;
static lapi_cntr_t sent;
static int returned; /* a flag of our own, no counter of the library */

static void* two_arrays[2] = {evens, odds};
static ulong two_lengths[2] = {sizeof evens, sizeof odds};
static lapi_vec_t halves = {LAPI_GEN_GENERIC, 2, two_arrays, two_lengths};
static void* one_array[1] = {together};
static ulong one_length[1] = {sizeof together};
static lapi_vec_t whole = {LAPI_GEN_GENERIC, 1, one_array, one_length};

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const struct message* message = parameter;
  int i;
  if (message->header.back) {
    __atomic_store_n(&returned, 1, __ATOMIC_RELEASE);
    return;
  }
  for (i = 0; i < 2 * LENGTH; ++i) together[i] += message->header.offset;
  incoming.header.back = TRUE;
  CALL(LAPI_Amsendv(*context, (uint)message->source, handler_of_buddy, &incoming.header, sizeof incoming.header, &whole,
                    NULL, &sent, NULL));
}

static lapi_vec_t* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                                  compl_hndlr_t** completion, void** parameter) {
  (void)context;
  if (*header_length != sizeof(struct header)) return NULL;
  memcpy(&incoming.header, header, sizeof(struct header));
  incoming.source = ((const lapi_return_info_t*)length)->src;
  *completion = completion_handler;
  *parameter = &incoming;
  return incoming.header.back ? &halves : &whole;
}

int main(void) {
  struct header header = {FALSE, 1000};
  int i;

  start();
  for (i = 0; i < LENGTH; ++i) {
    evens[i] = 2 * i;
    odds[i] = 2 * i + 1;
  }
  handler_of_buddy = address_in_buddy((void*)header_handler);
  CALL(LAPI_Gfence(handle)); /* everybody has that address before the first message comes */
  if (driver) {
    CALL(LAPI_Amsendv(handle, buddy, handler_of_buddy, &header, sizeof header, &halves, NULL, NULL, NULL));
    while (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE)) CALL(LAPI_Probe(handle));
    for (i = 0; i < LENGTH; ++i) CHECK(evens[i] == 1000 + 2 * i && odds[i] == 1001 + 2 * i);
  } else {
    wait_for(&sent);
    for (i = 0; i < LENGTH; ++i) CHECK(together[i] == 1000 + 2 * i && together[LENGTH + i] == 1001 + 2 * i);
  }
  CALL(LAPI_Gfence(handle));
  finish("accumulate and return, LAPI_Amsendv");
  return 0;
}
