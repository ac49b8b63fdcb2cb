// LAPI_Put, LAPI_Get and LAPI_Amsend: sizes at every edge, counters, zero lengths, origin buffers that are overwritten
// at once, messages to oneself, a flood to a task that does not poll. Usage:
//   lapirun -n N api_transfer [interrupt|polling] [longest message]
#include <atomic>
#include <memory>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kLargest = 16u << 20;
constexpr std::size_t kGuard = 64;  // bytes behind each message that must stay as they are
constexpr int kHandler = 5;

unsigned char* inbox = nullptr;   // others put here
unsigned char* outbox = nullptr;  // own data
unsigned char* fetched = nullptr;
std::vector<unsigned char*> inboxes;

struct Counters {
  lapi_cntr_t put{};
  lapi_cntr_t got{};
  lapi_cntr_t message{};
} counters;
std::vector<Counters*> counters_of;

std::vector<std::size_t> sizes() {
  const auto packet = static_cast<std::size_t>(query(MAX_PKT_SZ));
  const auto copied = static_cast<std::size_t>(query(BUF_CP_SIZE));
  EXPECT_EQUAL(copied, query(REX_BUF_SZ));
  std::vector<std::size_t> all = {0, 1, 7, 8, 9, 63, 64, 65, 1000};
  for (const std::size_t edge : {packet, 2 * packet, copied, std::size_t{65536}}) {
    for (const int around : {-65, -33, -17, -8, -1, 0, 1, 8}) {
      all.push_back(edge + static_cast<std::size_t>(static_cast<long>(around)));
    }
  }
  all.push_back((1u << 20) + 3);
  if (tasks <= 3) all.push_back(kLargest);
  const std::size_t longest = words.empty() ? kLargest : std::stoul(words[0]);
  std::erase_if(all, [longest](std::size_t size) { return size > longest; });
  return all;
}

void guard(std::size_t length) { std::memset(inbox + length, 0xab, kGuard); }

bool guarded(std::size_t length) {
  for (std::size_t at = length; at < length + kGuard; ++at) {
    if (inbox[at] != 0xab) return false;
  }
  return true;
}

unsigned long seed_of(int source, std::size_t length) { return static_cast<unsigned long>(source) * 7919 + length; }

void put_sizes() {
  lapi_cntr_t free{}, done{};
  for (const std::size_t length : sizes()) {
    guard(length);
    CALL(LAPI_Gfence(handle));
    fill(outbox, length, seed_of(task, length));
    CALL(LAPI_Put(handle, right(), length, inboxes[right()], outbox, &counters_of[right()]->put, &free, &done));
    CALL(LAPI_Waitcntr(handle, &counters.put, 1, nullptr));
    EXPECT(holds(inbox, length, seed_of(left(), length)));
    EXPECT(guarded(length));
    CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT_EQUAL(counter_value(counters.put) + counter_value(free) + counter_value(done), 0);
    CALL(LAPI_Gfence(handle));
  }
}

void get_sizes() {
  lapi_cntr_t done{};
  for (const std::size_t length : sizes()) {
    fill(inbox, length, seed_of(task, length));
    std::memset(fetched, 0xcd, length + kGuard);
    CALL(LAPI_Gfence(handle));
    CALL(LAPI_Get(handle, right(), length, inboxes[right()], fetched, &counters_of[right()]->got, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT(holds(fetched, length, seed_of(static_cast<int>(right()), length)));
    for (std::size_t at = length; at < length + kGuard; ++at) EXPECT_EQUAL(fetched[at], 0xcd);
    CALL(LAPI_Waitcntr(handle, &counters.got, 1, nullptr));
    EXPECT_EQUAL(counter_value(counters.got) + counter_value(done), 0);
    CALL(LAPI_Gfence(handle));
  }
}

struct Arrival {
  std::atomic<std::size_t> length{0};
  std::atomic<unsigned> header_length{0};
  std::atomic<int> completions{0};
  std::atomic<int> counter_at_completion{0};
  std::atomic<bool> header_right{true};
} arrival;

void message_is_complete(lapi_handle_t* which, void* info) {
  int value = -1;
  if (LAPI_Getcntr(*which, &counters.message, &value) != LAPI_SUCCESS) value = -1;
  arrival.counter_at_completion = value;
  ++static_cast<Arrival*>(info)->completions;
}

void* accept(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion,
             void** info) {
  arrival.length = *length;
  arrival.header_length = *header_length;
  arrival.header_right = holds(header, *header_length, seed_of(left(), *length));
  *completion = message_is_complete;
  *info = &arrival;
  return inbox;
}

void message_sizes() {
  lapi_cntr_t free{}, done{};
  const auto longest_header = static_cast<unsigned>(query(MAX_UHDR_SZ));
  const unsigned header_lengths[] = {0, 4, 8, 904, longest_header};
  std::vector<unsigned char> header(longest_header);
  unsigned turn = 0;
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&accept), kHandler));
  for (std::size_t length : sizes()) {
    const unsigned header_length = header_lengths[turn++ % 5];
    if (length > header_length && length < 70000 && turn % 2 == 0) length -= header_length;  // the sum at the edge
    guard(length);
    arrival.completions = 0;
    arrival.counter_at_completion = 99;
    CALL(LAPI_Gfence(handle));
    fill(outbox, length, seed_of(task, length) + 1);
    fill(header.data(), header_length, seed_of(task, length));
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kHandler), header.data(), header_length, outbox, length,
                     &counters_of[right()]->message, &free, &done));
    CALL(LAPI_Waitcntr(handle, &counters.message, 1, nullptr));
    EXPECT_EQUAL(arrival.completions.load(), 1);  // the target counter moves after the completion handler
    EXPECT_EQUAL(arrival.counter_at_completion.load(), 0);
    EXPECT_EQUAL(arrival.length.load(), length);
    EXPECT_EQUAL(arrival.header_length.load(), header_length);
    EXPECT(arrival.header_right);
    EXPECT(holds(inbox, length, seed_of(left(), length) + 1));
    EXPECT(guarded(length));
    CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    CALL(LAPI_Gfence(handle));
  }
}

