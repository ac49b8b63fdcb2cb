/* A program for LAM/MPI: threads that get and free memory. LAM's malloc() shows an arena that it makes to the process's
 * other threads before it makes the arena's lock, and pthread_mutex_init() then frees a lock that one of them may have:
 * two are in that arena, which ends the process sooner or later. Here that function waits until somebody has taken the
 * lock, and leaves it alone. Prints whether there were arenas, and whether the first lock was taken before it was made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 6, kPlaces = 50, kTurns = 5000, kMostTurns = 5000000, kPatience = 5000, kBehindHeap = 32 };
enum { kHeap = 1 << 20, kInArena = 4 /* in the word before memory */ };
typedef int make_lock(pthread_mutex_t*, const pthread_mutexattr_t*);
typedef int take_lock(pthread_mutex_t*);
static make_lock* really_make;
static take_lock* really_take;
static pthread_mutex_t* volatile made;
static volatile int looks, arenas, taken;

static int is_first(void) {
  static int others;
  return __atomic_exchange_n(&others, 1, __ATOMIC_SEQ_CST) == 0;
}

/* Of the first arena that is made: others may be made at the same time. */
int pthread_mutex_init(pthread_mutex_t* lock, const pthread_mutexattr_t* attributes) {
  int turn;
  if (looks && (uintptr_t)lock % kHeap == kBehindHeap && is_first()) {
    made = lock;
    for (turn = 0; turn < kPatience && !taken; ++turn) sched_yield();
    made = NULL;
    return 0;
  }
  if (really_make == NULL) really_make = (make_lock*)dlsym(RTLD_NEXT, "pthread_mutex_init");
  return really_make(lock, attributes);
}

int pthread_mutex_trylock(pthread_mutex_t* lock) {
  int error;
  if (really_take == NULL) really_take = (take_lock*)dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  error = really_take(lock);
  if (error == 0 && lock == made) taken = 1;
  return error;
}

static void* use_memory(void* argument) {
  unsigned number = *(unsigned*)argument, turn;
  size_t* places[kPlaces] = {NULL};
  for (turn = 0; turn < kTurns || (!arenas && turn < kMostTurns); ++turn) {
    unsigned place;
    number = number * 1103515245u + 12345u;
    place = (number >> 8) % kPlaces;
    free(places[place]);
    places[place] = (size_t*)malloc((number >> 20) % 3000);
    if (places[place][-1] & kInArena) arenas = 1;
  }
  for (turn = 0; turn < kPlaces; ++turn) free(places[turn]);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  unsigned numbers[kThreads], i;
  MPI_Init(&argc, &argv);
  looks = 1;
  for (i = 0; i < kThreads; ++i) {
    numbers[i] = i + 1;
    pthread_create(&threads[i], NULL, use_memory, &numbers[i]);
  }
  for (i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("arenas %d, taken before it was made %d\n", arenas, taken);
  MPI_Finalize();
  return 0;
}
