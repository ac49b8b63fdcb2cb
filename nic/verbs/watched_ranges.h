// Which memory is watched, for how many users, and where it still is the memory that they meant: who stops watching
// other memory in its place may take it from another part of the program that watches it. Addresses are of whole pages.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace openlapi::verbs {

class WatchedRanges {
 public:
  // One more user.
  void add(std::uint64_t begin, std::uint64_t end);

  // The process has unmapped or replaced what was there. Its users remain.
  void lose(std::uint64_t begin, std::uint64_t end);

  // One user less, of a range that was added. Calls `ended(begin, end)` for what is there still and has no user any
  // more.
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
