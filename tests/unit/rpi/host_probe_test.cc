// A probe and a receive from anybody over several modules: the message that the one has named the other one gets.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "control/ssi/ssi_error.h"
#include "tests/unit/rpi/lifecycle/peer_module.h"

namespace openlapi::rpi {
namespace {

class HostProbeTest : public testing::Test {
 protected:
  HostProbeTest() {
    lam_ssi_rpi_cbuf_init();
    for (int rank = 0; rank < 3; ++rank) {
      _gps gps{rank, rank, rank, rank};
      _proc* process = lam_procadd(&gps);
      if (rank == 0) lam_myproc = process;
    }
    for (int n = 0; n < 2; ++n) peers(n) = {};
    const auto module_of = [this](const _proc& each) { return &modules_[each.p_gps.gps_grank == 2 ? 1 : 0]; };
    host_ = std::make_unique<Host>(std::vector{&modules_[0], &modules_[1]}, module_of, MessageLimits{100, 100},
                                   MPI_THREAD_SINGLE);
    world_ = std::make_unique<Communicator>(0, std::span(lam_procs, 3));
    // Modules are called while there are requests of theirs.
    for (int rank = 1; rank < 3; ++rank) {
      others_.push_back(host_->build_and_start({LAM_RQIRECV, &other_, contiguous(1), rank, 9, world_->handle()}));
    }
  }
  ~HostProbeTest() override {
    for (MPI_Request& other : others_) {
      host_->cancel(other);
      host_->wait(other);
    }
    host_.reset();
    world_.reset();
    lam_nukeprocs();
    lam_ssi_rpi_cbuf_end();
  }
  void arrive(int rank, int number, int context = 0) {
    peers(rank - 1).send({lam_procs[rank], {1, 5, 0, rank, context, number}, {'a'}});
  }
  int probed() { return probed(*world_); }
  int probed(Communicator& communicator) {
    MPI_Status status{};
    return host_->iprobe(communicator.handle(), MPI_ANY_SOURCE, 5, &status) ? status.MPI_SOURCE : -1;
  }
  // The second module keeps its messages to itself, while those of others come into the queue of all. It has one.
  void keep_apart() {
    has_message_ = true;
    modules_[1].actions.lsra_tv_queue_support = 0;
    modules_[1].actions.lsra_iprobe = fill;
    modules_[1].actions.lsra_start = [](MPI_Request, MPI_Request request) {
      if (request->rq_type != LAM_RQIRECV || fill(request) == 0) return 0;
      has_message_ = false;
      request->rq_state = LAM_RQSDONE;
      return 0;
    };
  }
  static int fill(MPI_Request request) {
    if (!has_message_ || request->rq_tag != 5 || request->rq_cid != 0) return 0;
    lam_ssi_rpi_fill_mpi_status(request, 2, 5, 1);
    return 1;
  }
  int received() {
    char value = 0;
    return host_->run({LAM_RQIRECV, &value, contiguous(1), MPI_ANY_SOURCE, 5, world_->handle()}).MPI_SOURCE;
  }

  DrivenModule modules_[2] = {peer_module(0), peer_module(1)};
  std::unique_ptr<Host> host_{};
  std::unique_ptr<Communicator> world_{};
  std::vector<MPI_Request> others_{};
  char other_ = 0;
  static inline bool has_message_ = false;
};

TEST_F(HostProbeTest, TheOldestIsNamedAndReceived) {
  arrive(2, 70);
  EXPECT_EQ(probed(), 2);
  arrive(1, 71);
  EXPECT_EQ(probed(), 2) << "it is still there";
  arrive(2, 73);
  EXPECT_EQ(received(), 2);
  EXPECT_EQ(probed(), 1);
  EXPECT_EQ(received(), 1);
  EXPECT_EQ(received(), 2);
}

TEST_F(HostProbeTest, WhatWasNamedIsReceivedThoughOthersHaveComeSince) {
  keep_apart();
  EXPECT_EQ(probed(), 2);
  arrive(1, 72);
  host_->progress();
  EXPECT_EQ(received(), 2);
  EXPECT_EQ(received(), 1);
}

TEST_F(HostProbeTest, WhatWasNamedIsReceivedThoughAnotherCommunicatorWasProbedSince) {
  Communicator other(1, std::span(lam_procs, 3));
  keep_apart();
  EXPECT_EQ(probed(), 2);
  arrive(1, 73, 1);
  EXPECT_EQ(probed(other), 1);
  arrive(1, 72);
  host_->progress();
  EXPECT_EQ(received(), 2);
}

TEST_F(HostProbeTest, SizesThatNoRequestCanHaveAreNamed) {
  const auto refusal = [&](Layout layout) -> std::string {
    char value = 0;
    try {
      host_->build({LAM_RQISEND, &value, layout, 1, 5, world_->handle()});
    } catch (const ssi::SsiError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal({.block = 1 << 16, .stride = 1 << 16, .blocks = 1 << 15}),
            "the size of a request is 2147483648; allowed: 0 to 2147483647");
  EXPECT_EQ(refusal({.block = 1 << 30, .stride = 1 << 30, .blocks = 1 << 30}),
            "the size of a request is 1152921504606846976; allowed: 0 to 2147483647");
  EXPECT_EQ(refusal({.block = 4, .stride = 4, .blocks = -1}), "the size of a request is -1; allowed: 0 to 2147483647");
}

}  // namespace
}  // namespace openlapi::rpi
