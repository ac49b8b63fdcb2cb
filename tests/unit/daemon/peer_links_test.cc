// Two daemons' links over real sockets, with somebody between them who sees and changes what goes over the wire.
#include "control/daemon/service/peer_links.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace openlapi::daemon {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // only what hangs needs it

BootKey key() {
  BootKey key{};
  key.fill(7);
  return key;
}

std::vector<UniverseNode> two_nodes(std::uint32_t port_of_first, std::uint32_t port_of_second) {
  std::vector<UniverseNode> nodes(2);
  for (UniverseNode& node : nodes) node = {NodeState::kMember, INADDR_LOOPBACK};
  nodes[0].port = port_of_first;
  nodes[1].port = port_of_second;
  return nodes;
}

// A daemon without tools and jobs: its place in the universe and its links.
class Daemon final : public MembershipLinks, public NeighbourMessages {
 public:
  Daemon(std::vector<UniverseNode> nodes, std::uint32_t here, FileDescriptor listener)
      : table(std::move(nodes), 0, here),
        membership(table, *this, std::chrono::steady_clock::now),
        links(key(), table, std::move(listener), false, membership, *this) {
    membership.start();
  }

  void step() {
    PollSet poll_set;
    links.watch(poll_set);
    poll_set.wait(1);
    const Time now = std::chrono::steady_clock::now();
    membership.tick(now);
    links.tick(now);
  }

  void connect(std::uint32_t node) override { links.connect(node); }
  void send(std::uint32_t node, const DaemonMessage& message) override { links.send(node, message); }
  void close(std::uint32_t node) override { links.close(node); }
  void universe_linked() override { linked = true; }
  void node_lost(std::uint32_t) override { lost = true; }
  void node_changed(std::uint32_t) override {}
  void node_joined(std::uint32_t) override {}
  void ended(const std::set<std::uint32_t>&, const std::set<std::uint32_t>&) override {}
  void from_neighbour(const JobMessage& message) override { came.push_back(message); }
  void from_neighbour(const NetworkMessage&) override {}
  void from_neighbour(const DoubtMessage&) override {}
  void adapters_taken(std::uint32_t node) override { takers.push_back(node); }
  void from_neighbour(std::uint32_t, const AdaptersMessage& message) override { adapters.push_back(message); }
  void neighbour_linked(std::uint32_t node) override {
    links.send(node, AdaptersMessage{{NodeAdapters{table.here()}}});
  }

  UniverseTable table;
  Membership membership;
  PeerLinks links;
  std::vector<JobMessage> came{};
  std::vector<AdaptersMessage> adapters{};
  std::vector<std::uint32_t> takers{};
  bool linked = false, lost = false;
};

// Between the daemon that connects and the other. `change`: of all bytes that go one way; what it returns goes on.
class Between {
 public:
  using Change = std::function<MessageBytes(MessageBytes)>;
  Between(std::uint32_t to, Change change) : to_(to), change_(std::move(change)) {
    listener_ = listen_to_peers(INADDR_LOOPBACK, &port_);
  }
  std::uint32_t port() const { return port_; }
  const std::string& seen() const { return seen_; }

  void step() {
    if (!sides_[0].is_open()) {
      sides_[0].reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!sides_[0].is_open()) return;
      sides_[1].reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in there{};
      there.sin_family = AF_INET;
      there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      there.sin_port = htons(static_cast<std::uint16_t>(to_));
      ASSERT_EQ(::connect(sides_[1].get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
    }
    carry(0, 1);
    carry(1, 0);
  }

 private:
  // An end goes on as an end.
  void carry(std::size_t from, std::size_t to) {
    std::uint8_t piece[65536];
    const ssize_t count = recv(sides_[from].get(), piece, sizeof piece, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN)) shutdown(sides_[to].get(), SHUT_RDWR);
    if (count <= 0) return;
    seen_.append(reinterpret_cast<const char*>(piece), static_cast<std::size_t>(count));
    MessageBytes bytes(piece, piece + count);
    if (from == 0) bytes = change_(std::move(bytes));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t sent = ::send(sides_[to].get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (sent < 0) return;
      done += static_cast<std::size_t>(sent);
    }
  }

