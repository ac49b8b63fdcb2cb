#include "tests/support/faulty_transport.h"

#include <algorithm>
#include <utility>

namespace openlapi::test {
namespace {

std::vector<std::byte> copy_of(const OutgoingPacket& packet) {
  std::vector<std::byte> bytes;
  bytes.reserve(packet.length);
  for (const ConstBuffer& piece : packet.pieces) {
    const auto* data = static_cast<const std::byte*>(piece.data);
    bytes.insert(bytes.end(), data, data + piece.length);
  }
  return bytes;
}

}  // namespace

FaultyTransport::FaultyTransport(std::unique_ptr<Transport> inner, const FaultPlan& plan, std::uint64_t seed)
    : inner_(std::move(inner)), plan_(plan), limits_(inner_->limits()), random_(seed) {
  if (plan.loss > 0 || plan.duplication > 0 || plan.delay > 0) limits_.reliable = false;
  if (plan.corruption > 0) limits_.reliable = limits_.checked = false;
}

bool FaultyTransport::happens(double share) {
  return share > 0 && static_cast<double>(random_() >> 11) < share * 0x1p53;
}

std::size_t FaultyTransport::send_burst(PeerIndex peer, std::span<const OutgoingPacket> packets) {
  std::size_t taken = 0;
  const std::size_t most = std::min<std::size_t>(packets.size(), limits_.max_burst);
  send_due();
  for (; taken < most && waiting_.size() < kMostWaiting; ++taken) {
    ++tick_;
    std::vector<std::byte> bytes = copy_of(packets[taken]);
    if (happens(plan_.duplication)) {
      ++faults_.duplicated;
      launch(peer, bytes);
    }
    launch(peer, std::move(bytes));
  }
  send_due();
  return taken;
}

void FaultyTransport::launch(PeerIndex peer, std::vector<std::byte> bytes) {
  if (happens(plan_.loss)) {
    ++faults_.lost;
    return;
  }
  if (!bytes.empty() && happens(plan_.corruption)) {
    ++faults_.corrupted;
    const std::size_t bit = random_() % (bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
  }
  std::uint64_t due = tick_;
  if (plan_.longest_delay > 0 && happens(plan_.delay)) {
    ++faults_.delayed;
    due += 1 + random_() % plan_.longest_delay;
  }
  const auto later = [](std::uint64_t value, const Waiting& waiting) { return value < waiting.due; };
  const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), due, later);
  waiting_.insert(place, Waiting{due, peer, std::move(bytes)});
}

void FaultyTransport::send_due() {
  while (!waiting_.empty() && waiting_.front().due <= tick_) {
    const Waiting& first = waiting_.front();
    const ConstBuffer piece{first.bytes.data(), first.bytes.size()};
    const OutgoingPacket packet{{&piece, 1}, static_cast<std::uint32_t>(first.bytes.size())};
    if (inner_->send_burst(first.peer, {&packet, 1}) == 0) return;
    waiting_.pop_front();
  }
}

std::size_t FaultyTransport::receive_burst(std::span<IncomingPacket> packets) {
  ++tick_;
  send_due();
  return inner_->receive_burst(packets);
}

}  // namespace openlapi::test
