// Tasks of 32 and 64 bits in one job: addresses by LAPI_Address_init64, data by LAPI_Xfer, and by the direct calls
// where a pointer can name the target. The same source is built for both (mixed_words.py starts them together).
//
//   api_mixed [interrupt|polling] same|mixed
#include "tests/system/mixed_case.h"

using namespace mixed_case;

namespace {

constexpr std::size_t kLengths[] = {0, 1, 8, 1000, 100'000, 5'000'000};
constexpr std::size_t kRoom = 5'000'000;
constexpr lapi_long_t kAbove = lapi_long_t{1} << 32;

std::vector<lapi_long_t> buffers, counters, handlers;
unsigned char* buffer = nullptr;    // others write here
unsigned char* own_data = nullptr;  // and read here
std::atomic<int> completions{0};

void completed(lapi_handle_t*, void*) { ++completions; }

void* arrived(lapi_handle_t*, void* header, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  *completion = completed;
  unsigned wanted = 0;
  std::memcpy(&wanted, header, sizeof wanted);
  return *length == wanted ? buffer : nullptr;
}

void put(unsigned target, lapi_long_t address, const void* data, std::size_t length, lapi_long_t counter) {
  auto put = part_of<lapi_put_t>(LAPI_PUT_XFER, target);
  put.tgt_addr = address;
  put.org_addr = const_cast<void*>(data);
  put.len = length;
  put.tgt_cntr = counter;
  put.cmpl_cntr = &completion_counter;
  CALL(transfer(&lapi_xfer_t::Put, put));
}

void get(unsigned target, lapi_long_t address, std::size_t length, lapi_long_t counter) {
  auto get = part_of<lapi_get_t>(LAPI_GET_XFER, target);
  get.tgt_addr = address;
  get.org_addr = own_data;
  get.len = length;
  get.tgt_cntr = counter;
  CALL(transfer(&lapi_xfer_t::Get, get));
}

void send_message(unsigned target, lapi_long_t header_handler, std::size_t length) {
  unsigned header = static_cast<unsigned>(length);
  auto message = part_of<lapi_am_t>(LAPI_AM_XFER, target);
  message.hdr_hdl = header_handler;
  message.uhdr = &header;
  message.uhdr_len = sizeof header;
  message.udata = own_data;
  message.udata_len = length;
  message.tgt_cntr = counters[target];
  message.cmpl_cntr = &completion_counter;
  CALL(transfer(&lapi_xfer_t::Am, message));
}

// The variable's value comes to `previous` when the origin counter moves.
template <class Word>
void begin_modify(Rmw_ops_t operation, unsigned target, lapi_long_t variable, const Word (&input)[2], Word& previous) {
  auto rmw = part_of<lapi_rmw_t>(LAPI_RMW_XFER, target);
  rmw.op = operation;
  rmw.size = sizeof(Word) * 8;
  rmw.tgt_var = variable;
  rmw.in_val = const_cast<Word*>(input);
  rmw.prev_tgt_val = &previous;
  CALL(transfer(&lapi_xfer_t::Rmw, rmw));
}

template <class Word>
Word modify(Rmw_ops_t operation, unsigned target, lapi_long_t variable, const Word (&input)[2]) {
  Word previous = 0;
  begin_modify(operation, target, variable, input, previous);
  wait_for(origin_counter);
  return previous;
}

void exchange_all() {
  const bool mixed = !words.empty() && words[0] == "mixed";
  buffers = exchange64(address_of(buffer));
  counters = exchange64(address_of(&target_counter));
  handlers = exchange64(address_of(reinterpret_cast<void*>(arrived)));
  words_of_tasks = exchange64(sizeof(void*));
  bool other = false;
  for (const lapi_long_t size : words_of_tasks) other |= size != sizeof(void*);
  EXPECT_EQUAL(other, mixed);
  const auto self = static_cast<std::size_t>(task);
  EXPECT(buffers[self] == address_of(buffer));
  for (std::size_t other_task = 0; other_task < words_of_tasks.size(); ++other_task) {
    EXPECT_EQUAL(buffers[other_task] >> 32 != 0, words_of_tasks[other_task] == 8);
  }
}

void put_lengths() {
  for (const std::size_t length : kLengths) {
    fill(own_data, length, length + static_cast<unsigned>(task));
    put(right(), buffers[right()], own_data, length, counters[right()]);
    wait_for(target_counter);
    EXPECT(holds(buffer, length, length + static_cast<unsigned>(left())));
    wait_for(origin_counter);
    wait_for(completion_counter);
    CALL(LAPI_Gfence(handle));
  }
}

void gets() {
  for (const std::size_t length : kLengths) {
    fill(buffer, length, length + 7 + static_cast<unsigned>(task));
    std::memset(own_data, 0, length);
    CALL(LAPI_Gfence(handle));
    get(right(), buffers[right()], length, counters[right()]);
    wait_for(origin_counter);
    wait_for(target_counter);
    EXPECT(holds(own_data, length, length + 7 + right()));
    CALL(LAPI_Gfence(handle));
  }
}

void messages() {
  for (const std::size_t length : kLengths) {
    fill(own_data, length, length + 13 + static_cast<unsigned>(task));
    send_message(right(), handlers[right()], length);
    wait_for(target_counter);
    EXPECT(holds(buffer, length, length + 13 + static_cast<unsigned>(left())));
    wait_for(origin_counter);
    wait_for(completion_counter);
    CALL(LAPI_Gfence(handle));
  }
  EXPECT_EQUAL(completions.load(), std::size(kLengths));
}

// Every task adds to every task's variables; a 64-bit one lies where 32-bit programs may put it, at a multiple of 4.
void read_modify_writes() {
  constexpr int kTimes = 200;
  constexpr long long kLarge = 0x1'0000'0003;
  struct Variables {
    alignas(8) int word = 5;
    char unaligned_for_8[sizeof(long long)];
  } variables;
  void* wide = sizeof(void*) == 4 ? &variables.unaligned_for_8 : nullptr;
  alignas(8) static long long aligned_wide;
  if (wide == nullptr) wide = &aligned_wide;
  std::memset(wide, 0, sizeof(long long));
  const std::vector<lapi_long_t> narrow_at = exchange64(widened(&variables.word));
  const std::vector<lapi_long_t> wide_at = exchange64(widened(wide));
  for (int time = 0; time < kTimes; ++time) {
    for (unsigned target = 0; target < static_cast<unsigned>(tasks); ++target) {
      modify<int>(FETCH_AND_ADD, target, narrow_at[target], {3, 0});
      modify<long long>(FETCH_AND_ADD, target, wide_at[target], {kLarge, 0});
    }
  }
  CALL(LAPI_Gfence(handle));
  long long sum = 0;
  std::memcpy(&sum, wide, sizeof sum);
  EXPECT_EQUAL(variables.word, 5 + 3 * kTimes * tasks);
  EXPECT_EQUAL(sum, kLarge * kTimes * tasks);
  CALL(LAPI_Gfence(handle));
  // Only the left task works on ours.
  const long long swapped = kLarge << 20;
  EXPECT_EQUAL((modify<long long>(COMPARE_AND_SWAP, right(), wide_at[right()], {sum + 1, 1})), 0);
  EXPECT_EQUAL((modify<long long>(COMPARE_AND_SWAP, right(), wide_at[right()], {sum, swapped})), 1);
  EXPECT_EQUAL((modify<long long>(FETCH_AND_OR, right(), wide_at[right()], {1, 0})), swapped);
  EXPECT_EQUAL((modify<long long>(SWAP, right(), wide_at[right()], {-2, 0})), swapped + 1);
  CALL(LAPI_Gfence(handle));
  std::memcpy(&sum, wide, sizeof sum);
  EXPECT_EQUAL(sum, -2);
}

// Where the target's address fits a pointer here: a 64-bit task names everything, a 32-bit task other 32-bit tasks.
void direct_calls() {
  alignas(8) static long long variable;
  variable = 40;
  const std::vector<lapi_long_t> variables = exchange64(address_of(&variable));
  const bool named = sizeof(void*) == 8 || words_of_tasks[right()] == 4;
  std::memset(buffer, 0, 1000);
  CALL(LAPI_Gfence(handle));
  const auto pointer = [](lapi_long_t address) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  };
  if (named) {
    fill(own_data, 1000, 21);
    CALL(LAPI_Put(handle, right(), 1000, pointer(buffers[right()]), own_data, nullptr, nullptr, &completion_counter));
    wait_for(completion_counter);
    std::memset(own_data, 0, 1000);
    CALL(LAPI_Get(handle, right(), 1000, pointer(buffers[right()]), own_data, nullptr, &origin_counter));
    wait_for(origin_counter);
    EXPECT(holds(own_data, 1000, 21));
    long long input[2] = {2, 0};
    long long previous = 0;
    CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, right(), static_cast<long long*>(pointer(variables[right()])), input,
                    &previous, &origin_counter));
    wait_for(origin_counter);
    EXPECT_EQUAL(previous, 40);
    unsigned header = 1000;
    CALL(LAPI_Amsend(handle, right(), pointer(handlers[right()]), &header, sizeof header, own_data, 1000, nullptr,
                     nullptr, &completion_counter));
    wait_for(completion_counter);
  }
  CALL(LAPI_Gfence(handle));
}

