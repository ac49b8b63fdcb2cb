#include "dataplane/message/request_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "dataplane/layout/layout_cursor.h"

namespace openlapi {
namespace {

PendingRequest request_to(PeerIndex peer) {
  PendingRequest request;
  request.peer = peer;
  return request;
}

TEST(RequestTable, FindsWhatWasAdded) {
  RequestTable table;
  const auto a = table.add(request_to(1));
  const auto b = table.add(request_to(2));
  ASSERT_NE(a, b);
  ASSERT_NE(table.find(a), nullptr);
  EXPECT_EQ(table.find(a)->peer, 1u);
  EXPECT_EQ(table.find(b)->peer, 2u);
  EXPECT_EQ(table.size(), 2u);
}

TEST(RequestTable, AnIdIsWorthNothingAfterRemoval) {
  RequestTable table;
  const auto first = table.add(request_to(1));
  table.remove(first);
  EXPECT_EQ(table.find(first), nullptr);
  const auto second = table.add(request_to(2));
  EXPECT_EQ(table.find(first), nullptr) << "the slot was reused: only the generation tells the two apart";
  EXPECT_NE(table.find(second), nullptr);
  table.remove(first);
  EXPECT_EQ(table.size(), 1u) << "removing a stale id removed the slot's new owner";
}

TEST(RequestTable, UnknownIdsAreNotFound) {
  RequestTable table;
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(UINT32_MAX), nullptr);
}

TEST(RequestTable, OldestSerialFollowsTheOrderOfIssue) {
  RequestTable table;
  EXPECT_EQ(table.oldest_serial(), UINT64_MAX);
  const auto a = table.add(request_to(1));
  const auto b = table.add(request_to(1));
  const auto c = table.add(request_to(1));
  EXPECT_EQ(table.oldest_serial(), 1u);
  table.remove(b);
  EXPECT_EQ(table.oldest_serial(), 1u);
  table.remove(a);
  EXPECT_EQ(table.oldest_serial(), 3u);
  table.remove(c);
  EXPECT_EQ(table.oldest_serial(), UINT64_MAX);
  EXPECT_EQ(table.last_serial(), 3u);
}

TEST(RequestTable, ForgetsAllOfOnePeer) {
  RequestTable table;
  table.add(request_to(1));
  const auto other = table.add(request_to(2));
  table.add(request_to(1));
  std::vector<std::uint64_t> serials;
  table.remove_all_to(1, [&](const PendingRequest& request, std::uint64_t serial) {
    EXPECT_EQ(request.peer, 1u);
    serials.push_back(serial);
  });
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{1, 3}));
  table.remove_all_to(1, [](const PendingRequest&, std::uint64_t) { ADD_FAILURE(); });
  EXPECT_NE(table.find(other), nullptr);
  EXPECT_EQ(table.oldest_serial(), 2u);
}

// Answers come late: the ids of one slot come again after all generations only.
TEST(RequestTable, AnIdDoesNotComeAgainSoon) {
  RequestTable table;
  std::set<std::uint32_t> ids;
  for (std::uint32_t n = 0; n < 4096; ++n) {
    const auto id = table.add(request_to(1));
    EXPECT_TRUE(ids.insert(id).second) << n;
    table.remove(id);
  }
}

// As many slots as there are bits for would soon be used up if none came back.
TEST(RequestTable, TakesMoreRequestsOneAfterTheOtherThanItHasRoomForAtOnce) {
  RequestTable table;
  for (std::uint32_t n = 0; n < (1u << 20) + 5; ++n) table.remove(table.add(request_to(n)));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.last_serial(), (1u << 20) + 5);
}

class WatchedLayout final : public LayoutCursor {
 public:
  explicit WatchedLayout(int& alive) : LayoutCursor(0), alive_(alive) { ++alive_; }
  ~WatchedLayout() override { --alive_; }
  void seek(std::uint64_t) override {}
  std::size_t next_pieces(std::span<LayoutPiece>, std::uint64_t) override { return 0; }
  std::uint64_t piece_count() const override { return 0; }
  std::unique_ptr<LayoutCursor> clone() const override { return nullptr; }
  std::unique_ptr<LayoutCursor> detached() const override { return nullptr; }

 private:
  int& alive_;
};

// Its lists may be long.
TEST(RequestTable, ARequestThatIsOverKeepsNoLayout) {
  RequestTable table;
  int alive = 0;
  PendingRequest request = request_to(1);
  request.layout = std::make_unique<WatchedLayout>(alive);
  const auto id = table.add(std::move(request));
  EXPECT_EQ(alive, 1);
  table.remove(id);
  EXPECT_EQ(alive, 0);
}

// Slots come back in another order than they were taken in; the first one still is.
TEST(RequestTable, TheOrderOfIssueIsNotThatOfTheSlots) {
  for (const std::size_t first : {0u, 1u, 2u}) {
    RequestTable table(0xffe);  // the next generation but one is 0
    std::vector<std::uint32_t> ids;
    for (PeerIndex peer = 1; peer <= 3; ++peer) ids.push_back(table.add(request_to(peer)));
    for (std::size_t i = 0; i < 3; ++i) table.remove(ids[(first + i) % 3]);
    EXPECT_EQ(table.oldest_serial(), UINT64_MAX);
    std::vector<std::uint32_t> again;
    for (PeerIndex peer = 4; peer <= 7; ++peer) again.push_back(table.add(request_to(peer)));
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(table.oldest_serial(), 4 + i);
      for (std::size_t old = 0; old < 3; ++old) EXPECT_EQ(table.find(ids[old]), nullptr);
      ASSERT_NE(table.find(again[i]), nullptr);
      EXPECT_EQ(table.find(again[i])->peer, 4 + i);
      table.remove(again[i]);
      EXPECT_EQ(table.find(again[i]), nullptr);
      EXPECT_EQ(table.size(), 3 - i);
    }
  }
}

TEST(RequestTable, GivesUpAllThatThereAre) {
  for (const std::size_t requests : {1u, 2u, 4u}) {
    RequestTable table;
    for (std::size_t n = 0; n < requests; ++n) table.add(request_to(1));
    std::size_t given_up = 0;
    table.remove_all_to(1, [&](const PendingRequest&, std::uint64_t) { ++given_up; });
    EXPECT_EQ(given_up, requests);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.oldest_serial(), UINT64_MAX);
    table.remove_all_to(1, [&](const PendingRequest&, std::uint64_t) { ++given_up; });
    EXPECT_EQ(given_up, requests) << "once";
  }
}

}  // namespace
}  // namespace openlapi
