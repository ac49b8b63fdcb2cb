// tkill: ends this user's daemon on this machine, also one that does not answer, and removes what it leaves. Boot
// modules run it on each host for wipe, and with -N, which ends nothing, for recon.
#include <poll.h>

#include <cstdio>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <vector>

#include "control/base/process_handle.h"
#include "control/daemon/session/session_folder.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: tkill [options]\n"
    "  ends the daemon of this user on this machine, and tasks that outlive one, and removes its session's folder\n"
    "  -N  end nothing: only tell that this could be run    -v, -d  say what was ended\n"
    "  -universe WORD, -n NODE: only the daemon of this node of this universe, for a boot that has failed\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

// The folder itself, those of other daemons of this universe on the machine, the same with -nNUMBER behind, and those
// of tasks that went on when a daemon was lost, the same as its folder with -tPROCESS behind.
bool belongs_to(const std::string& name, const std::string& folder) {
  static const std::regex ending("(-n[0-9]+)?(-t[0-9]+)?");
  return name.starts_with(folder) && std::regex_match(name.substr(folder.size()), ending);
}

// The folder itself comes last: when it is a stranger's, tkill ends with the line about it.
std::vector<std::string> session_folders(const std::string& folder) {
  std::vector<std::string> folders;
  const std::filesystem::path path(folder);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == path.filename() || !belongs_to(name, path.filename().string())) continue;
    if (is_own_session(entry.path())) folders.push_back(entry.path().string());
  }
  folders.push_back(folder);
  return folders;
}

// Until it has ended, so that its folder is free.
void end_and_await(int process) {
  end_process(process);
  pollfd wait{process, POLLIN, 0};
  poll(&wait, 1, kMillisecondsToEnd);
}

// Without -universe: all that are this user's.
bool is_meant(const std::string& folder, const BootOptions& options) {
  if (!options.has("universe")) return true;
  const SessionOwner owner = session_owner(folder);
  return owner.universe == options.value("universe") && owner.node == options.value("n");
}

int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  if (options.has("universe") != options.has("n")) {
    throw std::invalid_argument("options -universe and -n go together: which node of which universe");
  }
  if (options.has("N")) return 0;
  for (const std::string& folder : session_folders(session_path(options.session_name()))) {
    const SessionProcess process = open_session_process(folder);
    // Asked after it was opened: what is said there is said by this process, or by one that has ended.
    if (!is_meant(folder, options)) continue;
    if (process.handle.is_open()) end_and_await(process.handle.get());
    remove_session(folder);
    if (process.handle.is_open() && (options.has("v") || options.has("d"))) {
      std::printf("tkill: process %d of %s has ended\n", static_cast<int>(process.number), folder.c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("Nvdh");
  options.add_values({"universe"});
  options.add_numbers({"n"});
  options.add_common();
  return openlapi::daemon::tool_main("tkill", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
