#include "control/boot/algorithms/algorithms.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "control/boot/algorithms/boot_threads.h"

namespace openlapi::boot {

void run_windowed(BootRun& run, int window) {
  for (const int node : run.to_boot()) {
    while (run.awaited() >= window) run.receive();
    run.launch(node);
  }
  while (run.awaited() > 0) run.receive();
}

BootReport boot_windowed(const BootRequest& request, NodeOperations& operations, int window) {
  BootRun run(request, operations);
  if (run.begin()) run_windowed(run, window);
  return run.finish();
}

BootReport boot_linear(const BootRequest& request, NodeOperations& operations) {
  // A window of one: the only node that is waited for is the last one.
  return boot_windowed(request, operations, 1);
}

namespace {

class ThreadedBoot {
 public:
  ThreadedBoot(BootRun& run, int threads) : run_(run), threads_(threads) {}

  void operator()() {
    std::vector<std::jthread> launchers;
    const int count = std::min(threads_, static_cast<int>(run_.to_boot().size()));
    launching_ = count;
    const int started = start_threads(launchers, count, [this] { launch_nodes(); });
    if (count > 0 && started == 0) return run_windowed(run_, 1);
    lose_threads(count - started);
    if (run_.needs_reports()) receive_reports();
  }

 private:
  void lose_threads(int count) {
    const std::lock_guard lock(mutex_);
    launching_ -= count;
  }

  // Slots: a node holds one from its launch until its report.
  void launch_nodes() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return next_ == run_.to_boot().size() || in_flight_ + run_.awaited() < threads_; });
      if (next_ == run_.to_boot().size()) break;
      const int node = run_.to_boot()[next_++];
      run_.prepare_launch(node);
      ++in_flight_;
      lock.unlock();
      const bool launched = run_.run_launch(node);
      lock.lock();
      --in_flight_;
      run_.end_launch(node, launched);
      changed_.notify_all();
    }
    --launching_;
    changed_.notify_all();
  }

  // A wait for reports begins only when a node is awaited: a failing launch must not cost the time that a report has.
  void receive_reports() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return run_.awaited() > 0 || launching_ == 0; });
      if (run_.awaited() == 0) return;
      BootRun::Wait wait = run_.prepare_receive(true);
      lock.unlock();
      const bool heard = run_.run_receive(wait);
      lock.lock();
      run_.end_receive(wait, heard);
      changed_.notify_all();
    }
  }

  BootRun& run_;
  int threads_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::size_t next_ = 0;
  int in_flight_ = 0;
  int launching_ = 0;  // threads that still launch
};

}  // namespace

void run_threaded(BootRun& run, int threads) { ThreadedBoot(run, threads)(); }

BootReport boot_threaded(const BootRequest& request, NodeOperations& operations, int threads) {
  BootRun run(request, operations);
  if (run.begin()) run_threaded(run, threads);
  return run.finish();
}

}  // namespace openlapi::boot
