// The C++ face (lapi.hpp) between real tasks: what takes structures and lists, each with its right neighbour.
#include <array>
#include <mutex>
#include <numeric>
#include <thread>

#include "lapi.hpp"
#include "tests/system/api_cpp_case.h"

using namespace api_case;

namespace {

constexpr int kIndex = 7;  // of the handler, in every task's table

struct Window {
  double matrix[8][8] = {};
  lapi::Counter arrived;
  long long sum = 0;
};

Window window;
std::array<int, 6> received;
std::atomic<int> taken = 0, got = 0, sent = 0;

int error_of(const auto& action) {
  try {
    action();
    return LAPI_SUCCESS;
  } catch (const lapi::Error& error) {
    return error.code();
  }
}

void progress_until(lapi::Context& context, const auto& holds) {
  while (!holds()) context.probe();
}

lapi::Remote<double> element(const lapi::Remote<Window>& there, int row, int column) {
  return {there.task, &there.address->matrix[row][column]};
}

// Column 1 of the neighbour becomes our row 2, as pieces and as blocks.
void pieces(lapi::Context& context) {
  const auto next = context.collect(&window)[right()];
  const lapi::Signals told{.target = next.member(&Window::arrived)};
  std::array<double, 8> row;
  std::iota(row.begin(), row.end(), 10.0 * task);
  context.put(lapi::RemoteVector(element(next, 0, 1), {.count = 8, .block = 1, .stride = 8}),
              lapi::Vector<const double>(row.data(), {.count = 8, .block = 1, .stride = 1}), told);
  context.wait(window.arrived);
  for (int i = 0; i < 8; ++i) EXPECT(window.matrix[i][1] == 10.0 * left() + i);

  context.fence_all();  // the next pieces lie over these
  const auto halves = std::span(row);
  context.put(lapi::RemoteVector<double>{{element(next, 7, 0), 4}, {element(next, 5, 4), 4}},
              lapi::Vector<double>{halves.first(4), halves.last(4)}, told);
  context.wait(window.arrived);
  EXPECT(window.matrix[7][3] == 10.0 * left() + 3 && window.matrix[5][7] == 10.0 * left() + 7);

  context.fence_all();
  lapi::Counter here;
  std::array<double, 8> column{};
  context.get(lapi::Vector<double>{std::span(column)},
              lapi::RemoteVector<const double>{{{next.task, element(next, 5, 0).address}, 8}}, {.origin = &here});
  context.wait(here);
  EXPECT(column[7] == 10.0 * task + 7);
}

lapi::VectorDelivery take(const lapi::Arrival& arrival) {
  static const lapi::Vector<int> place({std::span(received).first(1), std::span(received).last(5)}, LAPI_GEN_GENERIC);
  EXPECT_EQUAL(arrival.source, left());
  const auto count = [](lapi_handle_t, std::atomic<int>* what) { ++*what; };
  return {.buffer = place.get(), .completion = lapi::completion_handler<count>, .argument = &taken};
}

void messages(lapi::Context& context) {
  vhdr_hndlr_t* handler = lapi::header_handler<take>;
  context.register_address(kIndex, handler);
  EXPECT(context.registered_address(kIndex) == reinterpret_cast<void*>(handler));
  context.fence_all();
  std::array<int, 6> numbers;
  std::iota(numbers.begin(), numbers.end(), task);
  lapi::Counter complete;
  context.send(lapi::registered<vhdr_hndlr_t>(right(), kIndex), {},
               lapi::Vector<int>({std::span(numbers).first(3), std::span(numbers).last(3)}, LAPI_GEN_GENERIC),
               {.completion = &complete});
  context.wait(complete);
  context.fence_all();
  progress_until(context, [] { return taken == 1; });
  EXPECT_EQUAL(received[5], left() + 5);
}

void transfers(lapi::Context& context) {
  const auto next = context.collect(&window)[right()];
  const double value = task + 0.5;
  const auto count_sent = [](lapi_handle_t, std::atomic<int>* what, const lapi_sh_info_t& info) {
    EXPECT_EQUAL(info.reason, LAPI_SUCCESS);
    ++*what;
  };
  lapi_put_t put{};
  put.tgt = next.task;
  put.tgt_addr = element(next, 3, 3).number();
  put.org_addr = const_cast<double*>(&value);
  put.len = sizeof value;
  put.shdlr = lapi::send_handler<count_sent>;
  put.sinfo = &sent;
  context.transfer(put);
  progress_until(context, [] { return sent == 1; });
  context.fence_all();
  EXPECT(window.matrix[3][3] == left() + 0.5);

  const auto count_got = [](lapi_handle_t, std::atomic<int>* what) { ++*what; };
  double fetched = 0;
  lapi_get_t get{};
  get.tgt = next.task;
  get.tgt_addr = put.tgt_addr;
  get.org_addr = &fetched;
  get.len = sizeof fetched;
  get.chndlr = lapi::completion_handler<count_got>;
  get.cinfo = &got;
  context.transfer(get);
  progress_until(context, [] { return got == 1; });
  EXPECT(fetched == value);
}

// A program that takes every second integer.
void programs(lapi::Context& context) {
  std::array<int, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE> code{};
  auto* copy = reinterpret_cast<lapi_dgsm_copy_t*>(code.data());
  *copy = {LAPI_DGSM_COPY, sizeof(int), 0};
  code[LAPI_DGSM_COPY_SIZE] = LAPI_DGSM_ITERATE;
  code[LAPI_DGSM_COPY_SIZE + 1] = -LAPI_DGSM_COPY_SIZE;
  lapi_dgsp_descr_t shape{};
  shape.depth = 1;
  shape.size = sizeof(int);
  shape.extent = 2 * sizeof(int);
  shape.rext = sizeof(int);
  lapi::Program first(code, shape);
  const lapi::Program program = first;
  first = lapi::Program(code, shape);

  const std::array<int, 6> data{1, 2, 3, 4, 5, 6};
  std::array<int, 4> packed{};
  const auto bytes = std::as_writable_bytes(std::span(packed));
  EXPECT_EQUAL(context.pack(program, data.data(), 12, bytes, 4), 16);
  EXPECT((packed == std::array<int, 4>{0, 1, 3, 5}));
  std::array<int, 6> unpacked{};
  EXPECT_EQUAL(context.unpack(program, unpacked.data(), 12, bytes, 4), 16);
  EXPECT((unpacked == std::array<int, 6>{1, 0, 3, 0, 5, 0}));
  EXPECT_EQUAL(error_of([&] { context.pack(program, data.data(), 13, bytes, 4); }), LAPI_ERR_PACK_SZ);
  context.distribute_with([](void*, void*, long length, int, int) { return length; });
  context.distribute_with(nullptr);
}

void locks(lapi::Context& context) {
  lapi::Mutex mutex = context.mutex();
  lapi::Condition condition(mutex);
  {
    const std::scoped_lock lock(mutex);
    EXPECT(pthread_equal(mutex.owner(), pthread_self()));
    EXPECT_EQUAL(error_of([&] { mutex.lock(); }), EDEADLK);
    EXPECT(!condition.wait_until(std::chrono::system_clock::now()));
    condition.wait([] { return true; });
    condition.notify_one();
  }
  mutex.unlock();  // says nothing of a lock that nobody holds
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (lock.owns_lock()) EXPECT(!mutex.try_lock());
}

// The end of the context wakes who waits, without the lock.
void end_while_a_thread_waits(lapi::Context& context) {
  lapi::Mutex mutex = context.mutex();
  lapi::Condition condition(mutex);
  bool waits = false;
  int found = LAPI_SUCCESS;
  std::thread waiter([&] {
    found = error_of([&] {
      const std::unique_lock lock(mutex);
      waits = true;
      for (;;) condition.wait();
    });
  });
  const auto waiting = [&] {
    const std::scoped_lock lock(mutex);
    return waits;
  };
  while (!waiting()) std::this_thread::yield();
  context.close();
  waiter.join();
  EXPECT_EQUAL(found, EINVAL);
}

void recovery(lapi::Context& context) {
  const auto counters = context.collect(&window.arrived);
  std::array<unsigned, 1> from{static_cast<unsigned>(left())};
  std::array<int, 1> status{};
  context.expect(window.arrived, from, status);
  EXPECT_EQUAL(status[0], LAPI_MSG_INITIAL);
  context.fence_all();
  context.put(context.collect(&window.sum)[right()], 1, {.target = counters[right()]});
  EXPECT_EQUAL(context.wait_without_polling(window.arrived), 0);
  EXPECT_EQUAL(status[0], LAPI_MSG_RECVD);
  context.purge(context.task());
  context.resume(context.task());
  EXPECT_EQUAL(error_of([&] { context.purge(context.tasks()); }), LAPI_ERR_TGT);
  EXPECT_EQUAL(error_of([&] { context.resume(context.tasks()); }), LAPI_ERR_TGT);
  EXPECT_EQUAL(error_of([&] { context.set_udp_address(context.tasks(), {}); }), LAPI_ERR_TGT);
  EXPECT_EQUAL(context.shared_memory_tasks().size(), context.tasks());
  EXPECT_EQUAL(error_of([&] { context.query(QUERY_STATISTICS); }), LAPI_ERR_QUERY_TYPE);
  EXPECT(context.statistics().Tot_data_sent + context.statistics(QUERY_SHM_STATISTICS).Tot_data_sent > 0);
}

}  // namespace

int main(int count, char** arguments) {
  read_words(count, arguments);
  limit(60);
  try {
    lapi::Context context = open_cpp_context();
    run("vectors", 20, [&] { pieces(context); });
    run("messages in pieces", 20, [&] { messages(context); });
    run("transfers", 20, [&] { transfers(context); });
    run("gather/scatter programs", 20, [&] { programs(context); });
    run("the lock", 20, [&] { locks(context); });
    run("recovery and statistics", 20, [&] { recovery(context); });
    limit(20);
    end_while_a_thread_waits(context);
  } catch (const lapi::Error& error) {
    fail(error.what());
  }
  if (task == 0) std::printf("1..%d\n", number);
  return 0;
}
