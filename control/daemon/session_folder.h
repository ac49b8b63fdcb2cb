// The folder that belongs to a universe on one machine, by LAM's names: PREFIX/lam-USER@HOST[-SUFFIX], mode 0700, with
// lam-killfile (the daemon's process number; locked as long as it lives), lam-kernel-socket (tools ask there) and
// lam-log (what the daemon has to say once it has no terminal).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "control/launch/file_descriptor.h"

namespace openlapi::daemon {

struct SessionName {
  std::string prefix{};  // empty: LAM_MPI_SESSION_PREFIX, else TMPDIR, else /tmp
  std::string suffix{};  // empty: LAM_MPI_SESSION_SUFFIX, LAM_MPI_SOCKET_SUFFIX, or the number of a batch job
  std::string member{};  // of several daemons on one machine: which; empty: the first
};

// Throws std::runtime_error: the user has no name here, or the path is too long for a socket.
std::string session_path(const SessionName& name);

class SessionFolder {
 public:
  // Makes the folder or takes over what a dead daemon left. Throws std::runtime_error: a daemon lives in it, or it is
  // not this user's alone.
  explicit SessionFolder(std::string path);
  ~SessionFolder() { remove(); }
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  const std::string& path() const { return path_; }
  void write_process_number(pid_t process);
  // Listens on lam-kernel-socket, mode 0600.
  FileDescriptor listen_to_tools();
  // For appending.
  FileDescriptor open_log();
  void remove();
  // The folder stays when this object ends: another process has it.
  void leave_to_child() { path_.clear(); }

 private:
  std::string path_;
  FileDescriptor kill_file_{};
};

std::string tool_socket(const std::string& folder);

// It belongs to this user alone: what lives in it may be trusted.
bool is_own_session(const std::string& folder);
// The process that lives in the folder; 0: none.
pid_t session_process(const std::string& folder);
// Removes what a dead daemon left; nothing there is no mistake. Throws std::runtime_error.
void remove_session(const std::string& folder);

}  // namespace openlapi::daemon
