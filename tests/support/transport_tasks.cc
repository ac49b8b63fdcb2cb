#include "tests/support/transport_tasks.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace openlapi::test {
namespace {

std::vector<PeerIndex> numbers(std::uint32_t count) {
  std::vector<PeerIndex> tasks(count);
  for (std::uint32_t i = 0; i < count; ++i) tasks[i] = i;
  return tasks;
}

void run_task(const TransportKind& kind, const OpenRequest& request, Board& board,
              const std::function<void(Task&)>& body) {
  std::string error;
  const std::unique_ptr<Transport> transport = kind.open(request, error);
  ASSERT_NE(transport, nullptr) << "task " << request.self << ": " << error;
  Task task{request.self, static_cast<std::uint32_t>(request.tasks.size()), *transport, board};
  board.addresses[task.self] = transport->local_address();
  task.meet();
  for (const PeerIndex peer : request.tasks) {
    if (peer != task.self) {
      ASSERT_TRUE(added(*transport, peer, board.addresses[peer], error)) << error;
    }
  }
  task.meet();
  body(task);
}

}  // namespace

void PrintTo(const TransportKind& kind, std::ostream* stream) { *stream << kind.name; }

std::uint64_t fresh_cookie() {
  std::uint64_t cookie = 0;
  while (getrandom(&cookie, sizeof cookie, 0) != sizeof cookie) {
  }
  return cookie;
}

bool wait_for(const std::function<bool()>& done, unsigned seconds) {
  const time_t end = time(nullptr) + static_cast<time_t>(seconds) + 1;
  while (!done()) {
    if (time(nullptr) >= end) return false;
    sched_yield();
  }
  return true;
}

bool added(Transport& to, PeerIndex peer, const PeerAddress& address, std::string& error) {
  const PeerSearch* const search = to.capabilities().peer_search;
  while (!to.add_peer(peer, address, error)) {
    if (search == nullptr || !search->is_undecided()) return false;
    sched_yield();
  }
  return true;
}

void Task::meet() {
  board.arrived.fetch_add(1);
  const std::uint64_t goal = ++meetings * count;
  ASSERT_TRUE(wait_for([&] { return board.arrived.load() >= goal; })) << "task " << self << ": a task did not come";
}

std::vector<std::unique_ptr<Transport>> open_in_this_process(const TransportKind& kind, std::uint32_t count) {
  std::vector<std::unique_ptr<Transport>> transports(count);
  std::vector<std::string> errors(count);
  const std::uint64_t cookie = fresh_cookie();
  std::vector<std::thread> openers;
  for (std::uint32_t i = 0; i < count; ++i) {
    openers.emplace_back([&, i] { transports[i] = kind.open({cookie, i, numbers(count)}, errors[i]); });
  }
  for (std::thread& opener : openers) opener.join();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!transports[i]) {
      ADD_FAILURE() << "task " << i << ": " << errors[i];
      return {};
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t peer = 0; peer < count; ++peer) {
      if (peer == i) continue;
      EXPECT_TRUE(added(*transports[i], peer, transports[peer]->local_address(), errors[i])) << errors[i];
    }
  }
  return transports;
}

TaskProcesses::TaskProcesses(const TransportKind& kind, std::uint32_t count, std::function<void(Task&)> body,
                             std::function<void()> prepare)
    : killed_(count) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  board_ = new (memory) Board{};
  const std::uint64_t cookie = fresh_cookie();
  std::fflush(nullptr);
  for (std::uint32_t i = 0; i < count; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (prepare) prepare();
      if (!testing::Test::HasFailure()) run_task(kind, {cookie, i, numbers(count)}, *board_, body);
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    processes_.push_back(process);
  }
}

void TaskProcesses::kill_task(std::uint32_t task) {
  killed_[task] = true;
  kill(processes_[task], SIGKILL);
}

void TaskProcesses::finish() {
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i] <= 0) continue;
    int status = 0;
    pid_t ended = 0;
    if (!wait_for([&] { return (ended = waitpid(processes_[i], &status, WNOHANG)) != 0; }, 120)) {
      ADD_FAILURE() << "task " << i << " hangs";
      kill(processes_[i], SIGKILL);
      waitpid(processes_[i], &status, 0);
    } else if (!killed_[i]) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "task " << i << " ended with status " << status;
    }
    processes_[i] = 0;
  }
}

TaskProcesses::~TaskProcesses() {
  finish();
  munmap(board_, sizeof(Board));
}

}  // namespace openlapi::test
