// recon: tells whether a universe could be booted on the hosts of a boot schema.
#include <cstdio>
#include <stdexcept>

#include "control/base/installed_programs.h"
#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: recon [options] [boot schema]\n"
    "  tells whether a universe could be booted on the hosts of the boot schema; boots nothing\n"
    "  -v  say of which hosts           -d  say everything           -a, -c CONF  accepted for LAM\n"
    "  -b  the shell there is the one here     -nn  no -n for the remote shell     -np  never read .profile there\n"
    "  -ssi KEY VALUE                             parameter of the boot service\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

int run(BootOptions& options) {
  options.check_words(0, 1, "boot schema");
  pass_session_on(options);
  pass_remote_shell_on(options);
  prefer_own_programs();
  BootSequence boot(options);
  const bool all = boot.start(LAM_SSI_BOOT_PROC_RECON);
  boot.name_failed("recon", "tkill cannot be run there");
  if (all && (options.has("v") || options.has("d"))) boot.name_all("can be booted");
  return all ? 0 : kExitFailure;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdhab");
  options.add_words({"nn", "np"});
  options.add_values({"c"});
  options.add_common();
  return openlapi::daemon::tool_main("recon", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
