// The signals of the program are not for the library's threads and children, which inherit the mask of their creator.
#pragma once

#include <signal.h>

namespace openlapi {

// While it exists the calling thread takes no signals, nor does a thread or a child that is begun meanwhile.
class SignalsOff {
 public:
  SignalsOff() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsOff() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsOff(const SignalsOff&) = delete;
  SignalsOff& operator=(const SignalsOff&) = delete;

 private:
  sigset_t before_;
};

}  // namespace openlapi
