// lamtree: the helper of the tree algorithm, started by a boot module with the key of the boot on standard input. It
// goes on in the background, so that the agent that started it ends.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "api/lam-ssi-boot.h"
#include "control/boot/helper_environment.h"

namespace {

using openlapi::boot::add_own_folder;
using openlapi::boot::set_parameters;

OPT* parse(int argc, char** argv) {
  OPT* args = ao_init();
  ao_setflags(args, AOPRESERVE_ARGV);
  for (const char* option : {"d", "v", "l", "x"}) ao_setopt(args, option, nullptr, 0, 0);
  for (const char* option : {"c", "H", "P", "n", "sessionprefix", "sessionsuffix"}) {
    ao_setopt(args, option, nullptr, 1, 0);
  }
  ao_setopt(args, "ssi", nullptr, 2, 0);
  return ao_parse(args, &argc, argv) == 0 ? args : nullptr;
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
  OPT* args = parse(argc, argv);
  if (args == nullptr || ao_taken(args, "H") == 0) {
    std::fputs("lamtree is started by boot modules (lam-ssi-boot(7)), with the key of the boot on standard input\n",
               stderr);
    return 2;
  }
  set_parameters(args);
  add_own_folder(argv[0]);
  if (lam_ssi_boot_base_read_key(STDIN_FILENO) != 0) return 1;
  return detach() && lam_ssi_boot_base_run_helper(args) != 0 ? 1 : 0;
}
