#include "bench/perf/cases.h"

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace openlapi::bench {
namespace {

constexpr std::size_t kLongestDatagram = 65507;
constexpr std::size_t kLongestDirect = 16384;  // what is longer goes by other means
constexpr std::uint64_t kFewestPuts = 20'000;  // of a rate: the fence at the end must not show

class CaseList {
 public:
  CaseList(Workbench& bench, const Options& options) : bench_(bench), options_(options) {
    batch_ = bench.wire == Wire::shm ? 4 : 1;
    largest_small_ = std::min(bench.job.copy_limit(), bench.wire == Wire::shm ? kFloorBytes : kLongestDatagram);
  }

  std::vector<Case> take() {
    for (const std::size_t size : options_.sizes) each_way(size, [&] { put(size); });
    for (const std::size_t size : options_.sizes) each_way(size, [&] { put_complete(size); });
    for (const std::size_t size : options_.sizes) put_warm(size);
    for (const std::size_t size : options_.sizes) each_way(size, [&] { get(size); });
    for (const std::size_t size : options_.sizes) active_messages(size);
    for (const std::size_t size : options_.sizes) each_way(size, [&] { put_both(size); });
    each_way(8, [&] { rate(); });
    for (const unsigned bits : {32u, 64u}) read_modify_writes(bits);
    if (bench_.mode == Mode::interrupt) {
      for (const std::size_t size : options_.sizes) get_computing(size);
      wake();
    }
    return std::move(cases_);
  }

 private:
  using Count = std::uint64_t;

  bool wanted(const std::string& operation) const {
    const auto& chosen = options_.operations;
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), operation) != chosen.end();
  }
  bool shm() const { return bench_.wire == Wire::shm; }
  bool verbs() const { return bench_.wire == Wire::verbs; }
  bool dpdk() const { return bench_.wire == Wire::dpdk; }
  bool sockets() const { return bench_.wire == Wire::udp; }
  bool small(std::size_t size) const { return size <= largest_small_; }
  void add(Case row) {
    if (operations_ != &bench_.operations) row.variant += row.variant.empty() ? "message" : " message";
    if (wanted(row.operation)) cases_.push_back(std::move(row));
  }

  // Where what is this short goes directly, the same by message is the next row.
  template <class AddRows>
  void each_way(std::size_t size, AddRows add_rows) {
    add_rows();
    if (!bench_.by_message || size > kLongestDirect) return;
    operations_ = &*bench_.by_message;
    add_rows();
    operations_ = &bench_.operations;
  }

  static std::string floor_symbol(const char* letter, std::size_t size, double parts) {
    std::string symbol(parts == 1 ? "2 " : "");
    symbol.append(letter);
    if (size > 8) symbol.append("(").append(size_text(size)).append(")");
    return symbol;
  }

  // One packet goes as the library's does: through a connection, or as a datagram if OPENLAPI_VERBS_PACKETS says so.
  // More than one go through a connection.
  void set_send_latency_floor(Case& row, std::size_t size, double parts) {
    Workbench& b = bench_;
    const char* const way = std::getenv("OPENLAPI_VERBS_PACKETS");
    const bool datagrams = way != nullptr && strcasecmp(way, "ud") == 0;
    const QueuePair kind = datagrams && size <= b.job.packet() ? QueuePair::datagram : QueuePair::reliable;
    row.floor_name = parts == 1 ? "2 ib_send_lat" : "ib_send_lat";
    row.floor_name += kind == QueuePair::datagram ? " UD" : " RC";
    row.floor = [&b, size, kind, parts](Count, Samples* s) { b.rdma.ping_pong(size, kind, parts, s); };
  }

  // F or F(n), U or U(n); `parts` 1: there and back.
  void set_ping_pong_floor(Case& row, std::size_t size, double parts) {
    Workbench& b = bench_;
    if (verbs()) {
      set_send_latency_floor(row, size, parts);
    } else if (dpdk()) {
      if (size > b.job.packet()) return;
      row.floor_name = parts == 1 ? "2 dpdk_floor ping" : "dpdk_floor ping";
      row.floor = [&b, size, parts](Count, Samples* s) { b.dpdk.ping_pong(size, parts, s); };
    } else if (!shm()) {
      row.floor_name = floor_symbol("U", size, parts);
      row.floor = [&b, size, parts](Count n, Samples* s) { b.udp.ping_pong(n, size, parts, s); };
    } else if (size <= 8 || parts == 1) {
      row.floor_name = floor_symbol("F", 8, parts);
      row.floor = [&b, parts](Count n, Samples* s) { b.memory.flag(n, parts, s); };
    } else {
      row.floor_name = floor_symbol("F", size, parts);
      row.floor = [&b, size](Count n, Samples* s) { b.memory.bytes(n, size, s); };
    }
  }

  // A message of `size` one way and a short one back.
  void set_answered_floor(Case& row, std::size_t size) {
    if (size <= 8) return set_ping_pong_floor(row, 8, 1);
    Case there, back;
    set_ping_pong_floor(there, size, 2);
    set_ping_pong_floor(back, 8, 2);
    if (!there.floor || !back.floor) return;
    row.floor_name = there.floor_name;
    row.floor_name.append(" + ").append(back.floor_name);
    row.floor = [one = there.floor, other = back.floor](Count n, Samples* s) {
      Samples first, second;
      one(n, &first);
      other(n, &second);
      for (std::size_t i = 0; s != nullptr && i < std::min(first.size(), second.size()); ++i) {
        s->push_back(first[i] + second[i]);
      }
    };
  }

  void set_push_floor(Case& row, std::size_t size, Regime regime) {
    Workbench& b = bench_;
    if (verbs()) {
      row.floor_name = "ib_read_bw";
      row.floor = [&b, size](Count, Samples* s) { b.rdma.read_stream(size, s); };
    } else if (dpdk()) {
      row.floor_name = "dpdk_floor stream";
      row.floor = [&b, size](Count, Samples* s) { b.dpdk.stream(size, b.job.packet(), s); };
    } else if (!shm()) {
      row.floor_name = "UDP stream with copies";
      row.floor = [&b, size](Count n, Samples* s) { b.udp.stream(n, size / 8 * 8, s); };
    } else if (b.can_attach) {
      row.floor_name = regime == Regime::fresh ? "process_vm_readv" : "process_vm_readv, warm";
      row.floor = [&b, size, regime](Count n, Samples* s) { b.attach.push(n, size, regime, s); };
    }
  }

  // On sockets nothing touches the buffers in the floor either.
  Regime regime() const { return shm() ? Regime::fresh : Regime::warm; }

  void put(std::size_t size) {
    Operations& o = *operations_;
    Case row{.operation = "put", .size = size};
    row.bytes = static_cast<double>(size);
    if (small(size)) {
      set_ping_pong_floor(row, size, 2);
      row.library = [&o, size, k = batch_](Count n, Samples* s) { o.put(n, size, k, s); };
    } else {
      set_push_floor(row, size, regime());
      row.library = [&o, size, r = regime()](Count n, Samples* s) { o.large_put(n, size, r, s); };
      if (verbs() || dpdk()) row.library = [&o, size](Count n, Samples* s) { o.put_stream(n, size, s); };
    }
    add(std::move(row));
  }

  void put_complete(std::size_t size) {
    if (!small(size) || size > kLargestPutComplete) return;
    Operations& o = *operations_;
    Case row{.operation = "put-complete", .size = size};
    set_answered_floor(row, size);
    row.library = [&o, size, k = batch_](Count n, Samples* s) { o.put_completed(n, size, k, s); };
    add(std::move(row));
  }

  void put_warm(std::size_t size) {
    if (small(size) || !shm()) return;
    Operations& o = bench_.operations;
    Case row{.operation = "put-warm", .size = size};
    row.bytes = static_cast<double>(size);
    set_push_floor(row, size, Regime::warm);
    row.library = [&o, size](Count n, Samples* s) { o.large_put(n, size, Regime::warm, s); };
    add(std::move(row));
  }

  void get(std::size_t size) {
    Workbench& b = bench_;
    Operations& o = *operations_;
    Case row{.operation = "get", .size = size};
    row.bytes = static_cast<double>(size);
    if (small(size)) {
      set_answered_floor(row, size);
      if (shm() && size > 8) {
        row.floor_name = "ask and copy";
        row.floor = [&b, size](Count n, Samples* s) { b.memory.fetch(n, size, s); };
      }
      row.library = [&o, size, k = batch_](Count n, Samples* s) { o.get(n, size, k, s); };
    } else {
      set_push_floor(row, size, regime());
      if (shm() && b.can_attach) {
        row.floor = [&b, size](Count n, Samples* s) { b.attach.pull(n, size, Regime::fresh, s); };
      }
      row.library = [&o, size, r = regime()](Count n, Samples* s) { o.large_get(n, size, r, s); };
      if (verbs() || dpdk()) row.library = [&o, size](Count n, Samples* s) { o.get_stream(n, size, s); };
    }
    add(std::move(row));
  }

  void small_active_message(const char* name, std::size_t size, Handler handler) {
    Operations& o = bench_.operations;
    Case row{.operation = name, .size = size};
    row.bytes = static_cast<double>(size);
    set_ping_pong_floor(row, size, 2);
    row.library = [&o, size, handler, k = batch_](Count n, Samples* s) { o.active_message(n, size, handler, k, s); };
    add(std::move(row));
  }

  void active_messages(std::size_t size) {
    if (small(size)) {
      small_active_message("am", size, Handler::read_in_place);
      if (size > kLargestFreeToRead) small_active_message("am-untouched", size, Handler::leave_untouched);
      if (size != options_.sizes.front()) return;
      small_active_message("am-inline", size, Handler::complete_inline);
      small_active_message("am-thread", size, Handler::complete_in_thread);
      return;
    }
    Operations& o = bench_.operations;
    Case row{.operation = "am", .size = size};
    row.bytes = static_cast<double>(size);
    set_push_floor(row, size, regime());
    row.library = [&o, size, r = regime()](Count n, Samples* s) { o.large_active_message(n, size, r, s); };
    add(std::move(row));
  }

  void put_both(std::size_t size) {
    Workbench& b = bench_;
    Operations& o = *operations_;
    Case row{.operation = "put-both", .size = size};
    row.bytes = 2 * static_cast<double>(size);
    if (small(size)) {
      if (shm() || sockets()) {
        row.floor_name = "both ways";
        row.floor = [&b, size](Count n, Samples* s) {
          b.wire == Wire::shm ? b.memory.both_ways(n, size, s) : b.udp.both_ways(n, size, s);
        };
      }
      row.library = [&o, size, k = batch_](Count n, Samples* s) { o.put_both_ways(n, size, k, s); };
    } else {
      if (shm() && b.can_attach) {
        row.floor_name = "process_vm_readv both ways";
        row.floor = [&b, size](Count n, Samples* s) { b.attach.both_ways(n, size, s); };
      }
      row.library = [&o, size](Count n, Samples* s) { o.large_put_both_ways(n, size, s); };
    }
    add(std::move(row));
  }

  void rate() {
    Workbench& b = bench_;
    Case row{.operation = "rate", .size = 8};
    row.is_rate = true;
    row.fewest = kFewestPuts;
    if (dpdk()) {
      row.floor_name = "dpdk_floor stream of 64 B";
      row.floor = [&b](Count, Samples* s) { b.dpdk.stream(8, 8, s); };
    } else if (!verbs()) {
      row.floor_name = shm() ? "ring of 64-byte slots" : "stream of 64-byte segments";
      row.floor = [&b](Count n, Samples* s) { b.wire == Wire::shm ? b.memory.ring(n, s) : b.udp.small_segments(n, s); };
    }
    row.library = [&o = *operations_](Count n, Samples* s) { o.rate(n, s); };
    add(std::move(row));
  }

  void read_modify_write(unsigned bits, RMW_ops_t operation, const char* name) {
    Case row{.operation = "rmw", .variant = name, .size = bits / 8};
    set_ping_pong_floor(row, 8, 1);
    row.library = [&o = *operations_, operation, bits, k = batch_](Count n, Samples* s) {
      o.read_modify_write(n, operation, bits, k, s);
    };
    add(std::move(row));
  }

  void read_modify_writes(unsigned bits) {
    each_way(bits / 8, [&] { read_modify_write(bits, FETCH_AND_ADD, "add"); });
    each_way(bits / 8, [&] { read_modify_write(bits, FETCH_AND_OR, "or"); });
    each_way(bits / 8, [&] { read_modify_write(bits, SWAP, "swap"); });
    each_way(bits / 8, [&] { read_modify_write(bits, COMPARE_AND_SWAP, "cas"); });
  }

  // The target's user thread sleeps in a system call; only its dataplane thread can answer.
  static void put_to_sleeper(Workbench& b, Count n, bool wait_for_sleep, Samples* samples) {
    if (b.job.task() != 0) {
      b.sleeper.sleep();
      b.job.fence_all();
      return;
    }
    b.sleeper.begin();
    if (!wait_for_sleep) {
      time_batches(n, b.wire == Wire::shm ? 4 : 1, 1, samples, [&] { b.operations.put_and_wait(8); });
    }
    for (Count i = 0; wait_for_sleep && i < n && wait_until_asleep(b.peer_process, 0, 1000); ++i) {
      time_batches(1, 1, 1, samples, [&] { b.operations.put_and_wait(8); });
    }
    b.sleeper.wake();
    b.job.fence_all();
  }

  // The target's user thread computes, and its other threads sleep. What is got is memory of a file, which is never
  // opened for direct access, so that all gets take the same way.
  static void get_from_computing(Workbench& b, Count n, std::size_t size, Samples* samples) {
    std::atomic<std::uint64_t>& computed = b.region->computed.value;
    const std::uint64_t end = b.region.agree(computed.load() + 1);
    const std::uint64_t source = b.job.exchange(reinterpret_cast<std::uintptr_t>(b.region->bytes[1]));
    if (b.job.task() != 0) {
      while (computed.load(std::memory_order_acquire) != end) continue;
    } else {
      for (Count i = 0; i < n && wait_until_asleep(b.peer_process, b.peer_process, 1000); ++i) {
        time_batches(1, 1, 1, samples,
                     [&] { b.operations.get_and_wait(reinterpret_cast<const std::byte*>(source), size); });
      }
      computed.store(end, std::memory_order_release);
    }
    b.job.fence_all();
  }

  void get_computing(std::size_t size) {
    if (!small(size)) return;
    Workbench& b = bench_;
    Case row{.operation = "get-computing", .size = size};
    if (shm() && b.can_attach) {
      row.floor_name = "process_vm_readv, warm";
      row.floor = [&b, size](Count n, Samples* s) { b.attach.pull(n, size, Regime::warm, s); };
    }
    row.library = [&b, size](Count n, Samples* s) { get_from_computing(b, n, size, s); };
    add(std::move(row));
  }

  void wake() {
    Workbench& b = bench_;
    Case spinning{.operation = "wake", .variant = "spinning", .size = 8, .floor_name = "polling mode"};
    spinning.floor = [&b, k = batch_](Count n, Samples* s) {
      b.job.set_mode(Mode::polling);
      b.operations.put_completed(n, 8, k, s);
      b.job.set_mode(Mode::interrupt);
    };
    spinning.library = [&b](Count n, Samples* s) { put_to_sleeper(b, n, false, s); };
    add(std::move(spinning));

    Case sleeping{.operation = "wake", .variant = "asleep", .size = 8};
    if (shm() || sockets()) {
      sleeping.floor_name = shm() ? "futex wake-up" : "socket wake-up";
      sleeping.floor = [&b](Count n, Samples* s) {
        b.wire == Wire::shm ? futex_wake_round_trip(b.region, b.peer_process, n, s)
                            : socket_wake_round_trip(b.region, b.udp.descriptor(), b.peer_process, n, s);
      };
    }
    sleeping.library = [&b](Count n, Samples* s) { put_to_sleeper(b, n, true, s); };
    add(std::move(sleeping));
  }

  Workbench& bench_;
  Operations* operations_ = &bench_.operations;  // that the rows are of
  const Options& options_;
  unsigned batch_;
  std::size_t largest_small_;
  std::vector<Case> cases_;
};

}  // namespace

Workbench::Workbench(LapiJob& job_, LapiJob* messages, SharedRegion& region_, Wire wire_, Mode mode_,
                     std::size_t largest)
    : job(job_),
      region(region_),
      wire(wire_),
      mode(mode_),
      peer_process(static_cast<pid_t>(region_.exchange(static_cast<std::uint64_t>(getpid())))),
      memory(region_),
      attach(region_, largest),
      can_attach(attach.usable()),
      udp(region_),
      rdma(region_),
      dpdk(region_),
      operations(job_, region_),
      sleeper(region_) {
  if (messages != nullptr) by_message.emplace(*messages, region_);
}

bool Workbench::open(std::string& error) {
  if (wire == Wire::verbs) return rdma.open(error);
  if (wire == Wire::dpdk) return dpdk.open(error);
  return wire == Wire::shm || udp.open(error);
}

std::vector<Case> make_cases(Workbench& bench, const Options& options) { return CaseList(bench, options).take(); }

}  // namespace openlapi::bench
