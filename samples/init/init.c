/* LAPI_Init and LAPI_Term: two contexts at once, each with messages of its own, and a context after another has ended.
 * The first one has an error handler, which hears of a message to a header handler that nobody registered. */
#include <pthread.h>

#include "sample.h"

#define UNKNOWN_INDEX 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static int heard_code;

/* Runs in a thread of the library. When it returns, the program goes on. */
static void error_handler(lapi_handle_t* context, int* code, lapi_err_t* type, int* own_task, int* source) {
  char text[LAPI_MAX_ERR_STRING];
  LAPI_Msg_string(*code, text);
  printf("task %d hears of an error of kind %d on handle %u from task %d: %d, %s\n", *own_task, (int)*type, *context,
         *source, *code, text);
  pthread_mutex_lock(&lock);
  heard_code = *code;
  pthread_cond_signal(&heard);
  pthread_mutex_unlock(&lock);
}

/* The driver names a header handler that its buddy does not have; the buddy's error handler is told. */
static void provoke_an_error(void) {
  CALL(LAPI_Gfence(handle));
  if (driver) {
    CALL(LAPI_Amsend(handle, buddy, (void*)UNKNOWN_INDEX, NULL, 0, NULL, 0, NULL, NULL, NULL));
  } else {
    pthread_mutex_lock(&lock);
    while (heard_code == 0) pthread_cond_wait(&heard, &lock);
    pthread_mutex_unlock(&lock);
    CHECK(heard_code == LAPI_ERR_HDR_HNDLR_NULL);
  }
  CALL(LAPI_Gfence(handle));
}

/* Sends a number to the buddy over a context, and gets the buddy's. */
static int swap_numbers(lapi_handle_t context, int number) {
  static int inbox;
  static lapi_cntr_t arrived;
  void** inboxes = malloc((size_t)tasks * sizeof(void*));
  void** counters = malloc((size_t)tasks * sizeof(void*));
  CHECK(inboxes != NULL && counters != NULL);
  CALL(LAPI_Address_init(context, &inbox, inboxes));
  CALL(LAPI_Address_init(context, &arrived, counters));
  CALL(LAPI_Put(context, buddy, sizeof number, inboxes[buddy], &number, counters[buddy], NULL, NULL));
  CALL(LAPI_Waitcntr(context, &arrived, 1, NULL));
  CALL(LAPI_Gfence(context));
  free(inboxes);
  free(counters);
  return inbox;
}

int main(void) {
  lapi_handle_t second = 0, third = 0;
  lapi_info_t info;
  int same_task = -1;

  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  info.err_hndlr = error_handler;
  start_with(&info);
  printf("task %d of %d: the first context has handle %u\n", task, tasks, handle);
  provoke_an_error();

  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  CALL(LAPI_Init(&second, &info));
  CHECK(second != handle);
  CALL(LAPI_Qenv(second, TASK_ID, &same_task));
  CHECK(same_task == task);
  CHECK(swap_numbers(handle, 100 + task) == 100 + (int)buddy);
  CHECK(swap_numbers(second, 200 + task) == 200 + (int)buddy);

  /* The second context ends, the first goes on, and a new one can be opened. */
  CALL(LAPI_Term(second));
  CHECK(LAPI_Probe(second) == LAPI_ERR_HNDL_INVALID);
  CHECK(swap_numbers(handle, 300 + task) == 300 + (int)buddy);
  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  CALL(LAPI_Init(&third, &info));
  CHECK(swap_numbers(third, 400 + task) == 400 + (int)buddy);
  CALL(LAPI_Term(third));
  finish("contexts");
  return 0;
}
