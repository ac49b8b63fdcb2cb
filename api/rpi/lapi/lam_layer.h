// LAM's MPI layer, as the module's engine calls it.
#pragma once

#include "api/rpi/lapi/mpi_layer.h"

namespace openlapi::rpi {

class LamLayer final : public MpiLayer {
 public:
  // Calls a function that may call the module, inside a call of the module.
  using CallMeanwhile = void (*)(void (*function)());

  explicit LamLayer(CallMeanwhile call_meanwhile) : call_meanwhile_(call_meanwhile) {}

  void request_begun() override;
  void request_ended() override;
  bool start_request(MPI_Request request) override;
  int error_of(int error_class) override;
  int next_number() override;
  bool is_homogeneous() override;
  bool has_debugger() override;
  void let_checkpoint_in() override;
  Holding hold_calls() override;
  void release_calls() override;
  void tell(const _proc& process, const char* what) override;

 private:
  const CallMeanwhile call_meanwhile_;
};

}  // namespace openlapi::rpi
