#include "api/rpi/services/process_list.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace openlapi::rpi {
namespace {

constexpr std::size_t kFirstRoom = 16;

auto parts(const _gps& gps) { return std::tuple(gps.gps_node, gps.gps_idx, gps.gps_pid, gps.gps_grank); }

}  // namespace

int compare(const _gps& left, const _gps& right) {
  if (parts(left) == parts(right)) return 0;
  return parts(left) < parts(right) ? -1 : 1;
}

std::size_t ProcessList::Hash::operator()(const _gps& gps) const {
  std::uint64_t mixed = static_cast<std::uint32_t>(gps.gps_node);
  for (const std::int32_t part : {gps.gps_idx, gps.gps_pid, gps.gps_grank}) {
    mixed = mixed * 1099511628211U ^ static_cast<std::uint32_t>(part);
  }
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

bool ProcessList::Equal::operator()(const _gps& left, const _gps& right) const { return compare(left, right) == 0; }

_proc& ProcessList::add(const _gps& gps) {
  if (_proc* known = find(gps)) return *known;
  // Room first: nothing fails when the process is there.
  if (processes_.size() == processes_.capacity()) processes_.reserve(2 * processes_.size() + kFirstRoom);
  _proc& process = *by_place_.emplace(gps, std::make_unique<_proc>()).first->second;
  process.p_gps = gps;
  processes_.push_back(&process);
  return process;
}

_proc* ProcessList::find(const _gps& gps) const {
  const auto found = by_place_.find(gps);
  return found == by_place_.end() ? nullptr : found->second.get();
}

bool ProcessList::remove(const _proc* process) {
  const auto found = std::ranges::find(processes_, process);
  if (found == processes_.end()) return false;
  if (static_cast<std::size_t>(found - processes_.begin()) < next_) --next_;
  processes_.erase(found);
  // Not by its place: somebody may have written there.
  std::erase_if(by_place_, [&](const auto& each) { return each.second.get() == process; });
  return true;
}

_proc* ProcessList::first() {
  next_ = 0;
  return next();
}

_proc* ProcessList::next() { return next_ < processes_.size() ? processes_[next_++] : nullptr; }

}  // namespace openlapi::rpi