// Zero bytes: no memory is touched, addresses may be null, all counters move.
void nothing_to_move() {
  lapi_cntr_t free{}, done{}, got{};
  CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, &counters_of[right()]->put, &free, &done));
  CALL(LAPI_Get(handle, right(), 0, nullptr, nullptr, &counters_of[right()]->got, &got));
  CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &counters.put, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &counters.got, 1, nullptr));
  CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, nullptr, nullptr, nullptr));
  CALL(LAPI_Get(handle, right(), 0, nullptr, nullptr, nullptr, nullptr));
}

// When the completion counter has moved, the target counter has, too.
void completion_follows_target() {
  lapi_cntr_t done{};
  for (const std::size_t length : {std::size_t{8}, std::size_t{5000}, std::size_t{300000}}) {
    for (int round = 0; round < 20; ++round) {
      CALL(LAPI_Put(handle, right(), length, inboxes[right()], outbox, &counters_of[right()]->put, nullptr, &done));
      CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
      int there = -1;
      lapi_cntr_t got{};
      CALL(LAPI_Get(handle, right(), sizeof there, &counters_of[right()]->put.cntr, &there, nullptr, &got));
      CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
      EXPECT_EQUAL(there, round + 1);
    }
    CALL(LAPI_Gfence(handle));
    CALL(LAPI_Waitcntr(handle, &counters.put, 20, nullptr));
    CALL(LAPI_Gfence(handle));
  }
}

constexpr int kFlood = 600;
constexpr std::size_t kPlace = 16384;

// Task 0 is away for a while, everybody else floods it, and overwrites each
// buffer as soon as its call has returned. `length` is the longest that allows it.
void flood(std::size_t length) {
  lapi_cntr_t done{};
  const std::size_t places = kLargest / kPlace;
  const bool sender = task != 0;
  const int each = kFlood / tasks;
  CALL(LAPI_Gfence(handle));
  if (sender) {
    auto buffer = std::make_unique<unsigned char[]>(length);
    for (int index = 0; index < each; ++index) {
      const auto place = static_cast<std::size_t>((task - 1) * each + index) % places;
      fill(buffer.get(), length, place);
      CALL(
          LAPI_Put(handle, 0, length, inboxes[0] + place * kPlace, buffer.get(), &counters_of[0]->put, nullptr, &done));
      std::memset(buffer.get(), 0xff, length);
    }
    CALL(LAPI_Waitcntr(handle, &done, each, nullptr));
  } else {
    usleep(300000);  // long enough that queues and windows fill up; what is checked does not depend on it
    CALL(LAPI_Waitcntr(handle, &counters.put, each * (tasks - 1), nullptr));
    for (int index = 0; index < each * (tasks - 1); ++index) {
      EXPECT(holds(inbox + static_cast<std::size_t>(index) * kPlace, length, static_cast<unsigned long>(index)));
    }
  }
  CALL(LAPI_Gfence(handle));
}

void flood_short() { flood(24); }
void flood_packets() { flood(4000); }
void flood_longest_copied() { flood(static_cast<std::size_t>(query(BUF_CP_SIZE))); }

std::atomic<int> flooded{0};
std::atomic<int> flood_damage{0};
std::unique_ptr<unsigned char[]> flood_data[kFlood];

void check_flood(lapi_handle_t*, void* info) {
  const auto index = reinterpret_cast<std::size_t>(info);
  unsigned length = 0;
  std::memcpy(&length, flood_data[index].get(), sizeof length);
  if (!holds(flood_data[index].get() + 8, length, index)) ++flood_damage;
  ++flooded;
}

