// A thread of the library's own. It blocks all signals but those of its own faults, so that the program's handlers run
// in the program's threads. It has its creator's processors or one of them; the creator keeps its own.
#pragma once

#include <pthread.h>

#include "dataplane/base/clock.h"

namespace openlapi {

// What the program wants of the library's threads. Null: nothing special.
struct ThreadStart {
  const pthread_attr_t* attributes = nullptr;  // read while the thread is created
  void (*initialize)(void*) = nullptr;         // called by the thread before it begins its work
  void* argument = nullptr;
  const char* name = nullptr;  // as tools show it, at most 15 characters
  int processor = -1;          // the only one that the thread runs on; -1: all that its creator may use
};

class LibraryThread {
 public:
  LibraryThread() = default;
  LibraryThread(const LibraryThread&) = delete;
  LibraryThread& operator=(const LibraryThread&) = delete;

  // Runs main(argument) in a new thread. An errno value when it cannot be made.
  int start(const ThreadStart& how, void (*main)(void*), void* argument);

  // Waits for its end, at most so long, then lets it go. The thread itself is let go at once: nobody joins itself.
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
