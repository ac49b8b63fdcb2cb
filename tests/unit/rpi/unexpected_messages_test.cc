#include "api/rpi/services/unexpected_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "api/rpi/services/optional_lock.h"

namespace openlapi::rpi {
namespace {

lam_ssi_rpi_cbuf_msg message_of(int context, int rank, int tag, int number) {
  lam_ssi_rpi_cbuf_msg message{};
  message.cm_env = {.ce_len = 0, .ce_tag = tag, .ce_flags = 0, .ce_rank = rank, .ce_cid = context, .ce_seq = number};
  return message;
}

lam_ssi_rpi_envl asked(int context, int rank, int tag) { return message_of(context, rank, tag, 0).cm_env; }

// Its number; -1: there is none.
int number_of(const lam_ssi_rpi_cbuf_msg* message) { return message == nullptr ? -1 : message->cm_env.ce_seq; }

class UnexpectedMessagesTest : public testing::Test {
 protected:
  int find(int context, int rank, int tag) { return number_of(messages_.find(asked(context, rank, tag))); }
  lam_ssi_rpi_cbuf_msg& append(int context, int rank, int tag, int number) {
    return messages_.append(message_of(context, rank, tag, number));
  }
  UnexpectedMessages messages_{};
};

TEST_F(UnexpectedMessagesTest, TheOldestMatchIsFound) {
  lam_ssi_rpi_cbuf_msg& first = append(1, 2, 3, 1);
  append(1, 3, 3, 2);
  append(1, 2, 4, 3);
  append(2, 2, 3, 4);
  append(1, 5, -7, 5);  // the MPI layer's own tags are negative
  EXPECT_EQ(find(1, 2, 3), 1);
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, 3), 1);
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, MPI_ANY_TAG), 1);
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, 4), 3);
  EXPECT_EQ(find(1, 3, MPI_ANY_TAG), 2);
  EXPECT_EQ(find(1, 5, MPI_ANY_TAG), 5);
  EXPECT_EQ(find(2, MPI_ANY_SOURCE, MPI_ANY_TAG), 4);
  EXPECT_EQ(find(3, MPI_ANY_SOURCE, MPI_ANY_TAG), -1);
  EXPECT_EQ(find(1, 3, 4), -1);
  // To find a message does not take it away.
  EXPECT_EQ(find(1, 2, 3), 1);
  messages_.remove(first);
  EXPECT_EQ(find(1, 2, 3), -1);
  EXPECT_EQ(find(1, 2, MPI_ANY_TAG), 3);
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, 3), 2);
}

TEST_F(UnexpectedMessagesTest, AMessageHasNoWildcards) {
  EXPECT_ANY_THROW(append(1, MPI_ANY_SOURCE, 3, 1));
  EXPECT_ANY_THROW(append(1, 2, MPI_ANY_TAG, 1));
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, MPI_ANY_TAG), -1);
}

TEST_F(UnexpectedMessagesTest, AModuleMayWriteInItsMessages) {
  lam_ssi_rpi_cbuf_msg& message = append(1, 2, 3, 1);
  message.cm_env = {};
  EXPECT_NE(messages_.find(asked(1, 2, 3)), nullptr);
  messages_.remove(message);
  EXPECT_EQ(messages_.find(asked(1, 2, 3)), nullptr);
}

// As it is said in MPI: a list, looked through from its beginning.
class Model {
 public:
  void append(const lam_ssi_rpi_envl& envelope) { list_.push_back(envelope); }
  int find(const lam_ssi_rpi_envl& request) const {
    const auto found = std::ranges::find_if(list_, [&](lam_ssi_rpi_envl each) {
      lam_ssi_rpi_envl wanted = request;
      return lam_ssi_rpi_envl_cmp(&each, &wanted) == 0;
    });
    return found == list_.end() ? -1 : found->ce_seq;
  }
  void remove(int number) {
    std::erase_if(list_, [&](const auto& each) { return each.ce_seq == number; });
  }

 private:
  std::vector<lam_ssi_rpi_envl> list_{};
};

TEST_F(UnexpectedMessagesTest, FindsWhatASimpleListFinds) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto any_of = [&](int first, int last) { return std::uniform_int_distribution(first, last)(random); };
    UnexpectedMessages messages;
    Model model;
    for (int number = 0; number < 3000; ++number) {
      if (any_of(0, 1) == 0) {
        const auto message = message_of(any_of(0, 2), any_of(0, 3), any_of(0, 4), number);
        messages.append(message);
        model.append(message.cm_env);
        continue;
      }
      const auto request = asked(any_of(0, 2), any_of(-1, 3), any_of(-1, 4));
      lam_ssi_rpi_cbuf_msg* found = messages.find(request);
      ASSERT_EQ(number_of(found), model.find(request)) << "seed " << seed << ", step " << number;
      if (found == nullptr || any_of(0, 3) == 0) continue;
      model.remove(number_of(found));
      messages.remove(*found);
    }
  }
}

