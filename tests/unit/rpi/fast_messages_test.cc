#include "api/rpi/lapi/fast_messages.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <vector>

#include "api/rpi/include/mpisys.h"

namespace openlapi::rpi {
namespace {

// Peer 0 is this process; a blocking progress() does what the test has prepared.
class PreparedWorld final : public World {
 public:
  Peer self() const override { return 0; }
  Peer peers() const override { return 2; }
  void send_message(Peer, std::span<const std::byte> header, std::span<const std::byte> data,
                    WhenDone when_sent) override {
    headers.push_back(decode_envelope(header).value_or(Envelope{}));
    lengths.push_back(data.size());
    waiting = when_sent;
  }
  void get(Peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override {
    std::memcpy(local.data(), reinterpret_cast<const void*>(remote), local.size());
    when_here.function(when_here.argument, Outcome::done);
  }
  bool progress(bool block) override {
    if (block && !asleep) throw std::runtime_error("it sleeps for ever");
    if (block) std::exchange(asleep, nullptr)();
    return true;
  }
  void interrupt() override {}
  void has_left(Peer) override {}
  void expect_no_more(Peer) override {}
  void give_up(Peer, const char*) override {}
  bool drained() override { return true; }
  void end(Outcome outcome) { waiting.function(waiting.argument, outcome); }

  std::vector<Envelope> headers{};
  std::vector<std::size_t> lengths{};
  WhenDone waiting{};
  std::function<void()> asleep{};
};

class FastMessagesTest : public testing::Test, public MpiLayer {
 protected:
  FastMessagesTest() : processes_(2), members_{&processes_[0], &processes_[1]} {
    lam_ssi_rpi_cbuf_init();
    engine_.use(world_);
    for (_proc& process : processes_) engine_.add_process(process);
    bytes_.dt_flags = LAM_DTNOPACK | LAM_DTNOXADJ;
    bytes_.dt_commit = bytes_.dt_size = 1;
    group_.g_nprocs = 2;
    group_.g_procs = members_.data();
    communicator_.c_group = &group_;
    communicator_.c_contextid = 4;
  }

  void request_begun() override { ++active_; }
  void request_ended() override { --active_; }
  bool start_request(MPI_Request) override { return false; }
  int error_of(int error_class) override { return 1000 + error_class; }
  int next_number() override { return number_++; }
  void tell(const _proc&, const char*) override {}
  bool is_homogeneous() override { return homogeneous_; }
  bool has_debugger() override { return false; }
  void let_checkpoint_in() override {
    if (checkpoint_) std::exchange(checkpoint_, nullptr)();
  }

  FastOperation with(int peer, int tag, int size) { return {memory_, size, &bytes_, peer, tag, &communicator_}; }
  // A message of peer 1 has come.
  void arrive(std::uint32_t sequence, int tag, const char* text) {
    const Envelope envelope{.kind = EnvelopeKind::short_message,
                            .sequence = sequence,
                            .context = 4,
                            .tag = tag,
                            .rank = 1,
                            .number = 70 + static_cast<int>(sequence)};
    std::array<std::byte, kMostEnvelope> room;
    const Landing landing = engine_.arriving({1, encode(envelope, room), std::strlen(text)});
    std::memcpy(landing.buffer, text, std::strlen(text));
    landing.when_done.function(landing.when_done.argument, Outcome::done);
  }
  int receive(int tag, int size) { return fast_.receive(with(1, tag, size), tag_ = tag, &status_, received_number_); }

