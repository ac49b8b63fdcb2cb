#include "api/refusal.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "api/lapi.h"
#include "api/messages.h"

namespace openlapi {

namespace {

std::atomic<bool> told = false;
std::atomic<std::uint32_t> task = 0;

}  // namespace

void tell_refusals(int info_level, std::uint32_t own_task) {
  task.store(own_task, std::memory_order_relaxed);
  told.store(info_level >= kLevelWarning, std::memory_order_relaxed);
}

int refuse(int code, const char* format, ...) {
  if (!told.load(std::memory_order_relaxed)) return code;
  char detail[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "openlapi: task %u: %s: %s\n", task.load(std::memory_order_relaxed), error_name(code), detail);
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
