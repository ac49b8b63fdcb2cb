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

// Kinds of uses that are whole words with a symbol's address; only the first one may be filled in later, by the first
// call. 0 is none.
#if defined(__x86_64__)
inline constexpr unsigned kCallUse = R_X86_64_JUMP_SLOT, kTableUse = R_X86_64_GLOB_DAT,
                          kWordUse = sizeof(void*) == 8 ? R_X86_64_64 : R_X86_64_32;
#elif defined(__i386__)
inline constexpr unsigned kCallUse = R_386_JMP_SLOT, kTableUse = R_386_GLOB_DAT, kWordUse = R_386_32;
#elif defined(__aarch64__)
inline constexpr unsigned kCallUse = R_AARCH64_JUMP_SLOT, kTableUse = R_AARCH64_GLOB_DAT, kWordUse = R_AARCH64_ABS64;
#elif defined(__arm__)
inline constexpr unsigned kCallUse = R_ARM_JUMP_SLOT, kTableUse = R_ARM_GLOB_DAT, kWordUse = R_ARM_ABS32;
#elif defined(__powerpc64__) && _CALL_ELF == 2
inline constexpr unsigned kCallUse = R_PPC64_JMP_SLOT, kTableUse = R_PPC64_GLOB_DAT, kWordUse = R_PPC64_ADDR64;
#elif defined(__s390x__)
inline constexpr unsigned kCallUse = R_390_JMP_SLOT, kTableUse = R_390_GLOB_DAT, kWordUse = R_390_64;
#elif defined(__riscv) && __riscv_xlen == 64
inline constexpr unsigned kCallUse = R_RISCV_JUMP_SLOT, kTableUse = 0, kWordUse = R_RISCV_64;
#else
inline constexpr unsigned kCallUse = 0, kTableUse = 0, kWordUse = 0;
#endif

inline unsigned kind_of(const auto& use) {
  return static_cast<unsigned>(use.r_info & (sizeof(ElfW(Addr)) == 8 ? 0xffffffff : 0xff));
}
inline bool is_call(const auto& use) { return kind_of(use) == kCallUse; }
inline bool is_address(const auto& use) {
  const unsigned kind = kind_of(use);
  return kind != 0 && (kind == kCallUse || kind == kTableUse || kind == kWordUse);
}

}  // namespace openlapi::rpi
