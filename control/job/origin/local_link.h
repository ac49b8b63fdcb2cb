// The only node of a job that is all on this machine. Its end runs in lapirun's process and is called directly, without
// messages.
#pragma once

#include <string>

#include "control/job/node/node_tasks.h"
#include "control/job/node/signal_source.h"
#include "control/job/origin/node_link.h"

namespace openlapi::jobs {

class LocalLink final : public NodeLink {
 public:
  // `standalone`: the tasks get the guide's standalone environment instead of PMIx. Never destroyed: libpmix's thread
  // lives as long as the process.
  LocalLink(bool standalone, const SignalSource& signals);

  bool start(StartTasks job, Listener& listener, std::string& error) override;
  void signal(int signal) override { tasks_.take(TaskSignal{static_cast<std::uint32_t>(signal)}); }
  void end_tasks() override { tasks_.end_tasks(); }
  void tell(std::size_t, const JobBody& body) override { tasks_.take(body); }
  void tell_all(const JobBody& body) override { tasks_.take(body); }
  void leave(bool) override { tasks_.end_job(); }
  bool has_left() const override { return true; }

  std::string name_of(std::size_t) const override { return {}; }
  bool has_gone(std::size_t) const override { return false; }
  bool carries_input() const override { return job_.input < 0; }

  void watch(PollSet& poll_set) override { tasks_.watch(poll_set); }
  Deadline deadline() const override { return tasks_.deadline(); }
  void check() override { tasks_.check(); }

 private:
  const bool standalone_;
  NodeJob job_{};
  Listener* listener_ = nullptr;  // from start() on
  NodeTasks tasks_;
};

}  // namespace openlapi::jobs
