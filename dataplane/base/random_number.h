// Numbers that nobody can foresee, from the kernel.
#pragma once

#include <sys/random.h>

namespace openlapi {

// Never blocks once the machine has booted; a signal may interrupt it before.
template <typename Number>
Number random_number() {
  Number number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

}  // namespace openlapi
