// A kind of modules of the System Services Interface, boot or rpi: what users set for it, and what is said about its
// modules.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "control/boot/include/lam-ssi.h"

namespace openlapi::ssi {

// A module that is there; its shared object, if it has one, stays loaded as long as this does.
struct FoundModule {
  std::string name{};
  std::string place{};                    // path of the shared object, or "built in"
  const lam_ssi_1_0_0_t* meta = nullptr;  // first member of the kind's module structure, of interface 1.0.0 or 1.1.0
  std::shared_ptr<void> object{};

  bool is_built_in() const { return object == nullptr; }
  // True: the module has interface 1.1.0; else 1.0.0.
  bool is_1_1() const { return meta->ssi_kind_minor_version == 1; }
};

class ModuleKind {
 public:
  // The debug stream and the level of the kind's variables, lam_ssi_boot_did and lam_ssi_boot_verbose.
  ModuleKind(std::string name, const int& stream, const int& level)
      : name_(std::move(name)), stream_(stream), level_(level) {}

  const std::string& name() const { return name_; }
  // The only module that may be used: what LAM_MPI_SSI_boot says. Empty: any.
  std::string named_module() const;
  // LAM_MPI_SSI_boot_verbose: words with commas between, "stderr" and "level:N". Throws SsiError.
  int verbose_parameter(int otherwise) const;

  // A line about the module, for those who want to know.
  void trace(const FoundModule& module, const std::string& what) const;
  void print_error(const FoundModule& module, const std::string& what) const;
  // Throws SsiError: no module can be used, or of the one that is `named`: what is wrong.
  [[noreturn]] void refuse(const std::string& named, const std::string& what) const;

 private:
  const std::string name_;
  const int& stream_;
  const int& level_;
};

}  // namespace openlapi::ssi
