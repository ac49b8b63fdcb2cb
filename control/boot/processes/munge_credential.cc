#include "control/boot/processes/munge_credential.h"

#include <unistd.h>

#include <chrono>
#include <vector>

#include "control/boot/errors/boot_error.h"
#include "control/boot/processes/agent_process.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kMungeTime{10};  // it asks a daemon of this host

std::string run(const std::vector<std::string>& words, std::string_view input) {
  const AgentResult result = run_agent(words, pipe_with(input), kMungeTime);
  if (result.too_slow) throw BootError(words[0] + " was given up after " + std::to_string(kMungeTime.count()) + " s");
  if (result.status != 0) {
    throw BootError(words[0] + " ended with status " + std::to_string(result.status) + ": " +
                    in_one_line(result.errors));
  }
  return result.output;
}

}  // namespace

std::string seal_by_munge(std::string_view content) {
  std::string credential = run({"munge", "--restrict-uid=" + std::to_string(geteuid())}, content);
  while (!credential.empty() && credential.back() == '\n') credential.pop_back();
  if (!credential.starts_with(kCredentialBegin)) throw BootError("munge has not written a credential");
  return credential;
}

std::string open_by_munge(std::string_view credential) {
  return run({"unmunge", "--metadata=/dev/null"}, credential);
}

}  // namespace openlapi::boot
