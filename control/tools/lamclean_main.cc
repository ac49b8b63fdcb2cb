// lamclean: ends all jobs of the universe and frees what they left with its daemons, which go on.
#include <cstdio>
#include <stdexcept>

#include "control/daemon/session/tool_client.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamclean [options]\n"
    "  ends all jobs of the universe, on all its nodes, and unloads the network tables that no task uses; the daemons\n"
    "  go on\n"
    "  -v, -d  say what was done\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr std::chrono::seconds kAnswerTime{60};

int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  ToolClient daemon(session_path(options.session_name()));
  daemon.check_alive();
  daemon.ask(UniverseRequest{1}, kAnswerTime);  // waits until all daemons are linked
  const auto cleaned = daemon.ask_for<TablesMessage>(CleanRequest{}, kAnswerTime);
  if (!cleaned.failure.empty()) throw std::runtime_error("not all could be cleaned: " + cleaned.failure);
  if (options.has("v") || options.has("d")) std::puts("no job runs in the universe any more");
  return 0;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdh");
  options.add_common();
  return openlapi::daemon::tool_main("lamclean", openlapi::daemon::kUsage, options, count, words,
                                     openlapi::daemon::run);
}
