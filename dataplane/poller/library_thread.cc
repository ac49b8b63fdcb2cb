#include "dataplane/poller/library_thread.h"

#include <sched.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace openlapi {

namespace {

bool starts_detached(const pthread_attr_t* attributes) {
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
  return state == PTHREAD_CREATE_DETACHED;
}

// What fails leaves the thread as useful as it was.
void take_place(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  pthread_setaffinity_np(pthread_self(), sizeof only, &only);
}

// Whoever sees the name sees the thread in its place.
void prepare(const ThreadStart& how) {
  take_place(how.processor);
  if (how.name != nullptr) pthread_setname_np(pthread_self(), how.name);
}

}  // namespace

int LibraryThread::start(const ThreadStart& how, void (*main)(void*), void* argument) {
  how_ = how;
  main_ = main;
  argument_ = argument;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // What an instruction of the thread's own raises has nobody else to go to: blocked, it would end the process.
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, own);
  // The new thread inherits the mask of its creator, whose own mask is as before when this returns.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int result = pthread_create(&thread_, how.attributes, &LibraryThread::entry, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  joinable_ = result == 0 && !starts_detached(how.attributes);
  return result;
}

void* LibraryThread::entry(void* self) {
  auto& thread = *static_cast<LibraryThread*>(self);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);  // it belongs to nobody who could cancel it
  void (*main)(void*) = thread.main_;
  void* argument = thread.argument_;
  prepare(thread.how_);
  if (thread.how_.initialize != nullptr) thread.how_.initialize(thread.how_.argument);
  main(argument);  // `thread` may be gone when it returns
  return nullptr;
}

void LibraryThread::join(Nanoseconds at_most) {
  if (!joinable_) return;
  joinable_ = false;
  if (pthread_equal(thread_, pthread_self())) {
    pthread_detach(thread_);
    return;
  }
  // Not pthread_clockjoin_np: the thread sanitizer does not know it, and would take what the thread did for a race.
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  const Nanoseconds moment = static_cast<Nanoseconds>(until.tv_nsec) + at_most;
  until.tv_sec += static_cast<time_t>(moment / kSecond);
  until.tv_nsec = static_cast<long>(moment % kSecond);
  if (pthread_timedjoin_np(thread_, nullptr, &until) != 0) pthread_detach(thread_);
}

}  // namespace openlapi
