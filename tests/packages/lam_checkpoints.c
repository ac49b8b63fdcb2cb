/* A program for LAM/MPI with its cr module `self`: all processes send each other numbered messages, short, long and
 * synchronous ones, while process 0 tells all of them to make one checkpoint after the other, wherever they are then.
 * Prints how many were made, and how much was wrong: each message is to come once and in order. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kCheckpoints = 50, kMost = 4 /* processes */, kBurst = 8, kBytes = 60000 };
static volatile int made, went_on;
static int processes, pids[kMost], sent[kMost], got[kMost], wrong;
static char out[kMost * kBurst][kBytes], in[kMost * kBurst][kBytes];

int lam_cr_self_checkpoint(void) { return ++made; }
int lam_cr_self_continue(void) { return ++went_on; }
int lam_cr_self_restart(void) { return 0; }

static int length_of(int number) { return number % 5 == 0 ? kBytes : 4 + number * 37 % 900; }

static void start_send(char* buffer, int to, MPI_Request* request) {
  const int number = sent[to]++, length = length_of(number);
  memset(buffer, number, (size_t)length);
  memcpy(buffer, &number, sizeof number);
  if (number % 3 == 0) {
    MPI_Issend(buffer, length, MPI_CHAR, to, 0, MPI_COMM_WORLD, request);
  } else {
    MPI_Isend(buffer, length, MPI_CHAR, to, 0, MPI_COMM_WORLD, request);
  }
}

static void check(const char* buffer, MPI_Status* status) {
  int length, place, number;
  memcpy(&number, buffer, sizeof number);
  MPI_Get_count(status, MPI_CHAR, &length);
  wrong += number != got[status->MPI_SOURCE]++ || length != length_of(number);
  for (place = 4; place < length; ++place) wrong += buffer[place] != (char)number;
}

/* Everybody sends everybody a burst, and receives as much, from anybody or from each. */
static void exchange(int from_anybody) {
  MPI_Request requests[2 * kMost * kBurst];
  MPI_Status statuses[2 * kMost * kBurst];
  const int count = processes * kBurst;
  int n;
  for (n = 0; n < count; ++n) {
    const int from = from_anybody ? MPI_ANY_SOURCE : n % processes;
    MPI_Irecv(in[n], kBytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[n]);
  }
  for (n = 0; n < count; ++n) start_send(out[n], n % processes, &requests[count + n]);
  MPI_Waitall(2 * count, requests, statuses);
  for (n = 0; n < count; ++n) check(in[n], &statuses[n]);
}

/* One at a time: LAM's own thread makes it. Whether all have been made. */
static int make_checkpoint(void) {
  static int told;
  int n;
  if (went_on == told && told < kCheckpoints) {
    ++told;
    for (n = 0; n < processes; ++n) kill(pids[n], SIGUSR1);
  }
  return went_on == kCheckpoints;
}

int main(int argc, char** argv) {
  int rank, round, all_wrong, is_over = 0, own = getpid();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  for (round = 0; !is_over; ++round) {
    exchange(round % 2);
    if (rank == 0) is_over = make_checkpoint();
    MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d checkpoints, wrong %d\n", made, all_wrong);
  MPI_Finalize();
  return 0;
}
