// LAPI_Init says why it refuses what it cannot even begin with.
#include <gtest/gtest.h>

#include "api/include/lapi.h"

namespace {

std::string said(lapi_handle_t* handle, lapi_info_t* info, int code) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(LAPI_Init(handle, info), code);
  return testing::internal::GetCapturedStderr();
}

TEST(InitRefusals, NameTheArgument) {
  lapi_handle_t handle = 0;
  lapi_info_t info{};
  EXPECT_EQ(said(nullptr, &info, LAPI_ERR_HNDL_INVALID),
            "openlapi: LAPI_Init: hndl is NULL; allowed: the address of a lapi_handle_t\n");
  EXPECT_EQ(said(&handle, nullptr, LAPI_ERR_INFO_NULL),
            "openlapi: LAPI_Init: lapi_info is NULL; allowed: the address of a lapi_info_t\n");
  info.info6 = 1;
  EXPECT_EQ(said(&handle, &info, LAPI_ERR_INFO_NONZERO),
            "openlapi: LAPI_Init: info6 of lapi_info_t is not 0; set the structure to zero first\n");
}

}  // namespace
