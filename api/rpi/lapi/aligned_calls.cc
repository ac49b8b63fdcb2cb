#include "api/rpi/lapi/aligned_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "api/rpi/lapi/object_linkage.h"

namespace openlapi::rpi {

namespace {

using Memalign = void* (*)(std::size_t alignment, std::size_t bytes);
std::atomic<Memalign> memalign_of_process{nullptr};

int led_posix_memalign(void** place, std::size_t alignment, std::size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;  // which this function leaves alone
  void* const made = memalign_of_process.load()(alignment, bytes);
  errno = error;
  if (made == nullptr) return ENOMEM;
  *place = made;
  return 0;
}

void* led_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign_of_process.load()(alignment, bytes);
}

const void* object_of(const void* function) {
  Dl_info found{};
  return function != nullptr && dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}

// Null: there is nothing to lead, or nowhere to.
Memalign find_memalign() {
  const void* const freeing = object_of(dlsym(RTLD_DEFAULT, "free"));
  if (freeing == nullptr || freeing == object_of(dlsym(RTLD_DEFAULT, "posix_memalign"))) return nullptr;
  void* const found = dlsym(RTLD_DEFAULT, "memalign");
  return object_of(found) == freeing ? reinterpret_cast<Memalign>(found) : nullptr;
}

// A function of the process, and where calls of it are to lead.
struct Leading {
  const char* name;
  void* own;  // as the linker binds it for those who have nothing else
  void* target;
};

// The linker is asked for these before it walks through the objects: then it holds a lock, and may not be asked.
struct LedFunctions {
  std::array<Leading, 2> led;
  std::array<Leading, 4> memory;  // to which the target fits
};

void* found_as(const char* name) { return dlsym(RTLD_DEFAULT, name); }

LedFunctions functions_to_lead() {
  LedFunctions functions{{{{"posix_memalign", nullptr, reinterpret_cast<void*>(&led_posix_memalign)},
                           {"aligned_alloc", nullptr, reinterpret_cast<void*>(&led_aligned_alloc)}}},
                         {{{"free", nullptr, nullptr},
                           {"malloc", nullptr, nullptr},
                           {"calloc", nullptr, nullptr},
                           {"realloc", nullptr, nullptr}}}};
  for (Leading& each : functions.led) each.own = found_as(each.name);
  for (Leading& each : functions.memory) each.own = found_as(each.name);
  return functions;
}

const Leading* find(std::span<const Leading> functions, const char* name) {
  const auto found =
      std::ranges::find_if(functions, [&](const Leading& each) { return !std::strcmp(each.name, name); });
  return found != functions.end() ? &*found : nullptr;
}

// What the linker has made read-only after it had filled it in.
bool is_sealed(const dl_phdr_info& object, std::uintptr_t place, std::uintptr_t page) {
  for (int n = 0; n < object.dlpi_phnum; ++n) {
    if (object.dlpi_phdr[n].p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = object.dlpi_addr + object.dlpi_phdr[n].p_vaddr;
    const std::uintptr_t end = (begin + object.dlpi_phdr[n].p_memsz) / page * page;
    if (place >= begin / page * page && place < end) return true;
  }
  return false;
}

// Whether a loaded segment has the place, with these rights at least.
bool has(const dl_phdr_info& object, std::uintptr_t place, ElfW(Word) rights) {
  const std::span<const ElfW(Phdr)> headers(object.dlpi_phdr, object.dlpi_phnum);
  return std::ranges::any_of(headers, [&](const ElfW(Phdr) & header) {
    return header.p_type == PT_LOAD && (header.p_flags & rights) == rights &&
           place - (object.dlpi_addr + header.p_vaddr) < header.p_memsz;
  });
}

// A word that has a function's address, or will have it.
struct Slot {
  const char* name;
  void** place;
  bool may_wait;  // for the first call: until then it leads to the object's own stub
};

void* value_of(const Slot& slot) { return __atomic_load_n(slot.place, __ATOMIC_RELAXED); }

bool is_unbound(const dl_phdr_info& object, const Slot& slot) {
  return slot.may_wait && has(object, reinterpret_cast<std::uintptr_t>(value_of(slot)), PF_X);
}

template <class Visit>
void visit_slots(const dl_phdr_info& object, const Visit& visit) {
  const ObjectLinkage linkage = linkage_of(object);
  if (linkage.symbols == nullptr) return;
  const auto visit_all = [&](const auto& uses) {
    for (const auto& use : uses) {
      const std::uintptr_t place = object.dlpi_addr + use.r_offset;
      if (!is_address(use) || place % sizeof(void*) != 0 || !has(object, place, PF_W)) continue;
      const std::size_t symbol = symbol_of(use);
      const bool may_wait = is_call(use) && linkage.symbols[symbol].st_shndx == SHN_UNDEF;
      visit(Slot{linkage.name_of(symbol), reinterpret_cast<void**>(place), may_wait});
    }
  };
  visit_all(linkage.uses);
  visit_all(linkage.calls);
  visit_all(linkage.short_uses);
  visit_all(linkage.short_calls);
}

// Not so where somebody has loaded it with RTLD_DEEPBIND, for instance: what it frees goes elsewhere. One that has
// bound nothing of this yet is taken for one that shares it.
bool shares_memory(const dl_phdr_info& object, const LedFunctions& functions) {
  bool is_shared = true;
  visit_slots(object, [&](const Slot& slot) {
    const Leading* const function = find(functions.memory, slot.name);
    if (function != nullptr && value_of(slot) != function->own && !is_unbound(object, slot)) is_shared = false;
  });
  return is_shared;
}

void write_slot(const dl_phdr_info& object, const Slot& slot, void* target) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto place = reinterpret_cast<std::uintptr_t>(slot.place);
  void* const its_page = reinterpret_cast<void*>(place / page * page);
  const bool sealed = is_sealed(object, place, page);
  if (sealed && mprotect(its_page, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot.place, target, __ATOMIC_RELEASE);
  if (sealed) mprotect(its_page, page, PROT_READ);
}

int look_at_object(dl_phdr_info* object, std::size_t, void* argument) {
  const auto& functions = *static_cast<const LedFunctions*>(argument);
  if (!shares_memory(*object, functions)) return 0;
  visit_slots(*object, [&](const Slot& slot) {
    const Leading* const function = find(functions.led, slot.name);
    if (function == nullptr || (value_of(slot) != function->own && !is_unbound(*object, slot))) return;
    write_slot(*object, slot, function->target);
  });
  return 0;
}

}  // namespace

void lead_aligned_calls() {
  const Memalign memalign = find_memalign();
  if (memalign == nullptr) return;
  memalign_of_process = memalign;
  LedFunctions functions = functions_to_lead();
  dl_iterate_phdr(look_at_object, &functions);
}

}  // namespace openlapi::rpi
