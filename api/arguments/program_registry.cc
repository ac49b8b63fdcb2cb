#include "api/arguments/program_registry.h"

#include <cstddef>
#include <type_traits>
#include <utility>

#include "api/arguments/refusal.h"
#include "dataplane/base/memory_fault_guard.h"

namespace openlapi {

namespace {

// lapi.h and the decoder speak of the same integers.
constexpr std::size_t ints(std::size_t bytes) { return bytes / sizeof(int); }
static_assert(LAPI_DGSM_COPY_SIZE == code::kCopyInts && LAPI_DGSM_GOSUB_SIZE == code::kGosubInts);
static_assert(LAPI_DGSM_ITERATE_SIZE == code::kIterateInts && LAPI_DGSM_CONTROL_SIZE == code::kControlInts);
static_assert(LAPI_DGSM_MCOPY_BLOCK_SIZE == code::kBlockInts);
static_assert(LAPI_DGSM_MCOPY_SIZE == code::kMcopyHeadInts + code::kBlockInts);
static_assert(ints(offsetof(lapi_dgsm_copy_t, bytes)) == 1);
static_assert(ints(offsetof(lapi_dgsm_copy_t, offset)) == 1 + code::kIntsOfLong);
static_assert(ints(offsetof(lapi_dgsm_mcopy_t, count)) == 1);
static_assert(ints(offsetof(lapi_dgsm_mcopy_t, block)) == code::kMcopyHeadInts);
static_assert(ints(offsetof(lapi_dgsm_block_t, block_len)) == code::kIntsOfLong);
static_assert(ints(offsetof(lapi_dgsm_gosub_t, reps)) == 1 && ints(offsetof(lapi_dgsm_gosub_t, offset)) == 2);
static_assert(ints(offsetof(lapi_dgsm_gosub_t, stride)) == 2 + code::kIntsOfLong);
static_assert(ints(offsetof(lapi_dgsm_gosub_t, to_loc)) == 2 + 2 * code::kIntsOfLong);
static_assert(ints(offsetof(lapi_dgsm_gosub_t, ret_loc)) == 3 + 2 * code::kIntsOfLong);
static_assert(ints(offsetof(lapi_dgsm_iterate_t, iter_loc)) == 1);
static_assert(ints(offsetof(lapi_dgsm_control_t, operation)) == 1 && ints(offsetof(lapi_dgsm_control_t, operand)) == 2);
static_assert(LAPI_DGSM_COPY == static_cast<int>(Opcode::copy) && LAPI_DGSM_MCOPY == static_cast<int>(Opcode::mcopy));
static_assert(LAPI_DGSM_GOSUB == static_cast<int>(Opcode::gosub));
static_assert(LAPI_DGSM_ITERATE == static_cast<int>(Opcode::iterate));
static_assert(LAPI_DGSM_CONTROL == static_cast<int>(Opcode::control) && LAPI_DGSM_NO_CTL == kLeaveControl);
static_assert(LAPI_DGSM_SPARSE == static_cast<int>(LayoutDensity::sparse));
static_assert(LAPI_DGSM_CONTIG == static_cast<int>(LayoutDensity::contiguous));
static_assert(LAPI_DGSM_UNIT == static_cast<int>(LayoutDensity::unit));

// What must be right even without verification: a copy is made.
int check_description(const lapi_dgsp_descr_t* description) {
  if (description == nullptr) return refuse_null(LAPI_ERR_DGSP, "idgsp");
  if (description->atom_size < 0 || description->atom_size > kMaxAtomSize) {
    return refuse(LAPI_ERR_DGSP_ATOM, "atom_size is %d; allowed are 0 to %d", static_cast<int>(description->atom_size),
                  static_cast<int>(kMaxAtomSize));
  }
  if (description->code == nullptr || description->code_size <= 0) {
    return refuse(LAPI_ERR_DGSP_OTHER, "code is %p and code_size %d; allowed are an address and 1 or more",
                  static_cast<const void*>(description->code), static_cast<int>(description->code_size));
  }
  const auto density = static_cast<int>(description->density);
  if (density >= LAPI_DGSM_SPARSE && density <= LAPI_DGSM_UNIT) return LAPI_SUCCESS;
  return refuse(LAPI_ERR_DGSP_OTHER, "density is %d; allowed are %d (LAPI_DGSM_SPARSE) to %d (LAPI_DGSM_UNIT)", density,
                static_cast<int>(LAPI_DGSM_SPARSE), static_cast<int>(LAPI_DGSM_UNIT));
}

ProgramSource source_of(const lapi_dgsp_descr_t& description) {
  ProgramSource source;
  source.code = {description.code, static_cast<std::size_t>(description.code_size)};
  source.depth = description.depth;
  source.density = static_cast<LayoutDensity>(description.density);
  source.size = description.size;
  source.extent = description.extent;
  source.leftmost = description.lext;
  source.rightmost = description.rext;
  source.atom_size = static_cast<std::uint32_t>(description.atom_size);
  return source;
}

// How many bytes of the program's data, from its first on, lie in one piece.
std::uint64_t contiguous_bytes(const lapi_dgsp_descr_t& description, const GatherScatterProgram& program) {
  if (program.fault != ProgramFault::none || program.has_control) return 0;
  return description.density == LAPI_DGSM_UNIT && program.repeats ? UINT64_MAX : program.contiguous_bytes();
}

// The code may be right where its description is not.
int refuse_description(const lapi_dgsp_descr_t& description, ProgramFault disagreement) {
  return refuse(
      return_code(disagreement), "density is %d, size %ld, extent %ld, lext %ld, rext %ld; the code says otherwise",
      static_cast<int>(description.density), description.size, description.extent, description.lext, description.rext);
}

std::size_t hash_of(lapi_dg_handle_t handle) {
  return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(handle) * std::uint64_t{0x9e3779b97f4a7c15}) >> 32);
}

}  // namespace

