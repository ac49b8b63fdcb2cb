// Whether processes of other nodes still live, though they say nothing: each has a TCP port to which others connect.
// The kernel keeps these connections whatever the process does, ends them with it, and then refuses new ones. It leaves
// new ones unanswered, too, while more wait than the process has taken, as it computes: whether the host is silent is
// asked at another port, where nobody listens and the kernel itself refuses.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

// This machine's addresses that others may reach.
std::vector<in_addr> own_addresses();

// The own ports. Nothing is read from them: whoever sends something is disconnected.
class LivenessPort {
 public:
  // Without a descriptor to be had there is no port: others then know this process by its answers only.
  LivenessPort();

  // What others need: the ports, and this machine's addresses.
  std::vector<std::byte> told(std::span<const in_addr> addresses) const;
  // Takes those that have connected, and forgets those that have gone. Now and then.
  void look();

 private:
  FileDescriptor listener_{};
  FileDescriptor refusing_{};                   // keeps its port from all who would listen there
  std::uint16_t port_ = 0, refusing_port_ = 0;  // 0: none
  std::deque<FileDescriptor> others_;           // the latest ones
};

// The others' ports. A refusal of a process counts only from an address at which this very process was reached before:
// another machine may have the same address, behind address translation for instance, and a gate may let nobody in.
class LivenessWatch {
 public:
  // `own`: addresses that are this machine's, too, lead to no other one.
  explicit LivenessWatch(std::vector<in_addr> own) : own_(std::move(own)) {}

  // The next process; `told` by its LivenessPort. One that has told nothing is not watched.
  void add(std::span<const std::byte> told);
  // All were added, and live: begins to find out at which of their addresses they can be reached.
  void begin();
  // Waits until each of those that are tried was reached, or for so long. They live until then, if they all wait for
  // each other afterwards.
  void await_reached(std::chrono::milliseconds longest);
  // While it is wanted a process is watched. One that is not wanted has been heard from, so it lives.
  void want(std::size_t process, bool is_wanted);
  // Takes in what has become of the connections, and makes new ones. Never blocks. Once a second or so.
  void look();
  bool has_ended(std::size_t process) const { return processes_[process].refusals >= kRefusals; }
  // It was wanted in so many looks since its machine has last answered, and the machine has been asked in vain at each
  // address at which it was reached before. A process that computes, or is stopped, is not silent: its kernel answers.
  bool is_silent(std::size_t process, unsigned looks) const;

 private:
  static constexpr unsigned kRefusals = 2;  // one after the other

  // `failed`: here, so that nothing is known of the other side.
  enum class Seen : std::uint8_t { nothing, is_open, closed, refused, unanswered, failed };
  struct Connection {
    in_addr address{};
    FileDescriptor fd{};
    bool is_open = false;
    unsigned looks = 0;  // before it was
  };
  struct Process {
    std::vector<in_addr> addresses{}, reached{};
    std::uint16_t port = 0, refusing_port = 0;
    bool is_wanted = false, was_tried = false;
    bool asks_host = false;  // as the process's port did not answer: the connection is, or will be, to the refusing one
    unsigned refusals = 0;
    unsigned looks_unanswered = 0;         // since its machine has last answered
    std::size_t addresses_unanswered = 0;  // likewise
    std::size_t next_address = 0;
    Connection connection{};
  };
  struct Proof {
    std::size_t process = 0;
    Connection connection{};
  };

  static Seen look_at(Connection& connection);
  static Seen connect_to(in_addr address, std::uint16_t port, Connection& connection);
  static Seen seen_by(int error);
  static void note(Process& process, Seen seen);
  static void note_of_host(Process& process, Seen seen);
  static void note_answer(Process& process);
  void prove(std::size_t number);
  bool take(Proof& proof);
  void look_at_proofs();
  void look_at(std::size_t number);
  void close(Process& process);
  void take_turns();

  const std::vector<in_addr> own_;
  std::vector<Process> processes_{};
  std::vector<Proof> proofs_{};
  std::size_t open_ = 0;   // connections of processes
  std::size_t first_ = 0;  // process that is served first
};

}  // namespace openlapi
