// LAPI_Init, LAPI_Term, LAPI_Msg_string.
#include <cstdio>
#include <cstring>

#include "api/arguments/messages.h"
#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/context/context.h"
#include "api/context/open.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"

using namespace openlapi;

namespace {

int refuse_init(int code, const char* why) {
  std::fprintf(stderr, "openlapi: LAPI_Init: %s\n", why);
  return code;
}

}  // namespace

int PLAPI_Init(lapi_handle_t* hndl, lapi_info_t* lapi_info) {
  if (hndl == nullptr)
    return refuse_init(LAPI_ERR_HNDL_INVALID, "hndl is NULL; allowed: the address of a lapi_handle_t");
  if (lapi_info == nullptr)
    return refuse_init(LAPI_ERR_INFO_NULL, "lapi_info is NULL; allowed: the address of a lapi_info_t");
  if (lapi_info->info6 != 0)
    return refuse_init(LAPI_ERR_INFO_NONZERO, "info6 of lapi_info_t is not 0; set the structure to zero first");
  if (holds_some_lock()) return refuse_under_lock();
  return run_whole_call([&] {
    OpenError error;
    if (open_context(*lapi_info, *hndl, error)) return LAPI_SUCCESS;
    return refuse_init(error.code, error.text.c_str());
  });
}

int PLAPI_Term(lapi_handle_t hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (holds_some_lock()) return refuse_under_lock();
  return run_whole_call([&] {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    context->terminate();
    return LAPI_SUCCESS;
  });
}

int PLAPI_Msg_string(int error_code, void* buf) {
  if (buf == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "buf");
  const char* text = message_text(error_code);
  if (text == nullptr) {
    std::snprintf(static_cast<char*>(buf), kMaxMessageLength + 1, "%d is no code of LAPI", error_code);
    return LAPI_ERR_CODE_UNKNOWN;
  }
  std::memcpy(buf, text, std::strlen(text) + 1);
  return LAPI_SUCCESS;
}

OPENLAPI_PROFILED(LAPI_Init);
OPENLAPI_PROFILED(LAPI_Term);
OPENLAPI_PROFILED(LAPI_Msg_string);
