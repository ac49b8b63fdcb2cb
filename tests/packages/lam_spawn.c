/* A program for LAM/MPI: starts two more of itself, three times, each when those before are gone; parents and children
 * send each other messages, in both directions and through one communicator of all. Prints what process 0 has heard. */
#include <mpi.h>
#include <stdio.h>

#include "tests/packages/lam_talk.h"

#define CHILDREN 2

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
