// What two DPDK ports do without the library: a ping-pong of single frames and a stream of frames, with nothing in it
// but bursts, and one copy of every payload from a source buffer and one to its place.
//
//   dpdk_floor ping|stream LENGTH COUNT SIDE SESSION
//
// LENGTH: bytes of a frame. SIDE 0 measures and prints: ping: median half round trip in ns; stream: ns per frame that
// SIDE 1 received, and how many of COUNT. SESSION tells this run's frames from others'. The port is DPDK_FLOOR_DEVICE,
// EAL's arguments are DPDK_FLOOR_ARGUMENTS.
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/ethernet_port.h"
#include "nic/dpdk/huge_pages.h"

namespace {

using openlapi::dpdk::EthernetPort;

constexpr std::size_t kLongest = 9216, kSourceBytes = 4 << 20;
constexpr unsigned kBurst = 32;
constexpr std::uint64_t kPatience = 20;  // seconds
constexpr std::uint16_t kType = 0xb688;  // 0x88b6, big-endian: for experiments

enum Kind : std::uint32_t { hello, ball, data, end, result };

struct Frame {
  std::uint8_t to[6], from[6];
  std::uint16_t type;
  std::uint16_t unused;
  std::uint32_t kind;
  std::uint32_t side;
  std::uint64_t session;
  std::uint64_t number;
  std::uint64_t nanoseconds;
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "dpdk_floor: %s\n", why.c_str());
  std::exit(1);
}

struct Bench {
  EthernetPort port;
  std::uint32_t side = 0;
  std::uint64_t session = 0;
  std::size_t length = 64;
  std::uint64_t until = 0;
  std::vector<std::uint8_t> source = std::vector<std::uint8_t>(kSourceBytes, 7);
  std::vector<std::uint8_t> place = std::vector<std::uint8_t>(kSourceBytes);

  std::size_t payload() const { return length - std::min(length, sizeof(Frame)); }
  std::size_t offset(std::uint64_t number) const {
    return number * 64 * ((payload() + 63) / 64) % (kSourceBytes - kLongest);
  }

  void fill(rte_mbuf& buffer, Kind kind, std::uint64_t number, std::uint64_t nanoseconds = 0) {
    auto* frame = rte_pktmbuf_mtod(&buffer, Frame*);
    std::memset(frame, 0, sizeof *frame);
    std::memset(frame->to, 0xff, sizeof frame->to);
    std::copy(port.mac().begin(), port.mac().end(), frame->from);
    frame->type = kType;
    frame->kind = kind;
    frame->side = side;
    frame->session = session;
    frame->number = number;
    frame->nanoseconds = nanoseconds;
    const std::size_t bytes = kind == ball || kind == data ? payload() : 64;
    std::memcpy(frame + 1, source.data() + offset(number), bytes);
    buffer.data_len = static_cast<std::uint16_t>(sizeof *frame + bytes);
    buffer.pkt_len = buffer.data_len;
  }

  bool send(Kind kind, std::uint64_t number, std::uint64_t nanoseconds = 0) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(port.send_pool());
    if (buffer == nullptr) return false;
    fill(*buffer, kind, number, nanoseconds);
    if (rte_eth_tx_burst(port.id(), 0, &buffer, 1) == 1) return true;
    rte_pktmbuf_free(buffer);
    return false;
  }

  // Calls take(frame) for what the other side has sent; how many there were.
  template <typename Take>
  unsigned receive(const Take& take) {
    rte_mbuf* buffers[kBurst];
    const unsigned count = rte_eth_rx_burst(port.id(), 0, buffers, kBurst);
    unsigned ours = 0;
    for (unsigned i = 0; i < count; ++i) {
      const auto* frame = rte_pktmbuf_mtod(buffers[i], const Frame*);
      if (buffers[i]->data_len < sizeof(Frame) || frame->type != kType || frame->session != session ||
          frame->side == side) {
        continue;
      }
      if (frame->kind == ball || frame->kind == data) {
        std::memcpy(place.data() + offset(frame->number), frame + 1, std::min<std::size_t>(payload(), kLongest));
      }
      take(*frame);
      ++ours;
    }
    if (count != 0) rte_pktmbuf_free_bulk(buffers, count);
    return ours;
  }

  void check_time() const {
    if (rte_get_tsc_cycles() > until) fail("the other side does not answer");
  }
};

std::uint64_t nanoseconds(std::uint64_t ticks) {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) * 1e9 / static_cast<double>(rte_get_tsc_hz()));
}

// Both have seen each other.
void meet(Bench& bench) {
  std::uint64_t next = 0;
  bool seen = false, answered = false;
  while (!answered) {
    bench.check_time();
    const std::uint64_t now = rte_get_tsc_cycles();
    bench.port.link_check(nanoseconds(now));
    if (!bench.port.up()) continue;
    bench.receive([&](const Frame& frame) {
      seen = true;
      answered = answered || frame.kind != hello || frame.number != 0;
    });
    if (now < next) continue;
    next = now + rte_get_tsc_hz() / 1000;
    bench.send(hello, seen ? 1 : 0);
  }
  for (int i = 0; i < 3; ++i) bench.send(hello, 1);
}

