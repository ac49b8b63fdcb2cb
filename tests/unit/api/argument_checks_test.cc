// One mistake at a time gives the code that names it.
#include "api/arguments/argument_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "api/arguments/refusal.h"
#include "api/context/context.h"

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

// What `call` says on standard error.
template <class Call>
std::string said_by(int info_level, Call call) {
  tell_refusals(info_level, 2);
  testing::internal::CaptureStderr();
  call();
  tell_refusals(0, 0);
  return testing::internal::GetCapturedStderr();
}

TEST(ArgumentChecksTest, FromLevelOneOnARefusalNamesArgumentValueAndWhatIsAllowed) {
  const auto wrong_target = [] { EXPECT_EQ(check_put_or_get(kTasks, 9, 4, place, &word), LAPI_ERR_TGT); };
  EXPECT_EQ(said_by(0, wrong_target), "");
  EXPECT_EQ(said_by(1, wrong_target), "openlapi: task 2: LAPI_ERR_TGT: tgt is 9; the job's tasks are 0 to 3\n");
  EXPECT_EQ(said_by(1,
                    [] {
                      check_active_message(kTasks, 912, {0, place, &word, 916, &word, 4});
                    }),
            "openlapi: task 2: LAPI_ERR_UHDR_LEN: uhdr_len is 916; allowed are multiples of 4 from 0 to 912 "
            "(MAX_UHDR_SZ)\n");
  EXPECT_EQ(said_by(1, [] { check_read_modify_write(kTasks, 7, 0, place, &word); }),
            "openlapi: task 2: LAPI_ERR_RMW_OP: op is 7; allowed are 0 (COMPARE_AND_SWAP) to 3 (SWAP)\n");
  EXPECT_EQ(said_by(1, [] { check_put_or_get(kTasks, 0, 4, place, nullptr); }),
            "openlapi: task 2: LAPI_ERR_ORG_ADDR_NULL: org_addr is NULL\n");
  EXPECT_NE(said_by(1, [] { check_put_or_get(kTasks, 0, std::uint64_t{1} << 62, place, &word); })
                .find("is 4611686018427387904; "),
            std::string::npos);
}

TEST(ArgumentChecksTest, TheSameRefusalIsToldTenTimes) {
  const auto for_ever = [] {
    for (int call = 0; call < 5000; ++call) check_put_or_get(kTasks, 77, 4, place, &word);
  };
  const std::string said = said_by(1, for_ever);
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 10);
  EXPECT_TRUE(said.ends_with("tgt is 77; the job's tasks are 0 to 3 (told 10 times; no more)\n")) << said;
  EXPECT_NE(said_by(1, [] { check_put_or_get(kTasks, 78, 4, place, &word); }), "") << "another is told";
}

}  // namespace
}  // namespace openlapi
