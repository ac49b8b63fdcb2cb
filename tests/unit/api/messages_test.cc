#include "api/arguments/messages.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <set>
#include <string>

#include "api/include/lapi.h"

namespace openlapi {
namespace {

constexpr int kFirstCode = 400;
constexpr int kLastCode = 511;
const std::set<int> kUnusedCodes = {403, 411, 450, 457, 483, 484};
const std::set<int> kAttentions = {485, 486, 487, 488, 489, 490, 491, 499, 500,
                                   501, 502, 503, 504, 505, 506, 507, 508, 509};

TEST(MessageText, EveryCodeOfTheGuideHasATextThatFitsTheGuidesBuffer) {
  for (int code = kFirstCode; code <= kLastCode; ++code) {
    const char* text = message_text(code);
    if (kUnusedCodes.contains(code)) {
      EXPECT_EQ(text, nullptr) << code;
      continue;
    }
    ASSERT_NE(text, nullptr) << code;
    EXPECT_GT(std::strlen(text), 0U) << code;
    EXPECT_LE(std::strlen(text), 99U) << code;
  }
}

TEST(MessageText, TwoCodesNeverShareAText) {
  std::set<std::string> texts = {message_text(LAPI_SUCCESS)};
  for (int code = kFirstCode; code <= kLastCode; ++code) {
    if (kUnusedCodes.contains(code)) continue;
    const char* text = message_text(code);
    ASSERT_NE(text, nullptr) << code;
    EXPECT_TRUE(texts.insert(text).second) << code << ": " << text;
  }
  EXPECT_EQ(texts.size(), 1 + (kLastCode - kFirstCode + 1) - kUnusedCodes.size());
}

TEST(MessageText, TextsNameTheArgumentThatIsWrong) {
  EXPECT_STREQ(message_text(LAPI_ERR_UHDR_NULL), "uhdr is NULL although uhdr_len is not 0.");
  EXPECT_STREQ(message_text(LAPI_ERR_HDR_LEN), "uhdr_len is not a multiple of 4.");
  EXPECT_NE(std::string(message_text(LAPI_ERR_MSG_API)).find("MP_MSG_API"), std::string::npos);
  EXPECT_NE(std::string(message_text(LAPI_ERR_UDP_PKT_SZ)).find("1024 to 65536"), std::string::npos);
}

TEST(MessageText, SuccessIsOursAndNotTheOperatingSystems) { EXPECT_STRNE(message_text(0), std::strerror(0)); }

TEST(MessageText, ErrnoValuesHaveTheTextOfTheOperatingSystem) {
  constexpr int kLastErrno = 133;  // EHWPOISON
  for (int code = 1; code <= kLastErrno; ++code) {
    const std::string expected = std::strerror(code);
    if (code == EPERM) {
      EXPECT_NE(std::string(message_text(code)).find("lib_vers"), std::string::npos);
    } else if (expected.starts_with("Unknown error")) {
      EXPECT_EQ(message_text(code), nullptr) << code;
    } else {
      EXPECT_EQ(message_text(code), expected) << code;
      EXPECT_LE(expected.size(), 99U) << code;
    }
  }
  EXPECT_STREQ(message_text(EDEADLK), "Resource deadlock avoided");
}

TEST(MessageText, OtherNumbersHaveNone) {
  for (int code : {INT_MIN, -1, 134, 399, 512, 1000, INT_MAX}) EXPECT_EQ(message_text(code), nullptr) << code;
}

TEST(ErrorName, IsTheConstantsName) {
  EXPECT_STREQ(error_name(LAPI_SUCCESS), "LAPI_SUCCESS");
  EXPECT_STREQ(error_name(LAPI_ERR_UNKNOWN), "LAPI_ERR_UNKNOWN");
  EXPECT_STREQ(error_name(LAPI_ERR_TGT), "LAPI_ERR_TGT");
  EXPECT_STREQ(error_name(LAPI_ERR_INFO_NONZERO_INFO), "LAPI_ERR_INFO_NONZERO");
  EXPECT_STREQ(error_name(LAPI_ERR_NO_RDMA_RESOURCE), "LAPI_ERR_NO_RDMA_RESOURCE");
  EXPECT_STREQ(error_name(LAPI_ERR_CODE_UNKNOWN), "LAPI_ERR_CODE_UNKNOWN");
  EXPECT_STREQ(error_name(LAPI_ATTENTION_VERSION), "LAPI_ATTENTION_VERSION");
  EXPECT_STREQ(error_name(EDEADLK), "EDEADLK");
}

TEST(ErrorName, IsThereWhereThereIsAText) {
  for (int code = -10; code <= kLastCode + 10; ++code) {
    const char* name = error_name(code);
    EXPECT_EQ(name != nullptr, message_text(code) != nullptr) << code;
    if (code < kFirstCode || name == nullptr) continue;
    const char* prefix = kAttentions.contains(code) ? "LAPI_ATTENTION_" : "LAPI_ERR_";
    EXPECT_TRUE(std::string(name).starts_with(prefix)) << code << ": " << name;
  }
}

TEST(AttentionLevel, BelongsToAttentionMessagesOnly) {
  for (int code = -10; code <= kLastCode + 10; ++code) {
    EXPECT_EQ(attention_level(code) >= 0, kAttentions.contains(code)) << code;
  }
  EXPECT_EQ(attention_level(LAPI_ATTENTION_TIMEOUT), 0);
  EXPECT_EQ(attention_level(LAPI_ATTENTION_FAILOVER_HALTED), 1);
  EXPECT_EQ(attention_level(LAPI_ATTENTION_SHM_INIT_FAILED), 1);
  EXPECT_EQ(attention_level(LAPI_ATTENTION_VERSION), 2);
}

std::string printed(int number, int info_level) {
  testing::internal::CaptureStderr();
  print_attention(number, info_level, nullptr);
  return testing::internal::GetCapturedStderr();
}

template <typename... Arguments>
std::string printed(int number, int info_level, const char* format, Arguments... arguments) {
  testing::internal::CaptureStderr();
  print_attention(number, info_level, format, arguments...);
  return testing::internal::GetCapturedStderr();
}

TEST(PrintAttention, PrintsNumberTextAndDetailInOneLine) {
  EXPECT_EQ(printed(LAPI_ATTENTION_SHM_ONE_TASK, 2),
            "ATTENTION: 0031-504 Shared memory is not used: there is only one task.\n");
  EXPECT_EQ(printed(LAPI_ATTENTION_VERSION, 6, "openlapi %s, %d", "0.1.0", 7),
            "ATTENTION: 0031-501 LAPI library version. openlapi 0.1.0, 7\n");
}

TEST(PrintAttention, EveryMessageAppearsFromItsLevelOn) {
  for (int number : kAttentions) {
    const int level = attention_level(number);
    EXPECT_EQ(printed(number, level - 1), "") << number;
    EXPECT_NE(printed(number, level).find("0031-" + std::to_string(number) + " "), std::string::npos);
  }
}

TEST(PrintAttention, OtherNumbersPrintNothing) {
  for (int number : {-1, 0, 428, 484, 492, 498, 510, 511}) EXPECT_EQ(printed(number, 6, "%s", "detail"), "") << number;
}

TEST(PrintAttention, LongDetailIsCutAndStaysOneLine) {
  const std::string detail(5000, 'x');
  const std::string line = printed(LAPI_ATTENTION_TIMEOUT, 0, "%s", detail.c_str());
  EXPECT_EQ(line.size(), 1001U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line[999], 'x');
}

}  // namespace
}  // namespace openlapi
