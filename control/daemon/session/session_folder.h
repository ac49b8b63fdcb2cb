// The folder that belongs to a universe on one machine, by LAM's names: PREFIX/lam-USER@HOST[-SUFFIX], mode 0700, with
// lam-killfile (the daemon's process number; locked as long as it lives), lam-kernel-socket (tools ask there),
// lam-universe (which universe's daemon it is, and of which node), lam-adapters (which adapters of the universe are up,
// for tasks: control/base/adapter_page.h) and lam-log (what the daemon has to say once it has no terminal).
//
// The first daemon on a machine has this folder, others of the same universe one with -nNUMBER behind: so tools find a
// daemon on each machine, and a second universe is refused on each.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

struct SessionName {
  std::string prefix{};  // empty: LAM_MPI_SESSION_PREFIX, else TMPDIR, else /tmp
  std::string suffix{};  // empty: LAM_MPI_SESSION_SUFFIX, LAM_MPI_SOCKET_SUFFIX, or the number of a batch job
  std::string member{};  // of several daemons on one machine: which; empty: the first
  bool of_batch_job = true;  // in one its number counts
};

// Throws std::runtime_error: the user has no name here, or the path is too long for a socket.
std::string session_path(const SessionName& name);

// Whose daemon has a folder.
struct SessionOwner {
  std::string universe{};  // a word that only its daemons know, and which process boots it
  std::string node{};      // its number
};

// Another daemon lives in the folder.
class SessionTaken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SessionFolder {
 public:
  // Makes the folder or takes over what a dead daemon left. Throws SessionTaken, or std::runtime_error: it is not this
  // user's alone.
  explicit SessionFolder(std::string path) : SessionFolder(std::move(path), "", {}) {}
  // The folder of the daemon `owner`: `spare`, if another daemon of the same universe lives in `path`.
  SessionFolder(std::string path, std::string spare, const SessionOwner& owner);
  ~SessionFolder() { remove(); }
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  const std::string& path() const { return path_; }
  void write_process_number(pid_t process);
  // Listens on lam-kernel-socket, mode 0600.
  FileDescriptor listen_to_tools();
  // For appending.
  FileDescriptor open_log();
  // The daemon goes on without its universe: from now on other daemons of that universe are refused here, as those of
  // strangers are.
  void leave_universe();
  void remove();
  // The folder stays when this object ends: another process has it.
  void leave_to_child() { path_.clear(); }

 private:
  bool take();
  void write_owner(const SessionOwner& owner);

  std::string path_;
  FileDescriptor kill_file_{};
};

std::string tool_socket(const std::string& folder);
std::string adapter_page(const std::string& folder);

// Whether it belongs to this user alone, so that its daemon may be trusted.
bool is_own_session(const std::string& folder);
// Throws std::runtime_error if it is there and does not belong to this user alone, or cannot be looked at.
void check_own_session(const std::string& folder);
// The process that lives in the folder; 0: none, or it is not this user's alone.
pid_t session_process(const std::string& folder);
// The same, with a handle, which never comes to mean another process.
struct SessionProcess {
  pid_t number = 0;
  FileDescriptor handle{};  // not open: none lives there
};
SessionProcess open_session_process(const std::string& folder);
// Whose the folder is, or was, also of a daemon that has left its universe. A daemon that has just taken it is given a
// moment to say so; empty: none has.
SessionOwner session_owner(const std::string& folder);
// Removes what a dead daemon left, if anything is there. A process that has forked the daemon, and still holds the
// folder, is given a moment to end. Throws std::runtime_error.
void remove_session(const std::string& folder);

}  // namespace openlapi::daemon
