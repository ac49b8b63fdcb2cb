#include "shm/direct/private_thread.h"

#include <cerrno>

#include "dataplane/base/signals_off.h"

namespace openlapi::direct {

bool PrivateThread::start(const AddressRange& stack, const char* name, void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  void* const lowest = reinterpret_cast<void*>(static_cast<std::uintptr_t>(stack.begin));
  int error = pthread_attr_setstack(&attributes, lowest, stack.end - stack.begin);
  if (error == 0) {
    const SignalsOff off;
    error = pthread_create(&thread_, &attributes, body, argument);
  }
  pthread_attr_destroy(&attributes);
  runs_ = error == 0;
  if (runs_) pthread_setname_np(thread_, name);
  errno = error;
  return runs_;
}

void PrivateThread::join() {
  if (runs_) pthread_join(thread_, nullptr);
  runs_ = false;
}

}  // namespace openlapi::direct
