// The argument checks that ERROR_CHK enables for the calls of the short path, each in the order of the call's man page.
// Not inline, so that they cost nothing when they are off. LAPI_SUCCESS: nothing wrong. Addresses in the target are
// numbers: the target may have 64-bit addresses where this task has 32-bit ones.
#pragma once

#include <cstdint>

#include "api/include/lapi.h"

namespace openlapi {

int check_put_or_get(std::uint32_t tasks, uint target, std::uint64_t length, std::uint64_t target_address,
                     const void* origin_address);

struct ActiveMessageArguments {
  uint target;
  std::uint64_t handler;
  const void* user_header;
  uint user_header_length;
  const void* data;
  std::uint64_t length;
};
int check_active_message(std::uint32_t tasks, std::uint32_t max_user_header, const ActiveMessageArguments& arguments);

// The checks common to all active messages.
int check_target_and_header(std::uint32_t tasks, std::uint32_t max_user_header, uint target, const void* user_header,
                            uint user_header_length);

int check_read_modify_write(std::uint32_t tasks, int operation, uint target, std::uint64_t variable, const void* input);

// In the form of LAPI_Xfer: `size` in bits.
int check_sized_read_modify_write(std::uint32_t tasks, const lapi_rmw_t& arguments);

}  // namespace openlapi
