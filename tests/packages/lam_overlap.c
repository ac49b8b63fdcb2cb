/* Process 0 receives 8 MiB from process 1; while they move neither is in a call of MPI. Each looks at memory that they
 * share through a file instead: whether the last byte is here, and whether the other one has seen so. With CANCELS
 * process 0 has another receive, which it cancels at the end.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kBytes = 8 << 20, kPatience = 60 /* seconds */ };
static volatile char data[kBytes];

static volatile int* shared_flag(int rank) {
  char name[64] = "";
  if (rank == 0) snprintf(name, sizeof name, "overlap.%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(int)) != 0) exit(1);
  volatile int* const flag = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(name);
  return flag;
}

int main(int count, char** words) {
  int rank, done = 0;
  MPI_Request request;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile int* const flag = shared_flag(rank);
#ifdef CANCELS
  MPI_Request never;
  if (rank == 0) MPI_Irecv(&done, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &never);
#endif
  if (rank == 0) MPI_Irecv((void*)data, kBytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    data[kBytes - 1] = 1;
    MPI_Isend((void*)data, kBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
  }
  const time_t begin = time(NULL);
  while (!done && time(NULL) - begin < kPatience) {
    if (rank == 0 && data[kBytes - 1] == 1) *flag = 1;
    done = *flag;
  }
  if (rank == 0) printf(done ? "the data have come without a call\n" : "nothing has come for 60 seconds\n");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef CANCELS
  if (rank == 0) {
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
  }
#endif
  MPI_Finalize();
  return 0;
}
