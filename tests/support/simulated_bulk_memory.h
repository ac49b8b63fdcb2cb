// The adapters' reads of a simulated network: in virtual time, with delays and failures drawn from a seed. They see
// which memory is exposed at the moment at which they read it, and complain of engines that do not keep the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/transport/bulk_memory.h"
#include "tests/support/seeded_random.h"
#include "tests/support/virtual_time.h"

namespace openlapi {

// Shares are probabilities.
struct BulkFaults {
  double expose_refusal = 0;
  double begin_failure = 0;
  double read_failure = 0;
  double full = 0;        // although there is room
  double break_down = 0;  // with a failure: the path to that peer works no more
};

struct BulkConfig {
  PeerIndex task = 0;
  std::uint32_t context = 0;
  std::uint32_t network = 0;  // reads from the adapters of other tasks in the same one
  std::uint64_t longest_read = 32 * 1024 * 1024;
  std::size_t room = 16;  // reads under way
  std::uint64_t bytes_per_second = 4'000'000'000;
  double wakes = 0.5;  // share of endings that wake the task
  BulkFaults faults;
};

class SimulatedBulkMemory;

// All adapters of a job.
class SimulatedBulkNetwork {
 public:
  struct Counters {
    std::uint64_t reads = 0, failed = 0, stopped = 0, refused = 0, waited = 0;
  };

  SimulatedBulkNetwork(VirtualTime& time, std::uint64_t seed) : time_(time), random_(seed, 0x62756c6b) {}

  // Whether packets pass between two tasks in a network. Where they do not a read waits, for longer or shorter, and
  // fails if that lasts.
  std::function<bool(PeerIndex, PeerIndex, std::uint32_t)> connected = [](PeerIndex, PeerIndex, std::uint32_t) {
    return true;
  };

  const Counters& counters() const { return counters_; }
  const std::string& complaint() const { return complaint_; }  // of the engines; empty: none
  std::size_t exposures() const;                               // that have not been withdrawn

 private:
  friend class SimulatedBulkMemory;

  void complain(const SimulatedBulkMemory& of, const char* what);

  VirtualTime& time_;
  SeededRandom random_;
  std::map<std::uint64_t, SimulatedBulkMemory*> memories_;  // by serial number
  std::uint64_t next_serial_ = 1;
  Counters counters_;
  std::string complaint_;
};

// One adapter of one task's incarnation. What it reads is lost when it is destroyed.
class SimulatedBulkMemory final : public BulkMemory {
 public:
  SimulatedBulkMemory(SimulatedBulkNetwork& network, const BulkConfig& config);
  ~SimulatedBulkMemory() override;
  SimulatedBulkMemory(const SimulatedBulkMemory&) = delete;
  SimulatedBulkMemory& operator=(const SimulatedBulkMemory&) = delete;

  void set_ending_listener(std::function<void()> listener) { on_ending_ = std::move(listener); }

  bool reachable(PeerIndex peer) override { return !broken_[peer]; }
  std::uint64_t longest_read() const override { return config_.longest_read; }
  bool expose(const void* address, std::size_t length, MemoryKey& key) override;
  void withdraw(const MemoryKey& key) override;
  bool leads_to(PeerIndex peer, const MemoryKey& key) override;
  Begin begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local, std::size_t length,
                   std::uint64_t token, const MemoryRange& around) override;
  void stop_reads(PeerIndex peer) override;
  std::size_t take_endings(std::span<Ending> endings) override;

 private:
  friend class SimulatedBulkNetwork;

  struct Key {
    std::uint64_t serial;  // of the adapter that exposed it
    std::uint64_t number;
  };
  static_assert(sizeof(Key) == sizeof(MemoryKey));
  struct Exposed {
    std::uint64_t address;
    std::size_t length;
    std::uint32_t times;
  };
  struct Read {
    PeerIndex peer;
    std::uint64_t remote_address;
    Key key;
    std::byte* local;
    std::size_t length;
    std::uint64_t token;
    std::uint64_t tries;                 // left, of ending while nothing comes through
    std::vector<std::byte> before = {};  // what was there when it began, if there was something to read
    std::size_t copied = 0;
    bool failed = false;
    bool stopped = false;
  };

  void advance(std::uint64_t id, std::size_t to);
  void finish(std::uint64_t id);
  void finish_at(Nanoseconds when, std::uint64_t id);
  bool is_connected(const Read& read) const { return network_.connected(config_.task, read.peer, config_.network); }
  bool can_read(const Read& read) const;

  SimulatedBulkNetwork& network_;
  BulkConfig config_;
  std::uint64_t serial_;
  std::function<void()> on_ending_;
  std::map<std::uint64_t, Exposed> exposed_;  // by number
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Read> reads_;
  std::uint64_t next_read_ = 1;
  std::vector<Ending> endings_;
  std::map<PeerIndex, bool> broken_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace openlapi
