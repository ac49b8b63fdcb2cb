// What the programs of jobs with tasks of 32 and 64 bits have in common: addresses of every task as numbers of 64 bits,
// and the faults that each task hears of. The same sources are built for both (mixed_words.py starts them together).
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>

#include "tests/system/api_case.h"

namespace mixed_case {

using namespace api_case;

inline lapi_cntr_t target_counter, origin_counter, completion_counter;
inline std::vector<lapi_long_t> words_of_tasks;  // bytes of a pointer
inline std::atomic<int> faults{0}, odd_faults{0};

inline lapi_long_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// As (lapi_long_t)pointer does in C: with the sign of a 32-bit address. A 32-bit task understands it.
inline lapi_long_t widened(const void* pointer) {
  return static_cast<lapi_long_t>(static_cast<long long>(reinterpret_cast<long>(pointer)));
}

inline std::vector<lapi_long_t> exchange64(lapi_long_t own) {
  std::vector<lapi_long_t> table(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, own, table.data()));
  return table;
}

inline unsigned char* map_room(std::size_t bytes) {
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(room != MAP_FAILED);
  return static_cast<unsigned char*>(room);
}

inline void wait_for(lapi_cntr_t& counter, int value = 1) { CALL(LAPI_Waitcntr(handle, &counter, value, nullptr)); }

inline bool is_narrow() { return sizeof(void*) == 4; }
inline bool right_is_narrow() { return words_of_tasks[right()] == 4; }

// The error handler.
inline void heard(lapi_handle_t*, int* code, lapi_err_t* type, int*, int* source) {
  const bool neighbour = *source == left() || *source == static_cast<int>(right());
  ++(*code == EFAULT && *type == LAPI_PROGRAM_ERROR && neighbour ? faults : odd_faults);
}

// So many operations of this task were refused, or were for memory that it does not have.
inline void expect_faults(int wanted) {
  AWAIT(faults.load() >= wanted, 20);
  EXPECT_EQUAL(faults.load(), wanted);
  EXPECT_EQUAL(odd_faults.load(), 0);
  faults = 0;
  CALL(LAPI_Gfence(handle));
}

// LAPI_Xfer of one member of the union.
template <class Part>
Part part_of(lapi_xfer_type_t type, unsigned target) {
  Part part;
  std::memset(static_cast<void*>(&part), 0, sizeof part);
  part.Xfer_type = type;
  part.tgt = target;
  part.org_cntr = &origin_counter;
  return part;
}

template <class Part>
int transfer(Part lapi_xfer_t::*member, const Part& part) {
  lapi_xfer_t command;
  std::memset(static_cast<void*>(&command), 0, sizeof command);
  command.*member = part;
  return LAPI_Xfer(handle, &command);
}

}  // namespace mixed_case
