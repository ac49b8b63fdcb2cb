#include "dataplane/base/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace openlapi {

unsigned edit_distance(std::string_view first, std::string_view second) {
  // Rows of the table: distances of the first letters of `first` to all beginnings of `second`.
  std::vector<unsigned> before_last, last, row(second.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 0; i < first.size(); ++i) {
    before_last = std::move(last);
    last = row;
    row[0] = static_cast<unsigned>(i) + 1;
    for (std::size_t j = 0; j < second.size(); ++j) {
      row[j + 1] = std::min({row[j] + 1, last[j + 1] + 1, last[j] + (first[i] == second[j] ? 0u : 1u)});
      const bool swapped = i > 0 && j > 0 && first[i] == second[j - 1] && first[i - 1] == second[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row.back();
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known, unsigned most) {
  std::string_view nearest;
  for (const std::string_view candidate : known) {
    const unsigned distance = edit_distance(word, candidate);
    if (distance > most || (!nearest.empty() && distance >= edit_distance(word, nearest))) continue;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace openlapi
