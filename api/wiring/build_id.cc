#include "api/wiring/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace openlapi {
namespace {

constexpr std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// The linker's note among those of one segment.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  ElfW(Nhdr) note{};
  while (size >= sizeof note) {
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = sizeof note, description = name + aligned(note.n_namesz);
    if (description + note.n_descsz > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      return hexadecimal(notes + description, note.n_descsz);
    }
    const std::size_t next = std::min(size, description + aligned(note.n_descsz));  // the last one may not be filled up
    notes += next;
    size -= next;
  }
  return {};
}

bool holds(const dl_phdr_info& object, std::uintptr_t address) {
  for (const ElfW(Phdr)* segment = object.dlpi_phdr; segment != object.dlpi_phdr + object.dlpi_phnum; ++segment) {
    if (segment->p_type == PT_LOAD && address - (object.dlpi_addr + segment->p_vaddr) < segment->p_memsz) return true;
  }
  return false;
}

int find_build_id(dl_phdr_info* object, std::size_t, void* found) {
  if (!holds(*object, reinterpret_cast<std::uintptr_t>(&find_build_id))) return 0;
  auto& id = *static_cast<std::string*>(found);
  for (const ElfW(Phdr)* segment = object->dlpi_phdr; segment != object->dlpi_phdr + object->dlpi_phnum; ++segment) {
    if (segment->p_type != PT_NOTE || !id.empty()) continue;
    id = build_id_in(reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment->p_vaddr), segment->p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(find_build_id, &id);
  return id;
}

}  // namespace openlapi
