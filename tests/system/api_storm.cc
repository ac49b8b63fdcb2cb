// Mixed random traffic between all tasks, every byte and every count checked. Usage:
//   lapirun -n N api_storm [interrupt|polling] [operations [seed [longest message]]]
#include <atomic>
#include <memory>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kSlots = 6;  // puts in flight
constexpr std::size_t kMostBytes = 200'000;
constexpr int kGreetingHandler = 9;

std::size_t longest = 60'000;
unsigned operations = 800;
unsigned long long state = 1;

unsigned draw(unsigned below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<unsigned>((state >> 20) % below);
}

std::size_t draw_length() {
  const unsigned kind = draw(10);
  if (kind < 5) return draw(65);
  if (kind < 8) return draw(static_cast<unsigned>(longest / 30) + 1);
  return draw(static_cast<unsigned>(longest) + 1);
}

// What others change here.
struct Window {
  std::atomic<long long> total{0};  // fetch-and-add of everybody
  std::atomic<int> increments{0};   // compare-and-swap of everybody
  std::atomic<int> greetings{0};    // completion handlers that ran
  std::atomic<int> handlers{0};     // header handlers that ran
  std::atomic<int> damaged{0};
  lapi_cntr_t arrived{};  // target counter of messages
} window;

// What this task did to each other task; they read it at the end.
struct Deeds {
  long long added = 0;
  int incremented = 0;
  int greeted = 0;
};
std::vector<Deeds> deeds;
std::vector<Deeds*> deeds_of;
std::vector<Window*> windows;
std::vector<unsigned char> mailbox;  // kSlots areas for each source
std::vector<unsigned char*> mailboxes;

struct Greeting {
  unsigned long seed;
  unsigned long length;
  int source;
  int padding;
};

struct Arrived {
  Greeting greeting;
  unsigned char* data;
};

void greeted(lapi_handle_t*, void* info) {
  const std::unique_ptr<Arrived> arrived(static_cast<Arrived*>(info));
  if (!holds(arrived->data, arrived->greeting.length, arrived->greeting.seed)) ++window.damaged;
  delete[] arrived->data;
  ++window.greetings;
}

void* greet(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion, void** info) {
  auto* about = reinterpret_cast<lapi_return_info_t*>(length);
  auto* arrived = new Arrived;
  std::memcpy(&arrived->greeting, header, sizeof(Greeting));
  if (*header_length != sizeof(Greeting) || arrived->greeting.length != about->msg_len ||
      arrived->greeting.source != about->src) {
    ++window.damaged;
  }
  ++window.handlers;
  arrived->data = new unsigned char[about->msg_len + 1];
  // Some handlers run at once, the others in the completion thread.
  if (arrived->greeting.seed % 2 == 0) about->ret_flags = LAPI_LOCAL_STATE;
  *completion = greeted;
  *info = arrived;
  return arrived->data;
}

struct Slot {
  bool busy = false;
  unsigned target = 0;
  unsigned long seed = 0;
  std::size_t length = 0;
  lapi_cntr_t done{};
  std::vector<unsigned char> sent = std::vector<unsigned char>(kMostBytes);
  std::vector<unsigned char> back = std::vector<unsigned char>(kMostBytes);
};
Slot slots[kSlots];
lapi_cntr_t greetings_done{};
int greetings_begun = 0;

unsigned char* area(unsigned target, int slot) {
  return mailboxes[target] + (static_cast<std::size_t>(task) * kSlots + static_cast<std::size_t>(slot)) * longest;
}

// Waits for the slot's put, reads it back and compares.
void settle(int index) {
  Slot& slot = slots[index];
  if (!slot.busy) return;
  CALL(LAPI_Waitcntr(handle, &slot.done, 1, nullptr));
  std::memset(slot.back.data(), 0x5a, slot.length);
  CALL(LAPI_Get(handle, slot.target, slot.length, area(slot.target, index), slot.back.data(), nullptr, &slot.done));
  CALL(LAPI_Waitcntr(handle, &slot.done, 1, nullptr));
  EXPECT(holds(slot.back.data(), slot.length, slot.seed));
  slot.busy = false;
}

void put_somewhere(unsigned target) {
  const int index = static_cast<int>(draw(kSlots));
  settle(index);
  Slot& slot = slots[index];
  slot = Slot{true, target, draw(1u << 30), draw_length(), {}, std::move(slot.sent), std::move(slot.back)};
  fill(slot.sent.data(), slot.length, slot.seed);
  CALL(LAPI_Put(handle, target, slot.length, area(target, index), slot.sent.data(), nullptr, nullptr, &slot.done));
  // Short messages are the library's as soon as the call has returned.
  if (slot.length <= static_cast<std::size_t>(query(BUF_CP_SIZE))) std::memset(slot.sent.data(), 0xee, slot.length);
}

