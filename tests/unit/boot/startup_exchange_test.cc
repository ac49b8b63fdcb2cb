#include "control/boot/startup/startup_exchange.h"

#include <gtest/gtest.h>

#include <string>

#include "control/boot/startup/startup_messages.h"

namespace openlapi::boot {
namespace {

using State = StartupExchange::State;

StartupKey key_of(std::uint8_t byte) {
  StartupKey key{};
  key.fill(byte);
  return key;
}

// Carries bytes between the two until nothing moves, `step` bytes at a time.
void carry(StartupExchange& client, StartupExchange& server, std::size_t step = 1 << 20) {
  const auto move = [&](StartupExchange& from, StartupExchange& to) {
    const std::size_t count = std::min(step, from.outgoing().size());
    const StartupBytes bytes(from.outgoing().begin(), from.outgoing().begin() + static_cast<std::ptrdiff_t>(count));
    from.outgoing().erase(from.outgoing().begin(), from.outgoing().begin() + static_cast<std::ptrdiff_t>(count));
    to.take(bytes);
  };
  while (!client.outgoing().empty() || !server.outgoing().empty()) {
    move(client, server);
    move(server, client);
  }
}

TEST(StartupExchange, CarriesAPayloadInPiecesOfAnySize) {
  const StartupBytes payload{1, 2, 3, 4, 5};
  for (const std::size_t step : {1u, 7u, 1000u}) {
    StartupExchange client(key_of(1), StartupKind::kDaemonInfo, payload);
    StartupExchange server(key_of(1), StartupKind::kDaemonInfo, 5);
    carry(client, server, step);
    ASSERT_EQ(server.state(), State::kPayload);
    EXPECT_EQ(server.payload(), payload);
    EXPECT_EQ(client.state(), State::kGoesOn);
    server.accept();
    carry(client, server, step);
    EXPECT_EQ(client.state(), State::kDone);
  }
}

TEST(StartupExchange, AClientHearsThatItsMessageWasRefused) {
  StartupExchange client(key_of(1), StartupKind::kDaemonInfo, StartupBytes{1});
  StartupExchange server(key_of(1), StartupKind::kDaemonInfo, 5);
  carry(client, server);
  server.refuse();
  carry(client, server);
  EXPECT_EQ(client.state(), State::kRefused);
}

TEST(StartupExchange, AClientSendsNoPayloadToAServerWithAnotherKey) {
  StartupExchange client(key_of(1), StartupKind::kDaemonInfo, StartupBytes{1});
  StartupExchange server(key_of(2), StartupKind::kDaemonInfo, 5);
  carry(client, server);
  EXPECT_EQ(client.state(), State::kBroken);
  EXPECT_EQ(server.state(), State::kBroken);
  EXPECT_TRUE(server.payload().empty());
}

TEST(StartupExchange, RefusesAnotherKindAndTooMuch) {
  StartupExchange client(key_of(1), StartupKind::kDaemonInfo, StartupBytes{1});
  StartupExchange universe_server(key_of(1), StartupKind::kUniverse, 5);
  carry(client, universe_server);
  EXPECT_EQ(universe_server.state(), State::kBroken);
  StartupExchange long_client(key_of(1), StartupKind::kDaemonInfo, StartupBytes(6));
  StartupExchange server(key_of(1), StartupKind::kDaemonInfo, 5);
  carry(long_client, server);
  EXPECT_EQ(server.state(), State::kBroken);
}

// However long a message may be: of a stranger who has not proved that he has the key no more than 60 bytes are taken.
TEST(StartupExchange, AStrangerIsRefusedAfterSixtyBytes) {
  StartupExchange stranger(key_of(2), StartupKind::kUniverse, StartupBytes(1000));
  StartupExchange server(key_of(1), StartupKind::kUniverse, kLongestUniverse);
  StartupBytes said = std::exchange(stranger.outgoing(), {});
  said.resize(sealing::kBytesBeforeProof, 0xff);
  EXPECT_EQ(server.take(std::span(said).first(said.size() - 1)), State::kGoesOn);
  EXPECT_EQ(server.take(std::span(said).last(1)), State::kBroken);
}

// One changed bit anywhere in what the client sends, or in what the server sends.
TEST(StartupExchange, RefusesEveryChangedByte) {
  constexpr std::size_t kClientSends = sealing::kBytesBeforeProof + 20 + 3 + 16, kServerSends = 60 + 20 + 1 + 16;
  for (std::size_t at = 0; at < kClientSends + kServerSends; ++at) {
    StartupExchange client(key_of(1), StartupKind::kUniverse, {9, 8, 7});
    StartupExchange server(key_of(1), StartupKind::kUniverse, 5);
    std::size_t sent[2] = {};
    bool accepted = false;
    const auto change = [&](StartupBytes bytes, bool of_client) {
      std::size_t& begin = sent[of_client];
      const std::size_t first = of_client ? 0 : kClientSends;
      if (at >= first + begin && at < first + begin + bytes.size()) bytes[at - first - begin] ^= 0x10;
      begin += bytes.size();
      return bytes;
    };
    while (!client.outgoing().empty() || !server.outgoing().empty()) {
      server.take(change(std::exchange(client.outgoing(), {}), true));
      if (server.state() == State::kPayload && !std::exchange(accepted, true)) server.accept();
      client.take(change(std::exchange(server.outgoing(), {}), false));
    }
    EXPECT_NE(client.state(), State::kDone) << at;
    EXPECT_EQ(server.state() == State::kPayload, at >= kClientSends + 60) << at;
  }
}

// A recording of a client is worth nothing to a new server.
TEST(StartupExchange, RefusesARecording) {
  StartupExchange client(key_of(1), StartupKind::kUniverse, StartupBytes{1});
  StartupExchange server(key_of(1), StartupKind::kUniverse, 5);
  StartupBytes recording;
  while (server.state() != State::kPayload) {
    recording.insert(recording.end(), client.outgoing().begin(), client.outgoing().end());
    server.take(std::exchange(client.outgoing(), {}));
    client.take(std::exchange(server.outgoing(), {}));
  }
  StartupExchange again(key_of(1), StartupKind::kUniverse, 5);
  EXPECT_EQ(again.take(recording), State::kBroken);
}

TEST(StartupMessages, DaemonInfoByteByByte) {
  const StartupBytes bytes = encode(DaemonInfo{3, 0x1234, 0x5678, -1});
  EXPECT_EQ(bytes, (StartupBytes{3, 0, 0, 0, 0x34, 0x12, 0, 0, 0x78, 0x56, 0, 0, 0xff, 0xff, 0xff, 0xff}));
  const auto info = decode_daemon_info(bytes);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->node_id, 3);
  EXPECT_EQ(info->tcp_port, 0x1234);
  EXPECT_EQ(info->udp_port, 0x5678);
  EXPECT_EQ(info->cpus, -1);
  EXPECT_FALSE(decode_daemon_info(StartupBytes(15)));
  EXPECT_FALSE(decode_daemon_info(encode(DaemonInfo{-1, 1, 1, 1})));
  EXPECT_FALSE(decode_daemon_info(encode(DaemonInfo{0, 65536, 1, 1})));
  EXPECT_FALSE(decode_daemon_info(encode(DaemonInfo{0, 1, 0, 1})));
  EXPECT_FALSE(decode_daemon_info(encode(DaemonInfo{0, 1, 1, 0})));
}

TEST(StartupMessages, UniverseByteByByte) {
  lamnode nodes[2]{};
  char name[] = "ab";
  nodes[0].lnd_nodeid = NOTNODEID;
  nodes[1].lnd_nodeid = 1;
  nodes[1].lnd_hname = name;
  nodes[1].lnd_type = NT_BOOT | NT_WASTE;
  nodes[1].lnd_ncpus = 4;
  nodes[1].lnd_addr.sin_addr.s_addr = htonl(0x0a000001);
  nodes[1].lnd_addr.sin_port = htons(0x1234);
  const StartupBytes bytes = encode_universe(nodes, 2);
  EXPECT_EQ(bytes, (StartupBytes{2,    0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1, 0, 0, 10,  0x34,
                                 0x12, 0, 0, 4, 0,    0,    0,    4,    0, 0, 0, 2, 0, 0, 0, 'a', 'b'}));
  auto decoded = decode_universe(bytes);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->count(), 2);
  EXPECT_FALSE(is_valid((*decoded)[0]));
  EXPECT_EQ((*decoded)[1].lnd_type, NT_WASTE);
  EXPECT_EQ((*decoded)[1].lnd_ncpus, 4);
  EXPECT_EQ((*decoded)[1].lnd_addr.sin_addr.s_addr, htonl(0x0a000001));
  EXPECT_EQ((*decoded)[1].lnd_addr.sin_port, htons(0x1234));
  EXPECT_STREQ((*decoded)[1].lnd_hname, "ab");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_universe(std::span(bytes).first(length))) << length;
  }
}

TEST(StartupMessages, ACountThatLiesReservesNothing) {
  EXPECT_FALSE(decode_universe(StartupBytes{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace openlapi::boot
