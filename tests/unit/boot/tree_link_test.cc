// What helpers of the tree algorithm and their parents tell each other, and over what.
#include "control/boot/tree/tree_link.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "control/boot/tree/tree_messages.h"
#include "tests/support/seeded_random.h"

namespace openlapi::boot {
namespace {

using sealing::SealedMessages;

// Two that have greeted each other.
std::pair<SealedMessages, SealedMessages> greeted(const StartupKey& key) {
  std::pair ends(SealedMessages(key, sealing::Role::kAccepts, StartupKind::kTree, 16),
                 SealedMessages(key, sealing::Role::kConnects, StartupKind::kTree, 16));
  while (!ends.first.outgoing().empty() || !ends.second.outgoing().empty()) {
    EXPECT_TRUE(ends.second.take(std::exchange(ends.first.outgoing(), {})));
    EXPECT_TRUE(ends.first.take(std::exchange(ends.second.outgoing(), {})));
  }
  return ends;
}

class Ends {
 public:
  Ends() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    raw_above = ends[0];
    raw_below = ends[1];
    auto sides = greeted({1});
    above.emplace(StartupConnection{FileDescriptor(ends[0]), std::move(sides.first)});
    below.emplace(StartupConnection{FileDescriptor(ends[1]), std::move(sides.second)});
  }
  std::optional<TreeLink> above{}, below{};
  int raw_above = -1, raw_below = -1;
};

TEST(TreeLink, CarriesMessagesBothWays) {
  Ends ends;
  for (const StartupBytes& message : {StartupBytes{1, 2, 3}, StartupBytes(50'000, 7)}) {
    EXPECT_TRUE(ends.below->send(message));
    EXPECT_EQ(ends.above->receive(), message);
    EXPECT_TRUE(ends.above->send(message));
    EXPECT_EQ(ends.below->receive(), message);
  }
  testing::internal::CaptureStderr();
  ends.below.reset();
  EXPECT_EQ(ends.above->receive(), std::nullopt);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "an end is no forgery";
  EXPECT_FALSE(ends.above->send({1}));
}

TEST(TreeLink, DoesNotWaitForAHelperThatIsSilent) {
  Ends ends;
  testing::internal::CaptureStderr();
  EXPECT_EQ(ends.above->receive(std::chrono::milliseconds(1)), std::nullopt) << "a stopped helper holds up its parent";
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has given no sign of life for 0 s: it hangs or is stopped\n"),
            std::string::npos);
  EXPECT_TRUE(ends.below->send_sign_of_life());
  EXPECT_TRUE(ends.below->send({1}));
  EXPECT_EQ(ends.above->receive(), StartupBytes{1}) << "a sign of life is no report";
}

TEST(TreeLink, RefusesAMessageAgainItsOwnAndAChangedOne) {
  constexpr std::size_t kLength = 20 + 1 + 16;
  std::uint8_t bytes[kLength];
  testing::internal::CaptureStderr();
  // What the parent sent, sent back to it.
  Ends mirrored;
  EXPECT_TRUE(mirrored.above->send({1}));
  ASSERT_EQ(read(mirrored.raw_below, bytes, kLength), static_cast<ssize_t>(kLength));
  ASSERT_EQ(write(mirrored.raw_below, bytes, kLength), static_cast<ssize_t>(kLength));
  EXPECT_EQ(mirrored.above->receive(), std::nullopt);

  // A message again.
  Ends again;
  EXPECT_TRUE(again.above->send({1}));
  ASSERT_EQ(recv(again.raw_below, bytes, kLength, MSG_PEEK), static_cast<ssize_t>(kLength));
  EXPECT_EQ(again.below->receive(), StartupBytes{1});
  ASSERT_EQ(write(again.raw_above, bytes, kLength), static_cast<ssize_t>(kLength));
  EXPECT_EQ(again.below->receive(), std::nullopt);

  for (std::size_t at = 0; at < kLength; ++at) {
    Ends changed;
    EXPECT_TRUE(changed.above->send({1}));
    ASSERT_EQ(read(changed.raw_below, bytes, kLength), static_cast<ssize_t>(kLength));
    bytes[at] ^= 1;
    ASSERT_EQ(write(changed.raw_above, bytes, kLength), static_cast<ssize_t>(kLength));
    EXPECT_EQ(changed.below->receive(), std::nullopt) << at;
  }
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(errors, '\n')), kLength + 2);
  EXPECT_NE(errors.find("what came over it was changed on the way"), std::string::npos) << errors;
}

