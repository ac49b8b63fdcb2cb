// LAPI_Xfer: each type does what its direct call does, and tells the origin through handlers: send completion handlers,
// completion handlers of gets. To the right neighbour, and each task to itself. Usage:
//   lapirun -n N api_xfer [interrupt|polling]
#include <sys/syscall.h>

#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kLargest = 4u << 20;
constexpr lapi_long_t kIndex = 7;

struct Window {
  unsigned char inbox[kLargest];
  lapi_cntr_t arrived;
  int narrow;
  long long wide;
};
Window* window = nullptr;
std::vector<lapi_long_t> windows;  // addresses in the targets
unsigned char* outbox = nullptr;

// Address of a field of a target's window.
template <class Field>
lapi_long_t field(unsigned target, Field Window::*place) {
  const auto* base = reinterpret_cast<const char*>(window);
  return windows[target] + static_cast<lapi_long_t>(reinterpret_cast<const char*>(&(window->*place)) - base);
}

lapi_cntr_t origin{}, completion{};

struct Told {
  std::atomic<int> times{0};
  std::atomic<bool> right{true};
  std::atomic<int> origin_counter{-1};
  std::atomic<long> thread{0};
  unsigned target = 0;
  std::size_t overwrite = 0;  // bytes of outbox that the handler overwrites: they are free
};
Told told;

void expect_told_of(unsigned target, std::size_t overwrite = 0) {
  told.times = 0;
  told.right = true;
  told.origin_counter = -1;
  told.target = target;
  told.overwrite = overwrite;
}

void sent(lapi_handle_t* which, void* info, lapi_sh_info_t* what) {
  auto* to = static_cast<Told*>(info);
  if (*which != handle || what->src != to->target || what->reason != LAPI_SUCCESS) to->right = false;
  int value = -1;
  if (LAPI_Getcntr(*which, &origin, &value) != LAPI_SUCCESS) to->right = false;
  to->origin_counter = value;
  to->thread = syscall(SYS_gettid);
  std::memset(outbox, 0xee, to->overwrite);
  ++to->times;
}

void fetched(lapi_handle_t* which, void* info) {
  auto* to = static_cast<Told*>(info);
  int value = -1;
  if (*which != handle || LAPI_Getcntr(*which, &origin, &value) != LAPI_SUCCESS) to->right = false;
  to->origin_counter = value;
  to->thread = syscall(SYS_gettid);
  ++to->times;
}

lapi_xfer_t put_to(unsigned target, std::size_t length) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Put.Xfer_type = LAPI_PUT_XFER;
  command.Put.tgt = target;
  command.Put.tgt_addr = windows[target];
  command.Put.org_addr = outbox;
  command.Put.len = length;
  command.Put.shdlr = sent;
  command.Put.sinfo = &told;
  command.Put.tgt_cntr = field(target, &Window::arrived);
  command.Put.org_cntr = &origin;
  command.Put.cmpl_cntr = &completion;
  return command;
}

lapi_xfer_t message_to(unsigned target, void* header, unsigned header_length, std::size_t length) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Am.Xfer_type = LAPI_AM_XFER;
  command.Am.tgt = target;
  command.Am.hdr_hdl = kIndex;
  command.Am.uhdr = header;
  command.Am.uhdr_len = header_length;
  command.Am.udata = outbox;
  command.Am.udata_len = length;
  command.Am.shdlr = sent;
  command.Am.sinfo = &told;
  command.Am.tgt_cntr = field(target, &Window::arrived);
  command.Am.org_cntr = &origin;
  command.Am.cmpl_cntr = &completion;
  return command;
}

// With the counters at 0 again. First the handler, which has to find the origin counter as it was left.
void wait_for_all() {
  while (told.times == 0) CALL(LAPI_Probe(handle));
  CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &completion, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &window->arrived, 1, nullptr));
  EXPECT(told.right);
  EXPECT_EQUAL(told.origin_counter.load(), 1);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(told.times.load(), 1);
}

