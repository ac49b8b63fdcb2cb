// The C++ face makes exactly one call of lapi.h for each of its own, with the same arguments. The calls are defined
// here, as a profiling library would, and note what they were given; no library stands behind them.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/api/lapi_hpp_calls.h"

using namespace lapi_hpp;

extern "C" {
int LAPI_Init(lapi_handle_t* handle, lapi_info_t* info) {
  *handle = 7;
  const int wanted = note("LAPI_Init", info->lib_vers, info->instance_no);
  info->protocol = LAPI_DEV_UDP;
  info->instance_no = 5;
  return wanted;
}
int LAPI_Term(lapi_handle_t handle) { return note("LAPI_Term", handle); }
int LAPI_Qenv(lapi_handle_t handle, lapi_query_t what, int* value) {
  *value = what == TASK_ID ? 1 : 3;
  return note("LAPI_Qenv", handle, static_cast<int>(what));
}
int LAPI_Senv(lapi_handle_t handle, lapi_query_t what, int value) {
  return note("LAPI_Senv", handle, static_cast<int>(what), value);
}
int LAPI_Address_init64(lapi_handle_t handle, lapi_long_t mine, lapi_long_t* all) {
  for (unsigned i = 0; i < 3; ++i) all[i] = 0x1000 * (i + 1);
  return note("LAPI_Address_init64", handle, mine);
}
int LAPI_Put(lapi_handle_t handle, uint target, ulong length, void* to, void* from, lapi_cntr_t* there,
             lapi_cntr_t* origin, lapi_cntr_t* completion) {
  return note("LAPI_Put", handle, target, length, to, from, there, origin, completion);
}
int LAPI_Get(lapi_handle_t handle, uint target, ulong length, void* from, void* to, lapi_cntr_t* there,
             lapi_cntr_t* origin) {
  return note("LAPI_Get", handle, target, length, from, to, there, origin);
}
int LAPI_Amsend(lapi_handle_t handle, uint target, void* handler, void* header, uint header_length, void* data,
                ulong length, lapi_cntr_t* there, lapi_cntr_t* origin, lapi_cntr_t* completion) {
  return note("LAPI_Amsend", handle, target, handler, header, header_length, data, length, there, origin, completion);
}
int LAPI_Rmw(lapi_handle_t handle, RMW_ops_t operation, uint target, int* variable, int* input, int* previous,
             lapi_cntr_t* done) {
  return note("LAPI_Rmw", handle, static_cast<int>(operation), target, variable, input[0],
              operation == COMPARE_AND_SWAP ? input[1] : 0, previous, done);
}
int LAPI_Rmw64(lapi_handle_t handle, Rmw_ops_t operation, uint target, long long* variable, long long* input,
               long long* previous, lapi_cntr_t* done) {
  if (previous != nullptr) *previous = 41;
  return note("LAPI_Rmw64", handle, static_cast<int>(operation), target, variable, input[0],
              operation == COMPARE_AND_SWAP ? input[1] : 0, done != nullptr);
}
int LAPI_Waitcntr(lapi_handle_t handle, lapi_cntr_t* counter, int value, int* rest) {
  *rest = 2;
  return note("LAPI_Waitcntr", handle, counter->cntr, value);
}
int LAPI_Getcntr(lapi_handle_t handle, lapi_cntr_t* counter, int* value) {
  *value = counter->cntr;
  return note("LAPI_Getcntr", handle);
}
int LAPI_Setcntr(lapi_handle_t handle, lapi_cntr_t* counter, int value) {
  counter->cntr = value;
  return note("LAPI_Setcntr", handle, value);
}
int LAPI_Probe(lapi_handle_t handle) { return note("LAPI_Probe", handle); }
int LAPI_Msgpoll(lapi_handle_t handle, uint rounds, lapi_msg_info_t* info) {
  info->status = LAPI_RECV_COMPLETE;
  return note("LAPI_Msgpoll", handle, rounds);
}
int LAPI_Fence(lapi_handle_t handle) { return note("LAPI_Fence", handle); }
int LAPI_Gfence(lapi_handle_t handle) { return note("LAPI_Gfence", handle); }
int LAPI_Msg_string(int, void* text) {
  std::strcpy(static_cast<char*>(text), "a text");
  return LAPI_SUCCESS;
}
}

