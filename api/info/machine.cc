// What the machine has and allows, and which transports work on it.
#include <dlfcn.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "api/info/narrow_programs.h"
#include "api/info/report.h"
#include "api/wiring/modules.h"
#include "api/wiring/thread_plan.h"
#include "api/wiring/version.h"
#include "control/base/heap_libraries.h"
#include "dataplane/poller/machine_cores.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/udp_transport.h"
#include "shm/shm_config.h"
#include "shm/shm_direct_memory.h"
#include "shm/shm_probe.h"

namespace openlapi::info {
namespace {

TransportReport unknown(std::string name) {
  TransportReport report;
  report.name = std::move(name);
  return report;
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? line : std::string("unknown");
}

// Whether the two libraries are there that are preloaded for it.
std::string direct_heap_note() {
  bool found = false;
  for (const std::string& folder : module_folders(library_path(), "")) {
    found = found || access((folder + "/" + kHeapLibrary).c_str(), R_OK) == 0;
  }
  if (!found) return std::string("no; ") + kHeapLibrary + " is not installed";
  void* const allocator = dlopen(kHeapAllocator, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (allocator == nullptr) return std::string("no; ") + kHeapAllocator + " is not installed";
  return "possible; huge pages (shmem_enabled): " + first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
}

// Static data and, where one is preloaded, the heap need nothing else.
void report_direct(TransportReport& report) {
  DirectReach reach;
  const std::string refused = ShmDirectMemory::why_not(reach);
  std::string& note = report.notes.emplace_back("direct access (OPENLAPI_DIRECT): ");
  if (!refused.empty()) {
    note += "no; " + refused;
    return;
  }
  note += reach.no_promotion.empty() ? "possible" : "static data and the heap alone; " + reach.no_promotion;
  report.notes.push_back("direct heap (lapirun --direct-heap): " + direct_heap_note());
}

TransportReport report_shm() {
  TransportReport report = unknown("shm");
  report.built = true;
  report.usable = probe_shared_memory(report.reason);
  if (!report.usable) return report;
  report.notes.push_back("up to " + std::to_string(kMaxShmTasks) + " tasks of a node");
  std::string refused;
  report.notes.push_back(probe_attach(refused) ? "large messages: one copy, by process_vm_readv"
                                               : "large messages: through slots only; " + refused);
  report_direct(report);
  return report;
}

// Opens sockets on the first adapter that lets us, as a context would.
void try_udp(TransportReport& report, in_addr address) {
  UdpSetupError error;
  UdpConfig config;
  config.address = address;
  const auto transport = open_udp_transport(config, error);
  if (!transport) {
    report.reason = error.text;
    return;
  }
  report.usable = true;
  report.reason.clear();
  report.notes.push_back("packets of " + std::to_string(transport->limits().max_packet) + " bytes on " +
                         to_text(address));
  report.notes.push_back(std::string("segmentation offload (UDP_SEGMENT): ") + (transport->segments() ? "yes" : "no"));
  report.notes.push_back(std::string("receive coalescing (UDP_GRO): ") + (transport->coalesces() ? "yes" : "no"));
}

TransportReport report_udp() {
  TransportReport report = unknown("udp");
  report.built = true;
  report.reason = "this machine has no IPv4 address on an adapter that is up";
  for (const LocalAdapter& adapter : list_adapters()) {
    report.adapters.push_back({adapter.name, to_text(adapter.address), adapter.mtu, adapter.up});
    if (adapter.up && !report.usable) try_udp(report, adapter.address);
  }
  return report;
}

TransportReport report_module(const std::string& name, const std::vector<std::string>& folders,
                              const Settings& settings) {
  TransportReport report = unknown(name);
  TransportModule* const module = load_module(name, folders, report.reason);
  if (module == nullptr) return report;
  report.built = true;
  std::string refused;
  ModuleRequest alone;
  alone.variables = settings.module_variables;
  for (const ModuleDevice& device : module->devices(alone, report.reason)) {
    report.devices.push_back({device.name, device.state, device.reason, device.chosen});
    report.usable = report.usable || device.reason.empty();
    if (!device.reason.empty()) refused += (refused.empty() ? "" : "; ") + device.name + ": " + device.reason;
  }
  if (!report.devices.empty()) report.reason = report.usable ? "" : refused;
  return report;
}

// Transports that are modules, those that LAPI_Init would ask; and the module that LAM/MPI would.
void report_modules(Report& report) {
  const auto read = [](const char* name) -> const char* { return std::getenv(name); };
  Settings settings;
  SettingError wrong;
  if (!read_settings(read, settings, wrong)) settings = {};
  const std::vector<std::string> folders = module_folders(library_path(), settings.library_folder);
  for (const std::string& name : settings.modules) {
    report.transports.push_back(report_module(name, folders, settings));
  }
  report.lam = report_lam(folders);
}

std::string limit_text(rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); }

void add_limit(std::vector<Limit>& limits, int resource, const char* name, const char* meaning) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limits.push_back({name, limit_text(limit.rlim_cur) + " (hard " + limit_text(limit.rlim_max) + ")", meaning});
}

std::vector<Limit> report_limits() {
  std::vector<Limit> limits;
  add_limit(limits, RLIMIT_MEMLOCK, "memlock", "bytes that a task may lock in memory");
  add_limit(limits, RLIMIT_NOFILE, "nofile", "files and sockets that a task may have open");
  add_limit(limits, RLIMIT_NPROC, "nproc", "processes and threads of this user");
  limits.push_back({"rmem_max", first_line("/proc/sys/net/core/rmem_max"), "bytes that a UDP receive buffer may have"});
  limits.push_back({"wmem_max", first_line("/proc/sys/net/core/wmem_max"), "bytes that a UDP send buffer may have"});
  return limits;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Of a task that is alone on its node and uses no network.
std::string report_thread() {
  const auto read = [](const char* name) -> const char* { return std::getenv(name); };
  Settings settings;
  SettingError wrong;
  if (!read_settings(read, settings, wrong)) return "LAPI_Init would refuse " + wrong.message();
  ThreadPlan plan;
  OpenFailure failure;
  return plan_thread({settings, {}, false, {}}, plan, failure) ? describe(plan)
                                                               : "LAPI_Init would refuse " + failure.text;
}

}  // namespace

std::string library_path() {
  void* const library = dlopen("liblapi.so.0", RTLD_LAZY | RTLD_LOCAL);
  const link_map* found = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &found) != 0) return own_library_path();
  return found->l_name;
}

Report make_report() {
  Report report;
  report.version = version_text();
  report.build_stamp = build_stamp();
  report.processor = processor_name();
  utsname names{};
  if (uname(&names) == 0) report.kernel = std::string(names.sysname) + " " + names.release;
  report.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  report.allowed_cores = allowed_processors();
  report.thread = report_thread();
  runs_narrow_programs(report.narrow_refusal);
  report.transports = {report_shm(), report_udp()};
  report_modules(report);
  report.limits = report_limits();
  return report;
}

}  // namespace openlapi::info
