#include "api/wiring/network_agreement.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace openlapi {
namespace {

using Published = std::map<std::uint32_t, std::vector<std::byte>>;
using Tasks = std::vector<std::uint32_t>;

NetworkSize network(const char* address, std::size_t adapters) {
  return {{{inet_addr(address)}, {inet_addr("255.255.255.0")}}, adapters};
}

// A task of a job; what all have published is known at once.
class Job final : public Bootstrap {
 public:
  Job(std::uint32_t task, std::uint32_t size, Tasks near, Published& published)
      : task_(task), size_(size), near_(std::move(near)), published_(published) {}

  std::string_view name() const override { return "pmix"; }
  std::uint32_t task() const override { return task_; }
  std::uint32_t size() const override { return size_; }
  const Tasks& local_tasks() const override { return near_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view key, std::span<const std::byte> value, std::string&) override {
    put_under = key;
    published_[task_].assign(value.begin(), value.end());
    return true;
  }
  bool exchange(std::string&) override { return true; }
  bool get(std::uint32_t task, std::string_view, unsigned, std::vector<std::byte>& value, std::string& error) override {
    asked.push_back(task);
    if (published_.contains(task)) value = published_[task];
    error = "nothing there";
    return published_.contains(task);
  }
  bool barrier(std::string&) override { return true; }
  void abort(int, std::string_view) override {}

  Tasks asked{};
  std::string put_under{};

 private:
  std::uint32_t task_, size_;
  Tasks near_;
  Published& published_;
};

class NetworkAgreement : public testing::Test {
 protected:
  NetworkAgreement() { settings_.info_level = kLevelWarning; }

  void add_node(const Tasks& tasks, std::vector<NetworkSize> networks) {
    nodes_.push_back({std::move(networks), tasks});
    size_ += static_cast<std::uint32_t>(tasks.size());
  }
  // As all tasks do it at the same time. The network's address, or none; empty: it fails.
  std::string agreed_by(std::uint32_t task) {
    for (const NodeNetworks& node : nodes_) {
      for (const std::uint32_t task : node.tasks) static_cast<void>(agree(task, node));
    }
    for (const NodeNetworks& node : nodes_) {
      if (std::ranges::find(node.tasks, task) != node.tasks.end()) return agree(task, node);
    }
    return "";
  }
  std::string said_by(std::uint32_t task) {
    static_cast<void>(agreed_by(task));
    return said_;
  }

  std::vector<NodeNetworks> nodes_{};
  std::uint32_t size_ = 0;
  bool can_exchange_ = true;
  unsigned exchanges_ = 0;
  Published published_{};
  Tasks asked_{};
  std::string said_{};
  OpenFailure failure_{};
  Settings settings_{};