std::vector<std::size_t> sizes() {
  const auto packet = static_cast<std::size_t>(query(MAX_PKT_SZ));
  const auto copied = static_cast<std::size_t>(query(BUF_CP_SIZE));
  return {0, 1, 8, 1000, packet - 17, packet + 1, copied - 8, copied, copied + 1, 300'000, kLargest};
}

std::vector<unsigned> both_targets() { return {right(), static_cast<unsigned>(task)}; }

int source_of(unsigned target) { return target == static_cast<unsigned>(task) ? task : left(); }

void puts_of_every_size() {
  for (const unsigned target : both_targets()) {
    for (const std::size_t length : sizes()) {
      fill(outbox, length, length + static_cast<unsigned>(task));
      expect_told_of(target, length);
      CALL(LAPI_Gfence(handle));
      lapi_xfer_t command = put_to(target, length);
      const lapi_xfer_t before = command;
      CALL(LAPI_Xfer(handle, &command));
      EXPECT(std::memcmp(&command, &before, sizeof command) == 0);
      std::memset(&command, 0xff, sizeof command);  // the call has read it
      wait_for_all();
      EXPECT(holds(window->inbox, length, length + static_cast<unsigned>(source_of(target))));
      CALL(LAPI_Gfence(handle));
    }
  }
}

void gets_of_every_size() {
  const long own_thread = syscall(SYS_gettid);
  for (const unsigned target : both_targets()) {
    for (const std::size_t length : sizes()) {
      fill(window->inbox, length, length + static_cast<unsigned>(task));
      std::memset(outbox, 0, length);
      expect_told_of(target);
      CALL(LAPI_Gfence(handle));
      lapi_xfer_t command;
      std::memset(&command, 0, sizeof command);
      command.Get.Xfer_type = LAPI_GET_XFER;
      command.Get.tgt = target;
      command.Get.tgt_addr = windows[target];
      command.Get.org_addr = outbox;
      command.Get.len = length;
      command.Get.tgt_cntr = field(target, &Window::arrived);
      command.Get.org_cntr = &origin;
      command.Get.chndlr = fetched;
      command.Get.cinfo = &told;
      CALL(LAPI_Xfer(handle, &command));
      // The handler is not waited for with the counter: it has to find the counter as it was left.
      while (told.times == 0) CALL(LAPI_Probe(handle));
      EXPECT(told.right);
      EXPECT_EQUAL(told.origin_counter.load(), 1);
      EXPECT(told.thread != own_thread);
      EXPECT(holds(outbox, length, length + target));
      CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
      CALL(LAPI_Waitcntr(handle, &window->arrived, 1, nullptr));
      CALL(LAPI_Gfence(handle));
    }
  }
}

struct Message {
  std::atomic<int> completions{0};
  std::atomic<bool> header_right{true};
} message;

void message_complete(lapi_handle_t*, void*) { ++message.completions; }

void* accept(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** handler, void**) {
  message.header_right = holds(header, *header_length, *length + 5);
  *handler = message_complete;
  return window->inbox;
}

void messages_of_every_size() {
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&accept), static_cast<int>(kIndex)));
  unsigned char header[904];
  unsigned turn = 0;
  for (const unsigned target : both_targets()) {
    for (const std::size_t length : sizes()) {
      const unsigned header_lengths[] = {0, 4, 904};
      const unsigned header_length = header_lengths[turn++ % 3];
      fill(header, header_length, length + 5);
      fill(outbox, length, length + static_cast<unsigned>(task));
      message.completions = 0;
      expect_told_of(target, length);
      CALL(LAPI_Gfence(handle));
      lapi_xfer_t command = message_to(target, header, header_length, length);
      CALL(LAPI_Xfer(handle, &command));
      wait_for_all();
      EXPECT_EQUAL(message.completions.load(), 1);
      EXPECT(message.header_right);
      EXPECT(holds(window->inbox, length, length + static_cast<unsigned>(source_of(target))));
      CALL(LAPI_Gfence(handle));
    }
  }
}

