// The C++ face of the calls that take structures and lists: vectors, transfers, gather/scatter programs, the shared
// lock, recovery. As in lapi_hpp_test.cc the calls are defined here.
#include <gtest/gtest.h>

#include <array>
#include <mutex>

#include "tests/unit/api/lapi_hpp_calls.h"

using namespace lapi_hpp;

namespace {

std::string text(const lapi_vec_t* vector) {
  std::string all = call("vector", static_cast<int>(vector->vec_type), vector->num_vecs);
  const bool strided = vector->vec_type == LAPI_GEN_STRIDED_XFER;
  for (unsigned i = 0; i < (strided ? 3 : vector->num_vecs); ++i) {
    all += call("", vector->info[i]);
    if (!strided) all += call(":", vector->len[i]);
  }
  return all;
}

lapi_xfer_t begun;
lapi_util_t commanded;
int lock_answer = 0;

template <int kName, class... Arguments>
int lock_call(lapi_handle_t handle, Arguments...) {
  note("lock", handle, kName);
  return lock_answer;
}
int owner_call(lapi_handle_t, pthread_t* thread) {
  *thread = pthread_self();
  return 0;
}
timespec waited_until;
int timed_wait(lapi_handle_t, lapi_cond_t*, timespec* end) {
  waited_until = *end;
  return lock_answer;
}

}  // namespace

extern "C" {
int LAPI_Putv(lapi_handle_t handle, uint target, lapi_vec_t* to, lapi_vec_t* from, lapi_cntr_t* there,
              lapi_cntr_t* origin, lapi_cntr_t* completion) {
  return note("LAPI_Putv", handle, target, text(to), text(from), there, origin, completion);
}
int LAPI_Getv(lapi_handle_t handle, uint target, lapi_vec_t* from, lapi_vec_t* to, lapi_cntr_t* there,
              lapi_cntr_t* origin) {
  return note("LAPI_Getv", handle, target, text(from), text(to), there, origin);
}
int LAPI_Amsendv(lapi_handle_t handle, uint target, void* handler, void* header, uint header_length, lapi_vec_t* from,
                 lapi_cntr_t* there, lapi_cntr_t* origin, lapi_cntr_t* completion) {
  return note("LAPI_Amsendv", handle, target, handler, header, header_length, text(from), there, origin, completion);
}
int LAPI_Xfer(lapi_handle_t handle, lapi_xfer_t* command) {
  begun = *command;
  return note("LAPI_Xfer", handle, static_cast<int>(command->Xfer_type));
}
int LAPI_Util(lapi_handle_t handle, lapi_util_t* command) {
  commanded = *command;
  if (command->Util_type == LAPI_REGISTER_DGSP) command->RegDgsp.dgsp_handle = reinterpret_cast<lapi_dg_handle_t>(0x99);
  if (command->Util_type == LAPI_DGSP_PACK) command->PackDgsp.position += command->PackDgsp.bytes;
  if (command->Util_type == LAPI_DGSP_UNPACK) command->UnpackDgsp.position += command->UnpackDgsp.bytes;
  if (command->Util_type == LAPI_GET_THREAD_FUNC) {
    command->ThreadFunc = {LAPI_GET_THREAD_FUNC, lock_call<1>, lock_call<2>, lock_call<3>, owner_call,
                           lock_call<5>,         timed_wait,   lock_call<7>, lock_call<8>, lock_call<9>};
  }
  return note("LAPI_Util", handle, static_cast<int>(command->Util_type));
}
int LAPI_Addr_set(lapi_handle_t handle, void* address, int index) {
  return note("LAPI_Addr_set", handle, address, index);
}
int LAPI_Addr_get(lapi_handle_t handle, void** address, int index) {
  *address = reinterpret_cast<void*>(0x5000);
  return note("LAPI_Addr_get", handle, index);
}
int LAPI_Nopoll_wait(lapi_handle_t handle, lapi_cntr_t* counter, int value, int* rest) {
  *rest = 3;
  return note("LAPI_Nopoll_wait", handle, counter, value);
}
int LAPI_Setcntr_wstatus(lapi_handle_t handle, lapi_cntr_t* counter, int count, uint* tasks, int* statuses) {
  return note("LAPI_Setcntr_wstatus", handle, counter, count, tasks, statuses);
}
int LAPI_Purge_totask(lapi_handle_t handle, uint task) { return note("LAPI_Purge_totask", handle, task); }
int LAPI_Resume_totask(lapi_handle_t handle, uint task) { return note("LAPI_Resume_totask", handle, task); }
}

namespace {

class LapiHppStructures : public testing::Test {
 protected:
  ~LapiHppStructures() override { answer = lock_answer = 0; }

