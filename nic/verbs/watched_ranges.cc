#include "nic/verbs/watched_ranges.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace openlapi::verbs {

void WatchedRanges::add(std::uint64_t begin, std::uint64_t end) {
  auto piece = cut(begin, end);
  std::uint64_t next = begin;
  try {
    for (; next < end; ++piece) {
      const std::uint64_t taken = piece == pieces_.end() ? end : std::min(piece->first, end);
      if (next < taken) piece = pieces_.emplace_hint(piece, next, Piece{.end = taken});
      ++piece->second.users;
      next = piece->second.end;
    }
  } catch (const std::bad_alloc&) {
    remove(begin, next, [](std::uint64_t, std::uint64_t) {});
    throw;
  }
}

void WatchedRanges::arrive(std::uint64_t begin, std::uint64_t end) {
  for (auto piece = pieces_.lower_bound(begin); piece != pieces_.end() && piece->first < end; ++piece) {
    piece->second.present = true;
  }
  join(begin, end);
}

void WatchedRanges::lose(std::uint64_t begin, std::uint64_t end) {
  for (auto piece = cut(begin, end); piece != pieces_.end() && piece->first < end; ++piece) {
    piece->second.present = false;
  }
  join(begin, end);
}

// Afterwards each piece is inside or outside. Returns the first one inside, or the next after the range.
WatchedRanges::Pieces::iterator WatchedRanges::cut(std::uint64_t begin, std::uint64_t end) {
  cut_at(begin);
  cut_at(end);
  return pieces_.lower_bound(begin);
}

void WatchedRanges::cut_at(std::uint64_t address) {
  const auto after = pieces_.lower_bound(address);
  if (after == pieces_.begin()) return;
  Piece& piece = std::prev(after)->second;
  if (piece.end <= address) return;
  pieces_.emplace_hint(after, address, piece);
  piece.end = address;
}

// Neighbours of which the same is known become one.
void WatchedRanges::join(std::uint64_t begin, std::uint64_t end) {
  auto piece = pieces_.lower_bound(begin);
  if (piece != pieces_.begin()) --piece;
  while (piece != pieces_.end() && piece->first < end) {
    const auto next = std::next(piece);
    if (next != pieces_.end() && next->first == piece->second.end && next->second.users == piece->second.users &&
        next->second.present == piece->second.present) {
      piece->second.end = next->second.end;
      pieces_.erase(next);
    } else {
      piece = next;
    }
  }
}

}  // namespace openlapi::verbs
