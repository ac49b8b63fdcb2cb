// wipe: ends the daemons on the hosts of a boot schema, also when lamhalt cannot.
#include <cstdio>
#include <stdexcept>

#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: wipe [options] [boot schema]\n"
    "  ends this user's daemons on the hosts of the boot schema, also those that lamhalt does not reach\n"
    "  -v  say of which hosts           -d  say everything\n"
    "  -ssi KEY VALUE                             parameter of the boot service\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

int run(BootOptions& options) {
  pass_session_on(options);
  prefer_own_programs();
  BootSequence boot(options);
  const bool all = boot.start(LAM_SSI_BOOT_PROC_WIPE);
  const std::vector<std::string> failed = boot.failed_hosts();
  for (const std::string& host : failed)
    std::fprintf(stderr, "wipe: %s: its daemon could not be ended\n", host.c_str());
  if (all && (options.has("v") || options.has("d"))) {
    for (const std::string& host : boot.hosts()) std::printf("%s: wiped\n", host.c_str());
  }
  return all ? 0 : kExitFailure;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdh");
  options.add_common();
  return openlapi::daemon::tool_main("wipe", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