  PreparedWorld world_{};
  std::vector<_proc> processes_;
  std::vector<_proc*> members_;
  _dtype bytes_{};
  _group group_{};
  _comm communicator_{};
  int active_ = 0, number_ = 30;
  bool homogeneous_ = true;
  std::function<void()> checkpoint_{};
  RequestEngine engine_{*this, 64};
  FastMessages fast_{engine_, *this};
  char memory_[256] = {};
  int tag_ = 0, received_number_ = 0;
  MPI_Status status_{};
};

TEST_F(FastMessagesTest, ASendEndsWhenItsMemoryIsTheProgramsAgain) {
  for (const int number : {30, 31}) {
    bool slept = false;
    world_.asleep = [&] {
      EXPECT_EQ(active_, 1);
      slept = true;
      world_.end(Outcome::done);
    };
    EXPECT_EQ(fast_.send(with(1, 5, 10)), MPI_SUCCESS);
    EXPECT_TRUE(slept);
    EXPECT_EQ(world_.headers.back().number, number);
    EXPECT_EQ(world_.headers.back().context, 4);
    EXPECT_EQ(world_.headers.back().sequence, static_cast<std::uint32_t>(number - 30));
    EXPECT_EQ(world_.lengths.back(), 10U);
    EXPECT_EQ(active_, 0);
  }
}

TEST_F(FastMessagesTest, ALongSendEndsWhenItHasBeenFetched) {
  world_.asleep = [&] {
    const Envelope sent = world_.headers.back();
    EXPECT_EQ(sent.kind, EnvelopeKind::long_message);
    std::array<std::byte, kMostEnvelope> room;
    engine_.arriving({1, encode({.kind = EnvelopeKind::fetched, .request = sent.request}, room), 0});
  };
  EXPECT_EQ(fast_.send(with(1, 5, 200)), MPI_SUCCESS);
  EXPECT_EQ(active_, 0);
}

// Whoever makes it has interrupted the wait.
TEST_F(FastMessagesTest, ACheckpointIsMadeWhileAReceiveWaits) {
  bool made = false;
  world_.asleep = [&] {
    checkpoint_ = [&] {
      EXPECT_EQ(active_, 1);
      made = true;
      world_.asleep = [&] { arrive(0, 5, "later"); };
    };
  };
  EXPECT_EQ(receive(5, 100), MPI_SUCCESS);
  EXPECT_TRUE(made);
  EXPECT_EQ(std::string(memory_), "later");
}

TEST_F(FastMessagesTest, AReceiveTakesTheOldestThatHasCome) {
  arrive(0, 6, "other");
  arrive(1, 5, "first");
  arrive(2, 5, "second");
  EXPECT_EQ(receive(5, 100), MPI_SUCCESS);
  EXPECT_EQ(std::string(memory_), "first");
  EXPECT_EQ(received_number_, 71);
  EXPECT_EQ(status_.st_length, 5);
  EXPECT_EQ(receive(MPI_ANY_TAG, 100), MPI_SUCCESS);
  EXPECT_EQ(tag_, 6);
  EXPECT_EQ(status_.MPI_TAG, 6);
  EXPECT_EQ(status_.MPI_SOURCE, 1);
}

TEST_F(FastMessagesTest, AReceiveWaits) {
  world_.asleep = [&] {
    arrive(0, 6, "not this");
    world_.asleep = [&] { arrive(1, 5, "this"); };
  };
  EXPECT_EQ(receive(5, 100), MPI_SUCCESS);
  EXPECT_EQ(std::string(memory_), "this");
  EXPECT_EQ(active_, 0);
  EXPECT_EQ(fast_.receive(with(1, 6, 3), tag_, MPI_STATUS_IGNORE, received_number_), 1000 + MPI_ERR_TRUNCATE);
}

TEST_F(FastMessagesTest, ATruncatedMessageIsAnErrorAndItsLengthIsWhatIsThere) {
  arrive(0, 5, "longer");
  errno = EBUSY;
  EXPECT_EQ(receive(5, 4), 1000 + MPI_ERR_TRUNCATE);
  EXPECT_NE(errno, EBUSY) << "it would be received again";
  EXPECT_EQ(status_.MPI_ERROR, 1000 + MPI_ERR_TRUNCATE);
  EXPECT_EQ(status_.st_length, 4);
  EXPECT_EQ(std::string(memory_, 5), std::string("long\0", 5));
}

TEST_F(FastMessagesTest, TheDeadAreErrors) {
  world_.asleep = [&] { engine_.lost(1, "killed"); };
  EXPECT_EQ(receive(5, 10), 1000 + MPI_ERR_LOCALDEAD);
  EXPECT_EQ(fast_.send(with(1, 5, 10)), 1000 + MPI_ERR_LOCALDEAD);
  communicator_.c_flags |= LAM_CLDEAD;
  EXPECT_EQ(receive(5, 10), 1000 + MPI_ERR_LOCALDEAD);
  EXPECT_EQ(active_, 0);
}

TEST_F(FastMessagesTest, WhatFailsWhileItMovesIsActiveNoLonger) {
  world_.asleep = [] { throw std::bad_alloc(); };
  EXPECT_EQ(receive(5, 10), 1000 + MPI_ERR_NO_MEM);
  EXPECT_EQ(active_, 0);
  EXPECT_THROW(receive(5, 10), std::runtime_error) << "another failure";
  EXPECT_EQ(active_, 0);
  arrive(0, 5, "this");
  EXPECT_EQ(std::string(memory_), "") << "neither of them takes it";
  EXPECT_EQ(receive(5, 10), MPI_SUCCESS);
}

TEST_F(FastMessagesTest, WhatIsNotPlainIsLeftToRequests) {
  const auto left = [&](const FastOperation& operation) {
    errno = 0;
    const int sent = fast_.send(operation);
    const bool send_left = sent == LAMERROR && errno == EBUSY;
    errno = 0;
    return send_left && fast_.receive(operation, tag_, &status_, received_number_) == LAMERROR && errno == EBUSY;
  };
  EXPECT_TRUE(left(with(2, 5, 1))) << "no such rank";
  EXPECT_TRUE(left(with(-5, 5, 1)));
  EXPECT_TRUE(left(with(1, 5, -1)));
  EXPECT_TRUE(left({nullptr, 1, &bytes_, 1, 5, &communicator_}));
  EXPECT_TRUE(left({memory_, 1, nullptr, 1, 5, &communicator_}));
  _dtype type = bytes_;
  type.dt_commit = 0;
  EXPECT_TRUE(left({memory_, 1, &type, 1, 5, &communicator_}));
  type = bytes_;
  type.dt_flags = LAM_DTNOXADJ;
  EXPECT_TRUE(left({memory_, 1, &type, 1, 5, &communicator_})) << "to be packed";
  type.dt_flags = LAM_DTNOPACK;
  EXPECT_TRUE(left({memory_, 2, &type, 1, 5, &communicator_})) << "with a gap between the two";
  type = bytes_;
  type.dt_size = 1 << 20;
  EXPECT_TRUE(left({memory_, 1 << 12, &type, 1, 5, &communicator_})) << "more than MPI can count";
  homogeneous_ = false;
  EXPECT_TRUE(left(with(1, 5, 1)));
  homogeneous_ = true;
  engine_.remove_process(processes_[1]);
  EXPECT_TRUE(left(with(1, 5, 1)));
  EXPECT_TRUE(world_.headers.empty());
  EXPECT_EQ(number_, 30);
  EXPECT_EQ(active_, 0);
}

}  // namespace
}  // namespace openlapi::rpi
