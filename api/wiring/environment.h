// The environment variables of appendix D (tables 37-43), read once per LAPI_Init. One table says for each variable its
// name, its allowed values and its default; reading, error texts and `lapi_info --env` all use that table.
//
// Rules for every variable: an empty value counts as not set; numbers are decimal without surrounding text. MP_EUILIB
// and MP_MSG_API are case-sensitive, all other words are not.
//
// The FailureKind of a wrong value:
//   MP_MSG_API                                message_interfaces
//   MP_UDP_PACKET_SIZE                        packet_size
//   MP_EUILIB                                 transport: there is no such communication library to load
//   LAPI_USE_SHM, MP_COMMON_TASKS             shared_memory
//   MP_LAPI_INET_ADDR, MP_LAPI_NETWORK        network_statement; both set: two_network_statements
//   MP_CHILD, MP_PROCS, MP_PARTITION          task_numbers
//   all others                                setting
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/wiring/failure.h"
#include "dataplane/poller/thread_pacing.h"
#include "shm/shm_config.h"

namespace openlapi {

// Reads one environment variable; null when unset. A parameter, so that tests need not change the environment.
using ReadEnvironment = std::function<const char*(const char*)>;

inline constexpr int kMostTasks = 16384;  // of a job: MAX_TASKS

enum class MessageApi { kUnset, kLapi, kLapiAndMpi, kSharedWithMpi };
enum class CommunicationLibrary { kIp, kUserSpace };
enum class SharedMemoryUse { kByLauncher, kNo, kYes, kOnly };  // kByLauncher: yes where there is one
enum class SecretSource { kFile, kPartition };
enum class PacketAuthentication { kByNetwork, kNo, kYes };
enum class ThreadPlace { kNear, kNone, kListed };

// One pair of a network statement: "192.168.1.1,eth0" of MP_LAPI_INET_ADDR or "164,sn0" of MP_LAPI_NETWORK.
struct NetworkInstance {
  std::string address;  // dotted decimal address, or window number
  std::string adapter;

  bool operator==(const NetworkInstance&) const = default;
};

// The transports of user space mode that come with the library (nic/modules).
std::vector<std::string> usual_modules();

// What the environment asks for. A default-constructed object is the result of an empty environment.
struct Settings {
  static constexpr int kUnset = -1;
  // MP_UDP_PACKET_SIZE may exceed what a datagram holds; it then means this value.
  static constexpr int kLongestDatagram = 65507;
  static constexpr int kSmallestBulkMinimum = 4096;
  static constexpr int kMaxInstances = 16;
  static constexpr int kMaxProcessor = 1023;  // what a cpu_set_t can name

  MessageApi message_api = MessageApi::kUnset;
  CommunicationLibrary library = CommunicationLibrary::kIp;
  std::string device;                                                // empty: any; see names_aix_device()
  std::vector<std::string> modules = usual_modules();                // of user space mode, the preferred one first
  std::string library_folder;                                        // of the modules; empty: beside the library
  std::map<std::string, std::string, std::less<>> module_variables;  // what modules' own say; words in lower case
  int instances = 0;                                                 // 0: not asked for
  SharedMemoryUse shared_memory = SharedMemoryUse::kByLauncher;
  DirectUse direct = DirectUse::kNone;
  bool direct_heap = false;  // the preloaded library reads the variable itself
  PacketAuthentication packet_authentication = PacketAuthentication::kByNetwork;

  // For a standalone job; a launcher's information takes precedence. control/client/bootstrap.h reads these itself.
  int task = kUnset;
  int num_tasks = kUnset;
  std::string partition;
  SecretSource secret = SecretSource::kFile;
  std::string secret_file;  // empty: in the user's home
  std::string common_tasks;
  std::vector<NetworkInstance> inet_addresses;
  std::vector<NetworkInstance> network_windows;

  int ack_threshold = 30;         // packets
  int polling_interval = 400000;  // microseconds
  ThreadPolicy thread_policy = ThreadPolicy::adaptive;
  ThreadPlace thread_place = ThreadPlace::kNear;
  std::vector<int> thread_processors;  // of ThreadPlace::kListed
  int retransmit_interval = 1000000;   // idle polling loops
  int retransmit_buffer_count = 128;
  int retransmit_buffer_size = 16384;  // bytes
  int udp_packet_size = 0;             // bytes; 0: the transport chooses
  bool use_bulk = false;
  int bulk_minimum = 153600;  // bytes
  bool verify_dgsp = false;
  bool check_arguments = false;
  bool explain_faults = true;
  int term_wait = 2;  // seconds
  bool never_time_out = false;
  int info_level = 0;
  int trace_level = 0;
};

// A variable with a value that is not allowed.
struct SettingError {
  std::string variable;
  std::string value;
  std::string allowed;
  FailureKind kind = FailureKind::none;

  // One line for the user: variable, value, and what is allowed.
  std::string message() const;
};

// Reads all variables. False: `error` has the first wrong one (in the order of report_settings()), and `settings` is
// unchanged. Whether MP_CHILD is below MP_PROCS, and what MP_COMMON_TASKS lists, matters only without a launcher: the
// standalone bootstrap checks both.
bool read_settings(const ReadEnvironment& read, Settings& settings, SettingError& error);

// One variable, as shown by `lapi_info --env`.
struct SettingReport {
  std::string name;
  std::string type;  // "integer", "bytes", "word", "text" or "list"
  std::string allowed;
  std::string default_value;  // in words if it is not a fixed value
  std::string meaning;        // one line
  std::string present;        // its value in the environment; empty: not set
  bool valid = true;          // false: LAPI_Init would refuse the present value
};

// Every variable, by purpose as in appendix D.
std::vector<SettingReport> report_settings(const ReadEnvironment& read);

// Whether `device`, a value of MP_EUIDEVICE, leaves the choice to the library: sn_single, sn_all, nothing, or in user
// space mode one of the guide's adapters of the High Performance Switch (sn0).
bool names_any_adapter(std::string_view device);

// Whether `device`, a value of MP_EUIDEVICE, is one of AIX's names (en0, fi0, ml0, tr0, csss). If this machine has no
// such device, the variable counts as not set.
bool names_aix_device(std::string_view device);

}  // namespace openlapi
