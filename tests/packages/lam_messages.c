/* A program for LAM/MPI: messages of every mode, size, datatype and communicator, with wildcards, probes, persistent
 * and cancelled requests, collective and one-sided operations. What it prints is the same however messages travel. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1 << 21)

static int rank, size;
static unsigned long sum = 5381;

static void add(const void* data, int length) {
  const unsigned char* bytes = (const unsigned char*)data;
  int i;
  for (i = 0; i < length; ++i) sum = (sum * 33 + bytes[i]) & 0xffffffffUL;
}

static void add_number(int number) { add(&number, sizeof number); }

/* One line of each process, by rank. What follows does not mix with what was before. */
static void report(const char* what) {
  unsigned long all[64];
  int i;
  MPI_Gather(&sum, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (i = 0; i < size; ++i) printf("%s: process %d: %08lx\n", what, i, all[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void fill(char* data, int length, int seed) {
  int i;
  for (i = 0; i < length; ++i) data[i] = (char)(i * 7 + seed + i / 251);
}

static void add_received(char* data, int length, MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_CHAR, &count);
  add(data, length);
  add_number(count);
  add_number(status->MPI_SOURCE);
  add_number(status->MPI_TAG);
}

/* Each mode around the ring, blocking and not, expected and not. */
static void modes(MPI_Comm comm, char* out, char* in) {
  static const int lengths[] = {0, 1, 63, 1024, 16383, 16384, 16385, 70000, 1 << 20};
  int right = (rank + 1) % size, left = (rank + size - 1) % size, mode, late, i;
  for (mode = 0; mode < 4; ++mode) {
    for (late = 0; late < 2; ++late) {
      for (i = 0; i < (int)(sizeof lengths / sizeof *lengths); ++i) {
        int length = lengths[i], tag = mode * 100 + i;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        fill(out, length, rank + tag);
        memset(in, 0, (size_t)length + 1);
        if (!late || mode == 3) MPI_Irecv(in, length, MPI_CHAR, left, tag, comm, &requests[1]);
        if (mode == 3) MPI_Barrier(comm);
        if (mode == 0) MPI_Isend(out, length, MPI_CHAR, right, tag, comm, &requests[0]);
        if (mode == 1) MPI_Ibsend(out, length, MPI_CHAR, right, tag, comm, &requests[0]);
        if (mode == 2) MPI_Issend(out, length, MPI_CHAR, right, tag, comm, &requests[0]);
        if (mode == 3) MPI_Irsend(out, length, MPI_CHAR, right, tag, comm, &requests[0]);
        if (late && mode != 3) {
          MPI_Barrier(comm);
          MPI_Irecv(in, length, MPI_CHAR, MPI_ANY_SOURCE, tag, comm, &requests[1]);
        }
        MPI_Waitall(2, requests, statuses);
        add_received(in, length, &statuses[1]);
      }
    }
  }
  report("modes");
}

/* Process 0 receives from everybody, in the order of each sender. */
static void wildcards(MPI_Comm comm) {
  int turns = 200, i, last[64], value[2];
  for (i = 0; i < 64; ++i) last[i] = -1;
  if (rank != 0) {
    for (i = 0; i < turns; ++i) {
      value[0] = rank;
      value[1] = i;
      MPI_Send(value, 2, MPI_INT, 0, i % 3, comm);
    }
  } else {
    for (i = 0; i < turns * (size - 1); ++i) {
      MPI_Status status, probed;
      if (i % 2 == 0) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &probed);
        MPI_Recv(value, 2, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, comm, &status);
      } else {
        MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
      }
      if (value[0] != status.MPI_SOURCE || value[1] != last[value[0]] + 1 || value[1] % 3 != status.MPI_TAG) {
        printf("message %d of %d came as %d after %d\n", value[1], value[0], status.MPI_TAG, last[value[0]]);
      }
      last[value[0]] = value[1];
    }
    for (i = 1; i < size; ++i) add_number(last[i]);
  }
  report("wildcards");
}

/* Columns of a matrix become rows. */
static void datatypes(MPI_Comm comm, char* out, char* in) {
  int rows = 300, columns = 200, i, other = rank ^ 1;
  double* matrix = (double*)out;
  MPI_Datatype column, mixed;
  MPI_Status status;
  int lengths[2] = {3, 2};
  MPI_Aint places[2] = {0, 100};
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  for (i = 0; i < rows * columns; ++i) matrix[i] = rank * 1000 + i;
  memset(in, 0, sizeof(double) * (size_t)(rows * columns));
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Type_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&mixed);
  if (other < size) {
    for (i = 0; i < 5; ++i) {
      MPI_Sendrecv(matrix + i, 1, column, other, i, in + i * rows * 8, rows, MPI_DOUBLE, other, i, comm, &status);
    }
    add(in, 5 * rows * 8);
    MPI_Sendrecv(matrix, rows, MPI_DOUBLE, other, 9, in, 1, column, other, 9, comm, &status);
    add(in, rows * columns * 8);
    MPI_Sendrecv(out, 4, mixed, other, 10, in, 4, mixed, other, 10, comm, &status);
    add(in, 12);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&mixed);
  report("datatypes");
}