void fences() {
  constexpr unsigned kPuts = 300;
  for (unsigned at = 0; at < kPuts; ++at) {
    std::memcpy(own_data + at * sizeof at, &at, sizeof at);
    put(right(), buffers[right()] + at * sizeof at, own_data + at * sizeof at, sizeof at, 0);
  }
  fill(own_data + 10'000, 200'000, 3);
  put(right(), buffers[right()] + 10'000, own_data + 10'000, 200'000, 0);
  CALL(LAPI_Fence(handle));
  CALL(LAPI_Gfence(handle));
  unsigned last = 0;
  std::memcpy(&last, buffer + (kPuts - 1) * sizeof last, sizeof last);
  EXPECT_EQUAL(last, kPuts - 1);
  EXPECT(holds(buffer + 10'000, 200'000, 3));
  wait_for(origin_counter, kPuts + 1);
  wait_for(completion_counter, kPuts + 1);
}

// A 32-bit task is told of what it cannot have, takes no harm and goes on; nobody waits for such a put or message.
void refused_addresses() {
  std::memset(buffer, 0x5a, kRoom);
  CALL(LAPI_Gfence(handle));
  constexpr std::size_t kRefused[] = {8, 100'000, kRoom};
  if (right_is_narrow()) {
    for (const std::size_t length : kRefused) {
      put(right(), buffers[right()] + kAbove, own_data, length, counters[right()]);
      wait_for(completion_counter);
      wait_for(origin_counter);
    }
    put(right(), kAbove - 8, own_data, 16, 0);  // begins below 4 GiB and ends above
    wait_for(completion_counter);
    wait_for(origin_counter);
    send_message(right(), (lapi_long_t{1} << 40) + 4096, 100);
    wait_for(completion_counter);
    wait_for(origin_counter);
    CALL(LAPI_Fence(handle));
  }
  CALL(LAPI_Gfence(handle));
  expect_faults(is_narrow() ? 5 : 0);
  EXPECT_EQUAL(counter_value(target_counter), 0);
  for (std::size_t at = 0; at < kRoom; ++at) EXPECT(buffer[at] == 0x5a);
}

// Both tasks hear of a get or read-modify-write that names such memory, and who waits for it is told.
void refused_requests() {
  std::memset(own_data, 0x5b, kRoom);
  CALL(LAPI_Gfence(handle));
  int begun = 0;
  const auto ends = [&](int (*wait)(lapi_handle_t, lapi_cntr_t*, int, int*)) {
    RETURNS(wait(handle, &origin_counter, 1, nullptr), EFAULT);
    ++begun;
  };
  if (right_is_narrow()) {
    for (const std::size_t length : {std::size_t{8}, std::size_t{100'000}, kRoom}) {
      get(right(), buffers[right()] + kAbove, length, counters[right()]);
      ends(LAPI_Waitcntr);
    }
    get(right(), buffers[right()], 8, counters[right()] + kAbove);
    ends(LAPI_Nopoll_wait);
    get(right(), kAbove - 8, 16, 0);
    ends(LAPI_Waitcntr);
    int word = 1;
    begin_modify<int>(SWAP, right(), counters[right()] + kAbove, {5, 0}, word);
    ends(LAPI_Waitcntr);
    long long wide = 2;
    begin_modify<long long>(COMPARE_AND_SWAP, right(), kAbove - 4, {5, 0}, wide);
    CALL(LAPI_Fence(handle));  // not waited for: a fence is enough
    ends(LAPI_Waitcntr);
    EXPECT_EQUAL(word, 1);
    EXPECT_EQUAL(wide, 2);
  }
  CALL(LAPI_Gfence(handle));
  constexpr int kRequests = 7;
  expect_faults(begun + (is_narrow() ? kRequests : 0));
  EXPECT_EQUAL(begun, right_is_narrow() ? kRequests : 0);
  EXPECT_EQUAL(counter_value(origin_counter), 0);
  EXPECT_EQUAL(counter_value(target_counter), 0);
  for (std::size_t at = 0; at < kRoom; ++at) EXPECT(own_data[at] == 0x5b);
  CALL(LAPI_Gfence(handle));
  put_lengths();  // all goes on
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = heard;
  info.lib_vers = LAST_LIB;
  begin(count, arguments, info);
  buffer = map_room(kRoom);
  own_data = map_room(kRoom);
  run("addresses", 30, exchange_all);
  run("put", 60, put_lengths);
  run("get", 60, gets);
  run("active message", 60, messages);
  run("read-modify-write", 60, read_modify_writes);
  run("direct calls", 30, direct_calls);
  run("fences", 30, fences);
  run("refused addresses", 60, refused_addresses);
  run("refused requests", 60, refused_requests);
  return finish();
}
