// What lamboot, recon and wipe do to all nodes of a boot schema: the boot SSI's functions in the order of its table 1.
#pragma once

#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"
#include "control/daemon/service/boot_options.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

// One lamboot at a time for each session: two that booted at once would each get some of the nodes, and refuse these to
// each other. Keep it open until the boot has succeeded or failed; the end of the process gives it back as well. Throws
// std::runtime_error: another lamboot of this user has it.
FileDescriptor take_turn_to_boot(const std::string& session_folder);

class BootSequence {
 public:
  enum class Nodes { kOfSchema, kOneHost };  // what the command line names

  // Selects the module, has it find the nodes and check them. Throws std::runtime_error; the SSI has said why.
  explicit BootSequence(BootOptions& options, Nodes nodes = Nodes::kOfSchema);
  ~BootSequence();
  BootSequence(const BootSequence&) = delete;
  BootSequence& operator=(const BootSequence&) = delete;

  // On all nodes. False: not on all; failed_hosts() says where.
  bool start(lam_ssi_boot_proc_t which);

  // After a start that was complete: ends what it started. False: not on all; failed_hosts() says where.
  bool take_back();

  // From now on only the first `count` nodes are there.
  void keep_first(int count);
  int count() const { return count_; }
  // Of kOneHost: the node of that host.
  const lamnode& joining() const;
  // Without those that were ended again because of them.
  std::vector<std::string> failed_hosts() const { return hosts_with(NT_BOOT, NT_ENDED); }
  // Lines for the user, one for each of these.
  void name_failed(const char* tool, const char* what) const;
  void name_all(const char* what) const;

 private:
  std::vector<std::string> hosts_with(int type, int without = 0) const;
  void clear();

  lamnode* nodes_ = nullptr;
  int count_ = 0, kept_ = 0;
};

// Sets the parameters of boot module rsh that LAM's options -b, -nn and -np mean.
void pass_remote_shell_on(const BootOptions& options);
// Puts the session's options into the environment, for what is started here.
void pass_session_on(const BootOptions& options);

}  // namespace openlapi::daemon
