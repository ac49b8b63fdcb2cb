#include "control/job/pmix/thread_starts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>

#include "control/base/fork_failure.h"

namespace openlapi {
namespace {

enum class Cause : int { none, memory, other };

std::atomic<Cause> cause{Cause::none};
std::atomic<int> first_error{0};

// pthread_create says EAGAIN for a stack without room as well as for a limit of processes.
bool a_stack_has_room() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return true;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return memory_has_room(bytes);
}

void note_failure(int error) {
  int none = 0;
  if (!first_error.compare_exchange_strong(none, error)) return;
  cause = a_stack_has_room() ? Cause::other : Cause::memory;
}

}  // namespace

bool memory_has_room(std::size_t bytes) {
  void* room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}

bool stack_has_room(std::size_t bytes) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<std::size_t>(static_cast<char*>(__builtin_frame_address(0)) - static_cast<char*>(lowest)) >= bytes;
}

std::string thread_start_failure() {
  const int error = first_error;
  if (error == 0) return "";
  const std::string what = "a thread cannot be started: ";
  if (cause == Cause::memory) return what + "no room for its stack" + memory_limit();
  return what + fork_failure(error);
}

}  // namespace openlapi

// In the place of the C library's, for every library of this process.
extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                             void* (*run)(void*), void* argument) {
  static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const int error = create(thread, attributes, run, argument);
  if (error != 0) openlapi::note_failure(error);
  return error;
}
