// Part of lapi.hpp: registered data gather/scatter programs, for transfers and for Context::pack and unpack.
#pragma once

#include "lapi_basics.hpp"

#include <span>
#include <utility>

namespace lapi {

// LAPI_REGISTER_DGSP when it is made, LAPI_RESERVE_DGSP when it is copied, LAPI_UNRESERVE_DGSP when it goes. It serves
// every context, and needs none.
class Program {
 public:
  // `description` says everything but the code, which is copied.
  Program(std::span<const int> code, lapi_dgsp_descr_t description) {
    description.code = const_cast<int*>(code.data());
    description.code_size = static_cast<int>(code.size());
    lapi_reg_dgsp_t command{};
    command.idgsp = &description;
    handle_ = detail::utility(kNoContext, &lapi_util_t::RegDgsp, LAPI_REGISTER_DGSP, command).dgsp_handle;
  }
  ~Program() {
    if (handle_ == nullptr) return;
    lapi_util_t command{};
    command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
    command.DrefDgsp.dgsp_handle = handle_;
    LAPI_Util(kNoContext, &command);
  }
  Program(const Program& other) : handle_(other.handle_) {
    lapi_resv_dgsp_t command{};
    command.dgsp_handle = handle_;
    detail::utility(kNoContext, &lapi_util_t::ResvDgsp, LAPI_RESERVE_DGSP, command);
  }
  Program(Program&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Program& operator=(Program other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  lapi_dg_handle_t handle() const noexcept { return handle_; }

 private:
  static constexpr lapi_handle_t kNoContext = 0;  // these three commands ignore it

  lapi_dg_handle_t handle_ = nullptr;
};

}  // namespace lapi
