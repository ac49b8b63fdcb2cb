// The C++ face (lapi.hpp) between real tasks: every member, once, in the way that its documentation shows.
#include "lapi.hpp"

#include <array>
#include <numeric>

#include "tests/system/api_cpp_case.h"

using namespace api_case;

namespace {

struct Window {
  std::array<double, 64> inbox{};
  std::array<int, 16> outbox{};
  lapi::Counter arrived;
  int narrow = 0;
  long long wide = 0;
  unsigned flags = 0;
};

Window window;
lapi::Counter handled;
int received_header = 0;
std::array<std::byte, 20000> received;
unsigned refusals = 0;

lapi::Delivery take(const lapi::Arrival& arrival) {
  if (refusals++ == 0) return lapi::Delivery::again();
  std::memcpy(&received_header, arrival.header.data(), sizeof received_header);
  EXPECT_EQUAL(arrival.source, left());
  if (arrival.data == nullptr) return {.buffer = received.data()};
  std::memcpy(received.data(), arrival.data, arrival.length);
  return lapi::Delivery::done();
}

void moving(lapi::Context& context) {
  const auto windows = context.collect(&window);
  const auto next = windows[right()];
  const auto inbox = next.member(&Window::inbox);
  std::array<double, 64> values;
  std::iota(values.begin(), values.end(), task * 100.0);
  lapi::Counter complete;
  context.put(inbox, values, {.target = next.member(&Window::arrived), .completion = &complete});
  EXPECT_EQUAL(context.wait(complete), 0);
  context.wait(window.arrived);
  EXPECT(window.inbox[63] == left() * 100.0 + 63);

  window.outbox.fill(task + 1);
  context.fence_all();
  std::array<int, 16> copy{};
  lapi::Counter here;
  const lapi::Remote<int> there{next.task, reinterpret_cast<int*>(next.member(&Window::outbox).address)};
  context.get(std::span(copy), there, {.target = next.member(&Window::arrived), .origin = &here});
  context.wait(here);
  EXPECT_EQUAL(copy[0] + copy[15], 2 * (static_cast<int>(right()) + 1));
  context.wait(window.arrived);
}

void messages(lapi::Context& context) {
  const auto handlers = context.collect(lapi::header_handler<take>);
  const auto counters = context.collect(&handled);
  for (const std::size_t length : {std::size_t{100}, received.size()}) {
    refusals = 0;
    std::vector<std::byte> data(length, static_cast<std::byte>(task + 1));
    const int header = task + 7;
    context.fence_all();
    lapi::Counter origin;
    context.send(handlers[right()], std::as_bytes(std::span(&header, 1)), data,
                 {.target = counters[right()], .origin = &origin});
    context.wait(handled);
    context.wait(origin);
    EXPECT_EQUAL(received_header, left() + 7);
    EXPECT_EQUAL(static_cast<int>(received[length - 1]), left() + 1);
  }
}

void variables(lapi::Context& context) {
  const auto windows = context.collect(&window);
  const auto first = windows[0];
  for (int round = 0; round < 100; ++round) context.fetch_add(first.member(&Window::wide), 1LL << 33);
  context.fetch_or(first.member(&Window::flags), 1U << task, nullptr, nullptr);
  context.fence_all();
  EXPECT_EQUAL(context.fetch_add(first.member(&Window::wide), 0), 100LL * tasks << 33);
  EXPECT_EQUAL(context.fetch_add(first.member(&Window::flags), 0), (1 << tasks) - 1);

  // One task of all swaps the zero away.
  int swapped = -1;
  lapi::Counter done;
  context.compare_and_swap(first.member(&Window::narrow), 0, task + 1, &swapped, &done);
  context.wait(done);
  context.fence_all();
  const int winner = context.fetch_add(first.member(&Window::narrow), 0);
  EXPECT_EQUAL(swapped != 0, winner == task + 1);
  context.fence_all();
  int previous = -1;
  context.swap(windows[right()].member(&Window::narrow), 50 + task, &previous, &done);
  context.wait(done);
  EXPECT_EQUAL(previous, right() == 0 ? winner : 0);
}

void expect_error(int code, const char* call, const auto& action) {
  int found = LAPI_SUCCESS;
  try {
    action();
  } catch (const lapi::Error& error) {
    found = error.code();
    EXPECT(std::string(error.what()).starts_with(std::string(call) + " returned "));
  }
  EXPECT_EQUAL(found, code);
}

void failures(lapi::Context& context) {
  expect_error(LAPI_ERR_TGT, "LAPI_Put", [&] {
    context.put(lapi::Remote<int>{static_cast<unsigned>(tasks), nullptr}, 1);
  });
}

void life(lapi::Context& context) {
  lapi::Counter counter;
  context.set(counter, 3);
  EXPECT_EQUAL(context.value(counter), 3);
  context.probe();
  EXPECT((context.poll(1) & ~0x1fU) == 0);
  context.fence();
  EXPECT_EQUAL(context.exchange(static_cast<lapi_long_t>(task))[right()], right());
  lapi::Context moved = std::move(context);
  EXPECT_EQUAL(moved.query(TASK_ID), task);
  expect_error(LAPI_ERR_HNDL_INVALID, "LAPI_Fence", [&] { context.fence(); });
  expect_error(LAPI_ERR_HNDL_INVALID, "LAPI_Term", [&] { context.close(); });
  context = std::move(moved);
  expect_error(LAPI_ERR_HNDL_INVALID, "LAPI_Put", [&] { moved.put(lapi::Remote<int>{0, nullptr}, 1); });
}

}  // namespace

int main(int count, char** arguments) {
  read_words(count, arguments);
  limit(60);
  try {
    lapi::Context context = open_cpp_context();
    run("put and get of typed data", 20, [&] { moving(context); });
    run("active messages", 20, [&] { messages(context); });
    run("read-modify-writes", 20, [&] { variables(context); });
    run("errors", 20, [&] { failures(context); });
    run("the rest, and moving the context", 20, [&] { life(context); });
    context.fence_all();
    context.close();
  } catch (const lapi::Error& error) {
    fail(error.what());
  }
  if (task == 0) std::printf("1..%d\n", number);
  return 0;
}