namespace {

class LapiHpp : public testing::Test {
 protected:
  ~LapiHpp() override { answer = LAPI_SUCCESS; }

  const Calls before_ = made();  // the last test's context has ended
  lapi::Context context_;
  const Calls at_start_ = made();
};

TEST_F(LapiHpp, ContextIsInitAndTerm) {
  EXPECT_EQ(at_start_, (Calls{call("LAPI_Init", int{LAST_LIB}, 0), call("LAPI_Qenv", 7, int{TASK_ID}),
                              call("LAPI_Qenv", 7, int{NUM_TASKS})}));
  EXPECT_EQ(context_.task(), 1U);
  EXPECT_EQ(context_.tasks(), 3U);
  {
    lapi::Context moved = std::move(context_);
    EXPECT_EQ(made(), Calls{});
    EXPECT_EQ(moved.protocol(), LAPI_DEV_UDP);
    EXPECT_EQ(moved.instance(), 5U);
    lapi::Context assigned = lapi::Context();
    assigned = std::move(moved);
    EXPECT_EQ(assigned.protocol(), LAPI_DEV_UDP);
    EXPECT_EQ(assigned.instance(), 5U);
    made();
  }
  EXPECT_EQ(made(), Calls{"LAPI_Term 7"});
  context_ = lapi::Context();
  made();
  context_.close();
  EXPECT_EQ(made(), Calls{"LAPI_Term 7"});
}

constexpr auto kNoHandle = static_cast<lapi_handle_t>(-1);

TEST_F(LapiHpp, MovedFromContextHasNoHandle) {
  lapi::Context moved = std::move(context_);
  context_.fence();
  EXPECT_EQ(made(), Calls{call("LAPI_Fence", kNoHandle)});
  context_.close();
  moved.fence();
  EXPECT_EQ(made(), (Calls{call("LAPI_Term", kNoHandle), "LAPI_Fence 7"}));
  context_ = std::move(moved);
  moved.fence();
  context_.fence();
  EXPECT_EQ(made(), (Calls{call("LAPI_Fence", kNoHandle), "LAPI_Fence 7"}));
  context_.close();
  context_.fence();
  EXPECT_EQ(made(), (Calls{"LAPI_Term 7", call("LAPI_Fence", kNoHandle)}));
}

TEST_F(LapiHpp, AssignmentEndsTheContextThatWasThere) {
  lapi::Context other;
  made();
  other = std::move(context_);
  EXPECT_EQ(made(), Calls{"LAPI_Term 7"});
  other = std::move(static_cast<lapi::Context&>(other));
  EXPECT_EQ(made(), Calls{});
  other.fence();
  EXPECT_EQ(made(), Calls{"LAPI_Fence 7"});
}

TEST_F(LapiHpp, CollectGivesTypedAddresses) {
  struct Window {
    int first;
    lapi::Counter counter;
  } window;
  const auto all = context_.collect(&window);
  EXPECT_EQ(made(), Calls{call("LAPI_Address_init64", 7, reinterpret_cast<std::uintptr_t>(&window))});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].task, 2U);
  EXPECT_EQ(all[2].address, reinterpret_cast<Window*>(0x3000));
  const auto counter = all[1].member(&Window::counter);
  EXPECT_EQ(counter.task, 1U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(counter.address), 0x2000 + offsetof(Window, counter));
  EXPECT_EQ((lapi::Remote<double>{1, reinterpret_cast<double*>(0x2000)} + 3).address,
            reinterpret_cast<double*>(0x2018));
}

