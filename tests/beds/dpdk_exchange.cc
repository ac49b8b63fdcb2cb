// Exchanges frames with every other process of a dpdk-ports bed and checks each byte.
//
//   dpdk-ports N --each -- dpdk_exchange ROUNDS
//
// Of two processes the one with the lower number asks: it sends frame after frame, each again until its answer has
// come, for some ports lose frames. The lengths go from the shortest frame to the longest. Prints one line for each
// peer. Nobody goes before all have finished and none uses its ports any more: memif's rings are unmapped when the
// other end goes, under who looks into them, too.
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nic/dpdk/client_connection.h"
#include "nic/dpdk/dpdk_environment.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint16_t kEtherType = 0x88b5;  // IEEE 802: local experimental
constexpr uint16_t kDescriptors = 512;
constexpr uint16_t kBurst = 32;
constexpr unsigned kBuffers = 8191;  // af_xdp takes 4096 at once
constexpr unsigned kLongBuffers = 2047;
constexpr int kLongMtu = 4000;
constexpr int kLeastMtu = 1500;       // drivers' own buffers are never shorter
constexpr uint16_t kSpareRoom = 728;  // drivers want some bytes more than a frame has
constexpr auto kResendAfter = std::chrono::milliseconds(20);
constexpr auto kRestartAfter = std::chrono::milliseconds(50);
// A server may abort when its client gives up a connection that it has not looked at yet.
constexpr auto kGiveUpConnectionAfter = std::chrono::seconds(2);
constexpr auto kGiveUpAfter = std::chrono::seconds(60);

struct [[gnu::packed, gnu::aligned(2)]] FrameHeader {
  rte_ether_hdr ethernet;
  uint8_t is_answer;
  uint8_t from;
  uint8_t to;
  uint8_t reserved;
  uint32_t round;   // little-endian, as the processors are that run this
  uint32_t length;  // of the frame
};
static_assert(sizeof(FrameHeader) == 26);

// A client of memif can be started only when the server's port is there, and when that was not started yet, the client
// is turned away, or the link stays down for ever: so a client whose link is down is started again.
struct Port {
  uint16_t id = 0;
  bool is_client = false;
  bool is_started = false;  // only then it may be polled
  openlapi::dpdk::ClientConnection connection;
  Clock::time_point tried_at;
};

struct Peer {
  int index = 0;
  size_t port = 0;      // in Exchange::ports_
  uint32_t rounds = 0;  // answered, or seen
  uint64_t resent = 0;
  Clock::time_point sent_at;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "dpdk_exchange: %s\n", what.c_str());
  std::exit(1);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    fail(std::string(name) + " is not set; start this by dpdk-ports N --each");
  }
  return value;
}

std::vector<std::string> words(const std::string& text, char separator = ' ') {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) {
      result.push_back(word);
    }
  }
  return result;
}

void start_eal(const char* program) {
  static std::vector<std::string> arguments = words(variable("DPDK_PORTS_EAL"));
  std::vector<char*> pointers{const_cast<char*>(program)};
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) {
    fail("rte_eal_init refuses " + variable("DPDK_PORTS_EAL"));
  }
}

// Configures the port of a device; it is not started.
uint16_t open_port(const std::string& device, rte_mempool* pool) {
  uint16_t port = 0;
  if (rte_eth_dev_get_port_by_name(device.c_str(), &port) != 0) {
    fail("there is no port of device " + device);
  }
  rte_eth_conf configuration{};
  if (rte_eth_dev_configure(port, 1, 1, &configuration) != 0 ||
      rte_eth_rx_queue_setup(port, 0, kDescriptors, SOCKET_ID_ANY, nullptr, pool) != 0 ||
      rte_eth_tx_queue_setup(port, 0, kDescriptors, SOCKET_ID_ANY, nullptr) != 0) {
    fail("cannot set up the queues of " + device);
  }
  return port;
}

