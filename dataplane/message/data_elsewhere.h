// Where in its source's memory the data of a message lies, so that it can be read from there.
#pragma once

#include <cstdint>

#include "dataplane/message/bulk_pull.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

struct DataElsewhere {
  std::uint64_t address = 0;
  std::uint32_t layout_length = 0;  // bytes of the description that lies there instead of the data; 0: none does
  bool bulk = false;                // adapters read it, with these keys
  MemoryKeys keys{};

  // From the first record of a message that says so.
  static DataElsewhere of(const wire::Record& record) {
    return {.address = record.extension.source_address,
            .layout_length = record.has_layout() ? record.extension.layout_length : 0,
            .bulk = record.is_bulk(),
            .keys = record.is_bulk() ? MemoryKeys::of(record) : MemoryKeys{}};
  }
};

}  // namespace openlapi
