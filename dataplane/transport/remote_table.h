// What a transport keeps of each peer: of tasks in a row, as every packet needs it; of their other ends, whose numbers
// are large and of which there are few, in a map.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dataplane/transport/packet.h"

namespace openlapi {

template <typename Remote>
class RemoteTable {
 public:
  // `tasks`: of the job; larger numbers are other ends.
  explicit RemoteTable(std::uint32_t tasks) : tasks_(tasks) {}

  bool is_task(PeerIndex number) const { return number < tasks_; }
  // Null: there is none. Of a task there may be an empty one.
  const Remote* find(PeerIndex number) const {
    if (number < of_tasks_.size()) [[likely]]
      return &of_tasks_[number];
    const auto found = others_.find(number);
    return found != others_.end() ? &found->second : nullptr;
  }
  Remote* find(PeerIndex number) { return const_cast<Remote*>(std::as_const(*this).find(number)); }
  // Others move when one is made.
  Remote& make(PeerIndex number) {
    if (!is_task(number)) return others_[number];
    if (number >= of_tasks_.size()) of_tasks_.resize(number + 1);
    return of_tasks_[number];
  }

  const std::vector<Remote>& of_tasks() const { return of_tasks_; }
  template <typename Visit>
  void for_each(Visit visit) {
    for (Remote& remote : of_tasks_) visit(remote);
    for (auto& [number, remote] : others_) visit(remote);
  }

 private:
  const std::uint32_t tasks_;
  std::vector<Remote> of_tasks_{};  // by number
  std::unordered_map<PeerIndex, Remote> others_{};
};

}  // namespace openlapi
