// One mistake at a time gives the code that names it.
#include "api/argument_checks.h"

#include <gtest/gtest.h>

#include "api/context.h"

namespace openlapi {
namespace {

constexpr std::uint32_t kTasks = 4;
int word;
const auto place = reinterpret_cast<std::uintptr_t>(&word);

TEST(ArgumentChecksTest, PutAndGet) {
  EXPECT_EQ(check_put_or_get(kTasks, 3, 4, place, &word), LAPI_SUCCESS);
  EXPECT_EQ(check_put_or_get(kTasks, 3, 0, 0, nullptr), LAPI_SUCCESS);
  EXPECT_EQ(check_put_or_get(kTasks, 4, 4, place, &word), LAPI_ERR_TGT);
  EXPECT_EQ(check_put_or_get(kTasks, 3, 4, 0, &word), LAPI_ERR_TGT_ADDR_NULL);
  EXPECT_EQ(check_put_or_get(kTasks, 3, 4, place, nullptr), LAPI_ERR_ORG_ADDR_NULL);
  EXPECT_EQ(check_put_or_get(kTasks, 3, static_cast<ulong>(LAPI_MAX_MSG_SZ) + 1, place, &word), LAPI_ERR_DATA_LEN);
}

// The last byte of a length that a mistake in a computation gives is nowhere.
TEST(ArgumentChecksTest, LengthsBeyondTheTasksMemory) {
  for (const unsigned bits : {40U, 46U, 62U}) {
    const std::uint64_t length = std::uint64_t{1} << bits;
    EXPECT_EQ(check_put_or_get(kTasks, 3, length, place, &word), LAPI_ERR_DATA_LEN) << bits;
    EXPECT_EQ(check_active_message(kTasks, 912, {0, place, nullptr, 0, &word, length}), LAPI_ERR_DATA_LEN) << bits;
  }
  EXPECT_EQ(check_put_or_get(kTasks, 3, static_cast<ulong>(-8L), place, &word), LAPI_ERR_DATA_LEN);
}

TEST(ArgumentChecksTest, ActiveMessage) {
  const ActiveMessageArguments right{0, place, &word, 8, &word, 4};
  auto check = [&](auto change) {
    ActiveMessageArguments arguments = right;
    change(arguments);
    return check_active_message(kTasks, 912, arguments);
  };
  EXPECT_EQ(check([](auto&) {}), LAPI_SUCCESS);
  EXPECT_EQ(check([](auto& a) { a.target = kTasks; }), LAPI_ERR_TGT);
  EXPECT_EQ(check([](auto& a) { a.handler = 0; }), LAPI_ERR_HDR_HNDLR_NULL);
  EXPECT_EQ(check([](auto& a) { a.user_header = nullptr; }), LAPI_ERR_UHDR_NULL);
  EXPECT_EQ(check([](auto& a) { a.user_header_length = 916; }), LAPI_ERR_UHDR_LEN);
  EXPECT_EQ(check([](auto& a) { a.user_header_length = 6; }), LAPI_ERR_HDR_LEN);
  EXPECT_EQ(check([](auto& a) { a.data = nullptr; }), LAPI_ERR_ORG_ADDR_NULL);
  EXPECT_EQ(check([](auto& a) { a.length = ~0UL; }), LAPI_ERR_DATA_LEN);
}

TEST(ArgumentChecksTest, ReadModifyWrite) {
  EXPECT_EQ(check_read_modify_write(kTasks, SWAP, 0, place, &word), LAPI_SUCCESS);
  EXPECT_EQ(check_read_modify_write(kTasks, SWAP + 1, 0, place, &word), LAPI_ERR_RMW_OP);
  EXPECT_EQ(check_read_modify_write(kTasks, -1, 0, place, &word), LAPI_ERR_RMW_OP);
  EXPECT_EQ(check_read_modify_write(kTasks, SWAP, kTasks, place, &word), LAPI_ERR_TGT);
  EXPECT_EQ(check_read_modify_write(kTasks, SWAP, 0, 0, &word), LAPI_ERR_TGT_VAR_NULL);
  EXPECT_EQ(check_read_modify_write(kTasks, SWAP, 0, place, nullptr), LAPI_ERR_IN_VAL_NULL);
}

TEST(ArgumentChecksTest, ReadModifyWriteOfEitherSize) {
  lapi_rmw_t right{};
  right.op = SWAP;
  right.tgt_var = place;
  right.in_val = &word;
  for (const uint size : {32U, 64U}) {
    right.size = size;
    EXPECT_EQ(check_sized_read_modify_write(kTasks, right), LAPI_SUCCESS);
  }
  for (const uint size : {0U, 4U, 8U, 31U, 33U, 63U, 65U, ~0U}) {
    right.size = size;
    EXPECT_EQ(check_sized_read_modify_write(kTasks, right), LAPI_ERR_OP_SZ) << size;
  }
  right.in_val = nullptr;
  EXPECT_EQ(check_sized_read_modify_write(kTasks, right), LAPI_ERR_IN_VAL_NULL);
}

TEST(HandleTableTest, NothingIsOpenAtFirst) {
  for (lapi_handle_t handle = 0; handle < 64; ++handle) EXPECT_EQ(find_context(handle), nullptr) << handle;
  EXPECT_EQ(find_context(~0U), nullptr);
}

TEST(HandleTableTest, ObjectIsTakenOnce) {
  Context& context = context_table.contexts[5];
  EXPECT_TRUE(context.reserve());
  EXPECT_FALSE(context.reserve());
  context.give_back();
  EXPECT_TRUE(context.reserve());
  context.give_back();
}

}  // namespace
}  // namespace openlapi
