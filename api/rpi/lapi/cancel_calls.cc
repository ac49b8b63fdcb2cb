#include "api/rpi/lapi/cancel_calls.h"

#include <link.h>
#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "api/rpi/lapi/object_linkage.h"

namespace openlapi::rpi {
namespace {

// MPI_Cancel, PMPI_Cancel, mpi_cancel_ and their like, and MPI::Request::Cancel.
bool names_cancel(const ObjectLinkage& linkage, std::size_t symbol) {
  const char* const name = linkage.name_of(symbol);
  const std::size_t before = *name == 'p' || *name == 'P' ? 1 : 0;
  return strncasecmp(name + before, "mpi_cancel", 10) == 0 || std::strstr(name, "MPI7Request6Cancel") != nullptr;
}

bool any_names_cancel(const ObjectLinkage& linkage, const auto& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return names_cancel(linkage, symbol_of(entry)); });
}

// Nothing says how long a table of symbols is, but this one leads to all that the object has for others.
bool has_cancel(const ObjectLinkage& linkage) {
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
  const ObjectLinkage linkage = linkage_of(object);
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
