// The module `lapi` in a process of a job, driven by the host.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "tests/unit/rpi/job/lam_job.h"

namespace openlapi::rpi {

// RPI_LAPI_MODULE in the environment: the folder of the built module.
class ModuleProcess {
 public:
  explicit ModuleProcess(int thread_level = MPI_THREAD_SINGLE, int contexts = 2) {
    setenv("LAM_MPI_SSI_base_module_path", std::getenv("RPI_LAPI_MODULE"), 1);
    setenv("LAM_MPI_SSI_rpi", "lapi", 1);
    modules_.open(nullptr);
    modules_.select(thread_level);
    limits_ = modules_.init(job_processes(), limits_);
    host_ = std::make_unique<Host>(modules_, limits_, thread_level);
    for (int n = 0; n < contexts; ++n) communicators_.push_back(std::make_unique<Communicator>(n, job_processes()));
  }
  ~ModuleProcess() {
    communicators_.clear();
    host_.reset();
    modules_.close();
  }
  ModuleProcess(const ModuleProcess&) = delete;
  ModuleProcess& operator=(const ModuleProcess&) = delete;

  Host& host() { return *host_; }
  const lam_ssi_rpi_actions_1_1_0_t& actions() const { return *modules_.actions(); }
  MPI_Comm comm(int context = 0) { return communicators_[static_cast<std::size_t>(context)]->handle(); }

  Operation send(int to, int tag, const void* data, int size, int context = 0) {
    return {LAM_RQISEND, const_cast<void*>(data), contiguous(size), to, tag, comm(context)};
  }
  Operation receive(int from, int tag, void* data, int size, int context = 0) {
    return {LAM_RQIRECV, data, contiguous(size), from, tag, comm(context)};
  }

 private:
  RpiModules modules_{};
  MessageLimits limits_{.tag = 32767, .context = 1000};
  std::unique_ptr<Host> host_{};
  std::vector<std::unique_ptr<Communicator>> communicators_{};
};

}  // namespace openlapi::rpi
