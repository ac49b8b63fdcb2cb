// A thread that the library creates. It blocks all signals except those of its own faults, so that the program's signal
// handlers run in the program's threads. It may run on its creator's processors or on one of them; the creator's own
// affinity does not change.
#pragma once

#include <pthread.h>

#include "dataplane/base/clock.h"

namespace openlapi {

// What the program wants for the library's threads. Null: nothing special.
struct ThreadStart {
  const pthread_attr_t* attributes = nullptr;  // read while the thread is created
  void (*initialize)(void*) = nullptr;         // called by the thread before it begins its work
  void* argument = nullptr;
  const char* name = nullptr;  // as tools show it, at most 15 characters
  int processor = -1;          // the only one that it may run on; -1: all that its creator may use
};

class LibraryThread {
 public:
  LibraryThread() = default;
  LibraryThread(const LibraryThread&) = delete;
  LibraryThread& operator=(const LibraryThread&) = delete;

  // Runs main(argument) in a new thread. Returns 0 or an errno value.
  int start(const ThreadStart& how, void (*main)(void*), void* argument);

  // Waits for the thread to end, at most `at_most`, and then detaches it. Called by the thread itself it detaches at
  // once.
  void join(Nanoseconds at_most);

 private:
  static void* entry(void* self);

  ThreadStart how_;
  void (*main_)(void*) = nullptr;
  void* argument_ = nullptr;
  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace openlapi
