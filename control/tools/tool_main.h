// What main() does in all tools: a mistake is one line behind the tool's name, and the exit status.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "control/base/standard_descriptors.h"
#include "control/daemon/service/boot_options.h"

namespace openlapi::daemon {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// "0.2.0"
const char* tool_version();

// `run` gets the parsed options and returns the exit status; std::invalid_argument is a mistake in the command line.
template <typename Run>
int tool_main(const char* name, const char* usage, BootOptions& options, int count, char** words, Run&& run) {
  open_standard_descriptors();
  for (int word = 1; word < count; ++word) {
    if (std::strcmp(words[word], "--help") == 0) return std::fputs(usage, stdout) < 0 ? kExitFailure : 0;
    if (std::strcmp(words[word], "--version") == 0) {
      return std::printf("%s (openlapi) %s\n", name, tool_version()) < 0 ? kExitFailure : 0;
    }
  }
  try {
    if (!options.parse(count, words)) {
      std::fprintf(stderr, "%s: %s -h lists the options\n", name, name);
      return kExitUsage;
    }
    if (options.has("h")) {
      std::fputs(usage, stdout);
      return 0;
    }
    return run(options);
  } catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "%s: %s; %s -h lists the options\n", name, wrong.what(), name);
    return kExitUsage;
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s: %s\n", name, wrong.what());
    return kExitFailure;
  }
}

}  // namespace openlapi::daemon
