// What lapi_info finds out about this machine, apart from how it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/info/lam_mpi.h"
#include "api/wiring/environment.h"

namespace openlapi::info {

struct Adapter {
  std::string name;
  std::string address;
  std::uint32_t mtu = 0;  // bytes of an IP packet
  bool up = false;
};

// A device that a module found.
struct Device {
  std::string name;
  std::string state;
  std::string reason;  // why it cannot be used; empty: it can
  bool chosen = false;
};

struct TransportReport {
  std::string name;
  bool built = false;
  bool usable = false;
  std::string reason;              // why it is not built or not usable; empty when it is
  std::vector<std::string> notes;  // what it can and cannot do here, one line each
  std::vector<Adapter> adapters;
  std::vector<Device> devices;
};

struct Limit {
  std::string name;
  std::string value;  // "unlimited" or a number
  std::string meaning;
};

struct Report {
  std::string version;
  std::string build_stamp;
  std::string processor;
  std::string kernel;
  int cores = 0;                   // of the machine
  std::vector<int> allowed_cores;  // that this process may use
  std::string thread;              // policy and place of a dataplane thread
  std::string narrow_refusal;      // why the kernel runs no 32-bit tasks; empty: it does
  std::vector<TransportReport> transports;
  LamReport lam;
  std::vector<Limit> limits;
};

// Where programs find liblapi.so.
std::string library_path();

// Tries every transport; takes some milliseconds. Call it while the process has one thread.
Report make_report();

std::string describe(const Report& report);
std::string describe(const std::vector<SettingReport>& settings);
// Both parts in one document.
std::string to_json(const Report* report, const std::vector<SettingReport>* settings);

}  // namespace openlapi::info