int return_code(ProgramFault fault) {
  switch (fault) {
    case ProgramFault::none:
      return LAPI_SUCCESS;
    case ProgramFault::opcode:
      return LAPI_ERR_DGSP_OPC;
    case ProgramFault::branch:
      return LAPI_ERR_DGSP_BRANCH;
    case ProgramFault::stack:
      return LAPI_ERR_DGSP_STACK;
    case ProgramFault::copy_size:
      return LAPI_ERR_DGSP_COPY_SZ;
    case ProgramFault::repetitions:
      return LAPI_ERR_DGSP_REPS;
    case ProgramFault::control:
      return LAPI_ERR_DGSP_CTL;
    case ProgramFault::other:
      break;
  }
  return LAPI_ERR_DGSP_OTHER;
}

int refuse_fault(const GatherScatterProgram& program, ProgramFault fault) {
  const int code = return_code(fault);
  if (code == LAPI_SUCCESS) return code;
  const auto at = static_cast<long long>(program.fault_at);
  if (program.fault == ProgramFault::stack) {
    return refuse(code, "depth is too small, or a routine calls itself; looked at last was code[%lld]", at);
  }
  if (program.fault != ProgramFault::none) return refuse(code, "in the instruction at code[%lld]", at);
  if (fault == ProgramFault::control) return refuse(code, "the program has CONTROL instructions, which only scatter");
  return refuse(code, "more bytes are wanted than the %llu that the program has",
                static_cast<unsigned long long>(program.bytes));
}

int ProgramRegistry::add(const lapi_dgsp_descr_t* description, bool verify, lapi_dg_handle_t& handle) {
  if (const int error = check_description(description)) return error;
  lapi_dgsp_descr_t copy = *description;
  std::vector<int> code(copy.code, copy.code + copy.code_size);
  copy.code = code.data();
  ProgramSource source = source_of(copy);
  source.verified = verify;
  auto program = GatherScatterProgram::compile(source);
  if (verify) {
    catch_memory_faults();
    any_verified_.store(true, std::memory_order_relaxed);
    if (const int error = refuse_fault(*program, program->fault)) return error;
    if (program->disagreement != ProgramFault::none) return refuse_description(copy, program->disagreement);
  }
  const std::lock_guard lock(mutex_);
  Entry& entry = rested_entry();
  entry.descriptor = copy;
  entry.code = std::move(code);
  entry.program = std::move(program);
  entry.users = 1;
  const bool unit = copy.density == LAPI_DGSM_UNIT;
  entry.contiguous_offset.store(unit ? static_cast<std::uint64_t>(copy.lext) : entry.program->root.offset,
                                std::memory_order_relaxed);
  entry.contiguous_bytes.store(contiguous_bytes(copy, *entry.program), std::memory_order_relaxed);
  handle = &entry.descriptor;
  return LAPI_SUCCESS;
}

