// Gets that the origin's adapter reads without the target, over a shim that pages on demand.
#include <poll.h>
#include <sys/mman.h>

#include <fstream>
#include <string>
#include <vector>

#include "dataplane/counter/counters.h"
#include "tests/beds/adapter_shim.h"
#include "tests/beds/verbs_engine.h"

namespace openlapi::test {
namespace {

constexpr std::size_t kPage = 4096;

class VerbsOneSided : public VerbsEngine {
 protected:
  VerbsOneSided() {
    forget_requests();
    bed_has_bulk = true;
    adapter_shim.on_demand_paging = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    bed_changes = [](VerbsConfig& config) {
      config.one_sided = true;
      config.short_read_limits.gets_before_asking = 4;
    };
  }
  ~VerbsOneSided() override {
    stop();
    adapter_shim = {};
    bed_changes = nullptr;
    bed_has_bulk = false;
  }

  const verbs::ShortReadCounters& reads() { return transport(0).short_reads()->counters(); }

  bool get(const void* from, void* to, std::size_t length) {
    return endpoint(0).get({1, address(from), to, length, 0, address(&got_)}) == Submit::accepted;
  }
  // Whether it has come, with or without the target's steps.
  bool comes(const void* from, void* to, std::size_t length, bool target_steps) {
    const int before = got_;
    return get(from, to, length) && wait_for([&] {
             endpoint(0).progress();
             if (target_steps) endpoint(1).progress();
             return got_ != before;
           });
  }
  // Until the target's adapter serves them.
  bool connects() {
    std::uint64_t word = 1, sink = 0;
    return wait_for([&] { return comes(&word, &sink, sizeof word, true) && reads().reads_done != 0; });
  }
  // Gets of a word that changes each time.
  void expect_right(int count, bool target_steps) {
    std::uint64_t sink = 0;
    for (int i = 0; i < count; ++i) {
      word_ += 0x0101010101010101;
      ASSERT_TRUE(comes(&word_, &sink, sizeof sink, target_steps)) << i;
      ASSERT_EQ(sink, word_);
    }
  }

  std::uint64_t word_ = 7;
  int got_ = 0;
};

char* map_page(void* where = nullptr) {
  void* const page = mmap(where, kPage, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
  EXPECT_NE(page, MAP_FAILED);
  return static_cast<char*>(page);
}

// Pages of the kernel that a processor can read and no adapter.
const char* unpageable_page() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("[vvar]")) return reinterpret_cast<const char*>(std::stoull(line, nullptr, 16));
  }
  return nullptr;
}

TEST_F(VerbsOneSided, TheTargetDoesNothing) {
  start();
  ASSERT_TRUE(connects());
  const std::uint64_t packets = transport(0).counters().packets_sent;
  const std::uint64_t before = reads().reads_done;
  expect_right(200, false);
  EXPECT_EQ(transport(0).counters().packets_sent, packets);
  EXPECT_EQ(reads().reads_done, before + 200);
  EXPECT_EQ(reads().reads_failed, 0u);
}

TEST_F(VerbsOneSided, EachLengthFromAnyPlace) {
  start();
  ASSERT_TRUE(connects());
  char* const page = map_page();
  for (std::size_t i = 0; i < kPage; ++i) page[i] = static_cast<char>(i * 31 + i / 256);
  for (std::size_t length = 1; length <= 300; length += length < 12 ? 1 : 61) {
    for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{7}, kPage - length}) {
      std::vector<char> sink(length + 2, 'x');
      ASSERT_TRUE(comes(page + from, sink.data() + 1, length, length > OneSidedMemory::kMostBytes));
      EXPECT_EQ(std::string(page + from, length), std::string(sink.data() + 1, length)) << length << " from " << from;
      EXPECT_EQ(sink.front(), 'x');
      EXPECT_EQ(sink.back(), 'x');
    }
  }
  munmap(page, kPage);
}

TEST_F(VerbsOneSided, OtherMemoryAtTheSameAddressIsRead) {
  start();
  ASSERT_TRUE(connects());
  char* const page = map_page();
  for (char lap = 1; lap < 20; ++lap) {
    map_page(page);
    page[100] = lap;
    char sink = 0;
    ASSERT_TRUE(comes(page + 100, &sink, 1, false));
    EXPECT_EQ(sink, lap);
  }
  munmap(page, kPage);
}

TEST_F(VerbsOneSided, WhatNoAdapterCanReadComesInAMessage) {
  const char* const page = unpageable_page();
  ASSERT_NE(page, nullptr);
  start();
  ASSERT_TRUE(connects());
  char sink[8] = {};
  ASSERT_TRUE(comes(page + kPage - 8, sink, sizeof sink, true));
  EXPECT_EQ(std::string(sink, 8), std::string(page + kPage - 8, 8));
  EXPECT_EQ(reads().reads_failed, 1u);
  EXPECT_EQ(reads().connections_broken, 1u);
  expect_right(50, true);
  ASSERT_TRUE(connects());
  EXPECT_EQ(reads().connections_made, 2u);
  expect_right(50, false);
}

