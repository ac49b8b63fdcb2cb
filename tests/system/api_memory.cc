// A running context whose process gets no memory any more: the calls that may need some are refused and do nothing,
// what arrives is not lost, and when there is memory again everything works. Memory comes from this program's operator
// new, as in every program that has its own, which refuses when it is told to; and once from a heap that is really
// full.
//   lapirun -n N api_memory [interrupt|polling]
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "tests/support/sanitizers.h"
#include "tests/system/every_call.h"
#include "tests/system/full_heap.h"

using namespace api_case;

namespace {

std::atomic<bool> refusing{false};

}  // namespace

// Not inline: the compiler would take the calls of malloc and free for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const place = refusing ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace {

constexpr int kBury = 5, kKeep = 6, kKeepLong = 7;

void* handler_at(int number) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)); }

CallWindow window;
std::vector<CallWindow*> windows;
std::atomic<int> errors{0}, last_error{0}, last_source{-1};

void hear_error(lapi_handle_t*, int* code, lapi_err_t*, int*, int* source) {
  last_error = *code;
  last_source = *source;
  ++errors;
}

void* bury(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return nullptr; }

// ---- the calls ----

lapi_dg_handle_t programs[8] = {};
int registered = 0;

int register_one() {
  static Program source = structures();
  return register_as(source, &programs[registered], handle);
}

int pack_or_unpack(lapi_util_type_t type) {
  static char from[64], into[64];
  lapi_util_t command{};
  command.Util_type = type;
  if (type == LAPI_DGSP_PACK) {
    command.PackDgsp.dgsp_handle = programs[0];
    command.PackDgsp.in_buf = from;
    command.PackDgsp.bytes = 10;
    command.PackDgsp.out_buf = into;
    command.PackDgsp.out_size = sizeof into;
  } else {
    command.UnpackDgsp.dgsp_handle = programs[0];
    command.UnpackDgsp.buf = from;
    command.UnpackDgsp.in_size = sizeof from;
    command.UnpackDgsp.out_buf = into;
    command.UnpackDgsp.out_size = sizeof into;
    command.UnpackDgsp.bytes = 10;
  }
  return LAPI_Util(handle, &command);
}

// What the calls leave behind.
struct Traces {
  lapi_cntr_t origin{}, completion{}, with_statuses{};
  uint destination = 0;
  int status = -1;
  std::vector<void*> table;
  std::vector<lapi_long_t> wide_table;
};

std::vector<EveryCall> other_calls(Traces& traces) {
  return {
      {"LAPI_REGISTER_DGSP", register_one},
      {"LAPI_DGSP_PACK", [] { return pack_or_unpack(LAPI_DGSP_PACK); }},
      {"LAPI_DGSP_UNPACK", [] { return pack_or_unpack(LAPI_DGSP_UNPACK); }},
      {"LAPI_Setcntr_wstatus",
       [&] { return LAPI_Setcntr_wstatus(handle, &traces.with_statuses, 1, &traces.destination, &traces.status); }},
      {"LAPI_Address_init", [&] { return LAPI_Address_init(handle, &window, traces.table.data()); }},
      {"LAPI_Address_init64", [&] { return LAPI_Address_init64(handle, 77, traces.wide_table.data()); }},
  };
}

// Refused in any case, and tried without memory only: they would end or wait for what the test still needs.
std::vector<EveryCall> ending_calls(Traces& traces) {
  return {
      {"LAPI_Nopoll_wait", [&] { return LAPI_Nopoll_wait(handle, &traces.origin, 1, nullptr); }},
      {"LAPI_Purge_totask", [] { return LAPI_Purge_totask(handle, right()); }},
      {"LAPI_Resume_totask", [] { return LAPI_Resume_totask(handle, right()); }},
  };
}

void make_all(const std::vector<EveryCall>& calls, int wanted) {
  for (const EveryCall& call : calls) {
    line = __LINE__;
    const int code = call.make();
    if (code == wanted) continue;
    refusing = false;
    fail((std::string(call.name) + " returned " + std::to_string(code)).c_str());
  }
}

