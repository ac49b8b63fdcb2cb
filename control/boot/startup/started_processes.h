// Processes that this one has started for nodes. Each should go to the background, or stay, until the boot is over; one
// that ends with a failure instead ends the wait for reports.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/boot/startup/startup_socket.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::boot {

struct FailedProcess {
  int node_id = 0;
  std::string what{};  // "lamd ended with status 1"
};

// Thread safe.
class StartedProcesses final : public StartupInterruption {
 public:
  StartedProcesses();

  void add(int node_id, const std::string& program, pid_t process);
  // Kills those of a node, with their process groups.
  void end(int node_id);
  void forget();
  // Reaps what has ended well.
  std::optional<FailedProcess> take_failed();

  // Of the wait for reports, which ends when a process fails.
  void watch(std::vector<pollfd>& watched) override;
  bool is_over() override;

 private:
  struct Process {
    int node_id = 0;
    std::string program{};
    pid_t process = -1;
    FileDescriptor handle{};  // a pidfd
  };

  std::mutex mutex_{};
  std::vector<Process> processes_{};
  std::optional<FailedProcess> failed_{};
  FileDescriptor news_{};  // an eventfd: whoever waits looks again at what there is
};

// Of the boot of this process.
StartedProcesses& started_processes();

}  // namespace openlapi::boot
