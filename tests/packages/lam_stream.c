/* A program for LAM/MPI: the first process sends the last one long messages and gets each back, for as many seconds as
 * the first argument says or, if that is a path, until a file is there. Says when it has begun, and at the end what was
 * wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS (1 << 19)

static int words[WORDS], back[WORDS];

/* The rank of the other, or of this process where it takes no part. */
static int other_of(int rank, int size) {
  if (rank == 0) return size - 1;
  return rank == size - 1 ? 0 : rank;
}

static int send_all(int other, const char* until) {
  double end = MPI_Wtime() + atof(until);
  int turn = 0, wrong = 0, i;
  MPI_Status status;
  do {
    for (i = 0; i < WORDS; ++i) words[i] = i * 31 + turn;
    words[0] = until[0] == '/' ? access(until, F_OK) != 0 : MPI_Wtime() < end;
    MPI_Send(words, WORDS, MPI_INT, other, turn, MPI_COMM_WORLD);
    MPI_Recv(back, WORDS, MPI_INT, other, turn, MPI_COMM_WORLD, &status);
    wrong += memcmp(words, back, sizeof words) != 0;
    if (turn++ == 0) {
      printf("begun\n");
      fflush(stdout);
    }
  } while (words[0]);
  return wrong;
}

static void answer_all(int other) {
  int turn = 0;
  MPI_Status status;
  do {
    MPI_Recv(words, WORDS, MPI_INT, other, turn, MPI_COMM_WORLD, &status);
    MPI_Send(words, WORDS, MPI_INT, other, turn++, MPI_COMM_WORLD);
  } while (words[0]);
}

int main(int argc, char** argv) {
  int rank, size, other;
  const char* until = argc > 1 ? argv[1] : "1";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  other = other_of(rank, size);
  if (rank == 0 && other != 0) printf("wrong %d\n", send_all(other, until));
  if (rank != 0 && other == 0) answer_all(other);
  MPI_Finalize();
  return 0;
}
