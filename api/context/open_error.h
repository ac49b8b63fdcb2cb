// Translates the results of wiring/ for LAPI: into return codes of LAPI_Init, and into attention messages.
#pragma once

#include <string>
#include <string_view>

#include "api/include/lapi.h"
#include "api/wiring/failure.h"
#include "api/wiring/info_level.h"

namespace openlapi {

// Why LAPI_Init fails: the return code, and the text for the user.
struct OpenError {
  int code = LAPI_SUCCESS;
  std::string text;
};

inline bool fail(OpenError& error, int code, std::string text) {
  error = {code, std::move(text)};
  return false;
}

// The guide names a code only for MP_MSG_API and MP_UDP_PACKET_SIZE. Without a code of its own a failure is
// LAPI_ERR_SET_VAL, which LAPI_Senv returns for a value out of range.
int code_of(FailureKind kind);

bool fail(OpenError& error, const OpenFailure& failure);

// A TellNotice.
void print_notice(Notice notice, int info_level, const std::string& text);

// For a transport of user space mode. LAPI_DEV_NONE: LAPI has no name for it.
lapi_dev_t device_of(std::string_view transport);

}  // namespace openlapi
