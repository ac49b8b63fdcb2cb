/* The bandwidth between two tasks of a job, wherever they are: messages of one size, each begun when the one before is
 * done there, as most programs use long ones. Started by a launcher. Prints a line for each kind: MB/s.
 *   bandwidth_bench [BYTES [SECONDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/include/lapi.h"

enum { kWarmUp = 4 };

static lapi_handle_t handle;
static size_t bytes = 4 << 20;
static double seconds = 2;
static char *memory, *there;

static void check(int error, const char* call) {
  if (error == LAPI_SUCCESS) return;
  char text[LAPI_MAX_ERR_STRING];
  LAPI_Msg_string(error, text);
  fprintf(stderr, "bandwidth_bench: %s: %s\n", call, text);
  exit(1);
}
#define CALL(call) check(call, #call)

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void* header_handler(lapi_handle_t* context, void* header, uint* length, ulong* data, compl_hndlr_t** completion,
                            void** user) {
  (void)context, (void)header, (void)length, (void)data, (void)user;
  *completion = NULL;
  return memory;
}

static void put(lapi_cntr_t* done) { CALL(LAPI_Put(handle, 1, bytes, there, memory, NULL, NULL, done)); }
static void get(lapi_cntr_t* done) { CALL(LAPI_Get(handle, 1, bytes, there, memory, NULL, done)); }
static void message(lapi_cntr_t* done) {
  CALL(LAPI_Amsend(handle, 1, (void*)1, NULL, 0, memory, bytes, NULL, NULL, done));
}

static void measure(const char* kind, void (*operation)(lapi_cntr_t*)) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  double begin = now();
  long count = -kWarmUp;
  for (; count < 1 || now() - begin < seconds; ++count) {
    if (count == 0) begin = now();
    operation(&done);
    CALL(LAPI_Waitcntr(handle, &done, 1, NULL));
  }
  printf("%s %.1f\n", kind, (double)bytes * (double)count / (now() - begin) / 1e6);
  fflush(stdout);
}

int main(int count, char** words) {
  if (count > 1) bytes = strtoul(words[1], NULL, 10);
  if (count > 2) seconds = strtod(words[2], NULL);
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  CALL(LAPI_Init(&handle, &info));
  int task, tasks;
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  if (tasks != 2 || bytes == 0 || seconds <= 0) {
    fprintf(stderr, "bandwidth_bench [BYTES [SECONDS]]: two tasks; a size and a time above 0\n");
    return 2;
  }
  CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  memory = malloc(bytes);
  memset(memory, task, bytes);
  void *all[2], *handler;
  hdr_hndlr_t* const function = header_handler; /* ISO C has no cast from a function to data */
  memcpy(&handler, &function, sizeof handler);
  CALL(LAPI_Address_init(handle, memory, all));
  there = all[1];
  CALL(LAPI_Addr_set(handle, handler, 1));
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    measure("put", put);
    measure("get", get);
    measure("am", message);
  }
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  return 0;
}