  const Calls before_ = made();  // the last test's context has ended
  lapi::Context context_;
  const Calls at_start_ = made();
  const lapi_cntr_t* none_ = nullptr;
};

template <class Action>
int error_of(Action action) {
  try {
    action();
    return LAPI_SUCCESS;
  } catch (const lapi::Error& error) {
    return error.code();
  }
}

lapi::Remote<double> there(unsigned long address) { return {2, reinterpret_cast<double*>(address)}; }

TEST_F(LapiHppStructures, PiecesGoWithTheirLengthsInBytes) {
  std::array<double, 4> first{};
  std::array<double, 2> second{};
  lapi::Counter origin;
  const lapi::RemoteVector<double> remote{{there(0x2000), 4}, {there(0x3000), 2}};
  const auto remote_text = call("vector", int{LAPI_GEN_IOVECTOR}, 2, "0x2000: 32 0x3000: 16");
  const void* pieces[] = {&first, &second};
  const auto here = call("vector", int{LAPI_GEN_IOVECTOR}, 2, pieces[0]) + call(": 32", pieces[1]) + ": 16";
  context_.put(remote, lapi::Vector<const double>{first, second}, {.origin = &origin});
  context_.put(remote, lapi::Vector<double>{first, second});
  context_.get(lapi::Vector<double>{first, second}, remote);
  EXPECT_EQ(made(), (Calls{call("LAPI_Putv", 7, 2, remote_text, here, none_, origin.get(), none_),
                           call("LAPI_Putv", 7, 2, remote_text, here, none_, none_, none_),
                           call("LAPI_Getv", 7, 2, remote_text, here, none_, none_)}));
}

TEST_F(LapiHppStructures, BlocksCountElements) {
  double matrix[6][5];
  const lapi::Vector column(&matrix[0][1], {.count = 6, .block = 2, .stride = 5});
  const lapi::RemoteVector remote(there(0x2000), {.count = 6, .block = 2, .stride = 9});
  context_.put(remote, column);
  const void* base = &matrix[0][1];
  EXPECT_EQ(made(), Calls{call("LAPI_Putv", 7, 2, "vector", int{LAPI_GEN_STRIDED_XFER}, "6 0x2000 0x10 0x48 vector",
                               int{LAPI_GEN_STRIDED_XFER}, 6, base, "0x10 0x28", none_, none_, none_)});
}

TEST_F(LapiHppStructures, PiecesOfTwoTasksAreNoVector) {
  const lapi::Remote<double> elsewhere{1, nullptr};
  EXPECT_EQ(error_of([&] { lapi::RemoteVector<double>{{there(0x2000), 1}, {elsewhere, 1}}; }), LAPI_ERR_TGT);
}

lapi_vec_t place;
lapi::VectorDelivery take_pieces(const lapi::Arrival& arrival) {
  EXPECT_EQ(arrival.length, 24U);
  return {.buffer = &place, .run = LAPI_SEND_REPLY};
}

TEST_F(LapiHppStructures, MessagesInPiecesHaveVectorHandlers) {
  std::array<int, 3> data{};
  const int header = 1;
  const lapi::Vector<int> from({data, data}, LAPI_GEN_GENERIC);
  context_.send(lapi::registered<vhdr_hndlr_t>(1, 5), std::as_bytes(std::span(&header, 1)), from);
  EXPECT_EQ(made(), Calls{call("LAPI_Amsendv", 7, 1, reinterpret_cast<void*>(5), &header, 4, text(from.get()), none_,
                               none_, none_)});
  EXPECT_EQ(from.get()->vec_type, LAPI_GEN_GENERIC);

  vhdr_hndlr_t* handler = lapi::header_handler<take_pieces>;
  lapi_return_info_t info{};
  info.msg_len = 24;
  lapi_handle_t handle = 7;
  uint length = 0;
  compl_hndlr_t* completion = nullptr;
  void* argument = nullptr;
  EXPECT_EQ(handler(&handle, nullptr, &length, &info.msg_len, &completion, &argument), &place);
  EXPECT_EQ(info.ret_flags, LAPI_SEND_REPLY);
  EXPECT_EQ(info.bytes, 24U);
}

TEST_F(LapiHppStructures, TransfersSayWhichTheyAre) {
  lapi_put_t put{};
  put.tgt = 2;
  put.tgt_addr = there(0x2000).number();
  context_.transfer(put);
  EXPECT_EQ(begun.Put.tgt, 2U);
  EXPECT_EQ(begun.Put.tgt_addr, 0x2000U);
  context_.transfer(lapi_get_t{});
  context_.transfer(lapi_putv_t{});
  context_.transfer(lapi_getv_t{});
  context_.transfer(lapi_amv_t{});
  context_.transfer(lapi_rmw_t{});
  context_.transfer(lapi_amdgsp_t{});
  lapi_am_t message{};
  context_.transfer(message);
  message.Xfer_type = LAPI_AM_LW_XFER;
  context_.transfer(message);
  Calls wanted;
  for (const int type : {LAPI_PUT_XFER, LAPI_GET_XFER, LAPI_PUTV_XFER, LAPI_GETV_XFER, LAPI_AMV_XFER, LAPI_RMW_XFER,
                         LAPI_DGSP_XFER, LAPI_AM_XFER, LAPI_AM_LW_XFER}) {
    wanted.push_back(call("LAPI_Xfer", 7, type));
  }
  EXPECT_EQ(made(), wanted);
}

TEST_F(LapiHppStructures, ProgramsAreReservedByCopies) {
  const std::array<int, 2> code{LAPI_DGSM_ITERATE, 0};
  lapi_dgsp_descr_t description{};
  description.depth = 1;
  {
    lapi::Program program(code, description);
    EXPECT_EQ(commanded.RegDgsp.Util_type, LAPI_REGISTER_DGSP);
    EXPECT_EQ(program.handle(), reinterpret_cast<lapi_dg_handle_t>(0x99));
    lapi::Program moved = std::move(program);
    EXPECT_EQ(program.handle(), nullptr);
    program = moved;
    EXPECT_EQ(commanded.ResvDgsp.dgsp_handle, moved.handle());
  }
  EXPECT_EQ(commanded.DrefDgsp.dgsp_handle, reinterpret_cast<lapi_dg_handle_t>(0x99));
  EXPECT_EQ(made(),
            (Calls{call("LAPI_Util", 0, int{LAPI_REGISTER_DGSP}), call("LAPI_Util", 0, int{LAPI_RESERVE_DGSP}),
                   call("LAPI_Util", 0, int{LAPI_UNRESERVE_DGSP}), call("LAPI_Util", 0, int{LAPI_UNRESERVE_DGSP})}));
}

TEST_F(LapiHppStructures, PackingMovesThePosition) {
  const std::array<int, 2> code{LAPI_DGSM_ITERATE, 0};
  const lapi::Program program(code, {});
  std::array<std::byte, 64> packed;
  double data[8];
  EXPECT_EQ(context_.pack(program, data, 24, packed, 8), 32U);
  EXPECT_EQ(commanded.PackDgsp.in_buf, data);
  EXPECT_EQ(commanded.PackDgsp.out_buf, packed.data());
  EXPECT_EQ(commanded.PackDgsp.out_size, 64U);
  EXPECT_EQ(context_.unpack(program, data, 24, packed, 8), 32U);
  EXPECT_EQ(commanded.UnpackDgsp.buf, packed.data());
  EXPECT_EQ(commanded.UnpackDgsp.in_size, 64U);
  EXPECT_EQ(commanded.UnpackDgsp.out_buf, data);
  EXPECT_EQ(commanded.UnpackDgsp.out_size, 24U);
  context_.distribute_with([](void*, void*, long bytes, int, int) { return bytes; });
  EXPECT_NE(commanded.DdmFunc.ddm_func, nullptr);
}

TEST_F(LapiHppStructures, TheLockIsAMutex) {
  lapi::Mutex mutex = context_.mutex();
  made();
  {
    std::scoped_lock lock(mutex);
    EXPECT_EQ(made(), Calls{"lock 7 1"});
  }
  EXPECT_EQ(made(), Calls{"lock 7 2"});
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_TRUE(pthread_equal(mutex.owner(), pthread_self()));
  lock_answer = EBUSY;
  EXPECT_FALSE(mutex.try_lock());
  lock_answer = EDEADLK;
  EXPECT_EQ(error_of([&] { mutex.lock(); }), EDEADLK);
}

TEST_F(LapiHppStructures, ConditionsWaitForMomentsAndPredicates) {
  const auto moment = std::chrono::system_clock::time_point(std::chrono::microseconds(5'000'250));
  {
    lapi::Condition condition(context_.mutex());
    made();
    int rounds = 0;
    condition.wait([&] { return rounds++ == 2; });
    condition.notify_one();
    EXPECT_EQ(made(), (Calls{"lock 7 5", "lock 7 5", "lock 7 7"}));
    EXPECT_TRUE(condition.wait_until(moment));
    EXPECT_EQ(waited_until.tv_sec, 5);
    EXPECT_EQ(waited_until.tv_nsec, 250'000);
    lock_answer = ETIMEDOUT;
    EXPECT_FALSE(condition.wait_until(moment));
    lock_answer = 0;
  }
  EXPECT_EQ(made(), Calls{"lock 7 9"});
}

TEST_F(LapiHppStructures, AWaitThatFailsUnlocksInSilence) {
  lapi::Mutex mutex = context_.mutex();
  lapi::Condition condition(mutex);
  EXPECT_EQ(error_of([&] {
              const std::unique_lock lock(mutex);
              lock_answer = EINVAL;  // the context has ended
              condition.wait();
            }),
            EINVAL);
}

template <class Tasks>
constexpr bool kExpects = requires(lapi::Context& context, lapi::Counter& counter, std::span<int> statuses) {
  context.expect(counter, std::declval<Tasks>(), statuses);
};

TEST_F(LapiHppStructures, WhatTheLibraryKeepsIsNoTemporary) {
  EXPECT_TRUE(kExpects<std::vector<unsigned>&>);
  EXPECT_FALSE(kExpects<std::vector<unsigned>>);
}

TEST_F(LapiHppStructures, RecoveryNamesTasksAndCounters) {
  lapi::Counter counter;
  std::array<unsigned, 2> tasks{1, 2};
  std::array<int, 2> statuses{};
  context_.purge(2);
  context_.set_udp_address(2, {1, 5000}, 1);
  EXPECT_EQ(commanded.Udp.tgt, 2U);
  EXPECT_EQ(commanded.Udp.instance_no, 1U);
  context_.resume(2);
  context_.expect(counter, tasks, statuses);
  EXPECT_EQ(context_.wait_without_polling(counter, 2), 3);
  EXPECT_EQ(made(),
            (Calls{"LAPI_Purge_totask 7 2", call("LAPI_Util", 7, int{LAPI_ADD_UDP_DEST_PORT}), "LAPI_Resume_totask 7 2",
                   call("LAPI_Setcntr_wstatus", 7, counter.get(), 2, tasks.data(), statuses.data()),
                   call("LAPI_Nopoll_wait", 7, counter.get(), 2)}));
  EXPECT_EQ(error_of([&] { context_.expect(counter, tasks, std::span(statuses).first(1)); }), EINVAL);
  EXPECT_EQ(made(), Calls{});
}

TEST_F(LapiHppStructures, AddressesHaveIndices) {
  context_.register_address(4, lapi::header_handler<take_pieces>);
  EXPECT_EQ(context_.registered_address(4), reinterpret_cast<void*>(0x5000));
  EXPECT_EQ(made(), (Calls{call("LAPI_Addr_set", 7, reinterpret_cast<void*>(lapi::header_handler<take_pieces>), 4),
                           "LAPI_Addr_get 7 4"}));
}

TEST_F(LapiHppStructures, QueriesThatWriteMoreThanANumberHaveTheirOwnMembers) {
  for (const lapi_query_t what : {QUERY_STATISTICS, QUERY_SHM_STATISTICS, QUERY_LOCAL_SEND_STATISTICS}) {
    EXPECT_EQ(error_of([&] { context_.query(what); }), LAPI_ERR_QUERY_TYPE);
    context_.statistics(what);
    EXPECT_EQ(made(), Calls{call("LAPI_Qenv", 7, static_cast<int>(what))});
  }
  EXPECT_EQ(error_of([&] { context_.query(QUERY_SHM_TASKS); }), LAPI_ERR_QUERY_TYPE);
  EXPECT_EQ(error_of([&] { context_.statistics(QUERY_SHM_TASKS); }), LAPI_ERR_QUERY_TYPE);
  EXPECT_EQ(error_of([&] { context_.statistics(TASK_ID); }), LAPI_ERR_QUERY_TYPE);
  EXPECT_EQ(context_.shared_memory_tasks().size(), 3U);
}

struct Heard {
  int count = 0;
};

TEST_F(LapiHppStructures, HandlersGetWhatTheyWereMadeFor) {
  Heard heard;
  lapi_handle_t handle = 7;
  const auto done = [](lapi_handle_t, Heard* what) { ++what->count; };
  compl_hndlr_t* completion = lapi::completion_handler<done>;
  completion(&handle, &heard);
  EXPECT_EQ(heard.count, 1);

  const auto sent = [](lapi_handle_t, Heard* what, const lapi_sh_info_t& info) {
    what->count = static_cast<int>(info.src);
  };
  scompl_hndlr_t* send = lapi::send_handler<sent>;
  lapi_sh_info_t info{};
  info.src = 9;
  send(&handle, &heard, &info);
  EXPECT_EQ(heard.count, 9);

  static lapi::Fault last;
  const auto failed = [](const lapi::Fault& fault) { last = fault; };
  LAPI_err_hndlr report = lapi::error_handler<failed>;
  int code = LAPI_ERR_TGT, task = 1, source = -1;
  lapi_err_t kind = LAPI_PROGRAM_ERROR;
  report(&handle, &code, &kind, &task, &source);
  EXPECT_EQ(last.code, LAPI_ERR_TGT);
  EXPECT_EQ(last.kind, LAPI_PROGRAM_ERROR);
  EXPECT_EQ(last.source, -1);
}

}  // namespace
