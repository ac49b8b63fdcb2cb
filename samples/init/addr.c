/* Addresses: LAPI_Address_init and LAPI_Address_init64 collect one address from every task; LAPI_Addr_set and
 * LAPI_Addr_get keep header handlers under indices. */
#include "sample.h"

#define INDEX 3

static void* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                            compl_hndlr_t** completion, void** parameter) {
  (void)context, (void)header, (void)header_length, (void)length;
  *completion = NULL;
  *parameter = NULL;
  return NULL;
}

int main(void) {
  int first = 0, second = 0;
  int other;
  void** pointers;
  lapi_long_t* numbers;
  void* handler = NULL;

  start();
  pointers = malloc((size_t)tasks * sizeof(void*));
  numbers = malloc((size_t)tasks * sizeof(lapi_long_t));
  CHECK(pointers != NULL && numbers != NULL);

  /* As pointers, for tasks of one word size, and as 64-bit numbers, for all tasks. */
  CALL(LAPI_Address_init(handle, &first, pointers));
  CALL(LAPI_Address_init64(handle, (lapi_long_t)(ulong)&second, numbers));
  CHECK(pointers[task] == &first);
  CHECK(numbers[task] == (lapi_long_t)(ulong)&second);
  if (task == 0) {
    for (other = 0; other < tasks; ++other) {
      printf("task %d has its variables at %p and 0x%llx\n", other, pointers[other], numbers[other]);
    }
  }

  /* The addresses are good for transfers: each task writes its number into its buddy's variables. */
  CALL(LAPI_Put(handle, buddy, sizeof task, pointers[buddy], &task, NULL, NULL, NULL));
  CALL(LAPI_Put(handle, buddy, sizeof task, (void*)(ulong)numbers[buddy], &task, NULL, NULL, NULL));
  CALL(LAPI_Gfence(handle));
  CHECK(first == (int)buddy && second == (int)buddy);

  /* An index stands for a header handler in this task; the same index may stand for another one elsewhere. */
  CALL(LAPI_Addr_get(handle, &handler, INDEX));
  CHECK(handler == NULL);
  CALL(LAPI_Addr_set(handle, (void*)header_handler, INDEX));
  CALL(LAPI_Addr_get(handle, &handler, INDEX));
  CHECK(handler == (void*)header_handler);
  CALL(LAPI_Addr_set(handle, NULL, INDEX));
  CALL(LAPI_Addr_get(handle, &handler, INDEX));
  CHECK(handler == NULL);

  free(pointers);
  free(numbers);
  finish("addresses");
  return 0;
}
