#include "dataplane/operation/request_table.h"

#include <gtest/gtest.h>

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
  EXPECT_TRUE(table.any_to(1));
  std::vector<std::uint64_t> serials;
  table.remove_all_to(1, [&](const PendingRequest& request, std::uint64_t serial) {
    EXPECT_EQ(request.peer, 1u);
    serials.push_back(serial);
  });
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_FALSE(table.any_to(1));
  EXPECT_NE(table.find(other), nullptr);
  EXPECT_EQ(table.oldest_serial(), 2u);
}

}  // namespace
}  // namespace openlapi
