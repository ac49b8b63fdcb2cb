// How a daemon comes into the universe (boot SSI specification, section 3.2): with the key of the boot it goes through
// the selection of boot modules as a leaf, reports to the booting agent and is told the universe.
#pragma once

#include <cstdint>

#include "control/daemon/messages/sealed_stream.h"
#include "control/daemon/service/boot_options.h"
#include "control/daemon/session/session_folder.h"
#include "control/daemon/universe/universe_table.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

class DaemonBoot {
 public:
  // Reads the key from standard input and selects the module. Throws std::runtime_error.
  explicit DaemonBoot(BootOptions& options);
  ~DaemonBoot();
  DaemonBoot(const DaemonBoot&) = delete;
  DaemonBoot& operator=(const DaemonBoot&) = delete;

  std::uint32_t node() const { return node_; }
  const BootKey& key() const { return key_; }
  // This machine's address towards the booting agent, in host byte order.
  std::uint32_t address() const { return address_; }
  // The folder of this node's session. On the origin's machine the origin has the one without a number, on others
  // whichever daemon comes first.
  SessionFolder take_session() const;

  // After join: lamgrow has started this daemon.
  bool joins() const { return joins_; }
  // After join(), of the origin or a daemon that joins: the connection to the agent, which ends when the agent does.
  FileDescriptor take_agent() { return std::move(agent_); }

  // Tells the agent where this daemon listens, and waits for the universe. Throws std::runtime_error.
  UniverseTable join(std::uint32_t port);

 private:
  BootOptions& options_;
  BootKey key_{};
  std::uint32_t node_ = 0;
  std::uint32_t origin_ = 0;
  std::uint32_t address_ = 0;
  bool on_origins_machine_ = false;
  bool joins_ = false;
  FileDescriptor agent_{};
};

}  // namespace openlapi::daemon
