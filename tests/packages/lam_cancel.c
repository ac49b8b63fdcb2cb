/* A program for LAM/MPI: process 1 sends messages at times of its own, short and long ones; process 0 posts a receive,
 * computes for a while, cancels it and waits for it, until it has them all. Prints how many came, and whether each came
 * once and in order, and what was cancelled stayed as it was. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMessages = 1000, kMost = 20000, kUntouched = 0x5a };
static unsigned char data[kMost];

static unsigned draw(unsigned* number) { return (*number = *number * 1103515245u + 12345u) >> 16; }

static int length_of(unsigned* number) {
  const unsigned most[] = {4, 300, kMost};
  return 4 + (int)(draw(number) % (most[draw(number) % 3] - 3));
}

static void compute(unsigned* number) {
  const double until = MPI_Wtime() + 1e-6 * (draw(number) % 60);
  while (MPI_Wtime() < until) continue;
}

static void send_all(void) {
  unsigned number = 1, lengths = 2;
  int n;
  for (n = 0; n < kMessages; ++n) {
    const int length = length_of(&lengths);
    compute(&number);
    memset(data, n & 0xff, (size_t)length);
    memcpy(data, &n, sizeof n);
    MPI_Send(data, length, MPI_BYTE, 0, n % 7, MPI_COMM_WORLD);
  }
}

/* Whether the memory is as it must be behind `place`. */
static int is_filled(int place, int end, int byte) {
  while (place < end && data[place] == byte) ++place;
  return place == end;
}

static int is_next(int number, const MPI_Status* status, unsigned* lengths) {
  int length, expected = length_of(lengths), got;
  MPI_Get_count((MPI_Status*)status, MPI_BYTE, &length);
  memcpy(&got, data, sizeof got);
  return got == number && length == expected && status->MPI_TAG == number % 7 &&
         is_filled(4, length, number & 0xff) && is_filled(length, kMost, kUntouched);
}

static void receive_all(void) {
  unsigned number = 3, lengths = 2;
  int got = 0, wrong = 0, was_cancelled;
  MPI_Status status;
  MPI_Request request;
  while (got < kMessages) {
    memset(data, kUntouched, kMost);
    MPI_Irecv(data, kMost, MPI_BYTE, draw(&number) % 2 ? 1 : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    compute(&number);
    MPI_Cancel(&request);
    compute(&number);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    if (was_cancelled) {
      wrong += !is_filled(0, kMost, kUntouched);
    } else {
      wrong += !is_next(got++, &status, &lengths);
    }
  }
  printf("%d messages, wrong %d\n", got, wrong);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rank == 0 ? receive_all() : send_all();
  MPI_Finalize();
  return 0;
}