// The library notices by the first allocation that is refused, and that one does not fail yet.
void use_up() {
  int code = LAPI_SUCCESS;
  for (registered = 1; code == LAPI_SUCCESS && registered < 7; ++registered) code = register_one();
  if (code != LAPI_ERR_MEMORY_EXHAUSTED) refusing = false;
  RETURNS(code, LAPI_ERR_MEMORY_EXHAUSTED);
}

// `starve` makes memory go away, `feed` brings it back.
template <class Starve, class Feed>
void refuse_and_recover(Starve starve, Feed feed) {
  Traces traces;
  traces.destination = right();
  traces.table.resize(static_cast<std::size_t>(tasks));
  traces.wide_table.resize(static_cast<std::size_t>(tasks));
  EveryCallMaker maker(right(), windows[right()], handler_at(kBury), {&traces.origin, &traces.completion});
  const std::vector<EveryCall> calls = maker.calls(), others = other_calls(traces), endings = ending_calls(traces);
  registered = 0;
  CALL(register_one());
  make_all(calls, LAPI_SUCCESS);
  CALL(LAPI_Waitcntr(handle, &traces.origin, EveryCallMaker::kMoveOrigin, nullptr));
  CALL(LAPI_Waitcntr(handle, &traces.completion, EveryCallMaker::kMoveCompletion, nullptr));
  CALL(LAPI_Gfence(handle));

  starve();
  use_up();
  make_all(calls, LAPI_ERR_MEMORY_EXHAUSTED);
  make_all(others, LAPI_ERR_MEMORY_EXHAUSTED);
  make_all(endings, LAPI_ERR_MEMORY_EXHAUSTED);
  CALL(LAPI_Fence(handle));  // what a task without memory waits for comes
  CALL(LAPI_Gfence(handle));
  feed();
  EXPECT(traces.status == -1 && traces.table[0] == nullptr && traces.wide_table[0] == 0);
  EXPECT_EQUAL(counter_value(traces.origin) + counter_value(traces.completion), 0);

  const int adds_before = window.word;
  CALL(LAPI_Gfence(handle));
  make_all(calls, LAPI_SUCCESS);
  CALL(LAPI_Waitcntr(handle, &traces.origin, EveryCallMaker::kMoveOrigin, nullptr));
  CALL(LAPI_Waitcntr(handle, &traces.completion, EveryCallMaker::kMoveCompletion, nullptr));
  make_all(others, LAPI_SUCCESS);
  CALL(LAPI_Gfence(handle));
  EXPECT(traces.table[right()] == windows[right()] && traces.wide_table[right()] == 77);
  EXPECT_EQUAL(window.word, adds_before + 1);
  EXPECT_EQUAL(counter_value(traces.origin) + counter_value(traces.completion), 0);
  EXPECT_EQUAL(traces.status, LAPI_MSG_INITIAL);
  CALL(LAPI_Setcntr_wstatus(handle, &traces.with_statuses, 0, nullptr, nullptr));
  EXPECT_EQUAL(errors.load(), 0);
}

void refused_allocations() {
  refuse_and_recover([] { refusing = true; }, [] { refusing = false; });
}

// ---- a full heap ----

// Sanitizers have heaps of their own, which setrlimit() would end together with the process.
constexpr bool kSanitizersHeap = openlapi::kAddressSanitizer || openlapi::kThreadSanitizer;

void full_heap() { refuse_and_recover(fill_heap, empty_heap); }

// ---- what arrives ----

constexpr std::size_t kLength = 1200;  // with all headers one packet of every network
constexpr int kMessages = 10000;       // from all together: twice what the library keeps for itself

std::atomic<int> kept{0}, dropped{0}, damaged{0};
std::vector<int> sum_of_numbers;               // by source
std::vector<std::vector<unsigned char>> seen;  // by source and number: dropped before
unsigned char inbox[kLength];

struct Header {
  int number, source;
};

