// Gets of a few bytes without a message: RDMA READ of the peer's memory at any address, made possible by one key for
// all of it.
//
// The key is that of a region of all memory that the peer's adapter pages on demand (on_demand_paging.h). Nothing else
// would do: the kernel takes pages out of such a region before the process that unmaps them goes on, so that a read
// never finds memory that is not there any more. Memory that stays registered is not so: whoever is asked for it looks
// whether it has changed, and nobody is asked here.
// The key comes with the answer to a connection (ConnectionMessage), so it is never older than the queue pair that it
// is used through. There are queue pairs for this alone, as for bulk_reads.h, behind whose reads short ones would wait.
// A peer is asked for one after a number of gets (asking.h), which go by messages, as do those that find as many reads
// under way as may be.
// What is read lands in memory of the connection, never in the program's: so a read can be given up at any time.
// An error of any kind ends the connection: its reads end as not read, and the peer is asked again after a number of
// further gets, twice as many each time that it fails. The adapter's own time-outs are long, and a read may be repeated
// by a message, so one that has not come after a second is not waited for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/transport/one_sided_memory.h"
#include "nic/verbs/asking.h"
#include "nic/verbs/domains.h"
#include "nic/verbs/job_size.h"
#include "nic/verbs/registered_memory.h"
#include "nic/verbs/served_connections.h"

namespace openlapi::verbs {

struct ShortReadLimits {
  std::uint32_t connections = kOneSidedConnections;  // of each kind (reading, being read)
  std::uint32_t gets_before_asking = 0;              // 0: as asking.h says
};

struct ShortReadCounters {
  std::uint64_t reads_done = 0;
  std::uint64_t reads_failed = 0;
  std::uint64_t connections_made = 0;
  std::uint64_t connections_broken = 0;
  std::uint64_t connections_closed = 0;  // to make room, or by the other end
};

class ShortReads final : public OneSidedMemory {
 public:
  static constexpr std::uint32_t kAtATime = 16;  // reads of a connection

  // Null: the adapter cannot do it (no RDMA READ, or no room for its queues). Whether it can be read is found out when
  // a peer asks.
  static std::unique_ptr<ShortReads> make(ibv_context& context, const Domains& domains, ibv_comp_channel& channel,
                                          const PortPlace& place, ConnectionPath& path, const ShortReadLimits& limits);
  ~ShortReads() override;

  bool begin_get(PeerIndex peer, std::uint64_t address, std::size_t length, std::uint32_t token) override;
  bool take_ending(Ending& ending) override;
  void part_from(PeerIndex peer) override;
  void resume(PeerIndex peer) override;

  // Called by the transport: when a connection message has arrived; when a peer has a new address; before it sleeps
  // (false: there is something to do first); and now and then.
  void message_arrived(PeerIndex peer, const ConnectionMessage& message);
  void peer_changed(PeerIndex peer);
  bool arm();
  void look_around() { destruction_.go_on(); }
  // The port's table has the partition at another place.
  void use_partition(std::uint16_t index) { setting_.place.partition_index = index; }
  // The adapter has failed: all reads end, and no peer is read.
  void give_up();

  const ShortReadCounters& counters() const { return counters_; }
  const ServedConnections& served() const { return served_; }
  ibv_qp* queue_pair_to(PeerIndex peer) const;  // for tests to look at, or to break; null: not connected

 private:
  static constexpr std::uint64_t kIdleUses = 256;         // uses of others before an idle one may be closed
  static constexpr std::uint32_t kSilentLooks = 64;       // between two looks at the clock
  static constexpr std::uint64_t kLongestSilence = 1000;  // milliseconds
  static constexpr std::size_t kPollBatch = 16;

  struct Connection {
    PeerIndex peer = kUnknownPeer;
    std::uint64_t number = 0;   // by which both ends know it; random
    std::uint64_t request = 0;  // the number of its requests: its place in the list, and which one there it is
    bool ready = false;
    std::uint32_t key = 0;                          // of all the peer's memory
    RegisteredMemory memory;                        // kMostBytes for each read
    std::unique_ptr<ReliableQueuePair> queue_pair;  // destroyed before the memory
    std::array<std::uint32_t, kAtATime> tokens{};   // of the reads, which end in the order in which they began
    std::uint32_t next = 0;                         // the place of the next one
    std::uint32_t under_way = 0;
    std::uint64_t ended = 0;
    std::uint64_t last_use = 0;  // the value of uses_ then
    std::uint32_t asked = 0;     // times
    // How many had ended at an earlier look, and when that was, in milliseconds.
    std::uint64_t ended_then = UINT64_MAX, looked_at = 0;
  };

  struct Peer : AskingState {          // gets are counted
    Connection* connection = nullptr;  // asked for, or ready
    bool parted = false;
  };

  ShortReads(const Domains& domains, ConnectionPath& path, const ShortReadLimits& limits);
  bool open(ibv_context& context, ibv_comp_channel& channel, const PortPlace& place);
  bool may_be_read();
  Peer stranger() const { return {AskingState::of_stranger(asking_)}; }
  Peer& state_of(PeerIndex peer);
  void count_get(PeerIndex peer);
  void ask(PeerIndex peer);
  Connection* make_connection(PeerIndex peer);
  bool close_idle_one();
  void say(const Connection& connection, ConnectionMessage::Kind kind);
  void accepted(Connection& connection, const ConnectionMessage& message);
  void failed(Connection& connection);
  void broken(Connection& connection);
  void remove(Connection& connection);
  bool poll();
  Connection* connection_of(std::uint64_t request) const;
  static std::byte* place_of(const Connection& connection, std::uint32_t place);
  void keep_time();

  const Domains& domains_;
  ConnectionPath& path_;
  ShortReadLimits limits_;
  Asking asking_;
  CompletionQueue completions_;
  bool pages_ = false;  // the adapter has a region of all memory, if it does not refuse
  MemoryRegion whole_;  // made when a peer asks first: its key opens all memory for reading
  ReliableSetting setting_;
  SlowDestruction destruction_;                           // of all queue pairs, before the queue and the memory
  std::vector<std::unique_ptr<Connection>> connections_;  // by place; null: a free one
  std::vector<Peer> peers_;
  std::uint32_t names_ = 0;
  std::uint32_t posted_ = 0;  // reads under way, of all
  std::uint64_t uses_ = 0;
  std::uint32_t silent_looks_ = 0;
  bool given_up_ = false;
  std::vector<std::uint32_t> lost_;  // tokens of reads that have ended as not read, the oldest last
  std::array<ibv_wc, kPollBatch> done_;
  std::size_t next_done_ = 0, done_end_ = 0;
  ServedConnections served_;
  ShortReadCounters counters_;
};

}  // namespace openlapi::verbs
