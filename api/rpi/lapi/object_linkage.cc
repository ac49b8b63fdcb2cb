#include "api/rpi/lapi/object_linkage.h"

#include <array>

namespace openlapi::rpi {

namespace {

// glibc has made addresses of such values, but not in objects that it may not write to.
template <class Pointed>
const Pointed* pointer_to(const dl_phdr_info& object, ElfW(Addr) value) {
  return reinterpret_cast<const Pointed*>(value < object.dlpi_addr ? object.dlpi_addr + value : value);
}

template <class Entry>
std::span<const Entry> table_at(const dl_phdr_info& object, ElfW(Addr) value, std::size_t bytes) {
  return {pointer_to<Entry>(object, value), bytes / sizeof(Entry)};
}

}  // namespace

ObjectLinkage linkage_of(const dl_phdr_info& object) {
  std::array<ElfW(Addr), DT_JMPREL + 1> values{};
  ObjectLinkage found;
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

}  // namespace openlapi::rpi
