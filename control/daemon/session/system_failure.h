// What daemons and tools throw when the system refuses something.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace openlapi::daemon {

// "WHAT: REASON", as errno tells it.
[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace openlapi::daemon
