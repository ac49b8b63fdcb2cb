// The global variables of the specification's section 2.4, and their stream.
#include <cstdarg>
#include <cstdio>
#include <string>

#include "control/boot/include/lam-ssi-boot.h"

int lam_ssi_boot_did = -1;
int lam_ssi_boot_verbose = -1;
OPT* lam_ssi_boot_optd = nullptr;
int lam_ssi_boot_base_server_port = 0;

void lam_debug(int did, const char* format, ...) {
  if (did < 0) return;
  std::va_list arguments;
  va_start(arguments, format);
  char* line = nullptr;
  const int length = vasprintf(&line, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  // One call: lines of several threads do not mix.
  std::fprintf(stderr, "%s\n", line);
  std::free(line);
}
