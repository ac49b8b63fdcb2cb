/* A program for LAM/MPI: memory with an alignment, of threads and of the program itself, that free() takes back between
 * messages. LAM has a malloc() and a free() of its own, but neither posix_memalign() nor aligned_alloc(). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 200
#define TURNS 20000

/* What is wrong: NULL, or not aligned, or overwritten by others. */
static void* use_memory(void* argument) {
  unsigned number = *(unsigned*)argument, mine = number, wrong = 0, turn;
  unsigned char* places[PLACES] = {NULL};
  size_t lengths[PLACES] = {0};
  for (turn = 0; turn < TURNS; ++turn) {
    unsigned place, step;
    size_t n;
    number = number * 1103515245u + 12345u;
    place = (number >> 8) % PLACES;
    step = 16u << (number >> 16) % 9;
    for (n = 0; n < lengths[place]; ++n) wrong += places[place][n] != (unsigned char)(place + mine);
    free(places[place]);
    lengths[place] = (number >> 20) % 3000;
    places[place] = NULL;
    if (turn % 3 == 0) {
      places[place] = (unsigned char*)malloc(lengths[place]);
    } else if (turn % 3 == 1) {
      places[place] = (unsigned char*)aligned_alloc(step, lengths[place]);
    } else if (posix_memalign((void**)&places[place], step, lengths[place]) != 0) {
      ++wrong;
    }
    if (places[place] == NULL) lengths[place] = 0;
    if (turn % 3 != 0) wrong += places[place] == NULL || (size_t)places[place] % step != 0;
    memset(places[place], (int)(place + mine), lengths[place]);
  }
  for (turn = 0; turn < PLACES; ++turn) free(places[turn]);
  *(unsigned*)argument = wrong;
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[3];
  unsigned numbers[4] = {1, 2, 3, 4};
  int rank, i, all = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, use_memory, &numbers[i]);
  use_memory(&numbers[3]);
  for (i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (i = 0; i < 4; ++i) sum += (int)numbers[i];
  MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong %d\n", all);
  MPI_Finalize();
  return 0;
}
