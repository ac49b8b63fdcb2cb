/* A program for LAM/MPI: three processes that end at different times, while the others receive from MPI_ANY_SOURCE.
 * Prints what process 0 has heard, and what receives end with that nobody is left for. */
#include <mpi.h>
#include <stdio.h>

#define UNTIL_IT_IS_NOTICED 3 /* seconds */

static int receive(int source) {
  int got = -1, error, class = 0;
  MPI_Status status;
  error = MPI_Recv(&got, 1, MPI_INT, source, 5, MPI_COMM_WORLD, &status);
  MPI_Error_class(error, &class);
  return class == MPI_SUCCESS ? got : -class;
}

/* Goes on with what others have sent. */
static void wait_busily(void) {
  double begin = MPI_Wtime();
  int found;
  while (MPI_Wtime() - begin < UNTIL_IT_IS_NOTICED) {
    MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
}

static void send_to(int target, int value) { MPI_Send(&value, 1, MPI_INT, target, 5, MPI_COMM_WORLD); }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 2) {
    send_to(0, 20);
    send_to(1, 21);
  } else if (rank == 1) {
    int first = receive(MPI_ANY_SOURCE);
    send_to(0, 1000 * first + receive(MPI_ANY_SOURCE));
  } else {
    printf("from 2: %d\n", receive(MPI_ANY_SOURCE));
    wait_busily();
    send_to(1, 10);
    printf("from 1: %d\n", receive(MPI_ANY_SOURCE));
    printf("from 2, which has left: %d\n", receive(2));
    printf("from anybody, when all have left: %d\n", receive(MPI_ANY_SOURCE));
  }
  MPI_Finalize();
  return 0;
}
