#include "api/arguments/refusal.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string_view>

#include "api/arguments/messages.h"
#include "api/include/lapi.h"
#include "api/wiring/info_level.h"

namespace openlapi {

namespace {

std::atomic<bool> told = false;
std::atomic<std::uint32_t> task = 0;

// A program that lives with a refusal, as one that tries a call in each of its handlers, is told of it so often.
constexpr unsigned kMostTold = 10;

struct ToldLine {
  std::size_t hash = 0;
  unsigned times = 0;
};
std::mutex lines_turn;
std::array<ToldLine, 256> lines;  // at the place that the hash names; a newer line takes it over

// This time included.
unsigned times_told(std::string_view line) {
  const std::size_t hash = std::hash<std::string_view>()(line);
  const std::lock_guard<std::mutex> turn(lines_turn);
  ToldLine& place = lines[hash % lines.size()];
  if (place.hash != hash) place = {hash, 0};
  if (place.times <= kMostTold) ++place.times;
  return place.times;
}

}  // namespace

void tell_refusals(int info_level, std::uint32_t own_task) {
  task.store(own_task, std::memory_order_relaxed);
  told.store(info_level >= kLevelWarning, std::memory_order_relaxed);
}

int refuse(int code, const char* format, ...) {
  if (!told.load(std::memory_order_relaxed)) return code;
  char line[240];
  int length = std::snprintf(line, sizeof line, "%s: ", error_name(code));
  va_list arguments;
  va_start(arguments, format);
  length += std::vsnprintf(line + length, sizeof line - static_cast<std::size_t>(length), format, arguments);
  va_end(arguments);
  const unsigned times = times_told({line, std::min(static_cast<std::size_t>(length), sizeof line - 1)});
  if (times > kMostTold) return code;
  std::fprintf(stderr, "openlapi: task %u: %s%s\n", task.load(std::memory_order_relaxed), line,
               times == kMostTold ? " (told 10 times; no more)" : "");
  return code;
}

int refuse_target(std::uint32_t target, std::uint32_t tasks) {
  return refuse(LAPI_ERR_TGT, "tgt is %u; the job's tasks are 0 to %u", target, tasks - 1);
}

int refuse_user_header(std::uint32_t length, std::uint32_t longest) {
  const int code = length > longest ? LAPI_ERR_UHDR_LEN : LAPI_ERR_HDR_LEN;
  return refuse(code, "uhdr_len is %u; allowed are multiples of 4 from 0 to %u (MAX_UHDR_SZ)", length, longest);
}

int refuse_handle(unsigned handle) {
  return refuse(LAPI_ERR_HNDL_INVALID, "hndl is %u; allowed is what LAPI_Init gave, until LAPI_Term", handle);
}

int refuse_in_handler(bool waits) {
  return waits ? refuse(EDEADLK, "it waits, and a handler of this thread runs; completion handlers but inline ones may")
               : refuse(EDEADLK, "it sends, and a header handler of this thread runs; its completion handler may");
}

int refuse_under_lock() {
  return refuse(EDEADLK, "a handler of this thread runs, or this thread holds the lock of a context");
}

int refuse_program(const void* handle) {
  return refuse(LAPI_ERR_DGSP, "the program's handle is %p; allowed is what LAPI_REGISTER_DGSP gave, until unreserved",
                handle);
}

int refuse_null(int code, const char* argument) { return refuse(code, "%s is NULL", argument); }

int refuse_length(const char* argument, std::uint64_t length, const void* data) {
  const auto bytes = static_cast<unsigned long long>(length);
  if (length > static_cast<std::uint64_t>(LAPI_MAX_MSG_SZ)) {
    return refuse(LAPI_ERR_DATA_LEN, "%s is %llu; allowed are 0 to %llu (LAPI_MAX_MSG_SZ)", argument, bytes,
                  static_cast<unsigned long long>(LAPI_MAX_MSG_SZ));
  }
  return refuse(LAPI_ERR_DATA_LEN, "%s is %llu; from %p on this task has less memory", argument, bytes, data);
}

}  // namespace openlapi
