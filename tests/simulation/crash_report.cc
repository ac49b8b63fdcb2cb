#include "tests/simulation/crash_report.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace openlapi::simulation {

namespace {

char report[512];

// Only what a signal handler may do.
void on_crash(int signal_number) {
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, report, std::strlen(report));
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace

void set_crash_report(const std::string& replay_command) {
  const std::string text = "\ncrashed\nreplay: " + replay_command + "\n";
  const std::size_t length = std::min(text.size(), sizeof(report) - 1);
  std::memcpy(report, text.data(), length);
  report[length] = '\0';
  for (const int signal_number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal_number, on_crash);
}

}  // namespace openlapi::simulation
