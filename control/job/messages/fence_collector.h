// Gathers, at one node of a job, what this node and those that report to it give for a fence. Passive. A fence is over
// only when all nodes with tasks that take part have come, even if none gives anything: so it is always a barrier.
//
// When messages were lost with a daemon, each node asks again for what it has sent on and nobody has answered: whoever
// knows the end of that round answers, the others pass the answer on once they have it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/job/messages/job_message.h"

namespace openlapi::jobs {

// What is to be sent on.
struct FenceStep {
  bool all_have_come = false;
  std::vector<std::uint32_t> to{};  // all nodes that take part, or who asks again, or else whom this node reports to
  FenceData data{};
};

class FenceCollector {
 public:
  // `nodes`: is_fence_tree(), lives as long as this; `here`: one of them.
  FenceCollector(const std::vector<JobNode>& nodes, std::uint32_t here);

  std::uint32_t here() const { return nodes_[here_].node; }

  // What a node has sent, or this one gives itself. Returns a step when nobody is awaited any more.
  std::optional<FenceStep> add(std::uint32_t node, FenceData data);
  // It is over. Returns who has asked again, and is to be told, too.
  std::vector<std::uint32_t> finish(const FenceDone& done);
  // What was sent on and not answered.
  std::vector<FenceStep> unanswered() const;
  // What was given for it; null: it is not over as far as is known here.
  const MessageBytes* result_of(const std::vector<std::uint32_t>& tasks, std::uint32_t round) const;

 private:
  bool takes_part(const JobNode& node, const std::vector<std::uint32_t>& tasks) const;
  std::set<std::uint32_t> awaited(const std::vector<std::uint32_t>& tasks) const;
  std::vector<std::uint32_t> nodes_of(const std::vector<std::uint32_t>& tasks) const;

  using Tasks = std::vector<std::uint32_t>;
  struct Fence {
    std::map<std::uint32_t, MessageBytes> parts{};  // by node
    std::optional<MessageBytes> sent{};             // to whom this node reports
    std::set<std::uint32_t> asked_again{};
  };
  struct Result {
    std::uint32_t round = 0;
    MessageBytes data{};
  };

  FenceStep step_of(const Tasks& tasks, std::uint32_t round, MessageBytes data) const;

  const std::vector<JobNode>& nodes_;
  std::vector<std::size_t> above_;  // by place
  std::size_t here_ = 0;
  std::map<Tasks, std::map<std::uint32_t, Fence>> fences_{};  // by round
  std::map<Tasks, Result> results_{};                         // the last one
};

}  // namespace openlapi::jobs