TEST_F(LapiHpp, PutAndGetCountBytes) {
  const std::array<double, 4> values{};
  std::array<double, 4> answer_buffer;
  double* there = reinterpret_cast<double*>(0x2000);
  const lapi::Remote<lapi::Counter> target{2, reinterpret_cast<lapi::Counter*>(0x3000)};
  lapi::Counter origin, completion;
  context_.put(lapi::Remote<double>{2, there}, values,
               {.target = target, .origin = &origin, .completion = &completion});
  context_.put(lapi::Remote<double>{2, there}, values[1]);
  context_.get(std::span(answer_buffer), lapi::Remote<const double>{1, there}, {.origin = &origin});
  const lapi_cntr_t* none = nullptr;
  EXPECT_EQ(made(), (Calls{call("LAPI_Put", 7, 2, 32, static_cast<void*>(there), static_cast<const void*>(&values),
                                reinterpret_cast<void*>(0x3000), origin.get(), completion.get()),
                           call("LAPI_Put", 7, 2, 8, static_cast<void*>(there), static_cast<const void*>(&values[1]),
                                none, none, none),
                           call("LAPI_Get", 7, 1, 32, static_cast<void*>(there), static_cast<void*>(&answer_buffer),
                                none, origin.get())}));
}

TEST_F(LapiHpp, SendIsAmsend) {
  const std::array<int, 2> header{};
  const std::array<short, 3> data{};
  const lapi::Remote<hdr_hndlr_t> handler{1, reinterpret_cast<hdr_hndlr_t*>(5)};
  context_.send(handler, std::as_bytes(std::span(header)), std::as_bytes(std::span(data)));
  const void* none = nullptr;
  EXPECT_EQ(made(), Calls{call("LAPI_Amsend", 7, 1, reinterpret_cast<void*>(5), static_cast<const void*>(&header), 8,
                               static_cast<const void*>(&data), 6, none, none, none)});
}

TEST_F(LapiHpp, NoHeaderIsTooLongToBeRefused) {
  const std::byte header{};
  context_.send({}, std::span(&header, std::numeric_limits<std::size_t>::max() - 1));
  const void* none = nullptr;
  EXPECT_EQ(made(), Calls{call("LAPI_Amsend", 7, 0, none, static_cast<const void*>(&header),
                               std::numeric_limits<uint>::max(), none, 0, none, none, none)});
}

TEST_F(LapiHpp, ReadModifyWritesGoByWidth) {
  int* narrow = reinterpret_cast<int*>(0x2000);
  std::int64_t* wide = reinterpret_cast<std::int64_t*>(0x2008);
  int previous = 0;
  lapi::Counter done;
  context_.fetch_add(lapi::Remote<int>{2, narrow}, 5, &previous, &done);
  context_.fetch_or(lapi::Remote<int>{2, narrow}, 6, &previous, &done);
  context_.swap(lapi::Remote<std::int64_t>{2, wide}, 7, nullptr, nullptr);
  context_.compare_and_swap(lapi::Remote<std::int64_t>{2, wide}, 8, 9, nullptr, nullptr);
  EXPECT_EQ(made(), (Calls{call("LAPI_Rmw", 7, int{FETCH_AND_ADD}, 2, narrow, 5, 0, &previous, done.get()),
                           call("LAPI_Rmw", 7, int{FETCH_AND_OR}, 2, narrow, 6, 0, &previous, done.get()),
                           call("LAPI_Rmw64", 7, int{SWAP}, 2, wide, 7, 0, false),
                           call("LAPI_Rmw64", 7, int{COMPARE_AND_SWAP}, 2, wide, 8, 9, false)}));
  EXPECT_EQ(context_.fetch_add(lapi::Remote<std::int64_t>{2, wide}, 1), 41);
  EXPECT_EQ(made(), (Calls{"LAPI_Waitcntr 7 0 0", call("LAPI_Rmw64", 7, int{FETCH_AND_ADD}, 2, wide, 1, 0, true),
                           "LAPI_Waitcntr 7 0 1"}));
}

