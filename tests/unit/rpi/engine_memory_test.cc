// There is no memory for a message: it comes again, and nothing else is lost or held back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/rpi/quiet_engine.h"

namespace {

int allocations_until_failure = -1;  // negative: none fails

void* allocate(std::size_t size) {
  const bool fails = allocations_until_failure >= 0 && allocations_until_failure-- == 0;
  return fails ? nullptr : std::malloc(size);
}
void* allocate_or_throw(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All of them: sanitizers have their own, and memory of one kind must not be freed by another.
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace openlapi::rpi {
namespace {

class EngineMemoryTest : public QuietEngine {
 protected:
  Landing arrive_without(int allocation, const Envelope& envelope, std::uint64_t length) {
    allocations_until_failure = allocation;
    const Landing landing = arrive(envelope, length);
    allocations_until_failure = -1;
    return landing;
  }
  // Comes again until there was memory enough. Returns how often there was not.
  int arrive_in_the_end(const Envelope& envelope, const std::string& data) {
    for (int allocation = 0;; ++allocation) {
      const Landing landing = arrive_without(allocation, envelope, data.size());
      if (landing.again) continue;
      EXPECT_NE(landing.when_done.function, nullptr) << allocation;
      if (landing.when_done.function == nullptr) return allocation;
      if (landing.buffer != nullptr) std::memcpy(landing.buffer, data.data(), data.size());
      complete(landing);
      return allocation;
    }
  }
  std::string received(int tag, std::size_t room) {
    const _req& request = receive(1, tag, memory_, room);
    engine_.advance(nullptr, false);
    EXPECT_EQ(request.rq_state, LAM_RQSDONE);
    EXPECT_EQ(request.rq_status.MPI_ERROR, MPI_SUCCESS);
    return {memory_, static_cast<std::size_t>(request.rq_status.st_length)};
  }
};

TEST_F(EngineMemoryTest, AMessageThatNobodyHasAskedForComesAgain) {
  EXPECT_GE(arrive_in_the_end(message(0, 5), "first"), 2);
  EXPECT_GE(arrive_in_the_end(message(1, 5), "second"), 1);
  EXPECT_EQ(received(5, 100), "first");
  EXPECT_EQ(received(5, 100), "second");
  EXPECT_EQ(engine_.refused(), 0U);
  EXPECT_EQ(told_, std::vector<std::string>{"has sent a message for which there is no memory now: it is tried again if "
                                            "a copy can be kept until then, and else the process is lost"})
      << "once";
}

TEST_F(EngineMemoryTest, AReceiveIsStillPostedWhenItsMessageComesAgain) {
  _req& request = receive(1, 5, memory_, 3);
  EXPECT_GE(arrive_in_the_end(message(0, 5), "too long"), 2) << "it is kept before it is cut off";
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_EQ(request.rq_status.MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(std::string(memory_, 3), "too");
  EXPECT_NE(request.rq_flags & LAM_RQFTRUNC, 0);
}

TEST_F(EngineMemoryTest, MessagesThatHaveOvertakenAreNotHeldBackForEver) {
  EXPECT_GE(arrive_in_the_end(message(1, 5), "second"), 2);
  EXPECT_GE(arrive_in_the_end(message(2, 6), "third"), 2);
  _req& request = receive(1, 7, memory_, 100);
  // Enough for the first one, which was asked for, and for nothing behind it.
  complete(arrive_without(1, message(0, 7), 1));
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_EQ(received(5, 100), "second");
  EXPECT_EQ(received(6, 100), "third");
  EXPECT_TRUE(engine_.quiet());
}

TEST_F(EngineMemoryTest, AnswersAndReadsAreBegunAgain) {
  Envelope envelope = message(0, 5);
  envelope.kind = EnvelopeKind::long_message;
  envelope.request = 9;
  envelope.address = 4096;
  envelope.length = 100;
  _req& request = receive(1, 5, memory_, 100);
  world_.gets_without_memory = 3;
  complete(arrive(envelope, 0));
  engine_.advance(&request, false);
  EXPECT_EQ(world_.gets_without_memory, 0);
  EXPECT_EQ(world_.read_to.size(), 0U);
  EXPECT_EQ(request.rq_state, LAM_RQSACTIVE) << "it could not be read";
  world_.sends_without_memory = 2;
  engine_.advance(&request, false);
  EXPECT_EQ(world_.read_to.size(), 100U);
  EXPECT_TRUE(world_.headers.empty());
  engine_.advance(&request, false);
  ASSERT_EQ(world_.headers.size(), 1U);
  EXPECT_EQ(world_.headers[0].kind, EnvelopeKind::fetched);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
}

TEST_F(EngineMemoryTest, ALossIsToldInTheEnd) {
  Envelope envelope = message(0, 6);
  envelope.kind = EnvelopeKind::long_message;
  envelope.request = 9;
  envelope.address = 4096;
  envelope.length = 100;
  complete(arrive(envelope, 0));  // nobody has asked for it, and it cannot be read any more
  const _req& receiving = receive(1, 5, memory_, 100);
  _req& sending = build(LAM_RQISSEND, 1, 5, memory_, 1);
  ASSERT_TRUE(start(sending));
  engine_.outside(true);
  engine_.lost(1, "it has ended");
  engine_.outside(false);
  told_.reserve(1);
  // After its text, twice before the send ends, and before the message that nobody can read is gone.
  for (const int allocation : {1, 0, 1}) {
    EXPECT_NE(receiving.rq_state, LAM_RQSDONE);
    allocations_until_failure = allocation;
    EXPECT_THROW(engine_.advance(nullptr, false), std::bad_alloc);
    allocations_until_failure = -1;
    EXPECT_TRUE(engine_.is_unsettled());
  }
  engine_.advance(nullptr, false);
  EXPECT_FALSE(engine_.is_unsettled());
  for (const _req* request : {&receiving, &std::as_const(sending)}) {
    EXPECT_EQ(request->rq_state, LAM_RQSDONE);
    EXPECT_EQ(request->rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  }
  EXPECT_EQ(told_, std::vector<std::string>{"is lost: it has ended"}) << "once";
}

TEST_F(EngineMemoryTest, AReceiveThatIsMadeAgainAndItsMessageNeedNone) {
  for (const bool is_first : {true, false}) {
    _req& request = build(LAM_RQIRECV, 1, 5, memory_, 100);
    allocations_until_failure = is_first ? -1 : 0;
    EXPECT_TRUE(start(request));
    const Landing landing = arrive(message(is_first ? 0 : 1, 5), 1);
    ASSERT_NE(landing.when_done.function, nullptr);
    complete(landing);
    engine_.destroy(&request);
    EXPECT_EQ(engine_.build(&request), 0);
    EXPECT_EQ(allocations_until_failure, is_first ? -1 : 0) << "none was asked for";
    allocations_until_failure = -1;
    EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  }
}

TEST_F(EngineMemoryTest, ASendThatCouldNotBeginIsNotWaitedFor) {
  _req& send = build(LAM_RQISSEND, 1, 5, memory_, 1);
  world_.sends_without_memory = 1;
  EXPECT_FALSE(start(send));
  EXPECT_EQ(send.rq_state, LAM_RQSSTART);
  EXPECT_TRUE(start(send));
  ASSERT_EQ(world_.headers.size(), 1U);
  EXPECT_EQ(world_.headers[0].sequence, 0U);
}

}  // namespace
}  // namespace openlapi::rpi
