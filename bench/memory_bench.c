/* Private memory of each task, from /proc/self/smaps_rollup: before LAPI_Init, after the tasks have met, and after each
 * has put to the next one.
 *   lapirun -n 2 memory_bench */
#define LAPI_SIZE_LIMITS 1
#include <stdio.h>

#include "api/include/lapi.h"

/* KiB; -1: the system does not tell. */
static int private_memory(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "re");
  char line[256];
  int total = 0;
  int value = 0;
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Clean: %d", &value) == 1 || sscanf(line, "Private_Dirty: %d", &value) == 1)
      total += value;
  }
  fclose(file);
  return total;
}

int main(void) {
  static char target[8192];
  static char source[8192];
  static void* targets[MAX_TASKS];
  lapi_handle_t handle;
  lapi_info_t info;
  int task = 0;
  int tasks = 1;
  int before = private_memory();
  int joined = 0;
  bzero(&info, sizeof info);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS || LAPI_Gfence(handle) != LAPI_SUCCESS) return 1;
  joined = private_memory();
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Qenv(handle, NUM_TASKS, &tasks);
  if (LAPI_Address_init(handle, target, targets) != LAPI_SUCCESS) return 1;
  for (int i = 0; i < 1000; ++i) {
    LAPI_Put(handle, (uint)((task + 1) % tasks), sizeof source, targets[(task + 1) % tasks], source, NULL, NULL, NULL);
  }
  LAPI_Gfence(handle);
  printf("task %d of %d: private memory %d KiB before LAPI_Init, %d after it, %d after 1000 puts of 8 KiB\n", task,
         tasks, before, joined, private_memory());
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}
