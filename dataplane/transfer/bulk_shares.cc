#include "dataplane/transfer/bulk_shares.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

BulkShares::BulkShares(const BulkPull& pull, const Peer& peer, Nanoseconds now) : pull_(pull), peer_(peer), now_(now) {
  for (const BulkPull::Path& path : pull.paths()) any_serves_ = any_serves_ || (!path.failed && serves(path));
  double sum = 0;
  std::uint32_t known = 0;
  for (const BulkPull::Path& path : pull.paths()) {
    const double measured = peer.bulk_paths[path.number].bytes_per_second;
    if (measured == 0) continue;
    sum += measured;
    ++known;
  }
  if (known != 0) usual_speed_ = sum / known;
}

// A path over which packets do not come through is used only if that is so of all, and a spare one never.
bool BulkShares::is_usable(const BulkPull::Path& path) const {
  return !path.failed && (serves(path) || (!any_serves_ && !path.is_spare));
}

bool BulkShares::are_all_lost() const {
  return std::ranges::all_of(
      pull_.paths(), [&](const BulkPull::Path& path) { return path.failed || (path.is_spare && !serves(path)); });
}

double BulkShares::speed(const BulkPull::Path& path) const {
  const double measured = peer_.bulk_paths[path.number].bytes_per_second;
  return measured != 0 ? measured : usual_speed_;
}

std::uint64_t BulkShares::next_chunk(const BulkPull::Path& path) const {
  if (!is_usable(path)) return 0;
  const BulkPull::Chunk next = pull_.next();
  const std::uint64_t together = tuning::kBulkPiece - next.offset % tuning::kBulkPiece;
  const std::uint64_t most = std::min({next.length, path.memory->longest_read(), together});
  if (pull_.path_count == 1) return path.reads < tuning::kBulkReadsPerMessage ? std::min(most, tuning::kBulkPiece) : 0;
  if (path.reads >= tuning::kBulkReadsPerPath) return 0;
  double all = 0;
  std::uint64_t left = pull_.left();
  std::uint32_t usable = 0;
  for (const BulkPull::Path& one : pull_.paths()) {
    if (!is_usable(one)) continue;
    all += speed(one);
    left += one.under_way;
    ++usable;
  }
  // Nobody shares it now; no longer reads, in case that another one comes back.
  if (usable == 1) return std::min(most, tuning::kLongestBulkChunk);
  const auto share = static_cast<std::uint64_t>(static_cast<double>(left) * (speed(path) / all));
  const bool measured = peer_.bulk_paths[path.number].bytes_per_second != 0;
  const std::uint64_t half = (share - std::min(share, path.under_way)) / 2;
  const std::uint64_t wanted =
      std::clamp(half, tuning::kSmallestBulkChunk, measured ? tuning::kLongestBulkChunk : tuning::kSmallestBulkChunk);
  const std::uint64_t bytes = std::min(wanted & ~std::uint64_t{4095}, most);
  return path.under_way + bytes <= share || is_first(path, bytes) ? bytes : 0;
}

// Whether nobody would bring so many bytes sooner. A path that has begun nothing while others have has no room.
bool BulkShares::is_first(const BulkPull::Path& path, std::uint64_t bytes) const {
  const auto time = [&](const BulkPull::Path& of) { return static_cast<double>(of.under_way + bytes) / speed(of); };
  return std::ranges::none_of(pull_.paths(), [&](const BulkPull::Path& other) {
    const bool had_no_room = other.latest == 0 && pull_.begun != 0;
    return &other != &path && is_usable(other) && !had_no_room && time(other) < time(path);
  });
}

Nanoseconds BulkShares::patience(const BulkPull::Path& path) const {
  const BulkPath& of_peer = peer_.bulk_paths[path.number];
  const Nanoseconds expected = of_peer.time_for(path.under_way);
  if (peer_.serves(of_peer)) return tuning::kBulkPatience + expected;  // whatever is said of its link
  return peer_.is_link_down(of_peer) ? 0 : tuning::kBulkPatienceInSilence + expected;
}

bool BulkShares::are_held_up() const {
  bool any_waits = false, another_could = !any_serves_;
  for (const BulkPull::Path& path : pull_.paths()) {
    if (path.reads == 0) {
      another_could = another_could || is_usable(path);
    } else if (!path.stopped) {
      if (now_ - path.latest < patience(path)) return false;
      any_waits = true;
    }
  }
  return any_waits && another_could;
}

}  // namespace openlapi