void* keep(lapi_handle_t*, void* user_header, uint*, ulong* length, compl_hndlr_t**, void**) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  const auto& header = *static_cast<Header*>(user_header);
  const auto source = static_cast<std::size_t>(header.source);
  if (refusing) {
    if (std::exchange(seen[source][static_cast<std::size_t>(header.number)], 1) == 0) ++dropped;
    info->ctl_flags = LAPI_DROP_PKT;
    return nullptr;
  }
  const auto* data = static_cast<const unsigned char*>(info->udata_one_pkt_ptr);
  if (data == nullptr || !holds(data, kLength, static_cast<unsigned long>(header.number))) ++damaged;
  sum_of_numbers[source] += header.number;
  ++kept;
  return inbox;
}

void send_many(int count) {
  std::vector<unsigned char> data(kLength);
  lapi_cntr_t done{};
  int one = 1;
  for (int number = 1; number <= count; ++number) {
    Header header{number, task};
    fill(data.data(), kLength, static_cast<unsigned long>(number));
    CALL(LAPI_Amsend(handle, 0, handler_at(kKeep), &header, sizeof header, data.data(), kLength, nullptr, nullptr,
                     &done));
    if (number % 10 == 0) CALL(LAPI_Rmw(handle, FETCH_AND_ADD, 0, &windows[0]->word, &one, nullptr, nullptr));
  }
  CALL(LAPI_Waitcntr(handle, &done, count, nullptr));
}

// Until nothing comes any more, because the library takes no more.
void starve_while_others_send() {
  refusing = true;
  CALL(LAPI_Gfence(handle));
  for (int before = 0, quiet = 0; dropped < 500 || quiet < 2000; ++quiet) {
    CALL(LAPI_Probe(handle));
    if (dropped != before) quiet = 0;
    before = dropped;
  }
  refusing = false;
}

void arrivals() {
  const int senders = tasks - 1, each = kMessages / senders;
  sum_of_numbers.assign(static_cast<std::size_t>(tasks), 0);
  seen.assign(static_cast<std::size_t>(tasks), std::vector<unsigned char>(static_cast<std::size_t>(each) + 1));
  kept = dropped = 0;
  const int word_before = window.word;
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    starve_while_others_send();
  } else {
    CALL(LAPI_Gfence(handle));
    send_many(each);
  }
  CALL(LAPI_Gfence(handle));
  if (task != 0) return;
  EXPECT_EQUAL(kept.load(), each * senders);
  EXPECT_EQUAL(damaged.load() + errors.load(), 0);
  EXPECT_EQUAL(window.word, word_before + each / 10 * senders);
  for (std::size_t source = 1; source < sum_of_numbers.size(); ++source) {
    EXPECT_EQUAL(sum_of_numbers[source], each * (each + 1) / 2);
  }
}

// ---- what can neither be kept nor wait ----

constexpr std::size_t kLong = 20u << 20;  // more than the library keeps for itself
std::vector<unsigned char> long_inbox;
std::atomic<int> long_dropped{0}, long_kept{0};

void* keep_long(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  if (!refusing) {
    ++long_kept;
    return long_inbox.data();
  }
  ++long_dropped;
  reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_DROP_PKT;
  return nullptr;
}

// A long message that its handler drops stays in the origin's memory as long as that can be read from here; of one
// that comes in packets the user is told that it is lost.
void too_long() {
  const bool stays = query(QUERY_SHM_ENABLED) != 0;
  std::vector<unsigned char> outbox(task == 1 ? kLong : 0);
  fill(outbox.data(), outbox.size(), 4);
  long_inbox.assign(task == 0 ? kLong : 0, 0);
  if (task == 0) refusing = true;
  CALL(LAPI_Gfence(handle));
  lapi_cntr_t sent{};
  if (task == 1) {
    CALL(LAPI_Amsend(handle, 0, handler_at(kKeepLong), nullptr, 0, outbox.data(), kLong, nullptr, &sent, nullptr));
    CALL(LAPI_Waitcntr(handle, &sent, 1, nullptr));  // a fence knows nothing of what is lost
  }
  while (task == 0 && (long_dropped == 0 || (!stays && errors == 0))) CALL(LAPI_Probe(handle));
  refusing = false;
  CALL(LAPI_Gfence(handle));
  if (task != 0) return;
  EXPECT_EQUAL(long_kept.load(), stays ? 1 : 0);
  EXPECT_EQUAL(errors.load(), stays ? 0 : 1);
  if (stays) EXPECT(holds(long_inbox.data(), kLong, 4));
  if (!stays) EXPECT(last_error == LAPI_ERR_MEMORY_EXHAUSTED && last_source == 1);
}

