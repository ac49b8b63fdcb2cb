#include "tests/support/simulated_bulk_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace openlapi {

std::size_t SimulatedBulkNetwork::exposures() const {
  std::size_t sum = 0;
  for (const auto& [serial, memory] : memories_) sum += memory->exposed_.size();
  return sum;
}

void SimulatedBulkNetwork::complain(const SimulatedBulkMemory& of, const char* what) {
  if (!complaint_.empty()) return;
  complaint_ =
      "task " + std::to_string(of.config_.task) + " context " + std::to_string(of.config_.context) + " " + what;
}

SimulatedBulkMemory::SimulatedBulkMemory(SimulatedBulkNetwork& network, const BulkConfig& config)
    : network_(network), config_(config), serial_(network.next_serial_++) {
  network_.memories_[serial_] = this;
}

SimulatedBulkMemory::~SimulatedBulkMemory() {
  *alive_ = false;
  network_.memories_.erase(serial_);
  if (!exposed_.empty()) network_.complain(*this, "has ended without withdrawing what it exposed");
  for (const auto& [id, read] : reads_) {
    if (!read.stopped) network_.complain(*this, "has ended without stopping its reads");
  }
}

// Memory that is exposed already often gets the same key again.
bool SimulatedBulkMemory::expose(const void* address, std::size_t length, MemoryKey& key) {
  if (network_.random_.chance(config_.faults.expose_refusal)) {
    ++network_.counters_.refused;
    return false;
  }
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  auto found = std::find_if(exposed_.begin(), exposed_.end(), [&](const auto& entry) {
    return entry.second.address == place && entry.second.length == length;
  });
  if (found == exposed_.end()) found = exposed_.emplace(next_number_++, Exposed{place, length, 0}).first;
  ++found->second.times;
  key = std::bit_cast<MemoryKey>(Key{serial_, found->first});
  return true;
}

void SimulatedBulkMemory::withdraw(const MemoryKey& key) {
  const auto found = exposed_.find(std::bit_cast<Key>(key).number);
  if (found == exposed_.end()) return network_.complain(*this, "withdraws what is not exposed");
  if (--found->second.times == 0) exposed_.erase(found);
}

bool SimulatedBulkMemory::leads_to(PeerIndex, const MemoryKey& key) {
  const auto owner = network_.memories_.find(std::bit_cast<Key>(key).serial);
  return owner == network_.memories_.end() || owner->second->config_.network == config_.network;
}

BulkMemory::Begin SimulatedBulkMemory::begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key,
                                                  void* local, std::size_t length, std::uint64_t token,
                                                  const MemoryRange&) {
  SeededRandom& random = network_.random_;
  if (broken_[peer] || random.chance(config_.faults.begin_failure)) return Begin::failed;
  if (reads_.size() + endings_.size() >= config_.room || random.chance(config_.faults.full)) return Begin::full;
  if (length == 0 || length > config_.longest_read) network_.complain(*this, "reads a length that is not allowed");
  const bool again =
      std::any_of(reads_.begin(), reads_.end(), [&](auto& entry) { return entry.second.token == token; });
  if (again) network_.complain(*this, "has two reads with one token");
  ++network_.counters_.reads;
  const std::uint64_t id = next_read_++;
  auto* const place = static_cast<std::byte*>(local);
  Read& read = reads_[id];
  read = {.peer = peer,
          .remote_address = remote_address,
          .key = std::bit_cast<Key>(key),
          .local = place,
          .length = length,
          .token = token,
          .tries = random.below(6)};
  if (can_read(read)) read.before = {place, place + length};
  const Nanoseconds now = network_.time_.now();
  const Nanoseconds least = length * kSecond / config_.bytes_per_second + 2 * kMicrosecond;
  const Nanoseconds longest = random.chance(0.1) ? 5 * kMillisecond : 20 * kMicrosecond;
  const Nanoseconds end = now + least + random.below(longest);
  network_.time_.at(random.between(now, end), [this, id, part = random.below(length), alive = alive_] {
    if (*alive) advance(id, part);
  });
  finish_at(end, id);
  return Begin::begun;
}

void SimulatedBulkMemory::finish_at(Nanoseconds when, std::uint64_t id) {
  network_.time_.at(when, [this, id, alive = alive_] {
    if (*alive) finish(id);
  });
}

// The memory has to be there now, in the incarnation of the peer that exposed it.
bool SimulatedBulkMemory::can_read(const Read& read) const {
  const auto owner = network_.memories_.find(read.key.serial);
  if (owner == network_.memories_.end() || owner->second->config_.task != read.peer) return false;
  const auto found = owner->second->exposed_.find(read.key.number);
  if (found == owner->second->exposed_.end()) return false;
  const Exposed& exposed = found->second;
  return read.remote_address >= exposed.address &&
         read.remote_address + read.length <= exposed.address + exposed.length;
}

void SimulatedBulkMemory::advance(std::uint64_t id, std::size_t to) {
  const auto found = reads_.find(id);
  if (found == reads_.end() || found->second.stopped || !is_connected(found->second)) return;
  Read& read = found->second;
  read.failed = read.failed || !can_read(read);
  if (read.failed) return;
  const auto* remote = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(read.remote_address));
  std::memcpy(read.local + read.copied, remote + read.copied, to - read.copied);
  read.copied = to;
}

// A read that fails writes all the same: what nobody takes for data. It is what was there, since checkers of those who
// have given up know no other.
void SimulatedBulkMemory::finish(std::uint64_t id) {
  const auto found = reads_.find(id);
  if (found == reads_.end()) return;
  Read& read = found->second;
  if (!read.stopped && !is_connected(read) && read.tries != 0) {
    --read.tries;
    ++network_.counters_.waited;
    return finish_at(network_.time_.now() + network_.random_.between(kMillisecond, 100 * kMillisecond), id);
  }
  read.failed = read.failed || !is_connected(read);
  if (network_.random_.chance(config_.faults.read_failure)) {
    read.failed = true;
    if (network_.random_.chance(config_.faults.break_down)) broken_[read.peer] = true;
  }
  advance(id, read.length);
  const bool done = !read.failed && !read.stopped;
  if (!done) ++network_.counters_.failed;
  if (!done && !read.stopped) std::ranges::copy(read.before, read.local);
  endings_.push_back({read.token, done});
  reads_.erase(id);
  if (on_ending_ && network_.random_.chance(config_.wakes)) on_ending_();
}

void SimulatedBulkMemory::stop_reads(PeerIndex peer) {
  for (auto& [id, read] : reads_) {
    if (read.peer != peer || read.stopped) continue;
    read.stopped = true;
    ++network_.counters_.stopped;
    finish_at(network_.time_.now() + network_.random_.below(20 * kMicrosecond), id);
  }
}

// In any order.
std::size_t SimulatedBulkMemory::take_endings(std::span<Ending> endings) {
  std::size_t count = 0;
  for (; count < endings.size() && !endings_.empty(); ++count) {
    const auto place = static_cast<std::ptrdiff_t>(network_.random_.below(endings_.size()));
    endings[count] = endings_[static_cast<std::size_t>(place)];
    endings_.erase(endings_.begin() + place);
  }
  return count;
}

}  // namespace openlapi
