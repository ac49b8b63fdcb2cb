// lamtree: the helper of the tree algorithm, started by a boot module with the key of the boot on standard input. It
// goes on in the background, so that the agent that started it ends.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "control/base/installed_programs.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/helper_environment.h"

namespace {

using openlapi::boot::refuse_command_line;
using openlapi::boot::take_command_line;
using openlapi::boot::wants_help;

constexpr const char* kUsage =
    "usage: lamtree -H ADDRESS -P PORT -n NODE [-d] [-v] [-l] [-x] [-c SCHEMA] [-sessionprefix P] [-sessionsuffix S]\n"
    "               [-ssi NAME VALUE]...\n"
    "lamtree is started by boot modules (lam-ssi-boot(7)), with the key of the boot on standard input.\n";

constexpr int kHighestNode = 1 << 20;
constexpr int kHighestPort = 65535;

bool is_within(OPT* args, const char* option, int least, int most) {
  int number = 0;
  if (ao_intparam(args, option, 0, 0, &number) == 0 && number >= least && number <= most) return true;
  return refuse_command_line(std::string("option -") + option + " is " + ao_param(args, option, 0, 0) +
                             "; allowed: " + std::to_string(least) + " to " + std::to_string(most));
}

OPT* parse(int argc, char** argv) {
  OPT* args = ao_init();
  for (const char* option : {"h", "d", "v", "l", "x"}) ao_setopt(args, option, nullptr, 0, 0);
  for (const char* option : {"c", "sessionprefix", "sessionsuffix"}) ao_setopt(args, option, nullptr, 1, 0);
  ao_setopt(args, "H", nullptr, 1, AOMUST);
  for (const char* option : {"P", "n"}) ao_setopt(args, option, nullptr, 1, AOMUST | AOINT);
  ao_setopt(args, "ssi", nullptr, 2, 0);
  const bool well = take_command_line(args, argc, argv) && is_within(args, "P", 1, kHighestPort) &&
                    is_within(args, "n", 0, kHighestNode);
  return well ? args : nullptr;
}

// True in the process that goes on.
bool detach() {
  const pid_t child = fork();
  if (child != 0) return false;
  setsid();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (wants_help(argc, argv)) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  OPT* args = parse(argc, argv);
  if (args == nullptr) return std::fputs(kUsage, stderr) < 0 ? 1 : 2;
  openlapi::prefer_own_programs();
  if (lam_ssi_boot_base_read_key(STDIN_FILENO) != 0) return 1;
  return detach() && lam_ssi_boot_base_run_helper(args) != 0 ? 1 : 0;
}
