// What the PMIx server of a node asks of the job's other nodes, as messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "control/job/messages/fence_collector.h"
#include "control/job/messages/job_message.h"
#include "control/job/pmix/pmix_server.h"

namespace openlapi::jobs {

class NodeExchange final : public PmixPeers {
 public:
  // To one node's helper, or (no node) to lapirun.
  using Send = std::function<void(const std::vector<std::uint32_t>& to, const JobBody& body)>;

  NodeExchange(const std::vector<JobNode>& nodes, const PmixServer& server, Send send)
      : nodes_(nodes), server_(server), send_(std::move(send)) {}

  // The nodes are known, and `here` is this one.
  void begin(std::uint32_t here);

  void fence(const std::vector<std::uint32_t>& tasks, PmixBytes data, std::function<void(PmixBytes)> done) override;
  void fetch(std::uint32_t task, std::function<void(int status, PmixBytes)> done) override;

  void spread(std::uint32_t task, const AdapterEvent& event) override;

  // What was under way between nodes may be lost: asks again for what has not been answered. Once.
  void ask_again();

  void take(FenceData message, std::uint32_t from);
  void take(FenceDone message);
  void take(const ModexRequest& message, std::uint32_t from);
  void take(ModexAnswer message);
  void take(const TaskEvent& message, std::uint32_t from);

 private:
  struct Fence {
    std::uint32_t round = 0;
    std::function<void(PmixBytes)> done{};
  };
  struct Request {
    std::uint32_t node = 0;
    std::uint32_t task = 0;
    std::function<void(int, PmixBytes)> done{};
  };

  void collect(std::uint32_t from, FenceData data);
  void end_fence(const FenceDone& message);

  const std::vector<JobNode>& nodes_;
  const PmixServer& server_;
  Send send_;
  std::optional<FenceCollector> collector_{};
  std::map<std::vector<std::uint32_t>, Fence> fences_{};          // that tasks here wait in
  std::map<std::vector<std::uint32_t>, std::uint32_t> rounds_{};  // the next one
  std::map<std::uint32_t, Request> requests_{};
  std::uint32_t last_request_ = 0;
};

}  // namespace openlapi::jobs
