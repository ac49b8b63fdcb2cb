#include "api/fortran/arguments.h"

#include <link.h>

#include <algorithm>
#include <cstring>

#include "api/context/context.h"

std::intptr_t lapi_fortran_null = 0;

namespace openlapi::fortran {

namespace {

constexpr std::uintptr_t kFirstPage = 4096;  // never mapped: what is below is no pointer

int holds_as_code(dl_phdr_info* object, std::size_t, void* wanted) {
  const auto address = *static_cast<std::uintptr_t*>(wanted);
  const auto contains = [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
           address - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  };
  return std::any_of(object->dlpi_phdr, object->dlpi_phdr + object->dlpi_phnum, contains) ? 1 : 0;
}

// A procedure lies in a loaded object's executable segment, a variable never does.
bool is_procedure(const void* argument) {
  auto address = reinterpret_cast<std::uintptr_t>(argument);
  return dl_iterate_phdr(holds_as_code, &address) != 0;
}

}  // namespace

void* handler_address(void* argument) {
  if (variable(argument) == nullptr || is_procedure(argument)) return variable(argument);
  return held_address(static_cast<const Address*>(argument));
}

void* handler(void* argument) {
  if (variable(argument) == nullptr) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(argument) < kFirstPage || is_procedure(argument)) return argument;
  // An index may be of any kind; little-endian, so its low half comes first. No function's address ends like an index:
  // that would be the first bytes of an object, where its headers lie.
  std::uint32_t low;
  std::memcpy(&low, argument, sizeof low);
  if (low < kAddressTableSize) return reinterpret_cast<void*>(static_cast<std::uintptr_t>(low));
  return held_address(static_cast<const Address*>(argument));
}

}  // namespace openlapi::fortran
