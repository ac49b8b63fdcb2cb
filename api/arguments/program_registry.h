// The registered data gather/scatter programs of the process (chapter 18, LAPI_Util). They belong to no context: every
// context uses them, and LAPI_Term does not remove them.
//
// A program has a user count (register and reserve, unreserve) that decides how long its handle is valid. The program
// itself is shared with whatever still runs it, so it may be unreserved during transfers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "api/include/lapi.h"
#include "dataplane/layout/gather_scatter_program.h"

namespace openlapi {

inline constexpr int kMaxAtomSize = 64;  // any packet has room for such an atom

// The return code that says what is wrong with a program.
int return_code(ProgramFault fault);

// The same, and says where (refusal.h). `fault`: the program's own, or what it cannot be used for.
int refuse_fault(const GatherScatterProgram& program, ProgramFault fault);

// Where the data lies if it is contiguous: then the program need not run.
struct ContiguousProgram {
  std::uint64_t offset = 0;  // added modulo 2^64
  std::uint32_t atom_size = 0;
};

// Thread-safe. Functions that return int return a return code.
class ProgramRegistry {
 public:
  // `verify`: refuse every mistake that can be found, not only those that matter for keeping a copy; and guard its
  // copies.
  int add(const lapi_dgsp_descr_t* description, bool verify, lapi_dg_handle_t& handle);
  int reserve(lapi_dg_handle_t handle);
  int unreserve(lapi_dg_handle_t handle);

  // Whether a program was ever registered to be verified.
  bool any_verified() const { return any_verified_.load(std::memory_order_relaxed); }

  // Null: not registered.
  std::shared_ptr<const GatherScatterProgram> find(lapi_dg_handle_t handle);

  // True: it is registered, has no fault and no CONTROL, and `bytes` bytes of its data are contiguous. A description
  // that says LAPI_DGSM_UNIT is believed. Takes no lock, as it is called for every transfer.
  bool find_contiguous(lapi_dg_handle_t handle, std::uint64_t bytes, ContiguousProgram& program) const;

 private:
  struct Entry {
    lapi_dgsp_descr_t descriptor;  // what the handle points to
    std::vector<int> code;
    std::shared_ptr<const GatherScatterProgram> program;
    unsigned long users = 0;
    // For find_contiguous(). Relaxed: whoever uses a handle got it from the thread that registered it, and nobody may
    // use one while its last user gives it up.
    std::atomic<std::uint64_t> contiguous_bytes{0};  // 0: none
    std::atomic<std::uint64_t> contiguous_offset{0};
  };

  // All entries by handle: open addressing, at most half full. Entries are never removed, so the table can be searched
  // without the lock while another thread adds one. A table that is too small is replaced by a larger one, but kept for
  // those who still search it.
  struct Table {
    explicit Table(std::size_t slots) : mask(slots - 1), places(new std::atomic<Entry*>[slots]()) {}
    void put(Entry* entry);
    Entry* find(lapi_dg_handle_t handle) const;

    std::size_t mask;
    std::unique_ptr<std::atomic<Entry*>[]> places;
  };
  static constexpr std::size_t kFirstTable = 128;
  // Handles that are no longer valid can be told from those that never were: the memory behind them is kept, and is
  // reused only after this many others.
  static constexpr std::size_t kHandlesToRest = 64;

  Entry* entry(lapi_dg_handle_t handle) const;
  Entry& rested_entry();

  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::vector<std::unique_ptr<const Table>> former_tables_;
  std::unique_ptr<Table> owned_table_ = std::make_unique<Table>(kFirstTable);
  std::atomic<const Table*> table_{owned_table_.get()};
  std::deque<Entry*> unused_;  // oldest first
  std::atomic<bool> any_verified_{false};
};

// The process's registry. Never destroyed: threads may still use it while the process exits.
ProgramRegistry& programs();

}  // namespace openlapi
