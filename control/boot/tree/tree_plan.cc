#include "control/boot/tree/tree_plan.h"

#include <algorithm>

namespace openlapi::boot {
namespace {

int round_of(const TreeShape& shape, int child) { return child / shape.at_once + 1; }

// Capacities after 0 rounds, 1 round, ..., the last one at least `enough`.
std::vector<int> capacities(const TreeShape& shape, int enough) {
  std::vector<int> of{1};
  while (of.back() < enough) {
    const int rounds = static_cast<int>(of.size());
    long capacity = 1;
    for (int child = 0; child < shape.degree && round_of(shape, child) <= rounds && capacity < enough; ++child) {
      capacity += of[static_cast<std::size_t>(rounds - round_of(shape, child))];
    }
    of.push_back(static_cast<int>(std::min<long>(capacity, enough)));
  }
  return of;
}

}  // namespace

int tree_rounds(const TreeShape& shape, int count) { return static_cast<int>(capacities(shape, count + 1).size()) - 1; }

std::vector<int> split_tree(const TreeShape& shape, int count) {
  const std::vector<int> of = capacities(shape, count + 1);
  const int rounds = static_cast<int>(of.size()) - 1;
  std::vector<int> sizes;
  for (int child = 0; count > 0; ++child) {
    sizes.push_back(std::min(count, of[static_cast<std::size_t>(rounds - round_of(shape, child))]));
    count -= sizes.back();
  }
  return sizes;
}

int tree_degree(int count, int at_once) {
  int rounds = 0;
  // Without a limit every process launches in every round.
  for (long capacity = 1; capacity < count + 1; capacity *= 1 + at_once) ++rounds;
  return std::max(1, rounds) * at_once;
}

}  // namespace openlapi::boot