  std::uint32_t to_;
  std::uint32_t port_ = 0;
  Change change_;
  FileDescriptor listener_{};
  FileDescriptor sides_[2]{};
  std::string seen_{};
};

struct Universe {
  explicit Universe(Between::Change change = [](MessageBytes bytes) { return bytes; }) {
    std::uint32_t ports[2];
    FileDescriptor root_listener = listen_to_peers(INADDR_LOOPBACK, &ports[0]);
    FileDescriptor child_listener = listen_to_peers(INADDR_LOOPBACK, &ports[1]);
    between = std::make_unique<Between>(ports[0], std::move(change));
    root = std::make_unique<Daemon>(two_nodes(ports[0], ports[1]), 0, std::move(root_listener));
    child = std::make_unique<Daemon>(two_nodes(between->port(), ports[1]), 1, std::move(child_listener));
  }

  // False: it never becomes true.
  bool run_until(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      between->step();
      root->step();
      child->step();
    }
    return condition();
  }
  bool link() {
    return run_until([&] { return root->linked && child->linked; });
  }

  std::unique_ptr<Between> between{};
  std::unique_ptr<Daemon> root{}, child{};
};

JobMessage job_with(const std::string& text) {
  return {1, 1, 1, JobAction::kData, {0}, MessageBytes(text.begin(), text.end())};
}

TEST(PeerLinks, WhoIsBetweenSeesNothingOfWhatDaemonsSay) {
  const std::string environment = "PMIX_NAMESPACE=lapirun-0123456789abcdef0123456789abcdef";
  const std::string output = "the first line that a task prints\n";
  Universe universe;
  ASSERT_TRUE(universe.link());
  std::string bulk;
  while (bulk.size() < 3'000'000) bulk += output;
  for (const std::string& text : {environment, output, bulk}) universe.child->links.send(0, job_with(text));
  universe.root->links.send(1, job_with(environment));
  ASSERT_TRUE(universe.run_until([&] { return universe.root->came.size() == 3 && universe.child->came.size() == 1; }));
  EXPECT_EQ(universe.root->came[2], job_with(bulk));
  EXPECT_EQ(universe.child->came[0], job_with(environment));
  // What each says to a new neighbour, and its answer.
  EXPECT_EQ(universe.root->adapters, (std::vector{AdaptersMessage{{NodeAdapters{1}}}}));
  universe.root->links.send(1, AdaptersTaken{});
  ASSERT_TRUE(universe.run_until([&] { return universe.child->takers == std::vector{0U}; }));
  EXPECT_GT(universe.between->seen().size(), bulk.size());
  // Long enough not to be met by chance: four bytes are, in these megabytes, one time in a thousand.
  for (const char* secret : {"PMIX_NAMESPACE", "lapirun-0123", "89abcdef01234567", "the first line"}) {
    EXPECT_EQ(universe.between->seen().find(secret), std::string::npos) << secret;
  }
}

// What `change` does to the bytes of one job's message ends the link: both daemons take the other for lost, the one
// that saw it says why, and no message comes of it.
void expect_end(const std::function<MessageBytes(MessageBytes)>& change) {
  bool changes = false;
  Universe universe([&](MessageBytes bytes) { return changes ? change(std::move(bytes)) : bytes; });
  ASSERT_TRUE(universe.link());
  changes = true;
  testing::internal::CaptureStderr();
  universe.child->links.send(0, job_with("one"));
  universe.child->links.send(0, job_with("two"));
  EXPECT_TRUE(universe.run_until([&] { return universe.root->lost; }));
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(errors, "lamd: the connection to n1 ends: what came over it was changed on the way\n");
  EXPECT_LE(universe.root->came.size(), 2u);
  for (std::size_t n = 0; n < universe.root->came.size(); ++n) {
    EXPECT_EQ(universe.root->came[n], job_with(n == 0 ? "one" : "two"));
  }
}

