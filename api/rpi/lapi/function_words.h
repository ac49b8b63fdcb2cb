// The words in which loaded objects keep the addresses of functions that they call, and leading such calls elsewhere.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "api/rpi/lapi/object_linkage.h"

namespace openlapi::rpi {

// A function of the process, and where calls of it are to lead.
struct Leading {
  const char* name;
  void* own;  // as the linker binds it for those who have nothing else
  void* target;
};

// nullptr: it is none of them.
const Leading* find_leading(std::span<const Leading> functions, const char* name);

// Of the address of a function; null: it is in none. Not inside dl_iterate_phdr(), which holds a lock of the linker's.
const void* object_of(const void* function);

// Whether a loaded segment has the place, with these rights at least.
bool has_place(const dl_phdr_info& object, std::uintptr_t place, ElfW(Word) rights);

// A word that has a function's address, or will have it.
struct FunctionWord {
  const char* name;
  void** place;
  bool may_wait;  // for the first call: until then it leads to the object's own stub

  void* value() const { return __atomic_load_n(place, __ATOMIC_RELAXED); }
  bool is_unbound(const dl_phdr_info& object) const {
    return may_wait && has_place(object, reinterpret_cast<std::uintptr_t>(value()), PF_X);
  }
};

template <class Visit>
void visit_words(const dl_phdr_info& object, const Visit& visit) {
  const ObjectLinkage linkage = linkage_of(object);
  if (linkage.symbols == nullptr) return;
  const auto visit_all = [&](const auto& uses) {
    for (const auto& use : uses) {
      const std::uintptr_t place = object.dlpi_addr + use.r_offset;
      if (!is_address(use) || place % sizeof(void*) != 0 || !has_place(object, place, PF_W)) continue;
      const std::size_t symbol = symbol_of(use);
      const bool may_wait = is_call(use) && linkage.symbols[symbol].st_shndx == SHN_UNDEF;
      visit(FunctionWord{linkage.name_of(symbol), reinterpret_cast<void**>(place), may_wait});
    }
  };
  visit_all(linkage.uses);
  visit_all(linkage.calls);
  visit_all(linkage.short_uses);
  visit_all(linkage.short_calls);
}

// Calls from the object that would have come to these functions.
void lead_calls(const dl_phdr_info& object, std::span<const Leading> functions);

}  // namespace openlapi::rpi
