// How fast bulk transfers are over several equal links, in virtual time: what the sharing itself costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/peers/peer_table.h"
#include "tests/support/address.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

// Of each link: 80 ns for a byte is 100 Mbit/s. It answers a read after the round trip.
struct LinkKind {
  Nanoseconds per_byte = 80, round_trip = 0;
  bool packets_wait = false;  // those that come from where the data is, behind what is read
};

// Two tasks with links between them.
class EqualLinks {
 public:
  EqualLinks(unsigned count, const LinkKind& kind) : count_(count), kind_(kind) {
    for (unsigned link = 1; link != count; ++link) job_.add_paths();
    for (unsigned link = 0; link != count; ++link) {
      ScriptedBulkMemory::connect(adapter(0, link), 0, adapter(1, link), 1);
      for (PeerIndex task = 0; task != 2; ++task) {
        MemoryTransport& over = transport(task, link);
        over.set_bulk_memory(&adapter(task, link));
        over.make_lossy(0, 1);
        over.set_room(10'000);
        adapter(task, link).longest = 32 << 20;
        adapter(task, link).holds_endings = true;
      }
    }
    job_.start();
  }

  // How long a put takes.
  Nanoseconds put(std::size_t length) {
    const std::vector<unsigned char> source = pattern(length);
    std::vector<unsigned char> sink(length);
    int done = 0;
    EXPECT_EQ(job_[0].put({1, address(sink.data()), source.data(), length, address(&done), 0, 0}), Submit::accepted);
    const Nanoseconds begun = job_.clock.now();
    exchange();
    for (unsigned steps = 0; done == 0 && steps != 1'000'000; ++steps) pass_a_step();
    EXPECT_TRUE(sink == source);
    return job_.clock.now() - begun;
  }

  // Nothing comes over the link any more. Answers how long a put takes then.
  Nanoseconds put_without(unsigned link, std::size_t length) {
    dead_ = link;
    return put(length);
  }
  std::uint64_t failures() {
    std::uint64_t all = 0;
    for (const PathStatus& path : job_[1].peers().paths_to(0)) all += path.failures;
    return all;
  }

 private:
  static constexpr Nanoseconds kStep = 20 * kMicrosecond;

  ScriptedBulkMemory& adapter(PeerIndex task, unsigned link) { return adapters_[2 * link + task]; }
  MemoryTransport& transport(PeerIndex task, unsigned link) {
    return link == 0 ? job_.task(task).transport : *job_.task(task).others[link - 1];
  }

  void pass_a_step() {
    job_.clock.advance(kStep);
    for (unsigned link = 0; link != count_; ++link) bring_over(link);
    exchange();
  }
  void exchange() {
    if (!kind_.packets_wait) return job_.settle();
    for (unsigned link = 0; link != count_; ++link) arrive(link);
    for (PeerIndex task : {1u, 0u}) job_[task].progress();
    for (unsigned link = 0; link != count_; ++link) hold_up(link);
  }
  // The second task's packets on the way to it.
  void hold_up(unsigned link) {
    const MemoryTransport::Copies sent = transport(1, link).take_waiting();
    const bool is_dead = link == dead_;
    if (is_dead) transport(0, link).forget_waiting();
    if (!sent.empty() && !is_dead) on_the_way_[link].emplace_back(std::max(free_[link], job_.clock.now()), sent);
  }
  void arrive(unsigned link) {
    auto& packets = on_the_way_[link];
    for (; !packets.empty() && packets.front().first <= job_.clock.now(); packets.pop_front())
      transport(1, link).put_back(packets.front().second);
  }

  // A link brings the answers one after the other, in order.
  void bring_over(unsigned link) {
    auto& under_way = adapter(1, link).under_way;
    const Nanoseconds now = job_.clock.now();
    if (link == dead_) return end_stopped(link);
    for (const auto& read : under_way) {
      if (ends_.contains(read.token)) continue;
      const Nanoseconds answered = now - kStep + kind_.round_trip;
      free_[link] = ends_[read.token] = std::max(free_[link], answered) + read.length * kind_.per_byte;
    }
    while (!under_way.empty() && ends_.at(under_way.front().token) <= now) {
      ends_.erase(under_way.front().token);
      adapter(1, link).end(0, true);
    }
  }
  void end_stopped(unsigned link) {
    auto& under_way = adapter(1, link).under_way;
    for (std::size_t place = under_way.size(); place-- != 0;) {
      if (under_way[place].local == nullptr) adapter(1, link).end(place, false);
    }
  }

  const unsigned count_;
  const LinkKind kind_;
  unsigned dead_ = UINT32_MAX;
  std::vector<ScriptedBulkMemory> adapters_ = std::vector<ScriptedBulkMemory>(2 * count_);  // outlive the endpoints
  Job job_{2, BulkPair::config()};
  std::map<std::uint64_t, Nanoseconds> ends_;  // of the reads under way, by token
  std::map<unsigned, Nanoseconds> free_;
  std::map<unsigned, std::deque<std::pair<Nanoseconds, MemoryTransport::Copies>>> on_the_way_;
};

TEST(BulkOverManyPaths, IsAsFastAsAllOfThemTogether) {
  constexpr std::size_t kLength = 16 << 20;
  for (const Nanoseconds round_trip : {Nanoseconds{0}, 2 * kMillisecond}) {
    double one = 0;
    for (const auto& [links, least] : {std::pair{1u, 1.0}, {2u, 1.9}, {4u, 3.7}, {8u, 6.5}}) {
      EqualLinks over(links, {.round_trip = round_trip});
      over.put(kLength);  // how fast they are is not known yet
      const auto time = static_cast<double>(over.put(kLength));
      if (links == 1) one = time;
      EXPECT_GE(one / time, least) << links << " links, round trip " << round_trip;
      RecordProperty("links_" + std::to_string(links) + "_at_" + std::to_string(round_trip),
                     std::to_string(one / time));
    }
  }
}

// Over links of 20 Mbit/s what is read waits for up to 0.8 s, and packets behind it, so that their paths are silent.
constexpr LinkKind kSlow{.per_byte = 400, .round_trip = kMillisecond, .packets_wait = true};

TEST(BulkOverManyPaths, GoesOnOverThoseWhosePacketsWaitBehindIt) {
  constexpr std::size_t kLength = 16 << 20;
  double one = 0;
  for (const auto& [links, least] : {std::pair{1u, 1.0}, {2u, 1.9}, {4u, 3.9}}) {
    EqualLinks over(links, kSlow);
    over.put(kLength);
    double time = 0;
    for (int times = 0; times != 2; ++times) time += static_cast<double>(over.put(kLength));
    if (links == 1) one = time;
    EXPECT_GE(one / time, least) << links << " links";
    EXPECT_EQ(over.failures(), 0u) << "reads come to their ends";
    RecordProperty("slow_links_" + std::to_string(links), std::to_string(one / time));
  }
}

TEST(BulkOverManyPaths, FindsALinkDeadThatBringsNothingAnyMore) {
  constexpr std::size_t kLength = 8 << 20;
  EqualLinks over(2, kSlow);
  over.put(kLength);
  over.put(kLength);
  const Nanoseconds alone = kLength * kSlow.per_byte;
  const Nanoseconds found = over.put_without(1, kLength);
  RecordProperty("found_dead_ms", std::to_string(static_cast<double>(found - alone) / kMillisecond));
  EXPECT_LT(found, alone + 2 * kSecond);
  EXPECT_LT(over.put(kLength), alone + kSecond / 2) << "nothing is tried over it any more";
  EXPECT_EQ(over.failures(), 1u);
}

}  // namespace
}  // namespace openlapi
