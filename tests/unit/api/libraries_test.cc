#include "api/wiring/libraries.h"

#include <gtest/gtest.h>

#include <map>

#include "api/wiring/info_level.h"
#include "api/wiring/task_texts.h"

namespace openlapi {
namespace {

// A job of six tasks on two nodes; what all have published is known at once.
class Job final : public Bootstrap {
 public:
  Job(std::uint32_t rank, std::map<std::uint32_t, std::string>& published)
      : rank_(rank),
        local_(rank < 3 ? std::vector<std::uint32_t>{0, 1, 2} : std::vector<std::uint32_t>{3, 4, 5}),
        published_(published) {}

  std::string_view name() const override { return "pmix"; }
  std::uint32_t task() const override { return rank_; }
  std::uint32_t size() const override { return 6; }
  const std::vector<std::uint32_t>& local_tasks() const override { return local_; }
  std::uint64_t job_cookie() const override { return 1; }
  bool can_exchange() const override { return true; }
  bool put(std::string_view, std::span<const std::byte> value, std::string&) override {
    published_[rank_].assign(reinterpret_cast<const char*>(value.data()), value.size());
    return true;
  }
  bool exchange(std::string&) override { return true; }
  bool get(std::uint32_t rank, std::string_view, unsigned, std::vector<std::byte>& value, std::string& error) override {
    asked.push_back(rank);
    if (!published_.contains(rank)) {
      error = "nothing there";
      return false;
    }
    const auto bytes = std::as_bytes(std::span(published_[rank]));
    value.assign(bytes.begin(), bytes.end());
    return true;
  }
  bool barrier(std::string&) override { return true; }
  void abort(int, std::string_view) override {}

  std::vector<std::uint32_t> asked;

 private:
  std::uint32_t rank_;
  std::vector<std::uint32_t> local_;
  std::map<std::uint32_t, std::string>& published_;
};

TEST(LibraryVersions, OnlyTheWireVersionHasToBeTheSame) {
  EXPECT_EQ(match_libraries("2 0.1.0", "2 0.1.0"), LibraryMatch::same);
  EXPECT_EQ(match_libraries("2 0.1.0", "2 0.2.0"), LibraryMatch::other_build);
  EXPECT_EQ(match_libraries("2 0.1.0", "20 0.1.0"), LibraryMatch::other_wire_version);
  EXPECT_EQ(match_libraries("2 0.1.0", ""), LibraryMatch::other_wire_version);
}

TEST(LibraryVersions, ATaskAsksTheFirstOfItsNodeAndThatOneTaskZero) {
  std::map<std::uint32_t, std::string> published;
  const std::map<std::uint32_t, std::vector<std::uint32_t>> expected{{0, {}},  {1, {0}}, {2, {0}},
                                                                     {3, {0}}, {4, {3}}, {5, {3}}};
  std::string reason;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    Job job(rank, published);
    EXPECT_TRUE(publish_texts(job, {own_library(), ""}, reason));
    EXPECT_TRUE(compare_libraries(job, kLevelWarning, reason)) << reason;
    EXPECT_EQ(job.asked, expected.at(rank)) << rank;
  }
}

TEST(LibraryVersions, AnotherWireVersionIsAnErrorThatNamesBoth) {
  std::map<std::uint32_t, std::string> published{{0, "7 9.9.9, built one day"}};
  Job job(1, published);
  std::string reason;
  EXPECT_FALSE(compare_libraries(job, 0, reason));
  EXPECT_EQ(reason.find("task 0 runs openlapi 9.9.9, built one day, wire version 7; task 1 runs openlapi "), 0u)
      << reason;
}

TEST(LibraryVersions, AnotherBuildIsSaidAtLevelOneAlone) {
  const std::string own = own_library();
  std::map<std::uint32_t, std::string> published{{3, own.substr(0, own.find(' ')) + " 9.9.9, built one day"}};
  for (const int level : {kLevelError, kLevelWarning}) {
    Job job(4, published);
    std::string reason;
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compare_libraries(job, level, reason)) << reason;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("openlapi: task 3 runs openlapi 9.9.9, built one day") == 0, level == kLevelWarning) << said;
  }
}

// Task 0 has another build than all others: task 1 says it for the tasks behind it, also for those of the other node.
TEST(LibraryVersions, OfNeighboursWithOneBuildTheFirstSaysIt) {
  const std::string own = own_library();
  std::map<std::uint32_t, std::string> published{{0, own.substr(0, own.find(' ')) + " 9.9.9, built one day"}};
  for (std::uint32_t rank = 1; rank < 6; ++rank) published[rank] = own;
  for (std::uint32_t rank = 1; rank < 6; ++rank) {
    Job job(rank, published);
    std::string reason;
    testing::internal::CaptureStderr();
    EXPECT_TRUE(compare_libraries(job, kLevelWarning, reason)) << reason;
    EXPECT_EQ(testing::internal::GetCapturedStderr().empty(), rank != 1) << rank;
  }
}

TEST(LibraryVersions, WhoHasPublishedNothingIsNamed) {
  std::map<std::uint32_t, std::string> published;
  Job job(5, published);
  std::string reason;
  EXPECT_FALSE(compare_libraries(job, 0, reason));
  EXPECT_EQ(reason, "nothing there");
}

TEST(TaskTexts, AreOneEntryThatIsNoLongerWhereThereIsNothingToSay) {
  std::map<std::uint32_t, std::string> published;
  Job job(1, published);
  std::string reason;
  EXPECT_TRUE(publish_texts(job, {"2 9.9.9", ""}, reason));
  EXPECT_EQ(published[1], "2 9.9.9");
  TaskTexts texts;
  EXPECT_TRUE(published_texts(job, 1, texts, reason));
  EXPECT_EQ(texts.library + "|" + texts.variables, "2 9.9.9|");
  EXPECT_TRUE(publish_texts(job, {"2 9.9.9", "77"}, reason));
  EXPECT_TRUE(published_texts(job, 1, texts, reason));
  EXPECT_EQ(texts.library + "|" + texts.variables, "2 9.9.9|77");
}

}  // namespace
}  // namespace openlapi
