#include "control/tools/boot_descendants.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/base/deadline.h"
#include "control/base/file_text.h"
#include "control/base/process_handle.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// One that goes on ends by itself, as its boot is over; then it is asked to, then it has to.
constexpr std::chrono::milliseconds kOwnTime{1000}, kAskedTime{2000}, kKilledTime{1000};
constexpr int kMostGenerations = 16;
constexpr std::string_view kPrograms[] = {"hboot", "lamd", "lamtree"};
constexpr char kUniverseVariable[] = "LAM_MPI_SSI_boot_base_universe";

std::string text_of(pid_t process, const char* file) {
  return file_text("/proc/" + std::to_string(process) + "/" + file);
}

// Agents have the word as well, and so has what they leave in the background for others: the master connection of ssh,
// a tunnel.
bool is_of_boot(pid_t process, const std::string& name) {
  if (std::ranges::find(kPrograms, name) == std::end(kPrograms)) return false;
  const char* universe = std::getenv(kUniverseVariable);
  const auto has_word = [&](const char* file) { return text_of(process, file).find(universe) != std::string::npos; };
  return universe != nullptr && *universe != 0 && (has_word("cmdline") || has_word("environ"));
}

bool is_living_child_of_boot(pid_t process) {
  const std::string stat = text_of(process, "stat");
  const std::size_t name = stat.find('('), name_end = stat.rfind(") ");
  if (name_end == std::string::npos || stat[name_end + 2] == 'Z') return false;
  const std::string parent = std::to_string(getpid()) + " ";
  return stat.compare(name_end + 4, parent.size(), parent) == 0 &&
         is_of_boot(process, stat.substr(name + 1, name_end - name - 1));
}

std::set<pid_t> living_children() {
  std::set<pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    const auto process = whole_number<pid_t>(name);
    if (process && is_living_child_of_boot(*process)) children.insert(*process);
  }
  return children;
}

// Leaves those in `processes` that have not ended by then.
void await(std::vector<FileDescriptor>& processes, Clock::time_point until) {
  std::erase_if(processes, [&](const FileDescriptor& process) {
    pollfd watched{process.get(), POLLIN, 0};
    return poll(&watched, 1, milliseconds_until(until)) == 1;
  });
}

}  // namespace

BootDescendants::BootDescendants() : others_(living_children()) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

BootDescendants::~BootDescendants() {
  // Those of the ones that have ended are children now.
  for (int generation = 0; !stay_ && generation < kMostGenerations && end_children(); ++generation) {
  }
}

// False: there were none.
bool BootDescendants::end_children() const {
  std::vector<FileDescriptor> processes;
  for (const pid_t process : living_children()) {
    if (others_.contains(process)) continue;
    FileDescriptor handle = process_handle(process);
    // Where children are reaped by the kernel the number may have become another's.
    if (is_living_child_of_boot(process)) processes.push_back(std::move(handle));
  }
  if (processes.empty()) return false;
  for (const auto& [number, time] :
       {std::pair{SIGCONT, kOwnTime}, std::pair{SIGTERM, kAskedTime}, std::pair{SIGKILL, kKilledTime}}) {
    for (const FileDescriptor& process : processes) send_signal(process.get(), number);
    await(processes, Clock::now() + time);
  }
  return true;
}

}  // namespace openlapi::daemon
