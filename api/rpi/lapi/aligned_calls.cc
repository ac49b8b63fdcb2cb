#include "api/rpi/lapi/aligned_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "api/rpi/lapi/object_linkage.h"

namespace openlapi::rpi {

namespace {

using Memalign = void* (*)(std::size_t alignment, std::size_t bytes);
using Open = void* (*)(const char* file, int mode);
std::atomic<Memalign> memalign_of_process{nullptr};
std::atomic<Open> open_of_process{nullptr};  // this module's own calls are led as well

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

void* led_dlopen(const char* file, int mode) {
  void* const library = open_of_process.load()(file, mode);
  if (library != nullptr) lead_aligned_calls();
  return library;
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

struct Search {
  const void* own;         // the object of this module
  bool is_behind = false;  // it has come: those behind it were loaded with it, or later
};

// Where its calls of a function lead; null: they are left alone.
void* new_target(const char* name, bool leads_loads) {
  if (std::strcmp(name, "posix_memalign") == 0) return reinterpret_cast<void*>(&led_posix_memalign);
  if (std::strcmp(name, "aligned_alloc") == 0) return reinterpret_cast<void*>(&led_aligned_alloc);
  return leads_loads && std::strcmp(name, "dlopen") == 0 ? reinterpret_cast<void*>(&led_dlopen) : nullptr;
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

void write_slot(const dl_phdr_info& object, std::uintptr_t place, void* target) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const slot = reinterpret_cast<void**>(place);
  void* const its_page = reinterpret_cast<void*>(place / page * page);
  if (place % sizeof(void*) != 0 || __atomic_load_n(slot, __ATOMIC_RELAXED) == target) return;
  const bool sealed = is_sealed(object, place, page);
  if (sealed && mprotect(its_page, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, target, __ATOMIC_RELEASE);
  if (sealed) mprotect(its_page, page, PROT_READ);
}

void lead_calls_of(const dl_phdr_info& object, bool leads_loads) {
  const ObjectLinkage linkage = linkage_of(object);
  if (linkage.symbols == nullptr) return;
  const auto lead_all = [&](const auto& uses) {
    for (const auto& use : uses) {
      void* const target = new_target(linkage.name_of(symbol_of(use)), leads_loads);
      if (target != nullptr) write_slot(object, object.dlpi_addr + use.r_offset, target);
    }
  };
  lead_all(linkage.uses);
  lead_all(linkage.calls);
  lead_all(linkage.short_uses);
  lead_all(linkage.short_calls);
}

int look_at_object(dl_phdr_info* object, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const void* const base = object_of(object->dlpi_phdr);
  const bool is_own = base == search.own;
  search.is_behind = search.is_behind || is_own;
  if (base != nullptr) lead_calls_of(*object, search.is_behind);
  return 0;
}

}  // namespace

void lead_aligned_calls() {
  const Memalign memalign = find_memalign();
  if (memalign == nullptr) return;
  memalign_of_process = memalign;
  open_of_process = reinterpret_cast<Open>(dlsym(RTLD_DEFAULT, "dlopen"));
  Search search{.own = object_of(reinterpret_cast<const void*>(&lead_aligned_calls))};
  dl_iterate_phdr(look_at_object, &search);
}

}  // namespace openlapi::rpi
