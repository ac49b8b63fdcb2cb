// A process that has only itself, for tests of the host.
#pragma once

#include <cstdlib>
#include <vector>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "api/rpi/host/self_module.h"

namespace openlapi::rpi {

// The module `self`, selected and initialised, with `contexts` communicators of this process alone.
class OwnProcess {
 public:
  explicit OwnProcess(int thread_level = MPI_THREAD_SINGLE, int contexts = 2) {
    setenv("LAM_MPI_SSI_base_module_path", "/nonexistent", 1);
    _gps gps{};
    lam_myproc = lam_procadd(&gps);
    modules_.open(nullptr);
    modules_.select(thread_level);
    limits_ = modules_.init(std::span(lam_procs, 1), limits_);
    host_ = std::make_unique<Host>(modules_, limits_, thread_level);
    for (int n = 0; n < contexts; ++n) {
      communicators_.push_back(std::make_unique<Communicator>(10 + n, std::span(lam_procs, 1)));
    }
  }
  ~OwnProcess() {
    communicators_.clear();
    host_.reset();
    modules_.close();
    lam_nukeprocs();
    unsetenv("LAM_MPI_SSI_base_module_path");
  }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  Host& host() { return *host_; }
  const lam_ssi_rpi_actions_1_1_0_t& actions() const { return *modules_.actions(); }
  MPI_Comm comm(int number = 0) { return communicators_[static_cast<std::size_t>(number)]->handle(); }

 private:
  const lam_ssi_1_0_0_t* built_in_[1] = {self_module()};
  RpiModules modules_{built_in_};
  MessageLimits limits_{.tag = 32767, .context = 1000};
  std::unique_ptr<Host> host_{};
  std::vector<std::unique_ptr<Communicator>> communicators_{};
};

}  // namespace openlapi::rpi
