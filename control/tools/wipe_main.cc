// wipe, and lamwipe, as LAM calls it now: ends the daemons on the hosts of a boot schema, also when lamhalt cannot.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "control/base/installed_programs.h"
#include "control/daemon/universe/universe_table.h"
#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: " OPENLAPI_TOOL
    " [options] [boot schema]\n"
    "  ends this user's daemons on the hosts of the boot schema, also those that lamhalt does not reach\n"
    "  -v  say of which hosts           -d  say everything\n"
    "  -n COUNT, -w COUNT       only of its first so many nodes\n"
    "  -prefix FOLDER           where openlapi is installed on hosts whose line does not say it\n"
    "  -withlamprefixpath FOLDER  accepted for LAM\n"
    "  -b  the shell there is the one here     -nn  no -n for the remote shell     -np  never read .profile there\n"
    "  -V  print the version and end     -H  no headline: there is none\n"
    "  -ssi KEY VALUE           parameter of the boot service\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

int run(BootOptions& options) {
  if (options.has("V")) {
    std::puts("openlapi " OPENLAPI_VERSION);
    return 0;
  }
  options.check_words(0, 1, "boot schema");
  for (const char* count : {"n", "w"}) options.check_number(count, 1, static_cast<int>(kMostNodes));
  unsetenv("LAM_MPI_SSI_boot_base_universe");  // all that runs ends, not only what one boot has started
  pass_session_on(options);
  pass_remote_shell_on(options);
  prefer_own_programs();
  BootSequence boot(options);
  int most = boot.count();
  for (const char* count : {"w", "n"}) ao_intparam(options.get(), count, 0, 0, &most);
  boot.keep_first(most);
  const bool all = boot.start(LAM_SSI_BOOT_PROC_WIPE);
  boot.name_failed(OPENLAPI_TOOL, "its daemon could not be ended");
  if (all && (options.has("v") || options.has("d"))) boot.name_all("wiped");
  return all ? 0 : kExitFailure;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdhHVb");
  options.add_words({"nn", "np"});
  options.add_numbers({"n", "w"});
  options.add_values({"prefix", "withlamprefixpath"});
  options.add_common();
  return openlapi::daemon::tool_main(OPENLAPI_TOOL, openlapi::daemon::kUsage, options, count, words,
                                     openlapi::daemon::run);
}
