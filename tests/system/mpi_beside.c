/* Data through LAPI and through MPI in one program. Usage: mpi_beside mpi|lapi [crash|wrong_address] - which is
   initialised first; the last task dies in the middle, or puts to memory that is not there. Prints what both say about
   the task; status 3: LAPI_Init refuses. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lapi.h"

#define EXPECT(condition)                                                               \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      fprintf(stderr, "mpi_beside: line %d: %s does not hold\n", __LINE__, #condition); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

enum { kMostTasks = 64 };
static int task, tasks;
static int cell = -1;

static lapi_handle_t init_lapi(void) {
  lapi_handle_t handle;
  lapi_info_t info;
  memset(&info, 0, sizeof info);
  info.lib_vers = LAST_LIB;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) exit(3);
  EXPECT(LAPI_Qenv(handle, TASK_ID, &task) == LAPI_SUCCESS);
  EXPECT(LAPI_Qenv(handle, NUM_TASKS, &tasks) == LAPI_SUCCESS && tasks <= kMostTasks);
  return handle;
}

static void put_to_the_right(lapi_handle_t handle) {
  void* table[kMostTasks];
  EXPECT(LAPI_Address_init(handle, &cell, table) == LAPI_SUCCESS);
  const int right = (task + 1) % tasks;
  EXPECT(LAPI_Put(handle, (uint)right, sizeof task, table[right], &task, NULL, NULL, NULL) == LAPI_SUCCESS);
  EXPECT(LAPI_Gfence(handle) == LAPI_SUCCESS);
  EXPECT(cell == (task + tasks - 1) % tasks);
}

static void send_to_the_right(int rank, int size) {
  int received = -1;
  EXPECT(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  EXPECT(received == (rank + size - 1) % size);
}

int main(int count, char** words) {
  const char* mishap = count > 2 ? words[2] : "";
  const int mpi_first = count > 1 && strcmp(words[1], "mpi") == 0;
  if (mpi_first) MPI_Init(&count, &words);
  lapi_handle_t handle = init_lapi();
  if (!mpi_first) MPI_Init(&count, &words);
  int rank = -1, size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 10; ++round) {
    put_to_the_right(handle);
    send_to_the_right(rank, size);
  }
  if (strcmp(mishap, "crash") == 0 && rank == size - 1) raise(SIGKILL);
  if (strcmp(mishap, "wrong_address") == 0) {
    if (rank == size - 1) LAPI_Put(handle, 0, sizeof task, (void*)0x1234560, &task, NULL, NULL, NULL);
    LAPI_Gfence(handle);
  }
  printf("lapi %d of %d, mpi %d of %d\n", task, tasks, rank, size);
  if (!mpi_first) MPI_Finalize();
  EXPECT(LAPI_Term(handle) == LAPI_SUCCESS);
  if (mpi_first) MPI_Finalize();
  return 0;
}