int ProgramRegistry::reserve(lapi_dg_handle_t handle) {
  const std::lock_guard lock(mutex_);
  Entry* const found = entry(handle);
  if (found == nullptr || found->users == 0) return refuse_program(handle);
  ++found->users;
  return LAPI_SUCCESS;
}

int ProgramRegistry::unreserve(lapi_dg_handle_t handle) {
  const std::lock_guard lock(mutex_);
  Entry* const found = entry(handle);
  if (found == nullptr) return refuse_program(handle);
  if (found->users == 0) {
    return refuse(LAPI_ERR_DGSP_FREE, "the program's handle is %p; nobody has it reserved",
                  static_cast<const void*>(handle));
  }
  if (found->users == 1) {
    unused_.push_back(found);
    found->contiguous_bytes.store(0, std::memory_order_relaxed);
    found->descriptor = {};
    found->code = {};
    found->program.reset();
  }
  --found->users;
  return LAPI_SUCCESS;
}

std::shared_ptr<const GatherScatterProgram> ProgramRegistry::find(lapi_dg_handle_t handle) {
  const std::lock_guard lock(mutex_);
  const Entry* const found = entry(handle);
  return found == nullptr ? nullptr : found->program;
}

bool ProgramRegistry::find_contiguous(lapi_dg_handle_t handle, std::uint64_t bytes, ContiguousProgram& program) const {
  const Entry* const found = entry(handle);
  if (found == nullptr) return false;
  const std::uint64_t contiguous = found->contiguous_bytes.load(std::memory_order_relaxed);
  if (contiguous == 0 || bytes > contiguous) return false;
  program.offset = found->contiguous_offset.load(std::memory_order_relaxed);
  program.atom_size = static_cast<std::uint32_t>(found->descriptor.atom_size);
  return true;
}

ProgramRegistry::Entry* ProgramRegistry::entry(lapi_dg_handle_t handle) const {
  // Acquire: the table's places; pairs with the release in rested_entry().
  return table_.load(std::memory_order_acquire)->find(handle);
}

void ProgramRegistry::Table::put(Entry* entry) {
  std::size_t at = hash_of(&entry->descriptor);
  while (places[at & mask].load(std::memory_order_relaxed) != nullptr) ++at;
  places[at & mask].store(entry, std::memory_order_release);
}

ProgramRegistry::Entry* ProgramRegistry::Table::find(lapi_dg_handle_t handle) const {
  for (std::size_t at = hash_of(handle);; ++at) {
    // Acquire: the entry behind it; pairs with the release in put().
    Entry* const entry = places[at & mask].load(std::memory_order_acquire);
    if (entry == nullptr || &entry->descriptor == handle) return entry;
  }
}

ProgramRegistry::Entry& ProgramRegistry::rested_entry() {
  if (unused_.size() > kHandlesToRest) {
    Entry& oldest = *unused_.front();
    unused_.pop_front();
    return oldest;
  }
  if (2 * (entries_.size() + 1) > owned_table_->mask) {
    auto larger = std::make_unique<Table>(2 * (owned_table_->mask + 1));
    for (Entry& old : entries_) larger->put(&old);
    table_.store(larger.get(), std::memory_order_release);
    former_tables_.push_back(std::exchange(owned_table_, std::move(larger)));
  }
  Entry& entry = entries_.emplace_back();
  owned_table_->put(&entry);
  return entry;
}

ProgramRegistry& programs() {
  static auto* const registry = new ProgramRegistry;
  return *registry;
}

}  // namespace openlapi