TEST_F(LapiHpp, NothingIsUnderWayWhereNothingMayWait) {
  answer = EDEADLK;
  EXPECT_THROW(context_.fetch_add(lapi::Remote<int>{2, nullptr}, 1), lapi::Error);
  EXPECT_EQ(made(), Calls{"LAPI_Waitcntr 7 0 0"});
}

TEST_F(LapiHpp, CountersFencesAndProgress) {
  lapi::Counter counter;
  context_.set(counter, 4);
  EXPECT_EQ(context_.value(counter), 4);
  EXPECT_EQ(context_.wait(counter, 3), 2);
  context_.probe();
  EXPECT_EQ(context_.poll(9), lapi_msg_state_t{LAPI_RECV_COMPLETE});
  context_.fence();
  context_.fence_all();
  context_.set(ERROR_CHK, 1);
  EXPECT_EQ(made(),
            (Calls{"LAPI_Setcntr 7 4", "LAPI_Getcntr 7", "LAPI_Waitcntr 7 4 3", "LAPI_Probe 7", "LAPI_Msgpoll 7 9",
                   "LAPI_Fence 7", "LAPI_Gfence 7", call("LAPI_Senv", 7, int{ERROR_CHK}, 1)}));
}

TEST_F(LapiHpp, FailureThrowsCodeAndText) {
  answer = LAPI_ERR_TGT;
  try {
    context_.fence();
    FAIL() << "nothing was thrown";
  } catch (const lapi::Error& error) {
    EXPECT_EQ(error.code(), LAPI_ERR_TGT);
    EXPECT_EQ(error.what(), call("LAPI_Fence returned", LAPI_ERR_TGT) + ": a text");
  }
}

void completion(lapi_handle_t*, void*) {}
char buffer[8];

lapi::Delivery deliver(const lapi::Arrival& arrival) {
  EXPECT_EQ(arrival.handle, 7U);
  EXPECT_EQ(arrival.source, 2U);
  EXPECT_EQ(arrival.header.size(), 3U);
  EXPECT_EQ(arrival.length, 5U);
  return {.buffer = buffer, .completion = completion, .argument = &calls, .run = LAPI_SEND_REPLY};
}

TEST_F(LapiHpp, HandlersSeeTheMessageAndAnswer) {
  lapi_return_info_t info;
  std::memset(&info, 0, sizeof info);
  info.msg_len = 5;
  info.src = 2;
  char header[4] = {};
  char data[5] = {};
  info.udata_one_pkt_ptr = data;
  lapi_handle_t handle = 7;
  uint header_length = 3;
  compl_hndlr_t* completion_handler = nullptr;
  void* argument = nullptr;
  const auto run = [&](hdr_hndlr_t* handler) {
    return handler(&handle, header, &header_length, &info.msg_len, &completion_handler, &argument);
  };
  EXPECT_EQ(run(lapi::header_handler<deliver>), static_cast<void*>(buffer));
  EXPECT_EQ(completion_handler, completion);
  EXPECT_EQ(argument, &calls);
  EXPECT_EQ(info.ret_flags, LAPI_SEND_REPLY);
  EXPECT_EQ(info.ctl_flags, LAPI_DELIVER_MSG);

  const auto read_in_place = [](const lapi::Arrival& arrival) {
    return arrival.data == nullptr ? lapi::Delivery::again() : lapi::Delivery::done();
  };
  EXPECT_EQ(run(lapi::header_handler<read_in_place>), nullptr);
  EXPECT_EQ(completion_handler, nullptr);
  EXPECT_EQ(info.ret_flags, LAPI_LOCAL_STATE);
  EXPECT_EQ(info.ctl_flags, LAPI_BURY_MSG);
  info.udata_one_pkt_ptr = nullptr;
  run(lapi::header_handler<read_in_place>);
  EXPECT_EQ(info.ctl_flags, LAPI_DROP_PKT);
}

}  // namespace
