// Whole messages for MPI_Send and MPI_Recv, which make no request then (rpi SSI specification, 4.12, 4.13): one request
// is kept for all of them. Whatever is not plain, and every mistake in the arguments, is left to the usual way.
#pragma once

#include <cstdint>

#include "api/rpi/lapi/request_engine.h"

namespace openlapi::rpi {

// What MPI_Send or MPI_Recv was given.
struct FastOperation {
  void* buffer = nullptr;
  int count = 0;
  MPI_Datatype type = nullptr;
  int peer = 0, tag = 0;
  MPI_Comm comm = nullptr;
};

// Both wait until it is done and return an MPI error, or LAMERROR with errno EBUSY: nothing has been begun, and a
// request can do it.
class FastMessages {
 public:
  FastMessages(RequestEngine& engine, MpiLayer& layer) : engine_(engine), layer_(layer) {}
  ~FastMessages() { drop(); }
  FastMessages(const FastMessages&) = delete;
  FastMessages& operator=(const FastMessages&) = delete;

  int send(const FastOperation& send);
  // `operation.tag` may be MPI_ANY_TAG. `tag`, `status` (unless it is MPI_STATUS_IGNORE) and `number`, the sender's
  // rq_seq, are filled.
  int receive(const FastOperation& receive, int& tag, MPI_Status* status, int& number);

 private:
  bool prepare(const FastOperation& operation, int type);
  int run();
  bool advance_to_end();
  void give_up();
  void drop();

  RequestEngine& engine_;
  MpiLayer& layer_;
  _req request_{};  // built once it is needed
};

}  // namespace openlapi::rpi