bool is_up(uint16_t port) {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// Where the processes of a bed tell each other how far they are: by files in its directory.
class Progress {
 public:
  Progress(int self, int count) : self_(self), count_(count) {
    for (const char* stage : {kFinished, kSilent}) {
      std::filesystem::remove(file(stage, self_));  // of an exchange before this one
    }
  }

  static constexpr const char* kFinished = "finished";
  static constexpr const char* kSilent = "silent";

  void tell(const char* stage) const { std::ofstream(file(stage, self_)).put('\n'); }

  bool all(const char* stage) const {
    for (int process = 0; process < count_; ++process) {
      if (!std::filesystem::exists(file(stage, process))) {
        return false;
      }
    }
    return true;
  }

 private:
  static std::filesystem::path file(const char* stage, int process) {
    return std::filesystem::path(variable("RUNTIME_DIRECTORY")) / (std::string(stage) + "." + std::to_string(process));
  }

  int self_;
  int count_;
};

class Exchange {
 public:
  Exchange(rte_mempool* pool, uint32_t rounds)
      : pool_(pool),
        self_(std::stoi(variable("DPDK_PORTS_INDEX"))),
        rounds_(rounds),
        longest_(static_cast<uint32_t>(std::stoi(variable("DPDK_PORTS_MTU"))) + RTE_ETHER_HDR_LEN),
        progress_(self_, std::stoi(variable("DPDK_PORTS_COUNT"))) {
    for (const std::string& text : words(variable("DPDK_PORTS_MACS"))) {
      rte_ether_addr address;
      if (rte_ether_unformat_addr(text.c_str(), &address) != 0) {
        fail("DPDK_PORTS_MACS has '" + text + "'");
      }
      addresses_.push_back(address);
    }
    const std::vector<std::string> devices = words(variable("DPDK_PORTS_DEVICES"));
    const std::vector<std::string> peers = words(variable("DPDK_PORTS_PEERS"));
    for (size_t i = 0; i < devices.size(); ++i) {
      const std::vector<std::string> reached = words(peers.at(i), ',');
      for (const std::string& peer : reached) {
        peers_.push_back({.index = std::stoi(peer), .port = i, .sent_at = {}});
      }
      ports_.push_back({.id = open_port(devices[i], pool),
                        .is_client = reached.size() == 1 && std::stoi(reached[0]) < self_,
                        .connection = {},
                        .tried_at = {}});
    }
  }

  void run() {
    end_ = Clock::now() + kGiveUpAfter;
    while (!is_finished()) {
      go_round();
    }
    // Who asks may still lack an answer that was lost.
    progress_.tell(Progress::kFinished);
    while (!progress_.all(Progress::kFinished)) {
      go_round();
    }
  }

  void report() const {
    for (const Peer& peer : peers_) {
      std::printf("process %d and %d: %u rounds, %lu resent\n", self_, peer.index, peer.rounds,
                  static_cast<unsigned long>(peer.resent));
    }
  }

  void close() {
    progress_.tell(Progress::kSilent);
    while (!progress_.all(Progress::kSilent)) {
      check_time();
      usleep(1000);
    }
    // The thread that sees the other ends go: the driver does not expect two.
    openlapi::dpdk::call_in_interrupt_thread([this] {
      for (const Port& port : ports_) {
        rte_eth_dev_stop(port.id);
        rte_eth_dev_close(port.id);
      }
    });
  }

 private:
  void check_time() const {
    if (Clock::now() > end_) {
      report();
      fail("not finished after 60 s");
    }
  }

  void go_round() {
    check_time();
    for (Peer& peer : peers_) {
      keep_up(peer);
      ask(peer);
    }
    if (receive() == 0) {
      std::this_thread::yield();
    }
  }

  void keep_up(const Peer& peer) {
    Port& port = ports_[peer.port];
    if (peer.rounds == rounds_ || (port.is_started && (!port.is_client || is_up(port.id)))) {
      return;
    }
    const bool is_connecting = port.is_started && !port.connection.ended();
    const auto now = Clock::now();
    if (now - port.tried_at < (is_connecting ? Clock::duration(kGiveUpConnectionAfter) : kRestartAfter)) {
      return;
    }
    openlapi::dpdk::call_in_interrupt_thread([&port] { start(port); });
    port.tried_at = now;
  }

  static void start(Port& port) {
    if (port.is_started) {
      rte_eth_dev_stop(port.id);
    }
    port.connection.watch([&port] { port.is_started = rte_eth_dev_start(port.id) == 0; });
  }

  bool asks(const Peer& peer) const { return self_ < peer.index; }

  bool is_finished() const {
    return std::all_of(peers_.begin(), peers_.end(), [this](const Peer& peer) { return peer.rounds == rounds_; });
  }

  uint32_t length_of(uint32_t round) const {
    const uint32_t shortest = RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN;
    return shortest + static_cast<uint32_t>(uint64_t{longest_ - shortest} * round / std::max(rounds_ - 1, 1U));
  }

  static uint8_t pattern(uint32_t round, uint32_t position, int from) {
    return static_cast<uint8_t>(round * 31 + position * 7 + static_cast<uint32_t>(from));
  }

  void ask(Peer& peer) {
    const auto now = Clock::now();
    if (!asks(peer) || !ports_[peer.port].is_started || peer.rounds == rounds_ || now - peer.sent_at < kResendAfter) {
      return;
    }
    peer.resent += peer.sent_at == Clock::time_point{} ? 0 : 1;
    if (send(peer, peer.rounds, false)) {
      peer.sent_at = now;
    }
  }

  // False: the port is full, or the peer not there.
  bool send(const Peer& peer, uint32_t round, bool is_answer) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pool_);
    if (buffer == nullptr) {
      return false;
    }
    const uint32_t length = length_of(round);
    auto* bytes = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(buffer, static_cast<uint16_t>(length)));
    if (bytes == nullptr) {
      fail("a buffer is shorter than a frame");
    }
    const FrameHeader header{.ethernet = {.dst_addr = addresses_.at(static_cast<size_t>(peer.index)),
                                          .src_addr = addresses_.at(static_cast<size_t>(self_)),
                                          .ether_type = rte_cpu_to_be_16(kEtherType)},
                             .is_answer = is_answer,
                             .from = static_cast<uint8_t>(self_),
                             .to = static_cast<uint8_t>(peer.index),
                             .reserved = 0,
                             .round = round,
                             .length = length};
    std::memcpy(bytes, &header, sizeof header);
    for (uint32_t i = sizeof header; i < length; ++i) {
      bytes[i] = pattern(round, i, self_);
    }
    if (rte_eth_tx_burst(ports_[peer.port].id, 0, &buffer, 1) == 1) {
      return true;
    }
    rte_pktmbuf_free(buffer);
    return false;
  }

  unsigned receive() {
    unsigned received = 0;
    for (size_t port = 0; port < ports_.size(); ++port) {
      if (!ports_[port].is_started) {
        continue;
      }
      rte_mbuf* buffers[kBurst];
      const uint16_t count = rte_eth_rx_burst(ports_[port].id, 0, buffers, kBurst);
      for (uint16_t i = 0; i < count; ++i) {
        take(port, *buffers[i]);
        rte_pktmbuf_free(buffers[i]);
      }
      received += count;
    }
    return received;
  }

  void take(size_t port, const rte_mbuf& buffer) {
    const auto* bytes = rte_pktmbuf_mtod(&buffer, const uint8_t*);
    FrameHeader header;
    if (buffer.data_len < sizeof header) {
      return;
    }
    std::memcpy(&header, bytes, sizeof header);
    if (header.ethernet.ether_type != rte_cpu_to_be_16(kEtherType) || header.to != self_) {
      return;  // of the kernel, or flooded by the bridge
    }
    for (Peer& peer : peers_) {
      if (peer.index == header.from) {
        check(port, peer, header, buffer, bytes);
        go_on(peer, header);
        return;
      }
    }
    fail("a frame from an unknown process");
  }

  void check(size_t port, const Peer& peer, const FrameHeader& header, const rte_mbuf& buffer,
             const uint8_t* bytes) const {
    bool is_good = peer.port == port && header.round < rounds_ && header.length == length_of(header.round) &&
                   buffer.nb_segs == 1 && buffer.data_len >= header.length;
    for (uint32_t i = sizeof header; is_good && i < header.length; ++i) {
      is_good = bytes[i] == pattern(header.round, i, header.from);
    }
    if (!is_good) {
      fail("a frame from process " + std::to_string(header.from) + " is not as it was sent");
    }
  }

  void go_on(Peer& peer, const FrameHeader& header) {
    if (header.is_answer != 0) {
      if (header.round == peer.rounds) {
        ++peer.rounds;
        peer.sent_at = {};
      }
    } else if (header.round <= peer.rounds) {
      peer.rounds = std::max(peer.rounds, header.round + 1);
      send(peer, header.round, true);
    } else {
      fail("process " + std::to_string(header.from) + " asks what comes later");
    }
  }

  rte_mempool* pool_;
  int self_;
  uint32_t rounds_;
  uint32_t longest_;
  std::vector<rte_ether_addr> addresses_;  // of all processes
  std::vector<Port> ports_;
  std::vector<Peer> peers_;
  Progress progress_;
  Clock::time_point end_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 2 ? std::atoi(argv[1]) : 0;
  if (rounds <= 0) {
    fail("usage: dpdk-ports N --each -- dpdk_exchange ROUNDS");
  }
  start_eal(argv[0]);
  const int mtu = std::stoi(variable("DPDK_PORTS_MTU"));
  const auto room = static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + kSpareRoom + std::max(mtu, kLeastMtu));
  rte_mempool* pool =
      rte_pktmbuf_pool_create("frames", mtu > kLongMtu ? kLongBuffers : kBuffers, 0, 0, room, SOCKET_ID_ANY);
  if (pool == nullptr) {
    fail("no memory for frames");
  }
  Exchange exchange(pool, static_cast<uint32_t>(rounds));
  exchange.run();
  exchange.report();
  exchange.close();
  return 0;
}