void* accept_flood(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion,
                   void** info) {
  unsigned long index = 0;
  std::memcpy(&index, header, sizeof index);
  if (!holds(static_cast<unsigned char*>(header) + 8, *header_length - 8, index + 1)) ++flood_damage;
  flood_data[index] = std::make_unique<unsigned char[]>(*length + 8);
  const auto bytes = static_cast<unsigned>(*length);
  std::memcpy(flood_data[index].get(), &bytes, sizeof bytes);
  *completion = check_flood;
  *info = reinterpret_cast<void*>(index);
  return flood_data[index].get() + 8;
}

// Messages: user header and data are overwritten at once.
void flood_messages() {
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&accept_flood), kHandler + 1));
  CALL(LAPI_Gfence(handle));
  const int each = kFlood / tasks;
  lapi_cntr_t done{};
  const auto most = static_cast<std::size_t>(query(BUF_CP_SIZE));
  if (task != 0) {
    std::vector<unsigned char> header(912), data(most);
    for (int turn = 0; turn < each; ++turn) {
      const auto index = static_cast<unsigned long>((task - 1) * each + turn);
      const unsigned header_length = 8 + 4 * static_cast<unsigned>(index % 226);
      const std::size_t length = index % 3 == 0 ? most - header_length : index % 3 == 1 ? index % 100 : 3000 + index;
      std::memcpy(header.data(), &index, sizeof index);
      fill(header.data() + 8, header_length - 8, index + 1);
      fill(data.data(), length, index);
      CALL(LAPI_Amsend(handle, 0, reinterpret_cast<void*>(kHandler + 1), header.data(), header_length, data.data(),
                       length, &counters_of[0]->message, nullptr, &done));
      std::memset(header.data(), 0xff, header.size());
      std::memset(data.data(), 0xff, data.size());
    }
    CALL(LAPI_Waitcntr(handle, &done, each, nullptr));
  } else {
    usleep(300000);
    CALL(LAPI_Waitcntr(handle, &counters.message, each * (tasks - 1), nullptr));
    EXPECT_EQUAL(flooded.load(), each * (tasks - 1));
    EXPECT_EQUAL(flood_damage.load(), 0);
  }
}

// One task to itself: the same rules.
void to_myself() {
  const auto me = static_cast<unsigned>(task);
  lapi_cntr_t free{}, done{}, here{};
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{20000}, kLargest / 4}) {
    fill(outbox, length, length + 3);
    CALL(LAPI_Put(handle, me, length, inbox, outbox, &here, &free, &done));
    std::memset(fetched, 0, length);
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT(counter_value(here) == 1 && counter_value(free) == 1);
    EXPECT(holds(inbox, length, length + 3));
    CALL(LAPI_Get(handle, me, length, inbox, fetched, &here, &free));
    CALL(LAPI_Waitcntr(handle, &free, 2, nullptr));
    CALL(LAPI_Waitcntr(handle, &here, 2, nullptr));
    EXPECT(holds(fetched, length, length + 3));
  }
  // Overlapping buffers move as with memmove.
  fill(inbox, 100, 1);
  CALL(LAPI_Put(handle, me, 90, inbox + 10, inbox, nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  EXPECT(holds(inbox + 10, 90, 1));
}

// Many puts of one task to one place stay in the order of LAPI_Fence.
void fences_order() {
  for (int round = 1; round <= 200; ++round) {
    const int value = round;
    CALL(
        LAPI_Put(handle, right(), sizeof value, inboxes[right()], const_cast<int*>(&value), nullptr, nullptr, nullptr));
    if (round % 10 == 0) {
      CALL(LAPI_Fence(handle));
      int there = 0;
      lapi_cntr_t got{};
      CALL(LAPI_Get(handle, right(), sizeof there, inboxes[right()], &there, nullptr, &got));
      CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
      EXPECT(there > round - 10 && there <= round);
    } else if (round % 10 == 9) {
      CALL(LAPI_Fence(handle));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  const auto make = [] { return new unsigned char[kLargest + kGuard]; };
  inbox = make();
  outbox = make();
  fetched = make();
  inboxes = exchange(inbox);
  counters_of = exchange(&counters);
  run("LAPI_Put moves every size", 60, put_sizes);
  run("LAPI_Get moves every size", 60, get_sizes);
  run("LAPI_Amsend moves every size", 60, message_sizes);
  run("zero bytes move the counters", 20, nothing_to_move);
  run("the completion counter follows the target counter", 30, completion_follows_target);
  run("buffers of 24 bytes are free at once", 30, flood_short);
  run("buffers of a packet are free at once", 30, flood_packets);
  run("buffers of BUF_CP_SIZE bytes are free at once", 30, flood_longest_copied);
  run("headers and data of messages are free at once", 30, flood_messages);
  run("messages to oneself follow the same rules", 20, to_myself);
  run("LAPI_Fence orders puts to one place", 20, fences_order);
  return finish();
}
