// What the dynamic linker has of a loaded object: its symbols, and where they are used.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace openlapi::rpi {

struct ObjectLinkage {
  const ElfW(Sym) * symbols = nullptr;  // null: it has none
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // GNU's: of the symbols that it has for others
  std::span<const ElfW(Rela)> uses{}, calls{};
  std::span<const ElfW(Rel)> short_uses{}, short_calls{};  // as some processors have them instead

  const char* name_of(std::size_t symbol) const { return names + symbols[symbol].st_name; }
};

ObjectLinkage linkage_of(const dl_phdr_info& object);

inline std::size_t symbol_of(const auto& use) {
  constexpr unsigned kBitsBelowSymbol = sizeof(ElfW(Addr)) == 8 ? 32 : 8;
  return static_cast<std::size_t>(use.r_info >> kBitsBelowSymbol);
}

}  // namespace openlapi::rpi
