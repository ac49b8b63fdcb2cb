// MPI's matching in the plainest way, for tests: which message each receive and probe gets, from what was posted,
// cancelled, sent, and has begun to arrive.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/rpi/lapi/matching.h"

namespace openlapi::rpi {

class MatchingModel {
 public:
  explicit MatchingModel(std::size_t processes) : processes_(processes) {}

  struct Message {
    unsigned from = 0, to = 0;
    Wanted wanted{};
    std::size_t length = 0;
  };

  // The number of a message that is being sent.
  int send(const Message& message) {
    messages_.push_back(message);
    unseen_[{message.from, message.to}].push_back(number_of_last());
    return number_of_last();
  }
  const Message& message(int number) const { return messages_[static_cast<std::size_t>(number)]; }

  // `receive`: any name. The process posts it.
  void post(unsigned process, int receive, const Wanted& wanted, bool is_probe) {
    if (const auto found = unasked(process, wanted)) {
      got_[receive] = *found;
      if (!is_probe) take(process, *found);
      return;
    }
    processes_[process].posted.push_back({receive, wanted, is_probe});
  }
  void cancel(unsigned process, int receive) {
    std::erase_if(processes_[process].posted, [&](const Asked& each) { return each.receive == receive; });
  }
  void arrived(unsigned process, int number) {
    seen_.insert(number);
    auto& unseen = unseen_[{message(number).from, process}];
    while (!unseen.empty() && seen_.contains(unseen.front())) {
      accept(process, unseen.front());
      unseen.pop_front();
    }
  }

  // The oldest message that it could receive now.
  std::optional<int> unasked(unsigned process, const Wanted& wanted) const {
    const auto& waiting = processes_[process].unasked;
    const auto found = std::ranges::find_if(waiting, [&](int number) { return wanted.takes(message(number).wanted); });
    return found == waiting.end() ? std::nullopt : std::optional(*found);
  }
  std::optional<int> got(int receive) const {
    const auto found = got_.find(receive);
    return found == got_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_taken(int number) const { return taken_.contains(number); }

 private:
  struct Asked {
    int receive;
    Wanted wanted;
    bool is_probe;
  };
  struct Process {
    std::list<Asked> posted{};
    std::list<int> unasked{};
  };

  int number_of_last() const { return static_cast<int>(messages_.size()) - 1; }
  void take(unsigned process, int number) {
    processes_[process].unasked.remove(number);
    taken_.insert(number);
  }
  void accept(unsigned process, int number) {
    auto& posted = processes_[process].posted;
    for (auto asked = posted.begin(); asked != posted.end();) {
      if (!asked->wanted.takes(message(number).wanted)) {
        ++asked;
        continue;
      }
      got_[asked->receive] = number;
      const bool is_probe = asked->is_probe;
      asked = posted.erase(asked);
      if (is_probe) continue;
      taken_.insert(number);
      return;
    }
    processes_[process].unasked.push_back(number);
  }

  std::vector<Process> processes_;
  std::vector<Message> messages_{};
  std::map<std::pair<unsigned, unsigned>, std::list<int>> unseen_{};
  std::set<int> seen_{}, taken_{};
  std::map<int, int> got_{};
};

}  // namespace openlapi::rpi