 private:
  std::string agree(std::uint32_t task, const NodeNetworks& node) {
    Job job(task, size_, node.tasks, published_);
    NetworkRequest request{.settings = settings_,
                           .bootstrap = job,
                           .instance = task % 16 + 1,  // it does not matter
                           .generation = 0,
                           .epoch = 1,
                           .agreement = 3};
    if (can_exchange_) {
      request.exchange = [this] {
        ++exchanges_;
        return true;
      };
    }
    OfferedNetworks offer{.transport = "udp", .networks = node.networks};
    testing::internal::CaptureStderr();
    const bool done =
        tell_networks(request, {&offer, 1}, failure_) && agree_on_networks(request, {&offer, 1}, failure_);
    if (!job.put_under.empty()) {
      EXPECT_EQ(job.put_under, "openlapi.networks.3.udp");
    }
    said_ = testing::internal::GetCapturedStderr();
    asked_ = job.asked;
    if (!done) return "";
    return offer.agreed ? to_text(in_addr{offer.agreed->address.s_addr & offer.agreed->mask.s_addr}) : "none";
  }
};

TEST_F(NetworkAgreement, IsTheNetworkThatIsUpEverywhere) {
  add_node({0, 1}, {network("10.0.0.1", 2), network("10.0.1.1", 1)});
  add_node({2}, {network("10.0.1.2", 1), network("10.0.2.2", 2)});
  for (std::uint32_t task = 0; task != 3; ++task) EXPECT_EQ(agreed_by(task), "10.0.1.0") << task;
  EXPECT_EQ(said_by(0), "");
}

TEST_F(NetworkAgreement, IsWhereTheNodeWithFewestAdaptersHasMost) {
  add_node({0}, {network("10.0.0.1", 3), network("10.0.1.1", 2)});
  add_node({1}, {network("10.0.0.2", 1), network("10.0.1.2", 4)});
  EXPECT_EQ(agreed_by(0), "10.0.1.0");
  EXPECT_EQ(agreed_by(1), "10.0.1.0");
}

TEST_F(NetworkAgreement, IsTheFirstOfThoseThatAreAsGood) {
  add_node({0}, {network("10.0.0.1", 1), network("10.0.1.1", 1)});
  add_node({1}, {network("10.0.1.2", 2), network("10.0.0.2", 2)});
  EXPECT_EQ(agreed_by(0), "10.0.0.0");
  EXPECT_EQ(agreed_by(1), "10.0.0.0");
}

TEST_F(NetworkAgreement, IsNoneWhereNoneIsUpEverywhereAndTaskZeroSaysSo) {
  add_node({0}, {network("10.0.0.1", 1)});
  add_node({1}, {network("10.0.1.2", 1)});
  EXPECT_EQ(agreed_by(0), "none");
  EXPECT_EQ(agreed_by(1), "none");
  EXPECT_EQ(said_by(0),
            "openlapi: udp: no network has an adapter that is up on every node (10.0.0.0 not on that of task 1); each "
            "task takes the network of its own that has most\n");
  EXPECT_EQ(said_by(1), "");
  settings_.info_level = kLevelError;
  EXPECT_EQ(said_by(0), "");
}

TEST_F(NetworkAgreement, LeavesOutNodesThatHaveNothing) {
  add_node({0}, {});
  add_node({1}, {network("10.0.1.2", 1)});
  EXPECT_EQ(agreed_by(0), "10.0.1.0");
  EXPECT_EQ(said_by(0), "");
  nodes_.back().networks.clear();
  EXPECT_EQ(agreed_by(1), "none");
  EXPECT_EQ(said_by(0), "");
}

TEST_F(NetworkAgreement, AsksOneTaskOfEachNode) {
  const std::vector<NetworkSize> one = {network("10.0.0.1", 1)};
  add_node({0, 1, 2, 3}, one);
  add_node({4, 6, 8, 10}, one);
  add_node({5, 7, 9, 11}, one);
  EXPECT_EQ(agreed_by(9), "10.0.0.0");
  EXPECT_EQ(asked_, (Tasks{0, 4, 5}));
  EXPECT_EQ(published_.size(), 3u);
}

TEST_F(NetworkAgreement, TasksWithoutOrderTellForThemselves) {
  Tasks one, other;  // powers of two and what is between them: more runs than an entry has
  for (std::uint32_t task = 0; task != 1024; ++task) ((task & (task - 1)) == 0 ? one : other).push_back(task);
  add_node(one, {network("10.0.0.1", 1)});
  add_node(other, {network("10.0.0.2", 1)});
  EXPECT_EQ(agreed_by(1023), "10.0.0.0") << failure_.text;
}

TEST_F(NetworkAgreement, NobodyIsAskedOnOneNodeOrWithoutALauncher) {
  add_node({0, 1}, {network("10.0.0.1", 1)});
  EXPECT_EQ(agreed_by(1), "none");
  add_node({2}, {network("10.0.0.2", 1)});
  can_exchange_ = false;
  EXPECT_EQ(agreed_by(1), "none");
  EXPECT_EQ(exchanges_, 0u);
  EXPECT_TRUE(published_.empty());
  EXPECT_EQ(asked_, Tasks{});
}

TEST_F(NetworkAgreement, ATaskThatTellsNothingIsNamed) {
  add_node({0}, {network("10.0.0.1", 1)});
  size_ = 2;
  EXPECT_EQ(agreed_by(0), "");
  EXPECT_EQ(failure_.kind, FailureKind::exchange);
  EXPECT_EQ(failure_.text.find("task 1 has not told which networks it has (MP_EUILIB and OPENLAPI_MODULES are"), 0u)
      << failure_.text;
}

TEST(NodeNetworks, AreTheseBytes) {
  NodeNetworks node{{network("10.0.1.2", 300)}, {3, 5, 7}};
  node.networks[0].place.network[0] = 9;
  const std::vector<std::byte> bytes = encode(node);
  const std::vector<unsigned> wanted = {1, 10, 0, 1, 2,   255, 255, 255, 0, 9, 0, 0, 0, 0, 0, 0, 0,
                                        0, 0,  0, 0, 255, 3,   0,   0,   0, 2, 0, 0, 0, 3, 0, 0, 0};
  ASSERT_EQ(bytes.size(), wanted.size());
  for (std::size_t i = 0; i != wanted.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), wanted[i]) << i;
  NodeNetworks read;
  ASSERT_TRUE(decode(bytes, 8, read));
  EXPECT_EQ(read.tasks, node.tasks);
  EXPECT_EQ(encode(read), bytes);
}

TEST(NodeNetworks, OtherBytesAreRefused) {
  const std::vector<std::byte> good = encode(NodeNetworks{{network("10.0.1.2", 1)}, {0, 1}});
  NodeNetworks read;
  ASSERT_TRUE(decode(good, 2, read));
  for (std::size_t length = 0; length != good.size(); ++length) {
    EXPECT_FALSE(decode(std::span(good).first(length), 2, read)) << length;
  }
  EXPECT_FALSE(decode(good, 1, read)) << "task 1 of one";
  const auto with = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = std::byte(value);
    return decode(bytes, 2, read);
  };
  EXPECT_FALSE(with(0, 17)) << "networks";
  EXPECT_FALSE(with(21, 0)) << "a network without adapters";
  EXPECT_FALSE(with(26, 0)) << "each step is none";
  EXPECT_FALSE(with(30, 0)) << "no tasks";
  EXPECT_FALSE(with(33, 255)) << "more tasks than there are";
}

}  // namespace
}  // namespace openlapi
