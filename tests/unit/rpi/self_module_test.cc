// Requests of a process to itself, through their whole life.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>

#include "tests/unit/rpi/own_process.h"

namespace openlapi::rpi {
namespace {

class SelfModuleTest : public testing::Test {
 protected:
  static Operation operation(int type, void* buffer, int size, int tag, int peer = 0) {
    return {.type = type, .buffer = buffer, .layout = contiguous(size), .peer = peer, .tag = tag, .comm = comm()};
  }
  static Operation send(int& value, int tag, int type = LAM_RQISEND) {
    return operation(type, &value, sizeof value, tag);
  }
  static Operation receive(int& value, int tag, int peer = MPI_ANY_SOURCE) {
    return operation(LAM_RQIRECV, &value, sizeof value, tag, peer);
  }
  static MPI_Comm comm() { return process->comm(); }
  static Host& host() { return process->host(); }
  SelfModuleTest() { process = std::make_unique<OwnProcess>(); }
  ~SelfModuleTest() override { process.reset(); }

  static inline std::unique_ptr<OwnProcess> process;
};

TEST_F(SelfModuleTest, EveryModeArrivesInOrder) {
  std::array<int, 4> out{1, 2, 3, 4};
  const std::array modes{LAM_RQISEND, LAM_RQIBSEND, LAM_RQISSEND, LAM_RQIRSEND};
  std::vector<MPI_Request> sends;
  for (std::size_t n = 0; n < 4; ++n) sends.push_back(host().build_and_start(send(out[n], 5, modes[n])));
  out = {};  // those that are done have been copied
  out[2] = 3;
  EXPECT_EQ(sends[2]->rq_state, LAM_RQSSTART);
  for (int n = 1; n <= 4; ++n) {
    int in = 0;
    const MPI_Status status = host().run(receive(in, n % 2 == 0 ? 5 : MPI_ANY_TAG));
    EXPECT_EQ(in, n);
    EXPECT_EQ(status.MPI_SOURCE, 0);
    EXPECT_EQ(status.MPI_TAG, 5);
    EXPECT_EQ(status.st_length, static_cast<int>(sizeof in));
    EXPECT_EQ(host().test(sends[2]), n >= 3);
  }
  for (MPI_Request& each : sends) host().wait(each);
}

TEST_F(SelfModuleTest, TheFirstReceiveThatMatchesHasIt) {
  std::array<int, 4> in{};
  std::vector<MPI_Request> receives;
  for (const auto& [n, tag] : {std::pair{0, 7}, {1, MPI_ANY_TAG}, {2, 7}, {3, 8}}) {
    receives.push_back(host().build_and_start(receive(in[static_cast<std::size_t>(n)], tag)));
  }
  for (int n = 1; n <= 4; ++n) {
    int out = 10 * n;
    host().run(send(out, n == 1 ? 8 : n == 4 ? 8 : 7));
  }
  for (MPI_Request& each : receives) host().wait(each);
  EXPECT_EQ(in, (std::array{20, 10, 30, 40}));
}

TEST_F(SelfModuleTest, LongMessagesAreTruncatedAndReported) {
  std::vector<char> out(100000, 'x');
  std::array<char, 10> in{};
  MPI_Request sending = host().build_and_start(operation(LAM_RQISEND, out.data(), 100000, 1));
  EXPECT_FALSE(host().test(sending));  // longer than what is copied
  const MPI_Status status = host().run(operation(LAM_RQIRECV, in.data(), 9, 1));
  EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT_EQ(std::string(in.data()), "xxxxxxxxx");
  EXPECT_TRUE(host().test(sending));
}

TEST_F(SelfModuleTest, ProbesSayWhatIsThereAndLeaveIt) {
  MPI_Status status{};
  EXPECT_FALSE(host().iprobe(comm(), MPI_ANY_SOURCE, MPI_ANY_TAG, &status));
  MPI_Request waiting = host().build_and_start(operation(LAM_RQIPROBE, nullptr, 0, 3));
  EXPECT_FALSE(host().test(waiting));
  int out = 17, in = 0;
  host().run(send(out, 3));
  EXPECT_TRUE(host().test(waiting, &status));
  EXPECT_EQ(status.st_length, static_cast<int>(sizeof out));
  EXPECT_TRUE(host().iprobe(comm(), 0, 3, &status));
  EXPECT_FALSE(host().iprobe(comm(), 0, 4, &status));
  EXPECT_FALSE(host().iprobe(process->comm(1), 0, 3, &status));
  EXPECT_EQ(host().probe(comm(), MPI_ANY_SOURCE, MPI_ANY_TAG).MPI_TAG, 3);
  host().run(receive(in, 3));
  EXPECT_EQ(in, 17);
  EXPECT_FALSE(host().iprobe(comm(), 0, 3, &status));
}

TEST_F(SelfModuleTest, WhatIsCancelledNeitherSendsNorReceives) {
  int first = 1, second = 2, in = 0, cancelled_in = 0;
  MPI_Request sending = host().build_and_start(send(first, 1, LAM_RQISSEND));
  host().cancel(sending);
  EXPECT_FALSE(host().iprobe(comm(), 0, 1, nullptr));
  MPI_Request receiving = host().build_and_start(receive(cancelled_in, 1));
  host().cancel(receiving);
  host().run(send(second, 1));
  EXPECT_EQ(host().wait(receiving).MPI_SOURCE, MPI_CANCEL_SOURCE);
  EXPECT_EQ(host().wait(sending).MPI_SOURCE, MPI_CANCEL_SOURCE);
  host().run(receive(in, 1));
  EXPECT_EQ(in, 2);
  EXPECT_EQ(cancelled_in, 0);
}

TEST_F(SelfModuleTest, PersistentRequestsStartAgain) {
  int out = 0, in = 0;
  Operation sends = send(out, 2, LAM_RQISSEND), receives = receive(in, 2);
  sends.marks = receives.marks = LAM_RQFPERSIST;
  MPI_Request sending = host().build(sends), receiving = host().build(receives);
  for (out = 1; out <= 3; ++out) {
    host().start(sending);
    if (out == 2) {  // cancelled it is inactive again
      host().cancel(sending);
      EXPECT_EQ(host().wait(sending).MPI_SOURCE, MPI_CANCEL_SOURCE);
      EXPECT_EQ(sending->rq_state, LAM_RQSINIT);
      host().start(sending);
    }
    host().start(receiving);
    EXPECT_EQ(host().wait(receiving).st_length, static_cast<int>(sizeof in));
    host().wait(sending);
    EXPECT_EQ(in, out);
    EXPECT_TRUE(host().test(sending));  // inactive
  }
  EXPECT_EQ(receiving->rq_proc, lam_myproc);
  host().start(receiving);
  EXPECT_EQ(receiving->rq_proc, nullptr);  // it may be from anybody again
  host().cancel(receiving);
  host().wait(receiving);
  host().free(sending);
  host().free(receiving);
  EXPECT_EQ(host().orphans(), 0U);
}

TEST_F(SelfModuleTest, OrphansEndByThemselves) {
  int out = 5, in = 0, later = 0;
  MPI_Request receiving = host().build_and_start(receive(in, 9));
  host().free(receiving);
  EXPECT_EQ(receiving, MPI_REQUEST_NULL);
  EXPECT_EQ(host().orphans(), 1U);
  host().run(send(out, 9));
  MPI_Request other = host().build_and_start(receive(later, 10));
  EXPECT_FALSE(host().test(other));
  EXPECT_EQ(host().orphans(), 0U);
  EXPECT_EQ(in, 5);
  host().cancel(other);
  host().wait(other);
}

TEST_F(SelfModuleTest, DataWithGapsArePacked) {
  std::array<int, 9> out{}, in{};
  std::iota(out.begin(), out.end(), 1);
  Operation sends = operation(LAM_RQISEND, out.data(), 0, 4), receives = operation(LAM_RQIRECV, in.data(), 0, 4);
  sends.layout = receives.layout = {.block = sizeof(int), .stride = 3 * sizeof(int), .blocks = 3};
  host().run(sends);
  EXPECT_EQ(host().run(receives).st_length, static_cast<int>(3 * sizeof(int)));
  EXPECT_EQ(in, (std::array{1, 0, 0, 4, 0, 0, 7, 0, 0}));
}

TEST_F(SelfModuleTest, WhatIsNotAllowedIsRefused) {
  const auto refusal = [](const Operation& asked) -> std::string {
    try {
      MPI_Request made = host().build(asked);
      host().free(made);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "none";
  };
  int value = 0;
  EXPECT_EQ(refusal(send(value, 40000)), "the tag of a request is 40000; allowed: 32767 at most");
  EXPECT_EQ(refusal(receive(value, 1, 1)), "the rank of a request is 1; allowed: 0 to 0");
  EXPECT_EQ(refusal(operation(6, &value, 4, 1)), "the type of a request is 6; allowed: 0 to 5");
  EXPECT_EQ(refusal(operation(0, &value, -4, 1)), "the size of a request is -4; allowed: 0 to 2147483647");
  EXPECT_EQ(refusal(operation(0, &value, 4, 1, MPI_PROC_NULL)), "none");
  EXPECT_EQ(host().run(operation(LAM_RQIRECV, &value, 4, 1, MPI_PROC_NULL)).MPI_SOURCE, MPI_PROC_NULL);
}

TEST_F(SelfModuleTest, ANodeThatDiesMarksItsCommunicators) {
  lam_ssi_rpi_commfault(1);
  EXPECT_EQ(comm()->c_flags, 0);
  lam_ssi_rpi_commfault(0);
  EXPECT_EQ(comm()->c_flags, LAM_CLDEAD);
  int value = 0;
  MPI_Request request = host().build_and_start(receive(value, 1));
  EXPECT_EQ(lam_ssi_rpi_comm_dead(request), 1);
  EXPECT_EQ(host().wait(request).MPI_ERROR, MPI_ERR_LOCALDEAD);
}

// Posted or unexpected, in the order that finds the last one first.
TEST_F(SelfModuleTest, ThousandsOfRequestsFindEachOther) {
  constexpr int kMany = 16000;
  for (const bool posted : {true, false}) {
    std::vector<int> in(kMany);
    std::vector<MPI_Request> receives;
    const auto receive_all = [&] {
      for (int n = 0; n < kMany; ++n) {
        receives.push_back(host().build_and_start(receive(in[static_cast<std::size_t>(n)], n)));
      }
    };
    if (posted) receive_all();
    for (int n = kMany - 1; n >= 0; --n) host().run(send(n, n));
    if (!posted) receive_all();
    for (MPI_Request& each : receives) host().wait(each);
    for (int n = 0; n < kMany; ++n) EXPECT_EQ(in[static_cast<std::size_t>(n)], n);
  }
}

}  // namespace
}  // namespace openlapi::rpi