static void persistent(MPI_Comm comm, char* out, char* in) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, turn, flag;
  MPI_Request requests[2], cancelled;
  MPI_Status statuses[2], status;
  MPI_Send_init(out, 40000, MPI_CHAR, right, 1, comm, &requests[0]);
  MPI_Recv_init(in, 50000, MPI_CHAR, left, 1, comm, &requests[1]);
  for (turn = 0; turn < 20; ++turn) {
    fill(out, 40000, turn + rank);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, statuses);
    add_received(in, 40000, &statuses[1]);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Irecv(in, 10, MPI_CHAR, left, 12345, comm, &cancelled);
  MPI_Cancel(&cancelled);
  MPI_Wait(&cancelled, &status);
  MPI_Test_cancelled(&status, &flag);
  add_number(flag);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
  add_number(flag);
  MPI_Barrier(comm);
  /* An orphan. */
  fill(out, 100, 3);
  MPI_Isend(out, 100, MPI_CHAR, right, 2, comm, &requests[0]);
  MPI_Request_free(&requests[0]);
  MPI_Recv(in, 100, MPI_CHAR, left, 2, comm, &status);
  add_received(in, 100, &status);
  MPI_Barrier(comm);
  report("persistent");
}

static void truncation(MPI_Comm comm, char* out, char* in) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size, length, class;
  MPI_Request request;
  MPI_Status status;
  MPI_Errhandler_set(comm, MPI_ERRORS_RETURN);
  for (length = 100; length < 300000; length *= 50) {
    fill(out, length, rank);
    memset(in, 1, (size_t)length);
    MPI_Isend(out, length, MPI_CHAR, right, 3, comm, &request);
    MPI_Error_class(MPI_Recv(in, length / 2, MPI_CHAR, left, 3, comm, &status), &class);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add_number(class == MPI_ERR_TRUNCATE);
    add(in + length / 2, length / 2);
  }
  MPI_Errhandler_set(comm, MPI_ERRORS_ARE_FATAL);
  report("truncation");
}

static void collectives(MPI_Comm comm, char* out, char* in) {
  int i, number = rank + 1, all = 0;
  for (i = 0; i < 4; ++i) {
    fill(out, 100000 * (i + 1), i);
    if (rank != i % size) memset(out, 0, (size_t)(100000 * (i + 1)));
    MPI_Bcast(out, 100000 * (i + 1), MPI_CHAR, i % size, comm);
    add(out, 100000 * (i + 1));
  }
  MPI_Allreduce(&number, &all, 1, MPI_INT, MPI_SUM, comm);
  add_number(all);
  fill(out, 1000 * size, rank);
  MPI_Alltoall(out, 1000, MPI_CHAR, in, 1000, MPI_CHAR, comm);
  add(in, 1000 * size);
  report("collectives");
}

static void one_sided(MPI_Comm comm) {
  int window_data[64], number = rank + 100, right = (rank + 1) % size, got = 0;
  MPI_Win window;
  memset(window_data, 0, sizeof window_data);
  MPI_Win_create(window_data, sizeof window_data, sizeof(int), MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&number, 1, MPI_INT, right, 3, 1, MPI_INT, window);
  MPI_Accumulate(&number, 1, MPI_INT, 0, 5, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Get(&got, 1, MPI_INT, right, 3, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  add_number(got);
  add(window_data, sizeof window_data);
  report("one-sided");
}

static void communicators(char* out, char* in) {
  MPI_Comm twin, half, between;
  int value = -1, other;
  MPI_Status status;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  wildcards(twin);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (size > 1) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 77, &between);
    other = rank / 2;
    MPI_Comm_remote_size(between, &value);
    if (other < value) MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &value, 1, MPI_INT, other, 1, between, &status);
    add_number(value);
    MPI_Comm_free(&between);
  }
  collectives(twin, out, in);
  MPI_Comm_free(&half);
  MPI_Comm_free(&twin);
}

static void to_oneself(char* out, char* in) {
  int i;
  MPI_Request requests[2];
  MPI_Status status;
  for (i = 0; i < 40; ++i) {
    int length = i * 5000;
    fill(out, length, i);
    if (i % 2 == 0) MPI_Irecv(in, length, MPI_CHAR, rank, i, MPI_COMM_WORLD, &requests[1]);
    if (i % 3 == 0) {
      MPI_Issend(out, length, MPI_CHAR, rank, i, MPI_COMM_WORLD, &requests[0]);
    } else {
      MPI_Isend(out, length, MPI_CHAR, rank, i, MPI_COMM_WORLD, &requests[0]);
    }
    if (i % 2 != 0) MPI_Irecv(in, length, MPI_CHAR, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    add_received(in, length, &status);
  }
  report("to oneself");
}

int main(int argc, char** argv) {
  char *out, *in, *buffer = (char*)malloc(MOST), *given;
  int length;
  setvbuf(stdout, NULL, _IOLBF, 0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Alloc_mem(MOST, MPI_INFO_NULL, &out);
  in = (char*)malloc(MOST);
  memset(out, 0, MOST);
  memset(in, 0, MOST);
  MPI_Buffer_attach(buffer, MOST);
  modes(MPI_COMM_WORLD, out, in);
  wildcards(MPI_COMM_WORLD);
  datatypes(MPI_COMM_WORLD, out, in);
  persistent(MPI_COMM_WORLD, out, in);
  truncation(MPI_COMM_WORLD, out, in);
  collectives(MPI_COMM_WORLD, out, in);
  communicators(out, in);
  one_sided(MPI_COMM_WORLD);
  to_oneself(out, in);
  MPI_Buffer_detach(&given, &length);
  MPI_Free_mem(out);
  free(in);
  free(buffer);
  MPI_Finalize();
  return 0;
}
