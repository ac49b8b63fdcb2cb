// Blocking operations that need no request (rpi SSI specification, 4.12, 4.13).
#include <gtest/gtest.h>

#include <cerrno>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "control/ssi/ssi_error.h"
#include "tests/unit/rpi/lifecycle/peer_module.h"

namespace openlapi::rpi {
namespace {

// What the module's functions were called with, and what they answer.
struct Calls {
  int sends = 0, receives = 0, size = 0, peer = 0, tag = 0, result = MPI_SUCCESS, error = 0;
} calls;

int fast_send(char*, int count, MPI_Datatype type, int to, int tag, MPI_Comm) {
  ++calls.sends;
  calls.size = count * type->dt_size;
  calls.peer = to;
  calls.tag = tag;
  errno = calls.error;
  return calls.result;
}

int fast_receive(char* buffer, int count, MPI_Datatype type, int from, int* tag, MPI_Comm, MPI_Status* status, int*) {
  ++calls.receives;
  calls.size = count * type->dt_size;
  calls.tag = *tag;
  *buffer = 'x';
  *status = {from, 8, calls.result, 1};
  errno = calls.error;
  return calls.result;
}

class HostFastTest : public testing::Test {
 protected:
  HostFastTest() {
    lam_ssi_rpi_cbuf_init();
    calls = {};
    for (int rank = 0; rank < 2; ++rank) {
      _gps gps{rank, rank, rank, rank};
      _proc* process = lam_procadd(&gps);
      if (rank == 0) lam_myproc = process;
    }
    module_.actions.lsra_fastsend = fast_send;
    module_.actions.lsra_fastrecv = fast_receive;
    peers(0) = {};
    world_ = std::make_unique<Communicator>(0, std::span(lam_procs, 2));
  }
  ~HostFastTest() override {
    world_.reset();
    lam_nukeprocs();
    lam_ssi_rpi_cbuf_end();
  }
  std::unique_ptr<Host> host(int level = MPI_THREAD_SINGLE) {
    return std::make_unique<Host>(
        std::vector{&module_}, [this](const _proc&) { return &module_; }, MessageLimits{100, 100}, level);
  }
  Operation operation(int type, int peer = 1, int tag = 5) {
    return {type, &value_, contiguous(1), peer, tag, world_->handle()};
  }

  DrivenModule module_ = peer_module(0);
  std::unique_ptr<Communicator> world_{};
  char value_ = 0;
};

TEST_F(HostFastTest, AreUsedWhileNothingElseIsActive) {
  const auto own = host();
  EXPECT_EQ(own->run(operation(LAM_RQISEND)).MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(calls.sends, 1);
  EXPECT_EQ(calls.size, 1);
  EXPECT_EQ(calls.peer, 1);
  EXPECT_EQ(calls.tag, 5);
  const MPI_Status status = own->run(operation(LAM_RQIRECV, 1, MPI_ANY_TAG));
  EXPECT_EQ(calls.receives, 1);
  EXPECT_EQ(calls.tag, MPI_ANY_TAG);
  EXPECT_EQ(status.MPI_TAG, 8);
  EXPECT_EQ(value_, 'x');
}

TEST_F(HostFastTest, TellWhatModulesSay) {
  const auto own = host();
  calls.result = MPI_ERR_TRUNCATE;
  EXPECT_EQ(own->run(operation(LAM_RQIRECV)).MPI_ERROR, MPI_ERR_TRUNCATE);
  calls.result = LAMERROR;
  calls.error = EIO;
  EXPECT_THROW(own->run(operation(LAM_RQISEND)), ssi::SsiError);
  EXPECT_THROW(own->run(operation(LAM_RQISEND, 1, 101)), ssi::SsiError) << "the tag is too large";
  EXPECT_EQ(calls.sends, 1);
}

TEST_F(HostFastTest, LeaveToRequestsWhatModulesDoNotDo) {
  const auto own = host();
  calls.result = LAMERROR;
  calls.error = EBUSY;
  peers(0).receive_next(1);
  EXPECT_EQ(own->run(operation(LAM_RQISEND)).MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(calls.sends, 1);
  EXPECT_EQ(peers(0).receipts.size(), 1U);
}

TEST_F(HostFastTest, AreNotUsedForOthers) {
  const auto own = host();
  peers(0).receive_next(3);
  own->run(operation(LAM_RQISSEND));
  Operation packed = operation(LAM_RQISEND);
  char several[3] = {};
  packed.buffer = several;
  packed.layout = {.block = 1, .stride = 2, .blocks = 2};
  own->run(packed);
  char other = 0;
  Operation receive = operation(LAM_RQIRECV);
  receive.buffer = &other;
  MPI_Request active = own->build_and_start(receive);
  own->run(operation(LAM_RQISEND));
  EXPECT_EQ(calls.sends, 0);
  peers(0).send({lam_procs[1], {1, 5, 0, 1, 0, 70}, {'a'}});
  own->wait(active);
  peers(0).send({lam_procs[1], {1, 5, 0, 1, 0, 71}, {'b'}});
  EXPECT_EQ(own->run(operation(LAM_RQIRECV, MPI_ANY_SOURCE)).MPI_SOURCE, 1);
  EXPECT_EQ(calls.receives, 0);
}

TEST_F(HostFastTest, AreNotUsedByManyThreads) {
  const auto own = host(MPI_THREAD_MULTIPLE);
  peers(0).receive_next(1);
  own->run(operation(LAM_RQISEND));
  EXPECT_EQ(calls.sends, 0);
}

TEST_F(HostFastTest, ModulesWithoutCheckpointsAreNamed) {
  const auto own = host();
  module_.actions.lsra_checkpoint = nullptr;
  try {
    own->checkpoint();
    FAIL();
  } catch (const ssi::SsiError& error) {
    EXPECT_STREQ(error.what(), ("rpi module " + module_.name + " has no checkpoints").c_str());
  }
}

}  // namespace
}  // namespace openlapi::rpi
