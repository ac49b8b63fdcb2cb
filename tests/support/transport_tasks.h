// Tasks for tests of transports: several transports in this process, or one in each of several forked processes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/transport/transport.h"

namespace openlapi::test {

struct OpenRequest {
  std::uint64_t cookie;
  PeerIndex self;
  std::vector<PeerIndex> tasks;
};

// One transport that the contract suite is run over.
struct TransportKind {
  const char* name;
  // Opens the transport of one task. Called by all tasks of a group at the same time; may block until all have.
  std::unique_ptr<Transport> (*open)(const OpenRequest& request, std::string& error);
  bool tells_death;       // PeerLiveness notices a killed process
  unsigned slowness = 1;  // cases that repeat something do it so many times less often
};

void PrintTo(const TransportKind& kind, std::ostream* stream);

// Numbers in memory that all processes of a test share.
struct Board {
  static constexpr std::size_t kTasks = 16;
  std::atomic<std::uint64_t> arrived;
  std::atomic<std::uint64_t> words[64];  // a test's own
  PeerAddress addresses[kTasks];
};

struct Task {
  PeerIndex self;
  std::uint32_t count;
  Transport& transport;
  Board& board;
  std::uint64_t meetings = 0;

  // Nobody leaves before all came.
  void meet();
};

// Adds the peer, however long it is looked for.
bool added(Transport& to, PeerIndex peer, const PeerAddress& address, std::string& error);

// Transports 0 .. count-1 in this process, each knowing the others.
std::vector<std::unique_ptr<Transport>> open_in_this_process(const TransportKind& kind, std::uint32_t count);

// Processes that each open the transport of one task and run `body`. A gtest failure in a process fails the test.
class TaskProcesses {
 public:
  // `prepare` runs in each process before its transport is opened (to change the user, for instance).
  TaskProcesses(const TransportKind& kind, std::uint32_t count, std::function<void(Task&)> body,
                std::function<void()> prepare = {});
  ~TaskProcesses();
  TaskProcesses(const TaskProcesses&) = delete;
  TaskProcesses& operator=(const TaskProcesses&) = delete;

  Board& board() { return *board_; }
  pid_t process(std::uint32_t task) const { return processes_[task]; }
  void kill_task(std::uint32_t task);

  // Waits for all processes (at most two minutes) and expects that those that were not killed ended well.
  void finish();

 private:
  Board* board_;
  std::vector<pid_t> processes_;
  std::vector<bool> killed_;
};

// Calls `done` until it returns true, giving way in between. False after `seconds`.
bool wait_for(const std::function<bool()>& done, unsigned seconds = 60);

// A number that no other test uses at the same time.
std::uint64_t fresh_cookie();

}  // namespace openlapi::test
