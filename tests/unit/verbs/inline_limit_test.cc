#include "nic/verbs/inline_limit.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace {

// An adapter that takes some bytes inline, in the place of libibverbs.
struct FakeAdapter {
  std::uint32_t most = 0;  // inline bytes
  int no_memory_at = -1;   // of the attempts, counted from 0
  std::vector<std::uint32_t> attempts;
  int queue_pairs = 0;  // that exist
};

FakeAdapter* adapter = nullptr;

}  // namespace

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr* wanted) {
  const auto number = static_cast<int>(adapter->attempts.size());
  adapter->attempts.push_back(wanted->cap.max_inline_data);
  if (number == adapter->no_memory_at) return errno = ENOMEM, nullptr;
  if (wanted->cap.max_inline_data > adapter->most) return errno = EINVAL, nullptr;
  ++adapter->queue_pairs;
  return new ibv_qp{};
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
  --adapter->queue_pairs;
  delete queue_pair;
  return 0;
}

}  // extern "C"

namespace openlapi::verbs {
namespace {

class LimitOfInlineBytes : public testing::Test {
 protected:
  LimitOfInlineBytes() { adapter = &fake_; }
  ~LimitOfInlineBytes() override { EXPECT_EQ(fake_.queue_pairs, 0); }

  // Inline bytes that were granted; -1: there is no queue pair.
  int make() {
    ibv_pd domain{};
    ibv_qp_init_attr wanted{};
    fake_.attempts.clear();
    const QueuePair made = limit_.make(domain, wanted);
    EXPECT_EQ(fake_.queue_pairs, made ? 1 : 0);
    return made ? static_cast<int>(wanted.cap.max_inline_data) : -1;
  }

  FakeAdapter fake_;
  InlineLimit limit_{256};
};

TEST_F(LimitOfInlineBytes, IsFoundOnce) {
  fake_.most = 101;
  EXPECT_EQ(make(), 101);
  EXPECT_EQ(make(), 101);
  EXPECT_EQ(fake_.attempts, std::vector<std::uint32_t>{101});
}

// Attempts: 256 and 0, then 128, 64, 96, 112 and so on.
TEST_F(LimitOfInlineBytes, IsNotTakenFromAttemptsThatHadNoMemory) {
  fake_.most = 101;
  fake_.no_memory_at = 4;
  EXPECT_EQ(make(), 64) << "what was there before is used";
  EXPECT_EQ(limit_.bytes(), 256u);
  fake_.no_memory_at = -1;
  EXPECT_EQ(make(), 101) << "and the next queue pair looks for all of it";
}

TEST_F(LimitOfInlineBytes, WithoutMemoryThereIsNoQueuePair) {
  fake_.most = 101;
  fake_.no_memory_at = 0;
  EXPECT_EQ(make(), -1);
  EXPECT_EQ(fake_.attempts.size(), 1u);
  fake_.no_memory_at = 1;
  EXPECT_EQ(make(), -1);
  EXPECT_EQ(limit_.bytes(), 256u);
}

}  // namespace
}  // namespace openlapi::verbs
