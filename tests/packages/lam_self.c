/* A program for LAM/MPI: sends itself messages, and receives them before or after they are there, with wildcards. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define TAGS 900

static void send_one(char* text, int tag, MPI_Request* request) {
  MPI_Isend(text, (int)strlen(text) + 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD, request);
}

static void receive_one(char* room, int size, MPI_Request* request) {
  MPI_Irecv(room, size, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request);
}

/* 1: it came as it was sent. */
static int exchange(int number) {
  char text[64], room[64] = "";
  MPI_Request requests[2];
  MPI_Status statuses[2], probed;
  int length = 0;
  sprintf(text, "message %d", number);
  if (number % 2 == 0) receive_one(room, sizeof room, &requests[1]);
  send_one(text, number % TAGS, &requests[0]);
  if (number % 2 != 0) {
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
    if (probed.MPI_TAG != number % TAGS) return 0;
    receive_one(room, sizeof room, &requests[1]);
  }
  MPI_Waitall(2, requests, statuses);
  MPI_Get_count(&statuses[1], MPI_CHAR, &length);
  return strcmp(text, room) == 0 && length == (int)strlen(text) + 1 && statuses[1].MPI_SOURCE == 0 &&
         statuses[1].MPI_TAG == number % TAGS;
}

int main(int argc, char** argv) {
  int number, good = 0, is_known = 0;
  int* largest_tag = NULL;
  MPI_Init(&argc, &argv);
  for (number = 0; number < 1000; ++number) good += exchange(number);
  MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &is_known);
  printf("%d messages, tags to %d\n", good, is_known ? *largest_tag : -1);
  MPI_Finalize();
  return 0;
}