// Answers one helper, and sends the first message together with the end of the exchange.
void greet_and_send(int listener, const StartupKey& key, const StartupBytes& message) {
  const FileDescriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  StartupExchange exchange(key, StartupKind::kTree, std::size_t{16});
  while (exchange.state() == StartupExchange::State::kGoesOn) {
    std::uint8_t bytes[256];
    const ssize_t count = recv(socket.get(), bytes, sizeof bytes, 0);
    ASSERT_GT(count, 0);
    exchange.take({bytes, static_cast<std::size_t>(count)});
    if (exchange.state() == StartupExchange::State::kPayload) break;
    ASSERT_EQ(send(socket.get(), exchange.outgoing().data(), exchange.outgoing().size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(exchange.outgoing().size()));
    exchange.outgoing().clear();
  }
  exchange.accept();
  SealedMessages sealed = exchange.take_sealed();
  sealed.send(message);
  const StartupBytes together = sealed.outgoing();
  ASSERT_EQ(send(socket.get(), together.data(), together.size(), MSG_NOSIGNAL), static_cast<ssize_t>(together.size()));
}

TEST(TreeLink, AMessageMayComeTogetherWithTheEndOfTheExchange) {
  const StartupKey key{3};
  const StartupBytes message{1, 2, 3};
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&here), size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&here), &size), 0);
  const std::jthread parent([&] { greet_and_send(listener.get(), key, message); });
  TreeLink link(send_startup_message(here, key, StartupKind::kTree,
                                     std::chrono::steady_clock::now() + std::chrono::seconds(30), nullptr,
                                     [] { return StartupBytes{9}; }));
  EXPECT_EQ(link.receive(), message);
}

TreeJobWithNodes example_job() {
  TreeJobWithNodes job{{{7, "10.0.0.1"}, LAM_SSI_BOOT_PROC_WIPE, true, {3, 2}}, NodeArray(2)};
  HostEntry host;
  host.name = "inky";
  host.user = "smith";
  host.cpus = 4;
  host.pairs = {{"prefix", "/opt/lam"}};
  describe_node(job.nodes[0], 5, host);
  host = HostEntry{};
  host.name = "clyde";
  describe_node(job.nodes[1], 9, host);
  return job;
}

TEST(TreeMessages, AJobKeepsItsNodes) {
  TreeJobWithNodes job = example_job();
  const auto got = decode_job(encode_job(job.job, {&job.nodes[0], &job.nodes[1]}));
  ASSERT_TRUE(got);
  auto& nodes = const_cast<NodeArray&>(got->nodes);
  EXPECT_EQ(got->job.origin.node_id, 7);
  EXPECT_EQ(got->job.origin.host, "10.0.0.1");
  EXPECT_EQ(got->job.which, LAM_SSI_BOOT_PROC_WIPE);
  EXPECT_TRUE(got->job.startup_protocol);
  EXPECT_EQ(got->job.shape.degree, 3);
  EXPECT_EQ(got->job.shape.at_once, 2);
  ASSERT_EQ(nodes.count(), 2);
  EXPECT_EQ(nodes[0].lnd_nodeid, 5);
  EXPECT_EQ(nodes[0].lnd_ncpus, 4);
  EXPECT_EQ(nodes[0].lnd_type, NT_BOOT);
  EXPECT_STREQ(nodes[0].lnd_hname, "inky");
  EXPECT_STREQ(nodes[0].lnd_uname, "smith");
  EXPECT_STREQ(static_cast<const ELEM*>(al_top(nodes[0].lnd_keyval))->value, "/opt/lam");
  EXPECT_EQ(nodes[1].lnd_uname, nullptr);
}

TEST(TreeMessages, TheOriginsHostIsOneWordOfACommand) {
  TreeJobWithNodes job = example_job();
  for (const char* host : {"inky -d", "inky\t", "inky\n"}) {
    job.job.origin.host = host;
    EXPECT_FALSE(decode_job(encode_job(job.job, {&job.nodes[0]}))) << host;
  }
  job.job.origin.host = "";
  EXPECT_TRUE(decode_job(encode_job(job.job, {&job.nodes[0]})));
}

TEST(TreeMessages, ReportsAndToldComeBack) {
  ErrorLines lines;
  const auto reports = decode_reports(encode_reports({{3, true, 10, 20, 2}, {4, false, 0, 0, 1}}, {"a\nb"}), lines);
  ASSERT_TRUE(reports);
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ((*reports)[0].udp_port, 20);
  EXPECT_FALSE((*reports)[1].started);
  EXPECT_EQ(lines, ErrorLines{"a?b"});
  EXPECT_EQ(decode_told(encode_told({1, 2}, {}), lines), (std::vector<int>{1, 2}));
  EXPECT_FALSE(decode_reports(encode_reports({{3, true, 70'000, 20, 2}}, {}), lines));
}

// Run with sanitizers too: whatever the bytes are, nothing but a message or nothing comes of them.
TEST(TreeMessages, BrokenBytesAreNoMessage) {
  TreeJobWithNodes job = example_job();
  const StartupBytes good = encode_job(job.job, {&job.nodes[0], &job.nodes[1]});
  ErrorLines lines;
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_job(std::span(good).first(length))) << length;
  }
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SeededRandom random(seed);
    StartupBytes bytes = good;
    for (int n = 0; n < 3; ++n) bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    decode_job(bytes);
    decode_reports(bytes, lines);
    decode_told(bytes, lines);
  }
}

}  // namespace
}  // namespace openlapi::boot
