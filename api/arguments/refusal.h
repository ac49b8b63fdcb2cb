// What a return code cannot say: which argument a call was refused for, its value, and what is allowed. Printed at
// MP_INFOLEVEL=1 and above: one line on standard error, the same line at most ten times. Not for hot paths; safe in any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi {

// For this process, by the last LAPI_Init.
void tell_refusals(int info_level, std::uint32_t own_task);

// Answers `code`. `format` and what follows name the argument and its value, and say what is allowed:
//   openlapi: task 0: LAPI_ERR_TGT: tgt is 9; the job's tasks are 0 to 3
int refuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3), cold, noinline));

// Refusals that several calls have in common.
int refuse_target(std::uint32_t target, std::uint32_t tasks);
int refuse_user_header(std::uint32_t length, std::uint32_t longest);  // too long, or no multiple of 4
int refuse_null(int code, const char* argument);                      // `argument` is NULL
int refuse_handle(unsigned handle) __attribute__((cold, noinline));   // LAPI_ERR_HNDL_INVALID
int refuse_in_handler(bool waits) __attribute__((cold, noinline));    // EDEADLK; false: the call sends
int refuse_under_lock();                                              // EDEADLK of LAPI_Init and LAPI_Term
int refuse_program(const void* handle);                               // LAPI_ERR_DGSP: registered is none with it
int refuse_length(const char* argument, std::uint64_t length, const void* data);

}  // namespace openlapi
