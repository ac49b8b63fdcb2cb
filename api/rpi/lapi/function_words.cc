#include "api/rpi/lapi/function_words.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace openlapi::rpi {

namespace {

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

void write_word(const dl_phdr_info& object, const FunctionWord& word, void* target) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto place = reinterpret_cast<std::uintptr_t>(word.place);
  void* const its_page = reinterpret_cast<void*>(place / page * page);
  const bool sealed = is_sealed(object, place, page);
  if (sealed && mprotect(its_page, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(word.place, target, __ATOMIC_RELEASE);
  if (sealed) mprotect(its_page, page, PROT_READ);
}

}  // namespace

const Leading* find_leading(std::span<const Leading> functions, const char* name) {
  const auto found =
      std::ranges::find_if(functions, [&](const Leading& each) { return !std::strcmp(each.name, name); });
  return found != functions.end() ? &*found : nullptr;
}

const void* object_of(const void* function) {
  Dl_info found{};
  return function != nullptr && dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}

bool has_place(const dl_phdr_info& object, std::uintptr_t place, ElfW(Word) rights) {
  const std::span<const ElfW(Phdr)> headers(object.dlpi_phdr, object.dlpi_phnum);
  return std::ranges::any_of(headers, [&](const ElfW(Phdr) & header) {
    return header.p_type == PT_LOAD && (header.p_flags & rights) == rights &&
           place - (object.dlpi_addr + header.p_vaddr) < header.p_memsz;
  });
}

void lead_calls(const dl_phdr_info& object, std::span<const Leading> functions) {
  visit_words(object, [&](const FunctionWord& word) {
    const Leading* const function = find_leading(functions, word.name);
    if (function == nullptr || (word.value() != function->own && !word.is_unbound(object))) return;
    write_word(object, word, function->target);
  });
}

}  // namespace openlapi::rpi
