// What the module `lapi` calls of the MPI layer that has loaded it.
#pragma once

#include <cstdint>

#include "api/rpi/include/rpisys.h"

namespace openlapi::rpi {

// Whether no call of the program's begins for now.
enum class Holding : std::uint8_t {
  held,
  later,  // the program is in a call, or another thread lets none begin
  never,  // the layer has no way to do that
};

class MpiLayer {
 public:
  virtual ~MpiLayer() = default;

  // A request of the module itself is active from now on.
  virtual void request_begun() = 0;
  // A request that was started is active no more.
  virtual void request_ended() = 0;
  // A request of the list that has not been started yet: the layer makes it ready and calls the module's start().
  // False: that failed.
  virtual bool start_request(MPI_Request request) = 0;
  // MPI_ERROR of a status, for an error class.
  virtual int error_of(int error_class) = 0;
  // rq_seq of the next message that is sent.
  virtual int next_number() = 0;
  // All processes have one byte order: data are sent as they are.
  virtual bool is_homogeneous() = 0;
  // Whether a debugger is there, which shows people what it finds in the services' queue. Costs a few system calls.
  virtual bool has_debugger() = 0;
  // Between waits inside a call that blocks, if need be for long: who wants to make a checkpoint waits for this.
  virtual void let_checkpoint_in() {}
  // By a thread that is in no call: none begins until release_calls(), if the answer is `held`. Does not wait.
  virtual Holding hold_calls() { return Holding::never; }
  virtual void release_calls() {}
  // For people: what a process has done, or what has become of it. Allocates nothing.
  virtual void tell(const _proc& process, const char* what) = 0;
};

}  // namespace openlapi::rpi