// What the structure holds instead of counters and handler would crash whoever looked at it.
void lightweight_messages() {
  CALL(LAPI_Gfence(handle));
  message.completions = 0;
  for (const unsigned target : both_targets()) {
    fill(outbox, 5000, 5000 + static_cast<unsigned>(task));
    CALL(LAPI_Gfence(handle));
    lapi_xfer_t command = message_to(target, nullptr, 0, 5000);
    command.Am.Xfer_type = LAPI_AM_LW_XFER;
    command.Am.tgt_cntr = 1;
    command.Am.org_cntr = reinterpret_cast<lapi_cntr_t*>(1);
    command.Am.cmpl_cntr = reinterpret_cast<lapi_cntr_t*>(1);
    command.Am.shdlr = reinterpret_cast<scompl_hndlr_t*>(1);
    CALL(LAPI_Xfer(handle, &command));
    CALL(LAPI_Gfence(handle));
    EXPECT(holds(window->inbox, 5000, 5000 + static_cast<unsigned>(source_of(target))));
    CALL(LAPI_Gfence(handle));
  }
  while (message.completions < 2) CALL(LAPI_Probe(handle));
}

template <class Word>
Word change(unsigned target, RMW_ops_t operation, lapi_long_t variable, Word first, Word second) {
  Word operands[2] = {first, second}, previous = 77;
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Rmw.Xfer_type = LAPI_RMW_XFER;
  command.Rmw.op = operation;
  command.Rmw.tgt = target;
  command.Rmw.size = sizeof(Word) * 8;
  command.Rmw.tgt_var = variable;
  command.Rmw.in_val = operands;
  command.Rmw.prev_tgt_val = &previous;
  command.Rmw.org_cntr = &origin;
  command.Rmw.shdlr = sent;
  command.Rmw.sinfo = &told;
  expect_told_of(target);
  CALL(LAPI_Xfer(handle, &command));
  EXPECT_EQUAL(told.times.load(), 1);  // the operands were read
  EXPECT(told.right);
  operands[0] = operands[1] = 0;
  CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
  EXPECT_EQUAL(told.times.load(), 1);
  return previous;
}

// Each target has one neighbour that works on its variable.
template <class Word>
void change_in_every_way(unsigned target, Word& own, lapi_long_t variable, Word large) {
  own = 5;
  CALL(LAPI_Gfence(handle));
  EXPECT(change<Word>(target, FETCH_AND_ADD, variable, large, 0) == 5);
  EXPECT(change<Word>(target, SWAP, variable, 0x11, 0) == static_cast<Word>(large + 5));
  EXPECT(change<Word>(target, FETCH_AND_OR, variable, 0x22, 0) == 0x11);
  EXPECT(change<Word>(target, COMPARE_AND_SWAP, variable, 0x11, 9) == FALSE);
  EXPECT(change<Word>(target, COMPARE_AND_SWAP, variable, 0x33, large) == TRUE);
  CALL(LAPI_Gfence(handle));
  EXPECT(own == large);
  CALL(LAPI_Gfence(handle));
}

void read_modify_writes() {
  for (const unsigned target : both_targets()) {
    change_in_every_way<int>(target, window->narrow, field(target, &Window::narrow), 0x12345678);
    change_in_every_way<long long>(target, window->wide, field(target, &Window::wide), 0x123456789abcdef0);
  }
}

// A send completion handler may begin transfers, and may not wait.
struct Nested {
  std::atomic<int> begun{0};
  std::atomic<int> told{0};
  std::atomic<int> wrong{0};
  std::atomic<int> depth{0};
} nested;
constexpr int kChain = 500;

void send_again(lapi_handle_t* which, void*, lapi_sh_info_t*) {
  if (++nested.depth != 1) ++nested.wrong;
  lapi_msg_info_t state;
  if (LAPI_Waitcntr(*which, &origin, 0, nullptr) != EDEADLK) ++nested.wrong;
  if (LAPI_Fence(*which) != EDEADLK) ++nested.wrong;
  if (LAPI_Gfence(*which) != EDEADLK) ++nested.wrong;
  if (LAPI_Probe(*which) != EDEADLK) ++nested.wrong;
  if (LAPI_Msgpoll(*which, 1, &state) != EDEADLK) ++nested.wrong;
  if (LAPI_Term(*which) != EDEADLK) ++nested.wrong;
  ++nested.told;
  if (nested.begun < kChain) {
    ++nested.begun;
    lapi_xfer_t command = put_to(right(), 100);
    command.Put.shdlr = send_again;
    if (LAPI_Xfer(*which, &command) != LAPI_SUCCESS) ++nested.wrong;
  }
  --nested.depth;
}