// A lost ball is thrown again.
void ping(Bench& bench, std::uint64_t count) {
  std::vector<std::uint64_t> times;
  std::uint64_t expected = 1;
  if (bench.side == 1) {
    while (expected <= count) {
      bench.check_time();
      bench.receive([&](const Frame& frame) {
        if (frame.kind != ball) return;
        bench.send(ball, frame.number);
        expected = frame.number + 1;
      });
    }
    return;
  }
  for (; expected <= count; ++expected) {
    std::uint64_t start = rte_get_tsc_cycles();
    bench.send(ball, expected);
    bool back = false;
    while (!back) {
      bench.receive([&](const Frame& frame) { back = back || (frame.kind == ball && frame.number == expected); });
      const std::uint64_t now = rte_get_tsc_cycles();
      if (back || now - start < rte_get_tsc_hz() / 100) continue;
      bench.check_time();
      start = now;
      bench.send(ball, expected);
    }
    times.push_back(nanoseconds(rte_get_tsc_cycles() - start));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  std::printf("%.1f\n", static_cast<double>(times[times.size() / 2]) / 2);
}

void send_stream(Bench& bench, std::uint64_t count) {
  rte_mbuf* buffers[kBurst];
  for (std::uint64_t number = 0; number < count;) {
    const auto some = static_cast<unsigned>(std::min<std::uint64_t>(kBurst, count - number));
    if (rte_pktmbuf_alloc_bulk(bench.port.send_pool(), buffers, some) != 0) continue;
    for (unsigned i = 0; i < some; ++i) bench.fill(*buffers[i], data, number + i);
    for (unsigned sent = 0; sent < some;) {
      sent += rte_eth_tx_burst(bench.port.id(), 0, buffers + sent, static_cast<std::uint16_t>(some - sent));
    }
    number += some;
  }
  bool told = false;
  std::uint64_t next = 0;
  while (!told) {
    bench.check_time();
    if (rte_get_tsc_cycles() > next) {
      bench.send(end, count);
      next = rte_get_tsc_cycles() + rte_get_tsc_hz() / 1000;
    }
    bench.receive([&](const Frame& frame) {
      if (frame.kind != result || told) return;
      told = true;
      std::printf("%.2f %llu\n", static_cast<double>(frame.nanoseconds) / static_cast<double>(frame.number),
                  static_cast<unsigned long long>(frame.number));
    });
  }
}

void receive_stream(Bench& bench) {
  std::uint64_t received = 0, first = 0, last = 0;
  bool ended = false;
  while (!ended) {
    bench.check_time();
    const unsigned some = bench.receive([&](const Frame& frame) {
      ended = ended || frame.kind == end;
      if (frame.kind == data) ++received;
    });
    if (some == 0 || ended) continue;
    last = rte_get_tsc_cycles();
    if (first == 0) first = last;
  }
  for (int i = 0; i < 20; ++i) {
    bench.send(result, std::max<std::uint64_t>(received, 1), nanoseconds(last - first));
    rte_delay_us_block(1000);
  }
}

}  // namespace

int main(int count, char** words) {
  const char* const device = std::getenv("DPDK_FLOOR_DEVICE");
  const char* const arguments = std::getenv("DPDK_FLOOR_ARGUMENTS");
  if (count != 6 || device == nullptr)
    fail("usage: dpdk_floor ping|stream LENGTH COUNT SIDE SESSION, DPDK_FLOOR_DEVICE");
  Bench bench;
  bench.length = std::clamp<std::size_t>(std::stoul(words[2]), 64, kLongest - 64);
  bench.side = static_cast<std::uint32_t>(std::stoul(words[4]));
  bench.session = std::stoull(words[5]);
  openlapi::dpdk::PortPreference preference;
  preference.device = device;
  preference.mtu = 9000;  // buffers for whatever the port was made for
  std::string reason;
  const openlapi::dpdk::HugePageTurn turn({.bytes = EthernetPort::memory_for(preference)});
  if (!openlapi::dpdk::start_environment(arguments == nullptr ? "" : arguments, EthernetPort::memory_for(preference),
                                         turn.may_take(), reason) ||
      bench.port.open(preference, reason) != openlapi::dpdk::PortFault::none) {
    fail(reason);
  }
  bench.until = rte_get_tsc_cycles() + kPatience * rte_get_tsc_hz();
  meet(bench);
  const std::uint64_t number = std::stoull(words[3]);
  if (std::string(words[1]) == "ping") {
    ping(bench, number);
  } else if (bench.side == 0) {
    send_stream(bench, number);
  } else {
    receive_stream(bench);
  }
  std::fflush(stdout);
  std::_Exit(0);  // DPDK has no end
}