TEST(PeerLinks, AnyByteThatIsChangedEndsTheLink) {
  Universe universe;
  ASSERT_TRUE(universe.link());
  const std::size_t before = universe.between->seen().size();
  universe.child->links.send(0, job_with("one"));
  ASSERT_TRUE(universe.run_until([&] { return universe.root->came.size() == 1; }));
  const std::size_t length = universe.between->seen().size() - before;
  for (std::size_t at = 0; at < length; ++at) {
    expect_end([at](MessageBytes bytes) {
      if (at < bytes.size()) bytes[at] ^= 0x80;
      return bytes;
    });
  }
}

TEST(PeerLinks, BytesThatAreRepeatedSwappedInsertedOrLeftOutEndTheLink) {
  expect_end([](MessageBytes bytes) {
    const MessageBytes once = bytes;
    bytes.insert(bytes.end(), once.begin(), once.end());
    return bytes;
  });
  expect_end([](MessageBytes bytes) {
    std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end());
    return bytes;
  });
  expect_end([](MessageBytes bytes) {
    std::swap(bytes[20], bytes[30]);
    bytes[20] ^= 1;  // they may have been the same
    return bytes;
  });
  expect_end([](MessageBytes bytes) {
    bytes.insert(bytes.begin(), 0);
    return bytes;
  });
  expect_end([](MessageBytes bytes) {
    bytes.erase(bytes.begin() + 5);
    return bytes;
  });
}

// ---- Strangers ----

// Connections to a port, from a loopback address; one that is not heard at once does not matter.
class Strangers {
 public:
  explicit Strangers(std::uint32_t port) : port_(port) {}
  void connect(int count, std::uint32_t from = INADDR_LOOPBACK) {
    for (int n = 0; n < count; ++n) {
      FileDescriptor& stranger = sockets_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ASSERT_TRUE(stranger.is_open());
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(from);
      ASSERT_EQ(bind(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<std::uint16_t>(port_));
      const int done = ::connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
      ASSERT_TRUE(done == 0 || errno == EINPROGRESS);
    }
  }
  void talk(const MessageBytes& bytes) {
    for (const FileDescriptor& stranger : sockets_) {
      [[maybe_unused]] const ssize_t sent = ::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
  // The daemon has closed it.
  bool is_closed(std::size_t stranger) const {
    char bytes[256];
    ssize_t count = 1;
    while (count > 0) count = recv(sockets_[stranger].get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return count == 0 || (errno != EAGAIN && errno != EINPROGRESS);
  }

 private:
  std::uint32_t port_;
  std::vector<FileDescriptor> sockets_{};
};

MessageBytes hello_and_half_a_proof() {
  SealedStream stranger(BootKey{}, SealedStream::Role::kConnects);
  MessageBytes bytes = stranger.outgoing();
  bytes.resize(bytes.size() + 10);
  return bytes;
}

// They hold all places before the neighbour comes, from its own address, and come again and again.
TEST(PeerLinks, StrangersAtANeighboursAddressDoNotKeepItOut) {
  rlimit limit{};  // both ends of all connections are in this process
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  testing::internal::CaptureStderr();
  Universe universe;
  Strangers silent(universe.root->table.nodes()[0].port), talking(universe.root->table.nodes()[0].port);
  silent.connect(50);
  talking.connect(50);
  talking.talk(hello_and_half_a_proof());
  int rounds = 0;
  const bool linked = universe.run_until([&] {
    if (++rounds < 400) silent.connect(3);
    return rounds >= 200 && universe.root->linked && universe.child->linked;
  });
  EXPECT_TRUE(linked);
  EXPECT_FALSE(universe.root->lost || universe.child->lost);
  EXPECT_TRUE(silent.is_closed(0)) << "the oldest goes";
  // A neighbour that has proved itself does not go.
  universe.child->links.send(0, job_with("still here"));
  EXPECT_TRUE(universe.run_until([&] {
    if (++rounds < 800) silent.connect(2);
    return rounds >= 800 && universe.root->came.size() == 1;
  }));
  EXPECT_TRUE(universe.root->links.is_linked(1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lamd: a connection from 127.0.0.1 was dropped: others wanted its place, and it had not proved that it has "
            "the key\n");
}

}  // namespace
}  // namespace openlapi::daemon
