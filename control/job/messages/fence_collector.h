// Gathers, at one node of a job, what this node and those that report to it give for a fence. Passive. A fence is over
// only when all nodes with tasks that take part have come, even if none gives anything: so it is always a barrier.
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
  std::vector<std::uint32_t> to{};  // all nodes that take part, or else the one that this node reports to
  FenceData data{};
};

class FenceCollector {
 public:
  // `nodes`: is_fence_tree(), lives as long as this; `here`: one of them.
  FenceCollector(const std::vector<JobNode>& nodes, std::uint32_t here);

  std::uint32_t here() const { return nodes_[here_].node; }

  // What a node has sent, or this one gives itself. Returns a step when nobody is awaited any more.
  std::optional<FenceStep> add(std::uint32_t node, FenceData data);

 private:
  bool takes_part(const JobNode& node, const std::vector<std::uint32_t>& tasks) const;
  std::set<std::uint32_t> awaited(const std::vector<std::uint32_t>& tasks) const;
  std::vector<std::uint32_t> nodes_of(const std::vector<std::uint32_t>& tasks) const;

  const std::vector<JobNode>& nodes_;
  std::vector<std::size_t> above_;  // by place
  std::size_t here_ = 0;
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, MessageBytes>> fences_{};  // by tasks; data by node
};

}  // namespace openlapi::jobs
