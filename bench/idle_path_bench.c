/* A put of 8 bytes there and back, and puts of 16 KiB, each begun when the one before is done: so much travels over one
 * path, and a second one has nothing to do. Two tasks, started by a launcher. Prints nanoseconds for one way, and then
 * MB/s.
 *   idle_path_bench [SECONDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/include/lapi.h"

enum { kBatch = 64, kBytes = 16 << 10 };

static lapi_handle_t handle;
static int task;
static double seconds = 1;
static char* memory;
static void* memory_of[2];
static lapi_cntr_t arrived;
static void* arrived_of[2];

static void check(int error, const char* call) {
  if (error == LAPI_SUCCESS) return;
  char text[LAPI_MAX_ERR_STRING];
  LAPI_Msg_string(error, text);
  fprintf(stderr, "idle_path_bench: %s: %s\n", call, text);
  exit(1);
}
#define CALL(call) check(call, #call)

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void put(unsigned long bytes, lapi_cntr_t* done) {
  CALL(LAPI_Put(handle, 1 - task, bytes, memory_of[1 - task], memory, (lapi_cntr_t*)arrived_of[1 - task], NULL, done));
}

static void wait(lapi_cntr_t* counter, int value) { CALL(LAPI_Waitcntr(handle, counter, value, NULL)); }

/* Task 0 says with the first byte whether another round follows. */
static double there_and_back(void) {
  memory[0] = 1;
  double begin = now(), passed = 0;
  long count = 0;
  for (; memory[0] != 0; ++count) {
    if (task == 0) {
      if (count % kBatch == 0) passed = now() - begin;
      if (passed > seconds) memory[0] = 0;
      put(8, NULL);
    }
    wait(&arrived, 1);
    if (task == 1) put(8, NULL);
  }
  return passed * 1e9 / 2 / (double)(count - 1);
}

static double one_after_the_other(void) {
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, 0));
  double begin = now();
  long count = 0;
  for (; now() - begin < seconds; ++count) {
    put(kBytes, &done);
    wait(&done, 1);
  }
  return (double)kBytes * (double)count / (now() - begin) / 1e6;
}

int main(int count, char** words) {
  if (count > 1) seconds = strtod(words[1], NULL);
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  CALL(LAPI_Init(&handle, &info));
  int tasks;
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  if (tasks != 2 || !(seconds > 0)) {
    fprintf(stderr, "idle_path_bench [SECONDS]: two tasks; a time above 0\n");
    return 2;
  }
  CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  memory = calloc(1, kBytes);
  CALL(LAPI_Setcntr(handle, &arrived, 0));
  CALL(LAPI_Address_init(handle, memory, memory_of));
  CALL(LAPI_Address_init(handle, &arrived, arrived_of));
  there_and_back(); /* so that all is made that is made on first use, and the second path has been silent for long */
  CALL(LAPI_Gfence(handle));
  const double latency = there_and_back();
  CALL(LAPI_Gfence(handle));
  if (task == 0) printf("latency %.1f\nbandwidth %.2f\n", latency, one_after_the_other());
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  return 0;
}
