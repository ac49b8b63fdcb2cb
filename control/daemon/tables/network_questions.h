// What tools ask about network tables: the daemon here asks the nodes that it concerns, and the tool gets one answer
// when all have answered, or after kNodeAnswerTime: a daemon that hangs or is stopped is not lost. Passive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/network_message.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

// Cleaning a node takes 5 s when a helper of a job hangs.
inline constexpr std::chrono::seconds kNodeAnswerTime{10};

class NetworkQuestions {
 public:
  struct Places {
    std::function<void(const std::vector<std::uint32_t>& nodes, std::uint32_t number, const NetworkAction&)> ask;
    std::function<void(std::uint64_t tool, const TablesMessage&)> answer;
    std::function<std::uint64_t()> random;  // never 0
  };
  NetworkQuestions(const UniverseTable& universe, Places places) : universe_(universe), places_(std::move(places)) {}

  // False: it is no such question.
  bool take(std::uint64_t tool, const DaemonMessage& message);
  void answered(std::uint32_t node, std::uint32_t number, const NodeAnswer& answer);
  void node_lost(std::uint32_t node);
  // A table that it has loaded, and was not told so, is unloaded.
  void tool_gone(std::uint64_t tool);

  using Time = std::chrono::steady_clock::time_point;
  // A question's time runs from the first tick() after it. When it is over, the answer names the nodes that were
  // silent.
  void tick(Time now);
  std::optional<Time> deadline() const;

 private:
  struct Question {
    std::uint64_t tool = 0;
    std::set<std::uint32_t> awaited{};
    NetworkTable loading{};  // no windows: the question is no load
    TablesMessage answer{};
    std::size_t size = 0;  // of the answer's windows
    std::optional<Time> until{};
  };
  void load(std::uint64_t tool, const LoadRequest& request);
  void ask_all(std::uint64_t tool, const NetworkAction& action);
  void ask(Question question, const NetworkAction& action);
  void add_failure(Question& question, std::uint32_t node, const std::string& failure) const;
  void add_silent(Question& question) const;
  void finish(std::uint32_t number);
  void take_back(const Question& question);

  const UniverseTable& universe_;
  Places places_;
  std::uint32_t last_number_ = 0;
  std::map<std::uint32_t, Question> questions_{};
};

}  // namespace openlapi::daemon
