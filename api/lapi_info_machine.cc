// What the machine has and allows, and which transports work on it.
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "api/lapi_info_report.h"
#include "api/version.h"
#include "nic/udp/udp_adapters.h"
#include "nic/udp/udp_transport.h"
#include "shm/shm_config.h"
#include "shm/shm_probe.h"

namespace openlapi::info {
namespace {

TransportReport report_shm() {
  TransportReport report{.name = "shm", .built = true, .usable = false, .reason = {}, .notes = {}, .adapters = {}};
  report.usable = probe_shared_memory(report.reason);
  if (!report.usable) return report;
  report.notes.push_back("up to " + std::to_string(kMaxShmTasks) + " tasks of a node");
  std::string refused;
  report.notes.push_back(probe_attach(refused) ? "large messages: one copy, by process_vm_readv"
                                               : "large messages: through slots only; " + refused);
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
  TransportReport report{.name = "udp", .built = true, .usable = false, .reason = {}, .notes = {}, .adapters = {}};
  report.reason = "this machine has no IPv4 address on an adapter that is up";
  for (const LocalAdapter& adapter : list_adapters()) {
    report.adapters.push_back({adapter.name, to_text(adapter.address), adapter.mtu, adapter.up});
    if (adapter.up && !report.usable) try_udp(report, adapter.address);
  }
  return report;
}

TransportReport not_built(const char* name, const char* what) {
  return {.name = name,
          .built = false,
          .usable = false,
          .reason = std::string("not in this version: ") + what,
          .notes = {},
          .adapters = {}};
}

std::string limit_text(rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); }

void add_limit(std::vector<Limit>& limits, int resource, const char* name, const char* meaning) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limits.push_back({name, limit_text(limit.rlim_cur) + " (hard " + limit_text(limit.rlim_max) + ")", meaning});
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? line : std::string("unknown");
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

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

Report make_report() {
  Report report;
  report.version = version_text();
  report.build_stamp = build_stamp();
  report.processor = processor_name();
  utsname names{};
  if (uname(&names) == 0) report.kernel = std::string(names.sysname) + " " + names.release;
  report.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  report.allowed_cores = allowed_cores();
  report.transports = {report_shm(), report_udp(), not_built("verbs", "InfiniBand and RoCE adapters are not used"),
                       not_built("dpdk", "Ethernet adapters are used through the kernel only")};
  report.limits = report_limits();
  return report;
}

}  // namespace openlapi::info
