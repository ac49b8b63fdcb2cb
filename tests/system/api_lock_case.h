// What the tests of lock sharing have in common: the functions, and who makes progress.
#pragma once

#include <pthread.h>

#include <thread>

#include "tests/system/api_handler_case.h"

namespace api_case {

inline lapi_thread_func_t lock_sharing;

inline void get_lock_functions() {
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Util_type = LAPI_GET_THREAD_FUNC;
  CALL(LAPI_Util(handle, &command));
  lock_sharing = command.ThreadFunc;
}

#define DOES(call, wanted) RETURNS(api_case::lock_sharing.call, wanted)

inline bool is_mine(lapi_handle_t which) {
  pthread_t owner{};
  return lock_sharing.mutex_getowner(which, &owner) == 0 && pthread_equal(owner, pthread_self());
}

// For the duration of a block.
class Locked {
 public:
  Locked() { DOES(mutex_lock(handle), 0); }
  ~Locked() { DOES(mutex_unlock(handle), 0); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

inline timespec from_now(long milliseconds) {
  timespec moment{};
  clock_gettime(CLOCK_REALTIME, &moment);
  moment.tv_nsec += milliseconds % 1000 * 1000000;
  moment.tv_sec += milliseconds / 1000 + moment.tv_nsec / 1000000000;
  moment.tv_nsec %= 1000000000;
  return moment;
}

}  // namespace api_case