void add(unsigned target) {
  long long value = draw(1000);
  deeds[target].added += value;
  long long previous = -1;
  lapi_cntr_t done{};
  CALL(LAPI_Rmw64(handle, FETCH_AND_ADD, target, reinterpret_cast<long long*>(&windows[target]->total), &value,
                  &previous, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  EXPECT(previous >= 0);
}

void increment(unsigned target) {
  int* variable = reinterpret_cast<int*>(&windows[target]->increments);
  int known = 0;
  for (int tries = 0;; ++tries) {
    EXPECT(tries < 100000);
    lapi_cntr_t done{};
    int operands[2] = {known, known + 1};
    int swapped = -1;
    CALL(LAPI_Rmw(handle, COMPARE_AND_SWAP, target, variable, operands, &swapped, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    EXPECT(swapped == TRUE || swapped == FALSE);
    if (swapped == TRUE) break;
    CALL(LAPI_Get(handle, target, sizeof known, variable, &known, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  }
  ++deeds[target].incremented;
}

void send_greeting(unsigned target) {
  static std::vector<unsigned char> data(kMostBytes);
  Greeting greeting{draw(1u << 30), draw_length(), task, 0};
  fill(data.data(), greeting.length, greeting.seed);
  lapi_cntr_t free{};
  CALL(LAPI_Amsend(handle, target, reinterpret_cast<void*>(kGreetingHandler), &greeting, sizeof greeting, data.data(),
                   greeting.length, &windows[target]->arrived, &free, &greetings_done));
  ++greetings_begun;
  ++deeds[target].greeted;
  CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
}

void check_deeds() {
  Deeds sum;
  for (unsigned source = 0; source < static_cast<unsigned>(tasks); ++source) {
    Deeds other;
    lapi_cntr_t done{};
    CALL(LAPI_Get(handle, source, sizeof other, deeds_of[source] + task, &other, nullptr, &done));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    sum.added += other.added;
    sum.incremented += other.incremented;
    sum.greeted += other.greeted;
  }
  CALL(LAPI_Waitcntr(handle, &window.arrived, sum.greeted, nullptr));
  EXPECT_EQUAL(counter_value(window.arrived), 0);
  EXPECT_EQUAL(window.total.load(), sum.added);
  EXPECT_EQUAL(window.increments.load(), sum.incremented);
  EXPECT_EQUAL(window.handlers.load(), sum.greeted);
  EXPECT_EQUAL(window.greetings.load(), sum.greeted);
  EXPECT_EQUAL(window.damaged.load(), 0);
}

void storm() {
  for (unsigned operation = 0; operation < operations; ++operation) {
    const unsigned target = draw(static_cast<unsigned>(tasks));
    switch (draw(8)) {
      case 0:
      case 1:
      case 2:
        put_somewhere(target);
        break;
      case 3:
        add(target);
        break;
      case 4:
        increment(target);
        break;
      case 5:
        if (draw(20) == 0) CALL(LAPI_Fence(handle));
        break;
      default:
        send_greeting(target);
    }
  }
  for (int slot = 0; slot < kSlots; ++slot) settle(slot);
  CALL(LAPI_Waitcntr(handle, &greetings_done, greetings_begun, nullptr));
  EXPECT_EQUAL(counter_value(greetings_done), 0);
  CALL(LAPI_Gfence(handle));
  check_deeds();
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  if (words.size() > 0) operations = static_cast<unsigned>(std::stoul(words[0]));
  const unsigned long long seed = words.size() > 1 ? std::stoull(words[1]) : 1;
  if (words.size() > 2) longest = std::stoul(words[2]);
  EXPECT(longest <= kMostBytes);
  state = seed * 0x9e3779b97f4a7c15ull + static_cast<unsigned long long>(task) * 0xbf58476d1ce4e5b9ull + 1;
  const auto all = static_cast<std::size_t>(tasks);
  deeds.resize(all);
  mailbox.resize(all * kSlots * longest);
  windows = exchange(&window);
  deeds_of = exchange(deeds.data());
  mailboxes = exchange(mailbox.data());
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&greet), kGreetingHandler));
  CALL(LAPI_Gfence(handle));
  run("storm", 100, storm);
  return finish();
}
