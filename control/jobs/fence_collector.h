// Brings together what the nodes of a job give for a fence. Passive. A fence is over when all nodes have come that have
// tasks which take part in it, also when nobody gives anything: so it is a barrier in any case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/jobs/job_message.h"

namespace openlapi::jobs {

struct FenceResult {
  std::vector<std::uint32_t> nodes{};  // to which it is to be told
  FenceDone done{};
};

class FenceCollector {
 public:
  explicit FenceCollector(const std::vector<JobNode>& nodes) : nodes_(nodes) {}

  // Something: that was the last node.
  std::optional<FenceResult> add(std::uint32_t node, FenceData data);

 private:
  std::vector<std::uint32_t> nodes_of(const std::vector<std::uint32_t>& tasks) const;

  const std::vector<JobNode>& nodes_;
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, MessageBytes>> fences_{};  // by tasks; data by node
};

}  // namespace openlapi::jobs
