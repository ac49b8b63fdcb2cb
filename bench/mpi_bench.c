/* What MPI costs two processes of LAM, which bench/mpi_compare starts. Takes measures in turns; process 0 says of each
 * the median time, in nanoseconds of one half round trip, message or transfer.
 *   mpi_bench MEASURE NUMBER [MEASURE NUMBER ...]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
  kMostBytes = 8 << 20,
  kMostMessages = 100000,
  kSmallBytes = 4096,
  kSmallTurns = 1000, /* of a small message there and back, at a time */
  kTurns = 20,        /* of a larger one */
  kWindows = 100,
  kMostMeasures = 8,
  kMostTimes = 30
};
static const double kComputing = 10e6; /* nanoseconds */

static int rank;
static long loops_of_computing;
static _Alignas(4096) char memory[kMostBytes];
static char small[8];
static MPI_Request requests[kMostMessages];

static void give_up(const char* what) {
  fprintf(stderr, "mpi_bench: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Before MPI_Init, as a launcher does it: what the module starts is bound with it. */
static void bind_to_core(void) {
  const char* own = getenv("LAMRANK");
  cpu_set_t allowed, one;
  if (own == NULL || sched_getaffinity(0, sizeof allowed, &allowed) != 0) give_up("this is no process of LAM's mpirun");
  if (CPU_COUNT(&allowed) < 2) give_up("each of the two processes needs a core of its own");
  int core = 0;
  for (int before = atoi(own); !CPU_ISSET(core, &allowed) || before-- > 0; ++core) {
    if (core == CPU_SETSIZE - 1) give_up("two processes are needed");
  }
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) give_up("the process cannot be bound to a core");
}

static void send(const void* data, long bytes, int tag) {
  MPI_Send((void*)data, (int)bytes, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD);
}

static void receive(void* data, long bytes, int tag) {
  MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static long turns_of(long bytes) { return bytes <= kSmallBytes ? kSmallTurns : kTurns; }

/* What has arrived goes back. */
static double half_round_trip(long bytes) {
  const long turns = turns_of(bytes);
  const double begin = now();
  for (long turn = 0; turn < turns; ++turn) {
    if (rank == 0) send(memory, bytes, 0);
    receive(memory, bytes, 0);
    if (rank == 1) send(memory, bytes, 0);
  }
  return rank == 0 ? (now() - begin) / (double)(2 * turns) : 0;
}

struct Neighbour {
  pid_t process;
  int descriptor;
  void* memory;
};
static struct Neighbour neighbour;
struct Flag {
  _Alignas(128) atomic_long sent;
};
static struct Flag* flags; /* by process */
static long told;

static void meet_neighbour(void) {
  if (flags != NULL) return;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  struct Neighbour self = {getpid(), memfd_create("mpi_bench", 0), memory};
  if (self.descriptor < 0 || ftruncate(self.descriptor, 2 * sizeof *flags) != 0) give_up("no shared memory for flags");
  MPI_Sendrecv(&self, sizeof self, MPI_BYTE, 1 - rank, 0, &neighbour, sizeof neighbour, MPI_BYTE, 1 - rank, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)neighbour.process, neighbour.descriptor);
  const int file = rank == 0 ? self.descriptor : open(path, O_RDWR);
  void* const shared = mmap(NULL, 2 * sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) give_up("the other process's flags cannot be mapped");
  flags = shared;
}

static void tell_by_flag(long turn) { atomic_store_explicit(&flags[rank].sent, turn, memory_order_release); }

static void await_flag(long turn) {
  while (atomic_load_explicit(&flags[1 - rank].sent, memory_order_acquire) < turn) continue;
}

static void copy_when_sent(long bytes, long turn) {
  await_flag(turn);
  const struct iovec here = {memory, (size_t)bytes}, there = {neighbour.memory, (size_t)bytes};
  if (process_vm_readv(neighbour.process, &here, 1, &there, 1, 0) != bytes) give_up("process_vm_readv() fails");
}

/* Nothing but the flags: how far apart the cores of these processes are now. */
static double bare_flag(long turns) {
  meet_neighbour();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  for (long turn = 0; turn < turns; ++turn) {
    ++told;
    if (rank == 0) tell_by_flag(told);
    await_flag(told);
    if (rank == 1) tell_by_flag(told);
  }
  return rank == 0 ? (now() - begin) / (double)(2 * turns) : 0;
}

/* The same without MPI: both say by a flag that there is something, and the other one copies it. */
static double bare_copy(long bytes) {
  meet_neighbour();
  const long turns = turns_of(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  for (long turn = 0; turn < turns; ++turn) {
    ++told;
    if (rank == 0) tell_by_flag(told);
    copy_when_sent(bytes, told);
    if (rank == 1) tell_by_flag(told);
  }
  return rank == 0 ? (now() - begin) / (double)(2 * turns) : 0;
}

/* Of a window of messages at a time, each answered by one. */
static double rate(long window) {
  const double begin = now();
  for (int turn = 0; turn < kWindows; ++turn) {
    for (long each = 0; each < window; ++each) {
      if (rank == 0) MPI_Isend(memory + 8 * each, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[each]);
      if (rank == 1) MPI_Irecv(memory + 8 * each, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[each]);
    }
    MPI_Waitall((int)window, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) receive(NULL, 0, 1);
    if (rank == 1) send(NULL, 0, 1);
  }
  return rank == 0 ? (now() - begin) / (double)(kWindows * window) : 0;
}

/* The last one that came is received first. */
static double unexpected(long messages) {
  if (rank == 1) {
    for (long tag = 1; tag <= messages; ++tag) send(small, sizeof small, (int)tag);
    send(NULL, 0, 0);
    return 0;
  }
  receive(NULL, 0, 0); /* all the others have come before it */
  const double begin = now();
  for (long tag = messages; tag >= 1; --tag) receive(small, sizeof small, (int)tag);
  return (now() - begin) / (double)messages;
}

/* What was posted last comes first. */
static double posted(long messages) {
  for (long tag = 1; rank == 0 && tag <= messages; ++tag) {
    MPI_Irecv(memory + 8 * tag, 8, MPI_BYTE, 1, (int)tag, MPI_COMM_WORLD, &requests[tag - 1]);
  }
  const double begin = now();
  MPI_Barrier(MPI_COMM_WORLD);
  for (long tag = messages; rank == 1 && tag >= 1; --tag) send(small, sizeof small, (int)tag);
  if (rank == 1) return 0;
  MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
  return (now() - begin) / (double)messages;
}

static void compute(long loops) {
  for (volatile long each = 0; each < loops; ++each) continue;
}

/* Work and not time: whoever takes the core away meanwhile makes it longer. */
static void measure_computing(void) {
  const long loops = 1000000;
  double fastest = 1e12;
  for (int turn = 0; turn < 10; ++turn) {
    const double begin = now();
    compute(loops);
    const double taken = now() - begin;
    if (taken < fastest) fastest = taken;
  }
  loops_of_computing = (long)((double)loops * kComputing / fastest);
}

/* The receive is there before the send, and process 0 leaves the barrier first: it computes already when the message is
 * announced, so none of its calls before MPI_Wait can have moved it. */
static MPI_Request begin_transfer(long bytes) {
  MPI_Request request;
  if (rank == 0) MPI_Irecv(memory, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Isend(memory, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  return request;
}

static double waited(MPI_Request request) {
  const double begin = now();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return now() - begin;
}

static double transfer(long bytes) {
  const double begin = now();
  waited(begin_transfer(bytes));
  return now() - begin;
}

/* In MPI_Wait, after both have computed. */
static double wait_after_computing(long bytes) {
  MPI_Request request = begin_transfer(bytes);
  compute(loops_of_computing);
  return waited(request);
}

/* All of it. */
static double transfer_and_computing(long bytes) {
  const double begin = now();
  wait_after_computing(bytes);
  return now() - begin;
}

static double computing_alone(long bytes) {
  (void)bytes;
  const double begin = now();
  compute(loops_of_computing);
  return now() - begin;
}

static const struct Measure {
  const char* name;
  double (*take)(long); /* the longer one of both processes counts */
  long most;
  int times;
} kMeasures[] = {{"half_round_trip", half_round_trip, kMostBytes, 30},
                 {"bare_copy", bare_copy, kMostBytes, 30},
                 {"bare_flag", bare_flag, kMostMessages, 30},
                 {"rate", rate, 1024, 30},
                 {"unexpected", unexpected, kMostMessages, 3},
                 {"posted", posted, kMostMessages, 3},
                 {"transfer", transfer, kMostBytes, 15},
                 {"wait_after_computing", wait_after_computing, kMostBytes, 15},
                 {"transfer_and_computing", transfer_and_computing, kMostBytes, 15},
                 {"computing_alone", computing_alone, kMostBytes, 15}};
enum { kKnown = sizeof kMeasures / sizeof kMeasures[0] };

struct Asked {
  const struct Measure* measure;
  long number;
  int times;
  double taken[kMostTimes];
};
static struct Asked asked[kMostMeasures];

static void refuse(const char* measure, const char* number) {
  fprintf(stderr, "mpi_bench: %s %s is not allowed. Allowed are, 1 to %d of them:\n", measure, number, kMostMeasures);
  for (int each = 0; each < kKnown; ++each) {
    fprintf(stderr, "  %s 1 to %ld\n", kMeasures[each].name, kMeasures[each].most);
  }
  exit(2);
}

static int parse(int count, char** words) {
  int measures = 0;
  for (int word = 1; word < count; word += 2, ++measures) {
    const char* const number = word + 1 < count ? words[word + 1] : "without a number";
    char* end;
    if (measures == kMostMeasures) refuse(words[word], number);
    struct Asked* one = &asked[measures];
    for (int each = 0; each < kKnown; ++each) {
      if (strcmp(words[word], kMeasures[each].name) == 0) one->measure = &kMeasures[each];
    }
    one->number = strtol(number, &end, 10);
    if (one->measure == NULL || *end != '\0' || one->number < 1 || one->number > one->measure->most) {
      refuse(words[word], number);
    }
  }
  if (measures == 0) refuse("no measure", "at all");
  return measures;
}

/* The first time makes what is made on first use, and does not count. */
static void take(struct Asked* one, int turn) {
  if (turn > one->measure->times) return;
  MPI_Barrier(MPI_COMM_WORLD);
  double own = one->measure->take(one->number), longer;
  MPI_Reduce(&own, &longer, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (turn > 0) one->taken[one->times++] = longer;
}

static int order(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

int main(int count, char** words) {
  const int measures = parse(count, words);
  int size;
  bind_to_core();
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) give_up("two processes are needed");
  measure_computing();
  for (int turn = 0; turn <= kMostTimes; ++turn) {
    for (int each = 0; each < measures; ++each) take(&asked[each], turn);
  }
  for (int each = 0; rank == 0 && each < measures; ++each) {
    struct Asked* one = &asked[each];
    qsort(one->taken, (size_t)one->times, sizeof one->taken[0], order);
    printf("%s %ld %.1f\n", one->measure->name, one->number, one->taken[one->times / 2]);
  }
  MPI_Finalize();
  return 0;
}
