// Requests as the MPI layer makes them for modules.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/rpi/include/lam-ssi-rpi.h"

namespace openlapi::rpi {

// Where data lie in the program's buffer: blocks of bytes, one each `stride` bytes.
struct Layout {
  int block = 0, stride = 0, blocks = 1;

  int size() const { return block * blocks; }
  bool is_contiguous() const { return blocks <= 1 || block == stride; }
};
constexpr Layout contiguous(int bytes) { return {bytes, bytes, 1}; }

// What an MPI function asks for.
struct Operation {
  int type = LAM_RQIRECV;  // LAM_RQI
  void* buffer = nullptr;
  Layout layout{};
  int peer = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
  MPI_Comm comm = nullptr;
  int marks = 0;  // LAM_RQFPERSIST, LAM_RQFBLKTYPE
};

// Throws SsiError: its type, size, peer or tag is none.
void check(const Operation& operation, int largest_tag);

struct DrivenModule;

// What MPI_Request points to in this host.
struct HostRequest : _req {
  // Throws SsiError: its type, size, peer or tag is none.
  HostRequest(const Operation& operation, int largest_tag);
  // One for a module that may have what `whole` asks of all of them.
  explicit HostRequest(HostRequest& whole);
  HostRequest(const HostRequest&) = delete;
  HostRequest& operator=(const HostRequest&) = delete;
  ~HostRequest();

  bool is_send() const { return (rq_marks & LAM_RQFSOURCE) != 0; }
  bool is_persistent() const { return (rq_marks & LAM_RQFPERSIST) != 0; }
  bool is_active() const { return rq_state == LAM_RQSSTART || rq_state == LAM_RQSACTIVE; }
  // Asks more than one module.
  bool is_divided() const { return module == nullptr && rq_rank == MPI_ANY_SOURCE; }
  // From the program's buffer before a send starts, and into it after a receive; nothing for contiguous ones.
  void pack();
  void unpack();
  // The whole request has what the part of one module had.
  void take_over(const HostRequest& part);

  Layout layout{};
  DrivenModule* module = nullptr;  // nullptr: MPI_PROC_NULL, or it is divided
  HostRequest* before = nullptr;   // in the module's list
  bool is_started = false;         // and not yet complete
  std::vector<std::unique_ptr<HostRequest>> parts{};
};

inline HostRequest& host_part(MPI_Request request) { return *static_cast<HostRequest*>(request); }

// A module with the requests that it works on, in the order of their start.
struct DrivenModule {
  std::string name{};
  lam_ssi_rpi_actions_1_1_0_t actions{};
  HostRequest* top = nullptr;
  HostRequest* bottom = nullptr;

  void add(HostRequest& request);
  void remove(HostRequest& request);
};

}  // namespace openlapi::rpi