void handlers_that_send() {
  nested.begun = 1;
  nested.told = 0;
  CALL(LAPI_Gfence(handle));
  lapi_xfer_t command = put_to(right(), 100);
  command.Put.shdlr = send_again;
  CALL(LAPI_Xfer(handle, &command));
  CALL(LAPI_Waitcntr(handle, &completion, kChain, nullptr));
  CALL(LAPI_Waitcntr(handle, &origin, kChain, nullptr));
  CALL(LAPI_Waitcntr(handle, &window->arrived, kChain, nullptr));
  EXPECT_EQUAL(nested.told.load(), kChain);
  EXPECT_EQUAL(nested.wrong.load(), 0);
}

// In interrupt mode the handler runs while the program makes no calls; in polling mode only inside calls.
void without_calls() {
  expect_told_of(right());
  fill(outbox, kLargest, 3);
  CALL(LAPI_Gfence(handle));
  lapi_xfer_t command = put_to(right(), kLargest);
  CALL(LAPI_Xfer(handle, &command));
  const int told_by_the_call = told.times;
  if (polling) {
    usleep(100'000);
    EXPECT_EQUAL(told.times.load(), told_by_the_call);
  } else {
    AWAIT(told.times == 1, 30);
  }
  wait_for_all();
  EXPECT(holds(window->inbox, kLargest, 3));
}

// Thousands of transfers of all lengths: each handler runs once. Hints change nothing.
std::atomic<int> flood_told{0};
std::atomic<bool> flood_right{true};
constexpr int kFlood = 3000;
bool flood_seen[kFlood];

void flood_sent(lapi_handle_t*, void* info, lapi_sh_info_t* what) {
  const auto index = reinterpret_cast<std::size_t>(info);
  if (flood_seen[index] || what->src != right() || what->reason != LAPI_SUCCESS) flood_right = false;
  flood_seen[index] = true;
  ++flood_told;
}

void flood() {
  CALL(LAPI_Gfence(handle));
  const int hints[] = {0, LAPI_USE_BULK_XFER, LAPI_NOT_USE_BULK_XFER, LAPI_USE_BULK_XFER | LAPI_NOT_USE_BULK_XFER};
  for (std::size_t index = 0; index < kFlood; ++index) {
    const std::size_t length = index % 50 == 0 ? 40'000 + index : index * 7 % 3000;
    lapi_xfer_t command = put_to(right(), length);
    command.Put.flags = hints[index % 4];
    command.Put.shdlr = flood_sent;
    command.Put.sinfo = reinterpret_cast<void*>(index);
    command.Put.org_cntr = nullptr;
    CALL(LAPI_Xfer(handle, &command));
  }
  CALL(LAPI_Waitcntr(handle, &completion, kFlood, nullptr));
  CALL(LAPI_Waitcntr(handle, &window->arrived, kFlood, nullptr));
  while (flood_told < kFlood) CALL(LAPI_Probe(handle));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(flood_told.load(), kFlood);
  EXPECT(flood_right);
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  window = new Window();
  outbox = new unsigned char[kLargest];
  windows.resize(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, reinterpret_cast<ulong>(window), windows.data()));
  run("LAPI_PUT_XFER moves every size", 60, puts_of_every_size);
  run("LAPI_GET_XFER moves every size", 60, gets_of_every_size);
  run("LAPI_AM_XFER moves every size", 60, messages_of_every_size);
  run("LAPI_AM_LW_XFER looks at no counter and handler", 20, lightweight_messages);
  run("LAPI_RMW_XFER of 32 and 64 bits", 30, read_modify_writes);
  run("send completion handlers begin transfers", 30, handlers_that_send);
  run("send completion handlers run as the mode says", 60, without_calls);
  run("each of many send completion handlers runs once", 60, flood);
  return finish();
}
