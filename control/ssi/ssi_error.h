// Mistakes are thrown inside the services of the System Services Interface. Where C code has called it they are caught,
// printed once, and returned as LAMERROR.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "control/boot/include/typical.h"

namespace openlapi::ssi {

// Its text says what was wrong, where, the value, and what is allowed.
class SsiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// `error` as errno gives it.
[[noreturn]] inline void fail(const std::string& what, int error) {
  throw SsiError(what + ": " + std::strerror(error));
}

// One line on standard error, behind the program's name. Thread safe.
void print_error(std::string_view text);

// For functions that C code calls: returns what `work` returns. If it throws, prints that and returns `failure`.
template <typename Result, typename Work>
Result catch_errors(Result failure, Work&& work) noexcept {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& error) {
    print_error(error.what());
    return failure;
  }
}

// A value as a message shows it: in quotes, printable, and not longer than a line.
std::string shown(std::string_view value);

// A malloc'ed copy, for C code that frees it.
char* c_copy(std::string_view text);

}  // namespace openlapi::ssi
