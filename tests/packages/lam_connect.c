/* A program for LAM/MPI, started twice: what is `server` publishes a port under a name, and what is `client` looks for
 * it. For each letter of the last argument they then talk through an intercommunicator, and disconnect:
 *   c  of all processes, by MPI_Comm_accept and connect
 *   j  of the first processes, by MPI_Comm_join
 * Prints what process 0 has heard.
 *
 *     lam_connect server|client NAME LETTERS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/packages/lam_talk.h"

#define LOOKS 3000 /* for what the server does first */

static int is_server, rank;
static char port[MPI_MAX_PORT_NAME];

static void give_up(const char* what) {
  fprintf(stderr, "lam_connect: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void find_port(char* name) {
  int looks, found = 0;
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (looks = 0; looks < LOOKS && !found; ++looks) {
    found = MPI_Lookup_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS;
    if (!found) usleep(10000);
  }
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (!found) give_up("no server");
}

static MPI_Comm connected(MPI_Comm side) {
  MPI_Comm between;
  if (is_server) MPI_Comm_accept(port, MPI_INFO_NULL, 0, side, &between);
  if (!is_server) MPI_Comm_connect(port, MPI_INFO_NULL, 0, side, &between);
  return between;
}

static MPI_Comm joined(const char* path) {
  struct sockaddr_un address = {AF_UNIX, ""};
  int looks, end = socket(AF_UNIX, SOCK_STREAM, 0), listening = end;
  MPI_Comm between;
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (is_server) {
    if (bind(end, (struct sockaddr*)&address, sizeof address) != 0 || listen(end, 1) != 0) give_up("no socket");
    end = accept(listening, NULL, NULL);
    close(listening);
    unlink(path);
  } else {
    for (looks = 0; connect(end, (struct sockaddr*)&address, sizeof address) != 0; ++looks) {
      if (looks == LOOKS) give_up("no socket of the server");
      usleep(10000);
    }
  }
  MPI_Comm_join(end, &between);
  close(end);
  return between;
}

static int turn(char letter, const char* name) {
  MPI_Comm between;
  int heard;
  if (letter == 'j' && rank != 0) return 0;
  between = letter == 'j' ? joined(name) : connected(MPI_COMM_WORLD);
  heard = talk(between, rank, is_server);
  MPI_Comm_disconnect(&between);
  return heard;
}

int main(int argc, char** argv) {
  int n;
  MPI_Init(&argc, &argv);
  if (argc != 4) give_up("usage: lam_connect server|client NAME LETTERS");
  is_server = strcmp(argv[1], "server") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is_server && rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(argv[2], MPI_INFO_NULL, port);
  }
  if (!is_server && rank == 0) find_port(argv[2]);
  for (n = 0; argv[3][n] != 0; ++n) {
    int heard = turn(argv[3][n], argv[2]);
    if (rank == 0) printf("%c: %d\n", argv[3][n], heard);
  }
  if (is_server && rank == 0) {
    MPI_Unpublish_name(argv[2], MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Finalize();
  return 0;
}
