// An adapter between tasks of one process whose every answer a test decides: what it refuses, how many reads it takes,
// in which order they end and how.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "dataplane/transport/bulk_memory.h"

namespace openlapi {

class ScriptedBulkMemory final : public BulkMemory {
 public:
  struct Read {
    PeerIndex peer;
    std::uint64_t remote_address;
    std::uint64_t key;
    std::byte* local;  // null: stopped
    std::size_t length;
    std::uint64_t token;
  };

  // What a test sets.
  bool is_reachable = true;
  bool refuses_to_expose = false;
  bool holds_endings = false;  // they come by end() alone; else at the next step
  std::uint64_t longest = 1 << 20;
  std::size_t room = SIZE_MAX;                  // reads under way
  std::size_t begins_until_failure = SIZE_MAX;  // this one and later ones fail

  // What it sees.
  std::vector<Read> under_way;
  std::size_t most_under_way = 0;
  std::size_t begun = 0;
  std::size_t exposures = 0;
  unsigned stops = 0;

  static void connect(ScriptedBulkMemory& a, PeerIndex task_a, ScriptedBulkMemory& b, PeerIndex task_b) {
    a.peers_[task_b] = &b;
    b.peers_[task_a] = &a;
  }
  std::size_t exposed() const { return exposed_.size(); }

  // The read at this place of under_way is over.
  void end(std::size_t place, bool done) {
    const Read read = under_way.at(place);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(place));
    if (read.local == nullptr) done = false;
    if (done) {
      ASSERT_TRUE(peers_.at(read.peer)->exposed_.contains(read.key)) << "read after it was withdrawn";
      std::memcpy(read.local, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(read.remote_address)),
                  read.length);
    } else if (read.local != nullptr) {
      std::memset(read.local, 0xbd, read.length);
    }
    endings_.push_back({read.token, done});
  }

  // An ending that no read of its has.
  void say(const Ending& ending) { endings_.push_back(ending); }

  bool reachable(PeerIndex) override { return is_reachable; }
  std::uint64_t longest_read() const override { return longest; }
  bool expose(const void* address, std::size_t length, MemoryKey& key) override {
    if (refuses_to_expose) return false;
    ++exposures;
    EXPECT_NE(address, nullptr);
    EXPECT_NE(length, 0u);
    const std::uint64_t number = first_key_ << 32 | ++last_key_;
    exposed_[number] = address;
    std::memcpy(key.bytes.data(), &number, sizeof(number));
    return true;
  }
  // Of the one that it is connected with; others number theirs from elsewhere on.
  bool leads_to(PeerIndex peer, const MemoryKey& key) override {
    const auto found = peers_.find(peer);
    return found != peers_.end() && found->second->first_key_ == number_of(key) >> 32;
  }
  void withdraw(const MemoryKey& key) override {
    EXPECT_EQ(exposed_.erase(number_of(key)), 1u) << "withdrawn twice, or never exposed";
  }
  Begin begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local, std::size_t length,
                   std::uint64_t token, const MemoryRange& around) override {
    const auto begin = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(local));
    EXPECT_TRUE(around.address <= begin && begin + length <= around.address + around.length);
    if (begins_until_failure == 0) return Begin::failed;
    if (under_way.size() >= room) return Begin::full;
    if (begins_until_failure != SIZE_MAX) --begins_until_failure;
    EXPECT_LE(length, longest);
    EXPECT_TRUE(
        std::none_of(under_way.begin(), under_way.end(), [&](const Read& read) { return read.token == token; }));
    under_way.push_back({peer, remote_address, number_of(key), static_cast<std::byte*>(local), length, token});
    most_under_way = std::max(most_under_way, under_way.size());
    ++begun;
    return Begin::begun;
  }
  void stop_reads(PeerIndex peer) override {
    ++stops;
    for (Read& read : under_way) {
      if (read.peer == peer) read.local = nullptr;
    }
  }
  std::size_t take_endings(std::span<Ending> endings) override {
    while (!holds_endings && !under_way.empty()) end(under_way.size() - 1, true);
    const std::size_t count = std::min(endings.size(), endings_.size());
    std::copy_n(endings_.begin(), count, endings.begin());
    endings_.erase(endings_.begin(), endings_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

 private:
  static std::uint64_t number_of(const MemoryKey& key) {
    std::uint64_t number;
    std::memcpy(&number, key.bytes.data(), sizeof(number));
    return number;
  }

  inline static std::uint64_t adapters_ = 0;
  const std::uint64_t first_key_ = ++adapters_;
  std::map<PeerIndex, ScriptedBulkMemory*> peers_;
  std::map<std::uint64_t, const void*> exposed_;
  std::uint64_t last_key_ = 0;
  std::vector<Ending> endings_;
};

}  // namespace openlapi
