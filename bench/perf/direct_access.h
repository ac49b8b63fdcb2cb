// Whether the operations that lapi_perf measures can reach memory directly (OPENLAPI_DIRECT).
#pragma once

#include <string>

namespace openlapi::bench {

// Whether the environment asks for it.
bool asks_for_direct_access();

// Before the first context is there: why memory that is allocated cannot be reached directly. Empty: it can.
std::string why_not_directly();

// While it exists, a context that is opened reaches nothing directly.
class MessagesOnly {
 public:
  MessagesOnly();
  ~MessagesOnly();
  MessagesOnly(const MessagesOnly&) = delete;
  MessagesOnly& operator=(const MessagesOnly&) = delete;

 private:
  const std::string before_;
};

}  // namespace openlapi::bench