// With a search through what is there, this would be 10^10 steps.
TEST_F(UnexpectedMessagesTest, ManyCostNoMoreThanFew) {
  constexpr int kMany = 100'000;
  for (int number = 0; number < kMany; ++number) append(1, number % 4, number, number);
  for (int number = kMany - 1; number >= 0; --number) {
    const int rank = number % 2 == 0 ? MPI_ANY_SOURCE : number % 4;
    lam_ssi_rpi_cbuf_msg* found = messages_.find(asked(1, rank, number));
    ASSERT_EQ(number_of(found), number);
    messages_.remove(*found);
  }
  EXPECT_EQ(find(1, MPI_ANY_SOURCE, MPI_ANY_TAG), -1);
}

TEST(MessageBuffering, KeepsCopiesBetweenInitAndEnd) {
  lam_ssi_rpi_cbuf_msg message = message_of(1, 2, 3, 4);
  lam_ssi_rpi_envl request = asked(1, 2, MPI_ANY_TAG);
  EXPECT_EQ(lam_ssi_rpi_cbuf_append(&message), nullptr);
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&request), nullptr);
  ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0);
  message.cm_buf = static_cast<char*>(std::malloc(8));
  lam_ssi_rpi_cbuf_msg* kept = lam_ssi_rpi_cbuf_append(&message);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&request), kept);
  EXPECT_EQ(kept->cm_buf, message.cm_buf);
  lam_ssi_rpi_cbuf_delete(kept);  // and its buffer
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&request), nullptr);
  char own[8];
  message.cm_buf = own;
  message.cm_dont_delete = 1;
  lam_ssi_rpi_cbuf_delete(lam_ssi_rpi_cbuf_append(&message));
  message.cm_buf = static_cast<char*>(std::malloc(8));
  message.cm_dont_delete = 0;
  EXPECT_NE(lam_ssi_rpi_cbuf_append(&message), nullptr);
  message.cm_env.ce_tag = MPI_ANY_TAG;
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_rpi_cbuf_append(&message), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("rank 2 with tag -1; allowed: no wildcards"),
            std::string::npos);
  lam_ssi_rpi_cbuf_end();
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&request), nullptr);
}

TEST(MessageBuffering, WhatIsTakenOutIsFoundByNobody) {
  ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0);
  lam_ssi_rpi_envl request = asked(1, MPI_ANY_SOURCE, MPI_ANY_TAG);
  EXPECT_EQ(lam_ssi_rpi_cbuf_find_and_remove(&request), nullptr);
  for (int number = 1; number <= 2; ++number) {
    lam_ssi_rpi_cbuf_msg message = message_of(1, 2, 3, number);
    message.cm_buf = static_cast<char*>(std::malloc(8));
    ASSERT_NE(lam_ssi_rpi_cbuf_append(&message), nullptr);
  }
  lam_ssi_rpi_cbuf_msg* taken = lam_ssi_rpi_cbuf_find_and_remove(&request);
  EXPECT_EQ(number_of(taken), 1);
  EXPECT_EQ(number_of(lam_ssi_rpi_cbuf_find(&request)), 2);
  lam_ssi_rpi_cbuf_delete(taken);
  EXPECT_EQ(number_of(lam_ssi_rpi_cbuf_find_and_remove(nullptr)), -1);
  lam_ssi_rpi_cbuf_end();  // and the other one
}

// Each message goes to one thread; a search and a removal in two steps would give some to two.
TEST(MessageBuffering, ThreadsTakeEachMessageOnce) {
  share_unexpected_messages(true);
  ASSERT_EQ(lam_ssi_rpi_cbuf_init(), 0);
  constexpr int kMessages = 20'000, kThreads = 4;
  std::vector<std::atomic<int>> taken(kMessages);
  std::atomic<int> left = kMessages;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = thread; number < kMessages; number += kThreads) {
        lam_ssi_rpi_cbuf_msg message = message_of(1, number % 3, number % 5, number);
        lam_ssi_rpi_cbuf_append(&message);
      }
      lam_ssi_rpi_envl request = asked(1, MPI_ANY_SOURCE, MPI_ANY_TAG);
      while (left > 0) {
        lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find_and_remove(&request);
        if (message == nullptr) continue;
        ++taken[static_cast<std::size_t>(number_of(message))];
        --left;
        lam_ssi_rpi_cbuf_delete(message);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& times : taken) EXPECT_EQ(times, 1);
  lam_ssi_rpi_cbuf_end();
  share_unexpected_messages(false);
}

TEST(MessageBuffering, MemoryOfNoSpecialKind) {
  void* memory = nullptr;
  EXPECT_EQ(lam_ssi_rpi_base_alloc_mem(100, MPI_INFO_NULL, &memory), 0);
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(lam_ssi_rpi_base_free_mem(memory), 0);
  EXPECT_EQ(lam_ssi_rpi_base_alloc_mem(0, MPI_INFO_NULL, &memory), 0);
  EXPECT_EQ(lam_ssi_rpi_base_free_mem(memory), 0);
  EXPECT_EQ(lam_ssi_rpi_base_alloc_mem(-1, MPI_INFO_NULL, &memory), LAMERROR);
  EXPECT_EQ(lam_ssi_rpi_base_free_mem(nullptr), 0);
}

}  // namespace
}  // namespace openlapi::rpi
