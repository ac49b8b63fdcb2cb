// Long contiguous transfers around BULK_MIN_MSG_SIZE, with and without the hints of LAPI_Xfer, many at once, and from
// and to memory that is unmapped and mapped again between them. To the right neighbour. Usage:
//   lapirun -n N api_bulk [interrupt|polling]
// Ends with PRINT_STATISTICS and, by task 0, the line "# bulk N": as many transfers each task sends and each receives
// in bulk where its way to the neighbour has an adapter that can.
#include <sys/mman.h>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kLargest = 3u << 20;
constexpr int kHandler = 3;
constexpr int kHints[] = {0, LAPI_USE_BULK_XFER, LAPI_NOT_USE_BULK_XFER, LAPI_USE_BULK_XFER | LAPI_NOT_USE_BULK_XFER};

unsigned char* inbox = nullptr;
lapi_cntr_t arrived{}, origin{}, completion{};
std::vector<unsigned char*> inboxes;
std::vector<lapi_cntr_t*> counters;
int expected = 0;  // transfers of each task that are bulk
std::size_t least = 0;

unsigned char* map() {
  void* const memory = mmap(nullptr, kLargest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(memory != MAP_FAILED);
  return static_cast<unsigned char*>(memory);
}

// The same place with other pages behind it, which read as zeros.
void map_anew(unsigned char* memory) {
  void* const again = mmap(memory, kLargest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  EXPECT(again == memory);
}

// Whether bulk transfer is for a message like this one; shorter ones than BUF_CP_SIZE are copied.
bool is_bulk(std::size_t length, int hints) {
  if (length < least) return false;
  if ((hints & LAPI_NOT_USE_BULK_XFER) != 0) return false;
  return hints != 0 || query(BULK_XFER) == 1;
}

void* into_inbox(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** handler, void**) {
  *handler = nullptr;
  return inbox;
}

lapi_long_t place(const void* pointer) { return static_cast<lapi_long_t>(reinterpret_cast<std::uintptr_t>(pointer)); }

void begin_put(const unsigned char* data, std::size_t length, int hints, std::size_t offset = 0) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Put.Xfer_type = LAPI_PUT_XFER;
  command.Put.flags = hints;
  command.Put.tgt = right();
  command.Put.tgt_addr = place(inboxes[right()] + offset);
  command.Put.org_addr = const_cast<unsigned char*>(data);
  command.Put.len = length;
  command.Put.tgt_cntr = place(counters[right()]);
  command.Put.org_cntr = &origin;
  command.Put.cmpl_cntr = &completion;
  CALL(LAPI_Xfer(handle, &command));
  expected += is_bulk(length, hints);
}

void begin_get(unsigned char* data, std::size_t length, int hints, std::size_t offset = 0) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Get.Xfer_type = LAPI_GET_XFER;
  command.Get.flags = hints;
  command.Get.tgt = right();
  command.Get.tgt_addr = place(inboxes[right()] + offset);
  command.Get.org_addr = data;
  command.Get.len = length;
  command.Get.tgt_cntr = place(counters[right()]);
  command.Get.org_cntr = &origin;
  CALL(LAPI_Xfer(handle, &command));
  expected += is_bulk(length, hints);
}

void begin_message(const unsigned char* data, std::size_t length, int hints) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Am.Xfer_type = LAPI_AM_XFER;
  command.Am.flags = hints;
  command.Am.tgt = right();
  command.Am.hdr_hdl = kHandler;
  command.Am.udata = const_cast<unsigned char*>(data);
  command.Am.udata_len = length;
  command.Am.tgt_cntr = place(counters[right()]);
  command.Am.org_cntr = &origin;
  command.Am.cmpl_cntr = &completion;
  CALL(LAPI_Xfer(handle, &command));
  expected += is_bulk(length, hints);
}

// A put, a message and a get, each with new bytes that the neighbour checks or has written.
void exchange_bytes(unsigned char* memory, std::size_t length, int hints, unsigned long seed) {
  for (const bool put : {true, false}) {
    fill(memory, length, seed + put);
    put ? begin_put(memory, length, hints) : begin_message(memory, length, hints);
    CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
    std::memset(memory, 0xee, length);
    CALL(LAPI_Waitcntr(handle, &completion, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
    EXPECT(holds(inbox, length, seed + put));
    CALL(LAPI_Gfence(handle));
  }
  begin_get(memory, length, hints);
  CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
  EXPECT(holds(memory, length, seed));
  CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
  CALL(LAPI_Gfence(handle));
}

void around_the_least_length() {
  unsigned char* const memory = map();
  unsigned long seed = 100;
  for (const std::size_t length : {least - 1, least, least + 1, 2 * least + 4097, kLargest}) {
    exchange_bytes(memory, length, 0, seed += 10);
  }
  munmap(memory, kLargest);
}

void hints_decide() {
  unsigned char* const memory = map();
  for (const int hints : kHints) {
    exchange_bytes(memory, least - 1, hints, 200);
    exchange_bytes(memory, least + 5000, hints, 210);
  }
  munmap(memory, kLargest);
}

// Puts into one half and gets from the other, while small operations go on.
void many_at_once() {
  constexpr int kEach = 6;
  const std::size_t half = kLargest / 2, piece = half / kEach;
  unsigned char* const memory = map();
  fill(memory, half, 300);
  fill(inbox + half, half, 301);
  CALL(LAPI_Gfence(handle));
  for (int n = 0; n < kEach; ++n) {
    const std::size_t offset = static_cast<std::size_t>(n) * piece;
    begin_put(memory + offset, piece, LAPI_USE_BULK_XFER, offset);
    begin_get(memory + half + offset, piece, LAPI_USE_BULK_XFER, half + offset);
    CALL(LAPI_Put(handle, right(), 0, inboxes[right()], memory, counters[right()], &origin, &completion));
  }
  CALL(LAPI_Waitcntr(handle, &origin, 3 * kEach, nullptr));
  CALL(LAPI_Waitcntr(handle, &completion, 2 * kEach, nullptr));
  CALL(LAPI_Waitcntr(handle, &arrived, 3 * kEach, nullptr));
  EXPECT(holds(inbox, kEach * piece, 300));
  EXPECT(holds(memory + half, kEach * piece, 301));
  CALL(LAPI_Gfence(handle));
  munmap(memory, kLargest);
}

// What an adapter still knew of the former pages would be zeros, or lost.
void memory_that_is_mapped_again() {
  unsigned char* const memory = map();
  for (unsigned long lap = 0; lap < 4; ++lap) {
    exchange_bytes(memory, 2 * least, LAPI_USE_BULK_XFER, 400 + lap);
    map_anew(memory);
    map_anew(inbox);
    CALL(LAPI_Gfence(handle));
  }
  munmap(memory, kLargest);
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  inbox = map();
  least =
      std::max(static_cast<std::size_t>(query(BULK_MIN_MSG_SIZE)), static_cast<std::size_t>(query(BUF_CP_SIZE)) + 1);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&into_inbox), kHandler));
  inboxes = exchange(inbox);
  counters = exchange(&arrived);
  run("transfers around the least length of bulk transfer", 60, around_the_least_length);
  run("the hints of a transfer decide", 60, hints_decide);
  run("many at once", 60, many_at_once);
  run("memory that is mapped again", 60, memory_that_is_mapped_again);
  int unused = 0;
  CALL(LAPI_Qenv(handle, PRINT_STATISTICS, &unused));
  if (task == 0) std::printf("# bulk %d\n", expected);
  return finish();
}
