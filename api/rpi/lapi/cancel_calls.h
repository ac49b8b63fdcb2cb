// Whether the program may call MPI_Cancel. LAM cancels a receive without telling its module, so one that may be
// cancelled meets its message only inside a call of the module.
#pragma once

namespace openlapi::rpi {

class CancelCalls {
 public:
  // Whether the program, or a library that it has loaded so far, refers to MPI_Cancel by any of its names, those of
  // Fortran and C++ and the profiling ones among them. Looks through what was loaded since the last call.
  bool may_come();

 private:
  unsigned long long loads_ = 0;  // of libraries, when it looked last
  bool found_ = false;            // for good
};

}  // namespace openlapi::rpi
