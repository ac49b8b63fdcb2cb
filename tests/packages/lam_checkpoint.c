/* A program for LAM/MPI with its cr module `self`: both processes are told to make a checkpoint while process 0 waits
 * for process 1, in MPI_Recv, in MPI_Send of a long message or in MPI_Wait, as the first argument says (r, s, w).
 * Process 1 goes on after the checkpoint. Prints what process 0 has seen. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LENGTH (1 << 20)
#define LOOKS 3000

static volatile int made, went_on;
static int data[LENGTH];

int lam_cr_self_checkpoint(void) { return made = 1; }
int lam_cr_self_continue(void) { return went_on = 1; }
int lam_cr_self_restart(void) { return 0; }

static void wait_for(int kind) {
  MPI_Status status;
  MPI_Request request;
  if (kind == 's') MPI_Send(data, LENGTH, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (kind == 'r') MPI_Recv(data, LENGTH, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
  if (kind == 'w') {
    MPI_Irecv(data, LENGTH, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
  }
}

static char state_of(int process) {
  char path[64], state = 0;
  FILE* file;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  file = fopen(path, "r");
  if (file == NULL || fscanf(file, "%*d %*s %c", &state) != 1) state = 0;
  if (file != NULL) fclose(file);
  return state;
}

static void make_checkpoint(int other) {
  int looks;
  for (looks = 0; looks < LOOKS && state_of(other) != 'S'; ++looks) usleep(1000);
  kill(other, SIGUSR1);
  kill(getpid(), SIGUSR1);
  for (looks = 0; looks < LOOKS && !went_on; ++looks) usleep(10000);
}

int main(int argc, char** argv) {
  int rank, n, process = getpid(), kind = argc > 1 ? argv[1][0] : 'r';
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(&process, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    wait_for(kind);
    printf("made %d, went on %d, last %d\n", made, went_on, data[LENGTH - 1]);
  } else {
    for (n = 0; n < LENGTH; ++n) data[n] = n;
    MPI_Recv(&process, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &status);
    make_checkpoint(process);
    if (kind == 's') MPI_Recv(data, LENGTH, MPI_INT, 0, 5, MPI_COMM_WORLD, &status);
    if (kind != 's') MPI_Send(data, LENGTH, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