// ---- what a target cannot answer ----

constexpr std::size_t kScattered = 400'000;  // pieces: to say where they are takes more than the library keeps
std::vector<unsigned char> scattered;

// What the wait returns.
int get_scattered(unsigned char* there, unsigned char* here) {
  std::vector<void*> sources(kScattered), destinations(kScattered);
  std::vector<ulong> lengths(kScattered, 1);
  for (std::size_t i = 0; i < kScattered; ++i) sources[i] = there + 2 * i, destinations[i] = here + 2 * i;
  lapi_vec_t source{LAPI_GEN_IOVECTOR, kScattered, sources.data(), lengths.data()};
  lapi_vec_t destination{LAPI_GEN_IOVECTOR, kScattered, destinations.data(), lengths.data()};
  lapi_cntr_t done{};
  CALL(LAPI_Getv(handle, 0, &source, &destination, nullptr, &done));
  line = __LINE__;
  const int code = LAPI_Waitcntr(handle, &done, 1, nullptr);
  EXPECT_EQUAL(counter_value(done), 0);
  return code;
}

// The library's own thread may still be about to call the handler.
void expect_one_error_of(int source) {
  while (errors == 0) CALL(LAPI_Probe(handle));
  CALL(LAPI_Fence(handle));
  EXPECT_EQUAL(errors.load(), 1);
  EXPECT_EQUAL(last_error.load(), LAPI_ERR_MEMORY_EXHAUSTED);
  EXPECT_EQUAL(last_source.load(), source);
}

void get_without_memory() {
  scattered.assign(2 * kScattered, static_cast<unsigned char>(task));
  const std::vector<unsigned char*> all = exchange(scattered.data());
  errors = 0;
  if (task == 0) refusing = true;
  CALL(LAPI_Gfence(handle));
  if (task == 1) {
    EXPECT_EQUAL(get_scattered(all[0], all[1]), LAPI_ERR_MEMORY_EXHAUSTED);
    expect_one_error_of(0);
  }
  CALL(LAPI_Gfence(handle));
  refusing = false;
  if (task == 0) expect_one_error_of(1);
  CALL(LAPI_Gfence(handle));
  if (task == 1) {
    EXPECT_EQUAL(get_scattered(all[0], all[1]), LAPI_SUCCESS);
    for (std::size_t i = 0; i < scattered.size(); ++i) EXPECT(scattered[i] == i % 2);
  }
  CALL(LAPI_Gfence(handle));
}

}  // namespace

int main(int count, char** arguments) {
  mallopt(M_ARENA_MAX, 1);  // or threads would find room in arenas of their own
  lapi_info_t info = cleared_info();
  info.err_hndlr = hear_error;
  info.lib_vers = LAST_LIB;
  begin(count, arguments, info);
  windows = exchange(&window);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&bury), kBury));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&keep), kKeep));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&keep_long), kKeepLong));
  CALL(LAPI_Gfence(handle));
  run("calls are refused while allocations are, and work again", 30, refused_allocations);
  if (!kSanitizersHeap) run("calls are refused while the heap is full, and work again", 30, full_heap);
  run("what arrives without memory is not lost", 90, arrivals);
  run("a message for which there is no memory at all is reported", 60, too_long);
  run("a get for which its target has no memory ends", 60, get_without_memory);
  return finish();
}
