/* A program for LAM/MPI: memory ends in the middle. Process 0 may have no more address space than it has and so many
 * KiB (the second argument), and then, as the first argument says, is sent a long message that it has not asked for,
 * starts a process, or does nothing else. Prints what that ended with. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LENGTH (100 << 20)

static long used_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void limit(long more) {
  struct rlimit most;
  getrlimit(RLIMIT_AS, &most);
  most.rlim_cur = (rlim_t)(used_kib() + more) * 1024;
  setrlimit(RLIMIT_AS, &most);
}

static int first_error(int one, int other) { return one != MPI_SUCCESS ? one : other; }

/* The short one comes behind the long one. */
static int receive(char* data) {
  MPI_Status status;
  int number = 0, error = MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &status);
  error = first_error(error, MPI_Recv(data, LENGTH, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &status));
  return first_error(error, number == 77 && data[LENGTH - 1] == 5 ? MPI_SUCCESS : MPI_ERR_OTHER);
}

static void send(char* data) {
  MPI_Request requests[2];
  int number = 77;
  memset(data, 5, LENGTH);
  MPI_Isend(data, LENGTH, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int start(char** argv) {
  MPI_Comm children;
  int code, error;
  char* words[] = {"child", "0", NULL};
  error = MPI_Comm_spawn(argv[0], words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, &code);
  if (error == MPI_SUCCESS) error = MPI_Comm_free(&children);
  return error;
}

int main(int argc, char** argv) {
  int rank, class = 0, error = MPI_SUCCESS;
  char kind = argc > 1 ? argv[1][0] : 'u';
  char* data = kind == 'u' ? (char*)malloc(LENGTH) : NULL;
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    MPI_Comm_free(&parent);
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) limit(atol(argv[2]));
  MPI_Barrier(MPI_COMM_WORLD);
  if (kind == 'u' && rank == 0) error = receive(data);
  if (kind == 'u' && rank == 1) send(data);
  if (kind == 's' && rank == 0) error = start(argv);
  MPI_Error_class(error, &class);
  if (rank == 0) {
    printf("class %d\n", class);
    fflush(stdout);
    _exit(0);
  }
  _exit(0);
  return 0;
}
