#include "dataplane/poller/thread_placement.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace openlapi {

namespace {

bool all_in(const std::vector<int>& core, const std::vector<int>& near) {
  return std::all_of(core.begin(), core.end(),
                     [&](int processor) { return std::find(near.begin(), near.end(), processor) != near.end(); });
}

}  // namespace

Placement place_near(const std::vector<std::vector<int>>& cores, const std::vector<int>& near, ThreadNumber number) {
  if (near.empty()) return {-1, "the adapter's place is not known"};
  if (cores.empty()) return {-1, "the cores of this machine are not known"};
  if (cores.size() < std::size_t{2} * number.tasks) {
    return {-1, "fewer than two cores for each task of this node"};
  }
  std::vector<std::vector<int>> candidates;
  std::copy_if(cores.begin(), cores.end(), std::back_inserter(candidates),
               [&](const std::vector<int>& core) { return all_in(core, near); });
  if (candidates.size() == cores.size()) return {-1, "all cores are equally near to the adapter"};
  if (candidates.size() <= number.value()) return {-1, "no core near the adapter is left for it"};
  return {candidates[candidates.size() - 1 - number.value()].front(), "near the adapter"};
}

int place_as_listed(const std::vector<int>& list, ThreadNumber number) { return list[number.value() % list.size()]; }

}  // namespace openlapi
