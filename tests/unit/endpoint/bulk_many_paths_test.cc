// How fast bulk transfers are over several equal links, in virtual time: what the sharing itself costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/address.h"
#include "tests/support/bulk_pair.h"

namespace openlapi {
namespace {

// Two tasks with links between them, each of which brings 12.5 MB/s (100 Mbit/s), and answers a read after a while.
class EqualLinks {
 public:
  EqualLinks(unsigned count, Nanoseconds round_trip) : count_(count), round_trip_(round_trip) {
    for (unsigned link = 1; link != count; ++link) job_.add_paths();
    for (unsigned link = 0; link != count; ++link) {
      ScriptedBulkMemory::connect(adapter(0, link), 0, adapter(1, link), 1);
      for (PeerIndex task = 0; task != 2; ++task) {
        MemoryTransport& transport = link == 0 ? job_.task(task).transport : *job_.task(task).others[link - 1];
        transport.set_bulk_memory(&adapter(task, link));
        transport.make_lossy(0, 1);
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
    job_.settle();
    for (unsigned steps = 0; done == 0 && steps != 1'000'000; ++steps) {
      job_.clock.advance(kStep);
      for (unsigned link = 0; link != count_; ++link) bring_over(link);
      job_.settle();
    }
    EXPECT_TRUE(sink == source);
    return job_.clock.now() - begun;
  }

 private:
  static constexpr Nanoseconds kStep = 20 * kMicrosecond;
  static constexpr Nanoseconds kPerByte = 80;

  ScriptedBulkMemory& adapter(PeerIndex task, unsigned link) { return adapters_[2 * link + task]; }

  // A link brings the answers one after the other, in order.
  void bring_over(unsigned link) {
    auto& under_way = adapter(1, link).under_way;
    const Nanoseconds now = job_.clock.now();
    for (const auto& read : under_way) {
      if (ends_.contains(read.token)) continue;
      const Nanoseconds answered = now - kStep + round_trip_;
      free_[link] = ends_[read.token] = std::max(free_[link], answered) + read.length * kPerByte;
    }
    while (!under_way.empty() && ends_.at(under_way.front().token) <= now) {
      ends_.erase(under_way.front().token);
      adapter(1, link).end(0, true);
    }
  }

  const unsigned count_;
  const Nanoseconds round_trip_;
  std::vector<ScriptedBulkMemory> adapters_ = std::vector<ScriptedBulkMemory>(2 * count_);  // outlive the endpoints
  Job job_{2, BulkPair::config()};
  std::map<std::uint64_t, Nanoseconds> ends_;  // of the reads under way, by token
  std::map<unsigned, Nanoseconds> free_;
};

TEST(BulkOverManyPaths, IsAsFastAsAllOfThemTogether) {
  constexpr std::size_t kLength = 16 << 20;
  for (const Nanoseconds round_trip : {Nanoseconds{0}, 2 * kMillisecond}) {
    double one = 0;
    for (const auto& [links, least] : {std::pair{1u, 1.0}, {2u, 1.9}, {4u, 3.7}, {8u, 6.5}}) {
      EqualLinks over(links, round_trip);
      over.put(kLength);  // how fast they are is not known yet
      const auto time = static_cast<double>(over.put(kLength));
      if (links == 1) one = time;
      EXPECT_GE(one / time, least) << links << " links, round trip " << round_trip;
      RecordProperty("links_" + std::to_string(links) + "_at_" + std::to_string(round_trip),
                     std::to_string(one / time));
    }
  }
}

}  // namespace
}  // namespace openlapi
