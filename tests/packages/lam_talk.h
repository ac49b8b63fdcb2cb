/* Two sides of an intercommunicator send each other messages, short and long ones, in both directions and through one
 * communicator of all. */
#ifndef OPENLAPI_LAM_TALK_H
#define OPENLAPI_LAM_TALK_H

#include <mpi.h>

#define LAM_TALK_LENGTH 300000

/* What this process has heard, as a number. */
static int talk(MPI_Comm between, int rank, int high) {
  static int data[LAM_TALK_LENGTH], got[LAM_TALK_LENGTH];
  int remote, i, sum = 0;
  MPI_Comm all;
  MPI_Status status;
  MPI_Request requests[16];
  MPI_Comm_remote_size(between, &remote);
  for (i = 0; i < LAM_TALK_LENGTH; ++i) data[i] = rank + i;
  for (i = 0; i < remote; ++i) {
    MPI_Isend(data, i % 2 == 0 ? LAM_TALK_LENGTH : 10, MPI_INT, i, 4, between, &requests[i]);
  }
  for (i = 0; i < remote; ++i) {
    int length;
    MPI_Recv(got, LAM_TALK_LENGTH, MPI_INT, MPI_ANY_SOURCE, 4, between, &status);
    MPI_Get_count(&status, MPI_INT, &length);
    sum += got[length - 1] - status.MPI_SOURCE;
  }
  MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE);
  MPI_Intercomm_merge(between, high, &all);
  MPI_Allreduce(&rank, &i, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  return sum * 100 + i;
}

#endif
