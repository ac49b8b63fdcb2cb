/* A program for LAM/MPI: starts two more of itself, three times, each when those before are gone; parents and children
 * send each other messages, in both directions and through one communicator of all. Prints what process 0 has heard. */
#include <mpi.h>
#include <stdio.h>

#define CHILDREN 2

/* What each side has heard from the other. */
static int talk(MPI_Comm between, int rank, int high) {
  static int data[50000];
  int remote, i, sum = 0;
  MPI_Comm all;
  MPI_Status status;
  MPI_Request requests[8];
  MPI_Comm_remote_size(between, &remote);
  for (i = 0; i < 50000; ++i) data[i] = rank + i;
  for (i = 0; i < remote; ++i) MPI_Isend(data, i % 2 == 0 ? 50000 : 10, MPI_INT, i, 4, between, &requests[i]);
  for (i = 0; i < remote; ++i) {
    static int got[50000];
    MPI_Recv(got, 50000, MPI_INT, MPI_ANY_SOURCE, 4, between, &status);
    sum += got[9] - status.MPI_SOURCE;
  }
  MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE);
  MPI_Intercomm_merge(between, high, &all);
  MPI_Allreduce(&rank, &i, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  return sum * 100 + i;
}

int main(int argc, char** argv) {
  int rank, turn;
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    talk(parent, rank, 1);
    MPI_Comm_free(&parent);
  } else {
    for (turn = 0; turn < 3; ++turn) {
      MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                     MPI_ERRCODES_IGNORE);
      int heard = talk(children, rank, 0);
      MPI_Comm_free(&children);
      if (rank == 0) printf("turn %d: %d\n", turn, heard);
    }
  }
  MPI_Finalize();
  return 0;
}
