// Which memory is watched, for how many users, and where it is known that the process has unmapped what they meant.
// Addresses are of whole pages. Only add(), and what has to divide a range, allocates; if it cannot, nothing changes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace openlapi::verbs {

class WatchedRanges {
 public:
  // One more user, of what is not there before arrive().
  void add(std::uint64_t begin, std::uint64_t end);

  // A part of what was added is about to be watched by itself.
  void divide(std::uint64_t begin, std::uint64_t end) {
    cut_at(begin);
    cut_at(end);
  }

  // What was added, or such a part, is watched now.
  void arrive(std::uint64_t begin, std::uint64_t end);

  // The process has unmapped what was there. Its users remain.
  void lose(std::uint64_t begin, std::uint64_t end);

  // One user less, of a range that was added. Calls `ended(begin, end)` for what may be there still and has no user any
  // more. Between add() and arrive() it does not allocate.
  template <typename Ended>
  void remove(std::uint64_t begin, std::uint64_t end, Ended ended) {
    for (auto piece = cut(begin, end); piece != pieces_.end() && piece->first < end;) {
      if (--piece->second.users != 0) {
        ++piece;
        continue;
      }
      if (piece->second.present) ended(piece->first, piece->second.end);
      piece = pieces_.erase(piece);
    }
    join(begin, end);
  }

  // Calls `unused(begin, end)` for each part of a range that is not watched for anybody.
  template <typename Unused>
  void each_unused(std::uint64_t begin, std::uint64_t end, Unused unused) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin()) --piece;
    for (; begin < end && piece != pieces_.end() && piece->first < end; ++piece) {
      if (!piece->second.present || piece->second.end <= begin) continue;
      if (begin < piece->first) unused(begin, piece->first);
      begin = piece->second.end;
    }
    if (begin < end) unused(begin, end);
  }

  std::size_t pieces() const { return pieces_.size(); }

 private:
  struct Piece {
    std::uint64_t end = 0;
    std::uint32_t users = 0;
    bool present = false;
  };
  using Pieces = std::map<std::uint64_t, Piece>;  // by their begin; none overlaps another

  Pieces::iterator cut(std::uint64_t begin, std::uint64_t end);
  void cut_at(std::uint64_t address);
  void join(std::uint64_t begin, std::uint64_t end);

  Pieces pieces_;
};

}  // namespace openlapi::verbs
