/* A program for LAM/MPI: process 1 kills itself, waits until it is killed, or stops and sends once it goes on, and
 * process 0 waits for a message from it, for room for one to it, or for a message from anybody, or looks for one again
 * and again, as the first argument says. Prints what that ended with; process 1 prints that it waits. Nothing of this
 * happens before there is the file that the second argument names, if any does. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LENGTH (1 << 22)

int main(int argc, char** argv) {
  int rank, error, class = 0, kind = argc > 1 ? argv[1][0] : 'r';
  char* data = (char*)calloc(LENGTH, 1);
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  while (argc > 2 && access(argv[2], F_OK) != 0) usleep(1000);
  if (rank == 1 && kind == 'd') {
    printf("waits\n");
    fflush(stdout);
    pause();
  }
  if (rank == 1 && kind == 'w') {
    kill(getpid(), SIGSTOP);
    MPI_Send(data, LENGTH, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  if (rank == 1) kill(getpid(), SIGKILL);
  if (kind == 's') {
    error = MPI_Send(data, LENGTH, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
  } else if (kind == 'i') {
    int found = 0;
    do {
      error = MPI_Iprobe(1, 5, MPI_COMM_WORLD, &found, &status);
    } while (error == MPI_SUCCESS && !found);
    if (found) error = MPI_Recv(data, LENGTH, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
  } else {
    error = MPI_Recv(data, LENGTH, MPI_CHAR, kind == 'a' ? MPI_ANY_SOURCE : 1, 5, MPI_COMM_WORLD, &status);
  }
  MPI_Error_class(error, &class);
  printf("class %d\n", class);
  fflush(stdout);
  if (kind == 'w') MPI_Finalize();
  /* Otherwise its peer cannot come to MPI_Finalize. */
  _exit(0);
}
