// Communicators and groups, as modules see them.
#pragma once

#include <span>
#include <vector>

#include "api/rpi/include/lam-ssi-rpi.h"

namespace openlapi::rpi {

// An intracommunicator. lam_ssi_rpi_commfault knows all that there are. It is made and destroyed in one thread at a
// time; its processes are counted.
class Communicator {
 public:
  // `processes` by rank; lam_myproc is among them, or g_myrank is MPI_UNDEFINED.
  Communicator(int context, std::span<_proc* const> processes);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  MPI_Comm handle() { return &comm_; }
  int rank() const { return group_.g_myrank; }
  int size() const { return group_.g_nprocs; }

 private:
  std::vector<_proc*> processes_;
  _group group_{};
  _comm comm_{};
};

}  // namespace openlapi::rpi
