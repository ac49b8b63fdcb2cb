/* What every sample does around its topic: checks, the context, and who talks to whom.
 *
 * Tasks work in pairs: tasks 0 and 1, 2 and 3, and so on. The even one of a pair drives, the odd one is its buddy. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lapi_handle_t handle;
static int task, tasks; /* this task's number, and how many there are */
static uint buddy;      /* the other task of the pair */
static int driver;      /* true in the even task of a pair */

/* Ends the task with status 1 when something is not as it should be; lapirun then ends the others. */
#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "task %d: %s:%d: %s does not hold\n", task, __FILE__, __LINE__, #condition); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* A call that must succeed. */
#define CALL(call)                                                                                  \
  do {                                                                                              \
    const int code = (call);                                                                        \
    if (code != LAPI_SUCCESS) {                                                                     \
      char text[LAPI_MAX_ERR_STRING];                                                               \
      LAPI_Msg_string(code, text);                                                                  \
      fprintf(stderr, "task %d: %s:%d: %s: %d, %s\n", task, __FILE__, __LINE__, #call, code, text); \
      exit(1);                                                                                      \
    }                                                                                               \
  } while (0)

/* Opens the context with what `info` asks for; LAST_LIB in its lib_vers gives all functions. */
static inline void start_with(lapi_info_t* info) {
  CALL(LAPI_Init(&handle, info));
  CALL(LAPI_Senv(handle, ERROR_CHK, 1)); /* wrong arguments are reported */
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  CHECK(tasks % 2 == 0); /* nobody is left without a buddy */
  buddy = (uint)(task ^ 1);
  driver = task % 2 == 0;
}

static inline void start(void) {
  lapi_info_t info;
  bzero(&info, sizeof info);
  info.lib_vers = LAST_LIB;
  start_with(&info);
}

/* The buddy's address of what this task calls `own`: programs are loaded at different places in different tasks. */
static inline void* address_in_buddy(void* own) {
  void* address;
  void** table = (void**)malloc((size_t)tasks * sizeof(void*));
  CHECK(table != NULL);
  CALL(LAPI_Address_init(handle, own, table));
  address = table[buddy];
  free(table);
  return address;
}

/* Waits until the counter has gone up by one. */
static inline void wait_for(lapi_cntr_t* counter) { CALL(LAPI_Waitcntr(handle, counter, 1, NULL)); }

/* After the last check: everybody has everything, and every task says so. */
static inline void finish(const char* what) {
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  printf("task %d of %d: %s: right\n", task, tasks, what);
}

#endif /* SAMPLE_H */
