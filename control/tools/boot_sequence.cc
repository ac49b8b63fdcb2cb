#include "control/tools/boot_sequence.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "control/base/socket_peer.h"
#include "control/boot/include/lamnet.h"
#include "control/daemon/session/system_failure.h"

namespace openlapi::daemon {
namespace {

constexpr char kTurnPrefix[] =
    "openlapi-boot:";            // shorter than what tool_socket() adds to a folder's name, so it has room
constexpr int kMostTries = 200;  // between taking the name and listening are microseconds
constexpr std::chrono::milliseconds kPause{5};

// In the abstract name space, which leaves no file behind. It is the session folder's, which has the user's and the
// host's name in it.
struct TurnName {
  sockaddr_un address{};
  socklen_t length = 0;
};

TurnName name_of(const std::string& session_folder) {
  TurnName name;
  name.address.sun_family = AF_UNIX;
  const std::string text = kTurnPrefix + session_folder;
  if (text.size() >= sizeof name.address.sun_path) throw std::runtime_error("too long a name: " + session_folder);
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

// Who has the name. 0: nobody any more, or somebody who does not listen yet; -1: another user, who has no right to it.
pid_t holder(const TurnName& name) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) != 0) return 0;
  const auto peer = socket_peer(socket.get());
  if (!peer) return 0;
  return peer->uid == geteuid() ? peer->pid : -1;
}

bool bind_to(const FileDescriptor& socket, const TurnName& name) {
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.length) == 0) return true;
  if (errno != EADDRINUSE) fail("bind");
  return false;
}

}  // namespace

FileDescriptor take_turn_to_boot(const std::string& session_folder) {
  const TurnName name = name_of(session_folder);
  FileDescriptor turn(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!turn.is_open()) fail("socket");
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (bind_to(turn, name)) {
      if (listen(turn.get(), SOMAXCONN) != 0) fail("listen");
      break;
    }
    const pid_t process = holder(name);
    if (process > 0) {
      throw std::runtime_error("another lamboot (process " + std::to_string(process) + ") is booting this session, " +
                               session_folder + "; wait until it has ended, or choose another with -sessionsuffix");
    }
    if (process < 0) break;
    std::this_thread::sleep_for(kPause);
  }
  return turn;
}

BootSequence::BootSequence(BootOptions& options, Nodes nodes) {
  int origin = -1;
  if (lam_ssi_boot_open(options.get()) != 0) throw std::runtime_error("no boot module can be opened");
  if (lam_ssi_boot_select(LAM_SSI_BOOT_LOCATION_ROOT) != 0) {
    clear();
    throw std::runtime_error("no boot module can be used");
  }
  const auto* actions = lam_ssi_boot_selected_actions();
  if (actions->lsba_parse_options(options.get(), nodes == Nodes::kOfSchema ? 1 : 0) != 0 ||
      actions->lsba_allocate_nodes(&nodes_, &count_, &origin) != 0 || actions->lsba_verify_nodes(nodes_, count_) != 0 ||
      actions->lsba_prepare_boot() != 0) {
    clear();
    throw std::runtime_error("nothing was started");
  }
  kept_ = count_;
}

BootSequence::~BootSequence() { clear(); }

void BootSequence::clear() {
  const auto* actions = lam_ssi_boot_selected_actions();
  if (nodes_ != nullptr && actions != nullptr) actions->lsba_deallocate_nodes(&nodes_, &count_);
  lam_ssi_boot_close();
}

bool BootSequence::start(lam_ssi_boot_proc_t which) {
  int started = 0;
  return lam_ssi_boot_selected_actions()->lsba_start_rte_procs(nodes_, count_, which, &started) == 0;
}

void BootSequence::keep_first(int count) {
  for (int n = count; n < count_; ++n) nodes_[n].lnd_type &= ~NT_BOOT;
  kept_ = std::min(count, count_);
}

bool BootSequence::take_back() {
  for (int n = 0; n < count_; ++n) {
    if (nodes_[n].lnd_nodeid != NOTNODEID) nodes_[n].lnd_type |= NT_BOOT;
  }
  return start(LAM_SSI_BOOT_PROC_WIPE);
}

const lamnode& BootSequence::joining() const {
  const lamnode* const end = nodes_ + count_;
  const lamnode* const found = std::find_if(static_cast<const lamnode*>(nodes_), end, [](const lamnode& node) {
    return node.lnd_nodeid != NOTNODEID && (node.lnd_type & NT_JOINS) != 0;
  });
  if (found == end) throw std::runtime_error("the boot module has no new node");
  return *found;
}

std::vector<std::string> BootSequence::hosts_with(int type, int without) const {
  std::vector<std::string> hosts;
  for (int n = 0; n < kept_; ++n) {
    const lamnode& node = nodes_[n];
    if (node.lnd_nodeid == NOTNODEID || (node.lnd_type & type) != type) continue;
    if ((node.lnd_type & without) != 0) continue;
    hosts.push_back("n" + std::to_string(node.lnd_nodeid) + " (" + (node.lnd_hname ? node.lnd_hname : "") + ")");
  }
  return hosts;
}

void BootSequence::name_failed(const char* tool, const char* what) const {
  for (const std::string& host : failed_hosts()) std::fprintf(stderr, "%s: %s: %s\n", tool, host.c_str(), what);
}

void BootSequence::name_all(const char* what) const {
  for (const std::string& host : hosts_with(0)) std::printf("%s: %s\n", host.c_str(), what);
}

void pass_remote_shell_on(const BootOptions& options) {
  for (const auto& [option, parameter] :
       {std::pair{"b", "fast"}, std::pair{"nn", "no_n"}, std::pair{"np", "no_profile"}}) {
    if (options.has(option)) setenv((std::string("LAM_MPI_SSI_boot_rsh_") + parameter).c_str(), "1", 1);
  }
}

void pass_session_on(const BootOptions& options) {
  for (const auto& [option, variable] :
       {std::pair{"sessionprefix", "LAM_MPI_SESSION_PREFIX"}, std::pair{"sessionsuffix", "LAM_MPI_SESSION_SUFFIX"}}) {
    if (options.has(option)) setenv(variable, options.value(option).c_str(), 1);
  }
}

}  // namespace openlapi::daemon
