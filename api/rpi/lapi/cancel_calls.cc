#include "api/rpi/lapi/cancel_calls.h"

#include <elf.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace openlapi::rpi {
namespace {

// What the dynamic linker has of an object: its symbols, and where they are used.
struct Linkage {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // GNU's: of the symbols that it has for others
  std::span<const ElfW(Rela)> uses{}, calls{};
  std::span<const ElfW(Rel)> short_uses{}, short_calls{};  // as some processors have them instead
};

// glibc has made addresses of such values, but not in objects that it may not write to.
template <class Pointed>
const Pointed* pointer_to(const dl_phdr_info& object, ElfW(Addr) value) {
  return reinterpret_cast<const Pointed*>(value < object.dlpi_addr ? object.dlpi_addr + value : value);
}

template <class Entry>
std::span<const Entry> table_at(const dl_phdr_info& object, ElfW(Addr) value, std::size_t bytes) {
  return {pointer_to<Entry>(object, value), bytes / sizeof(Entry)};
}

Linkage linkage_of(const dl_phdr_info& object) {
  std::array<ElfW(Addr), DT_JMPREL + 1> values{};
  Linkage found;
  for (int n = 0; n < object.dlpi_phnum; ++n) {
    if (object.dlpi_phdr[n].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[n].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_GNU_HASH) found.hash = pointer_to<std::uint32_t>(object, entry->d_un.d_ptr);
      if (entry->d_tag > 0 && entry->d_tag <= DT_JMPREL)
        values[static_cast<std::size_t>(entry->d_tag)] = entry->d_un.d_ptr;
    }
  }
  if (values[DT_SYMTAB] == 0 || values[DT_STRTAB] == 0) return {};
  found.symbols = pointer_to<ElfW(Sym)>(object, values[DT_SYMTAB]);
  found.names = pointer_to<char>(object, values[DT_STRTAB]);
  found.uses = table_at<ElfW(Rela)>(object, values[DT_RELA], values[DT_RELASZ]);
  found.short_uses = table_at<ElfW(Rel)>(object, values[DT_REL], values[DT_RELSZ]);
  if (values[DT_PLTREL] == DT_RELA) found.calls = table_at<ElfW(Rela)>(object, values[DT_JMPREL], values[DT_PLTRELSZ]);
  if (values[DT_PLTREL] == DT_REL)
    found.short_calls = table_at<ElfW(Rel)>(object, values[DT_JMPREL], values[DT_PLTRELSZ]);
  return found;
}

// MPI_Cancel, PMPI_Cancel, mpi_cancel_ and their like, and MPI::Request::Cancel.
bool names_cancel(const Linkage& linkage, std::size_t symbol) {
  const char* const name = linkage.names + linkage.symbols[symbol].st_name;
  const std::size_t before = *name == 'p' || *name == 'P' ? 1 : 0;
  return strncasecmp(name + before, "mpi_cancel", 10) == 0 || std::strstr(name, "MPI7Request6Cancel") != nullptr;
}

bool any_names_cancel(const Linkage& linkage, const auto& entries) {
  constexpr unsigned kBitsBelowSymbol = sizeof(ElfW(Addr)) == 8 ? 32 : 8;
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return names_cancel(linkage, entry.r_info >> kBitsBelowSymbol); });
}

// Nothing says how long a table of symbols is, but this one leads to all that the object has for others.
bool has_cancel(const Linkage& linkage) {
  if (linkage.hash == nullptr) return false;
  const std::uint32_t buckets = linkage.hash[0], first = linkage.hash[1], words = linkage.hash[2];
  const std::uint32_t* const bucket = linkage.hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chain = bucket + buckets;
  for (std::uint32_t n = 0; n < buckets; ++n) {
    for (std::uint32_t symbol = bucket[n]; symbol >= first; ++symbol) {
      if (names_cancel(linkage, symbol)) return true;
      if ((chain[symbol - first] & 1) != 0) break;
    }
  }
  return false;
}

// A library that has such a function itself only hands its calls on, as MPI's own do; a program that has it got it from
// an archive, because somebody calls it.
bool calls_cancel(const dl_phdr_info& object) {
  const Linkage linkage = linkage_of(object);
  if (linkage.symbols == nullptr) return false;
  const bool is_program = object.dlpi_name == nullptr || *object.dlpi_name == '\0';
  if (has_cancel(linkage)) return is_program;
  return any_names_cancel(linkage, linkage.uses) || any_names_cancel(linkage, linkage.calls) ||
         any_names_cancel(linkage, linkage.short_uses) || any_names_cancel(linkage, linkage.short_calls);
}

struct Search {
  unsigned long long loads_before, loads;
  bool found;
};

}  // namespace

bool CancelCalls::may_come() {
  if (found_) return true;
  Search search{loads_, loads_, false};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* argument) {
        auto& so_far = *static_cast<Search*>(argument);
        so_far.loads = object->dlpi_adds;
        so_far.found = so_far.loads != so_far.loads_before && calls_cancel(*object);
        return so_far.loads == so_far.loads_before || so_far.found ? 1 : 0;
      },
      &search);
  loads_ = search.loads;
  return found_ = search.found;
}

}  // namespace openlapi::rpi
