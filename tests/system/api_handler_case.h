// What the tests of handlers share: what they saw, and one message from each task to its right neighbour.
#pragma once

#include <sys/syscall.h>

#include <atomic>

#include "tests/system/api_case.h"

namespace api_case {

enum Index { kFields = 1, kNull, kBury, kDrop, kBytes, kStyle, kForbidden, kReply, kAnswer, kBlocking, kHold };

struct HandlerWindow {
  lapi_cntr_t arrived{};
  lapi_cntr_t answered{};
  int word = 0;
};
inline HandlerWindow window;
inline std::vector<HandlerWindow*> windows;
inline unsigned char inbox[300000];

struct Seen {
  std::atomic<int> headers{0};
  std::atomic<int> completions{0};
  std::atomic<bool> right{true};
};
inline Seen seen;

inline long thread_number() { return syscall(SYS_gettid); }

inline void check(bool condition) {
  if (!condition) seen.right = false;
}

// Sends one message to the right neighbour and waits for the one from the left; all is complete behind it.
inline void exchange_message(Index index, const void* header, unsigned header_length, void* data, std::size_t length) {
  lapi_cntr_t done{};
  CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(index), const_cast<void*>(header), header_length, data,
                   length, &windows[right()]->arrived, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &window.arrived, 1, nullptr));
  EXPECT(seen.right);
  CALL(LAPI_Gfence(handle));
}

inline void start() {
  seen.headers = seen.completions = 0;
  seen.right = true;
  std::memset(inbox, 0, sizeof inbox);
  CALL(LAPI_Gfence(handle));
}

inline void count_completion(lapi_handle_t* which, void* info) {
  check(*which == handle);
  check(info == &seen);
  ++seen.completions;
}

struct Registration {
  Index index;
  hdr_hndlr_t* handler;
};

inline void register_all(const std::vector<Registration>& all) {
  for (const Registration& entry : all) {
    CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(entry.handler), entry.index));
  }
}

}  // namespace api_case
