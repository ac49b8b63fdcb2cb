/* A program for LAM/MPI: starts what does not exist. Prints what that ended with. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, error, class = 0, codes[2] = {0, 0};
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Comm_spawn("./nothing", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
  MPI_Error_class(error, &class);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("class %d, %d\n", class, children == MPI_COMM_NULL);
  MPI_Finalize();
  return 0;
}
