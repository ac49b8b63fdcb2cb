// Two endpoints with adapters that read each other's memory as a test says.
#pragma once

#include <array>
#include <vector>

#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/scripted_bulk_memory.h"

namespace openlapi {

inline std::vector<unsigned char> pattern(std::size_t length, unsigned seed = 1) {
  std::vector<unsigned char> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
  return bytes;
}

class BulkPair {
 public:
  static EndpointConfig config() {
    EndpointConfig config;
    config.copy_limit = 4000;
    config.bulk = true;
    config.bulk_minimum = 10'000;
    config.job_key = {0x1234, 0};
    return config;
  }

  explicit BulkPair(bool reliable) : BulkPair(reliable, config()) {}
  BulkPair(bool reliable, const EndpointConfig& config) : job(2, config) {
    ScriptedBulkMemory::connect(adapters[0], 0, adapters[1], 1);
    for (PeerIndex i = 0; i < 2; ++i) {
      job.task(i).transport.set_bulk_memory(&adapters[i]);
      if (!reliable) job.task(i).transport.make_lossy(0, i + 1);
    }
  }

  MessageStatistics statistics(PeerIndex task) {
    MessageStatistics all = job[task].statistics(StatisticsPath::network);
    const MessageStatistics memory = job[task].statistics(StatisticsPath::shared_memory);
    all.bulk_sent += memory.bulk_sent;
    all.bulk_received += memory.bulk_received;
    all.bulk_fallbacks += memory.bulk_fallbacks;
    all.retransmitted_packets += memory.retransmitted_packets;
    all.data_sent += memory.data_sent;
    all.data_received += memory.data_received;
    return all;
  }

  // Nothing is left of what was begun.
  void expect_clean() {
    for (PeerIndex i = 0; i < 2; ++i) job[i].drained();  // acknowledges
    job.settle();
    for (PeerIndex i = 0; i < 2; ++i) {
      EXPECT_EQ(adapters[i].exposed(), 0u) << "task " << i << " did not withdraw";
      EXPECT_TRUE(adapters[i].under_way.empty());
      EXPECT_TRUE(job[i].drained());
    }
  }

  std::array<ScriptedBulkMemory, 2> adapters;  // outlive the endpoints
  Job job;
};

}  // namespace openlapi
