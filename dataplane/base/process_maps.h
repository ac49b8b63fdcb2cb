// The process's mappings, as the kernel lists them. Nothing here allocates: threads that do may be waiting for us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

struct Mapping {
  std::uint64_t begin, end;
  std::uint64_t offset;  // of the file
  bool readable, writable, executable, shared;
  dev_t device;
  ino_t inode;            // 0: no file
  std::string_view name;  // valid while it is visited

  bool contains(std::uint64_t address) const { return address >= begin && address < end; }
};

// What the kernel says in one line of /proc/PID/maps, without the end of the line. Nothing: not such a line.
std::optional<Mapping> parse_mapping(std::string_view line);

// The list, for whoever needs it also when the process has no descriptor left. It is of the process that has opened it,
// in a child of a fork, too. Any thread.
class MappingList {
 public:
  // Not open: errno says why.
  static MappingList open();
  bool is_open() const { return file_.is_open(); }
  void close() { file_.reset(); }

  // Calls `visit` for each, by ascending addresses, until it returns false. Mappings that come, go or change meanwhile
  // may be seen or not. False: the list could not be read.
  template <typename Visit>
  bool each(Visit&& visit) const {
    const auto call = [](void* context, const Mapping& mapping) {
      return (*static_cast<std::remove_reference_t<Visit>*>(context))(mapping);
    };
    return read(call, &visit);
  }

 private:
  bool read(bool (*visit)(void* context, const Mapping& mapping), void* context) const;

  FileDescriptor file_;
};

template <typename Visit>
bool each_mapping(Visit&& visit) {
  const MappingList list = MappingList::open();
  return list.is_open() && list.each(visit);
}

}  // namespace openlapi