TEST_F(VerbsOneSided, EachComesOnceThoughQueuePairsBreak) {
  start();
  ASSERT_TRUE(connects());
  std::vector<std::uint64_t> sources(600), sinks(600);
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = i * 0x9e3779b97f4a7c15;
  const int before = got_;
  const auto step = [&] { return endpoint(0).progress() + endpoint(1).progress(); };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ASSERT_TRUE(wait_for([&] { return step(), get(&sources[i], &sinks[i], 8); }));
    ibv_qp* const queue_pair = i % 40 == 39 ? transport(0).short_reads()->queue_pair_to(1) : nullptr;
    if (queue_pair == nullptr) continue;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(queue_pair, &attributes, IBV_QP_STATE), 0);
  }
  const int all = static_cast<int>(sources.size());
  ASSERT_TRUE(wait_for([&] { return step(), got_ == before + all; }, 90)) << got_ - before;
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(got_, before + all);
  EXPECT_EQ(sinks, sources);
  EXPECT_GT(reads().connections_broken, 0u);
}

TEST_F(VerbsOneSided, GetsGoOnThoughTheInterfaceWasDown) {
  start();
  ASSERT_TRUE(connects());
  std::uint64_t sink = 0;
  const int before = got_;
  command("ip link set rdma1 down");
  ASSERT_TRUE(wait_for_port("rxe1", "DOWN"));
  ASSERT_TRUE(get(&word_, &sink, 8));
  for (int i = 0; i < 1000; ++i) endpoint(0).progress();
  EXPECT_EQ(got_, before);
  command("ip link set rdma1 up");
  ASSERT_TRUE(wait_for_port("rxe1", "ACTIVE"));
  ASSERT_TRUE(wait_for([&] { return endpoint(0).progress(), endpoint(1).progress(), got_ == before + 1; }, 60));
  EXPECT_EQ(sink, word_);
  expect_right(20, true);
}

TEST_F(VerbsOneSided, TheAdapterWakesWhoSleeps) {
  start();
  ASSERT_TRUE(connects());
  std::uint64_t sink = 0;
  const int before = got_;
  command("ip link set rdma1 down");
  ASSERT_TRUE(wait_for_port("rxe1", "DOWN"));
  ASSERT_TRUE(get(&word_, &sink, 8));
  WakeSource& wake = *transport(0).capabilities().wake_source;
  ASSERT_TRUE(wait_for([&] { return endpoint(0).progress(), wake.arm(); }));
  ASSERT_EQ(got_, before);
  command("ip link set rdma1 up");
  pollfd event{wake.descriptor(), POLLIN, 0};
  ASSERT_EQ(poll(&event, 1, 30'000), 1);
  wake.disarm();
  ASSERT_TRUE(wait_for_port("rxe1", "ACTIVE"));
  ASSERT_TRUE(wait_for([&] { return endpoint(0).progress(), endpoint(1).progress(), got_ == before + 1; }, 60));
  EXPECT_EQ(sink, word_);
}

TEST_F(VerbsOneSided, ATargetThatDiesIsLostAsWithMessages) {
  start();
  ASSERT_TRUE(connects());
  std::uint64_t sink = 3;
  end(1);
  ASSERT_TRUE(get(&word_, &sink, 8));
  ASSERT_TRUE(get(&word_, &sink, 4));
  ASSERT_TRUE(wait_for([&] { return endpoint(0).progress(), reads().reads_failed == 2; }));
  EXPECT_EQ(endpoint(0).unfinished().not_answered, 2u) << "now they are messages";
  const int before = got_;
  endpoint(0).purge(1);
  EXPECT_EQ(endpoint(0).unfinished().not_answered, 0u);
  for (int i = 0; i < 1000; ++i) endpoint(0).progress();
  EXPECT_EQ(got_, before);
  EXPECT_EQ(sink, 3u);
}

TEST_F(VerbsOneSided, WhoWasPurgedReadsNoMore) {
  start();
  ASSERT_TRUE(connects());
  endpoint(1).purge(0);
  std::uint64_t sink = 3;
  ASSERT_TRUE(get(&word_, &sink, 8));
  ASSERT_TRUE(wait_for([&] { return endpoint(0).progress(), endpoint(1).progress(), reads().reads_failed != 0; }));
  EXPECT_EQ(sink, 3u);
  EXPECT_EQ(endpoint(0).unfinished().not_answered, 1u);
}

TEST_F(VerbsOneSided, NothingWithoutPagingOfAllMemory) {
  adapter_shim.on_demand_paging = IBV_ODP_SUPPORT;
  start();
  expect_right(100, true);
  EXPECT_EQ(reads().reads_done, 0u);
  EXPECT_EQ(reads().connections_made, 0u);
}

}  // namespace
}  // namespace openlapi::test
