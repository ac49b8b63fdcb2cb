// What the user asked lapirun for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openlapi {

// Which program this is: lapirun starts jobs of tasks; lamexec programs of a universe that have nothing to do with each
// other.
enum class Launcher { kLapirun, kLamexec };
inline constexpr const char* program_name(Launcher launcher) {
  return launcher == Launcher::kLamexec ? "lamexec" : "lapirun";
}

enum class Binding { kCore, kNone };

enum class UseUniverse { kIfBooted, kYes, kNo };

// Where in a universe the tasks are to run.
struct JobPlacement {
  std::uint32_t tasks = 0;           // -n; 0: not given
  std::uint32_t per_node = 0;        // -N; 0: not given
  std::vector<std::string> words{};  // n0-3, c0-7, N, C, h, o
  std::vector<std::string> hosts{};
  bool names_places() const { return !words.empty() || !hosts.empty(); }
};

struct JobOptions {
  Launcher launcher = Launcher::kLapirun;
  bool list_jobs = false;  // nothing is to be run
  UseUniverse universe = UseUniverse::kIfBooted;
  JobPlacement placement{};
  std::string session_prefix{};
  std::string session_suffix{};
  std::uint32_t tasks = 1;
  Binding binding = Binding::kCore;
  bool report_bindings = false;
  bool tag_output = false;
  bool verbose = false;
  bool standalone = false;               // tasks get the guide's standalone environment instead of PMIx
  std::vector<std::string> variables{};  // -x: NAME or NAME=value
  std::string working_directory{};       // empty: where lapirun was started
  bool in_program_folder = false;        // -D: where the program lies
  bool wait = true;                      // -nw: lapirun goes to the background
  std::vector<std::string> notices{};    // what of the command line has no effect here
  std::optional<std::chrono::milliseconds> timeout{};
  bool outlive_daemons = false;        // tasks go on when the daemon of their node is lost
  std::vector<std::string> command{};  // program and arguments, never empty
};

// Exit statuses of lapirun itself, as shells and timeout(1) use them.
inline constexpr int kExitOwnFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalBase = 128;

}  // namespace openlapi
