#include "control/job/node/first_meeting.h"

namespace openlapi {
namespace {

constexpr std::chrono::seconds kPatience{10};  // of the user
constexpr std::size_t kMostNamed = 5;

}  // namespace

void FirstMeeting::take_connected(std::uint32_t task) {
  if (over_) return;
  connected_.insert(task);
  if (!look_at_) look_at_ = Clock::now() + kPatience;
}

void FirstMeeting::take_over() {
  over_ = true;
  look_at_.reset();
}

std::string FirstMeeting::look(const std::vector<TaskProcess>& tasks) {
  if (over_) return {};
  const std::string late = missing(tasks);
  look_at_.reset();
  if (late.empty()) {
    look_at_ = Clock::now() + kPatience;  // one may be stopped later
    return {};
  }
  return "after " + std::to_string(kPatience.count()) + " s tasks still wait in LAPI_Init for " + late;
}

std::string FirstMeeting::missing(const std::vector<TaskProcess>& tasks) const {
  std::string late;
  std::size_t count = 0;
  for (const TaskProcess& task : tasks) {
    if (over_ || connected_.empty() || task.has_ended()) continue;
    const bool stopped = task.is_stopped();
    if ((!stopped && connected_.contains(task.number())) || ++count > kMostNamed) continue;
    late += (late.empty() ? "task " : ", task ") + std::to_string(task.number()) + " (process " +
            std::to_string(task.pid()) + (stopped ? "), which is stopped" : "), which has not called it");
  }
  return count > kMostNamed ? late + " and " + std::to_string(count - kMostNamed) + " more" : late;
}

}  // namespace openlapi
