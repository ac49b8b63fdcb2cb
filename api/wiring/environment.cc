#include "api/wiring/environment.h"

#include <strings.h>
#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "api/wiring/module_settings.h"
#include "api/wiring/setting_row.h"
#include "dataplane/base/whole_number.h"
#include "shm/direct/heap/preloaded_heap.h"

namespace openlapi {
namespace {

// ---- numbers ----

// A number of bytes, which may end in K (1024) or M (1024 K), as the guide writes 4K and 150K.
std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::int64_t unit = 1;
  if (text.ends_with('K') || text.ends_with('k')) unit = 1024;
  if (text.ends_with('M') || text.ends_with('m')) unit = 1024 * 1024;
  if (unit > 1) text.remove_suffix(1);
  const auto count = whole_number<std::int64_t>(text);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, unit, &bytes)) return std::nullopt;
  return bytes;
}

template <int Settings::*Member, int Min, int Max>
bool store_integer(std::string_view text, Settings& settings) {
  const auto value = whole_number(text, Min, Max);
  if (value) settings.*Member = *value;
  return value.has_value();
}

template <int Settings::*Member, int Min, int Max>
SettingRow integer_row(const char* name, FailureKind failure, std::string meaning, std::string default_value = "") {
  if (default_value.empty()) default_value = std::to_string(Settings{}.*Member);
  return {name,
          "integer",
          "an integer from " + std::to_string(Min) + " to " + std::to_string(Max),
          default_value,
          meaning,
          failure,
          store_integer<Member, Min, Max>};
}

bool store_bulk_minimum(std::string_view text, Settings& settings) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes < 0 || *bytes > INT_MAX) return false;
  settings.bulk_minimum = std::max(static_cast<int>(*bytes), Settings::kSmallestBulkMinimum);
  return true;
}

bool store_udp_packet_size(std::string_view text, Settings& settings) {
  if (!store_integer<&Settings::udp_packet_size, 1024, 65536>(text, settings)) return false;
  settings.udp_packet_size = std::min(settings.udp_packet_size, Settings::kLongestDatagram);
  return true;
}

// A number too long for any integer is one above what there is, as well.
bool store_instances(std::string_view text, Settings& settings) {
  const std::string word(text);
  if (strcasecmp(word.c_str(), "max") == 0) {
    settings.instances = Settings::kMaxInstances;
    return true;
  }
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  if (text.empty()) return false;
  const auto count = whole_number(text, 1, Settings::kMaxInstances);
  settings.instances = count.value_or(Settings::kMaxInstances);
  return true;
}

bool store_direct_heap(std::string_view text, Settings& settings) {
  const auto bytes = direct::heap_size_of(text);
  if (bytes) settings.direct_heap = *bytes != 0;
  return bytes.has_value();
}

// ---- words ----

enum class Case { kAsWritten, kEither };

template <typename Value>
struct Word {
  const char* text;
  Value value;
};

constexpr Word<MessageApi> kMessageApis[] = {{"lapi", MessageApi::kLapi},
                                             {"lapi,mpi", MessageApi::kLapiAndMpi},
                                             {"mpi,lapi", MessageApi::kLapiAndMpi},
                                             {"mpi_lapi", MessageApi::kSharedWithMpi}};
constexpr Word<CommunicationLibrary> kLibraries[] = {{"ip", CommunicationLibrary::kIp},
                                                     {"us", CommunicationLibrary::kUserSpace}};
constexpr Word<SharedMemoryUse> kSharedMemoryUses[] = {
    {"yes", SharedMemoryUse::kYes}, {"no", SharedMemoryUse::kNo}, {"only", SharedMemoryUse::kOnly}};
constexpr Word<DirectUse> kDirectUses[] = {
    {"no", DirectUse::kNone}, {"get", DirectUse::kReads}, {"auto", DirectUse::kAll}};
constexpr Word<PacketAuthentication> kPacketAuthentications[] = {
    {"auto", PacketAuthentication::kByNetwork}, {"no", PacketAuthentication::kNo}, {"yes", PacketAuthentication::kYes}};
constexpr Word<ThreadPolicy> kThreadPolicies[] = {
    {"adaptive", ThreadPolicy::adaptive}, {"spin", ThreadPolicy::spin}, {"sleep", ThreadPolicy::sleep}};
constexpr Word<SecretSource> kSecretSources[] = {{"file", SecretSource::kFile},
                                                 {"partition", SecretSource::kPartition}};
constexpr Word<bool> kYesNo[] = {{"yes", true}, {"no", false}};

template <auto Member, const auto& Words, Case Rule>
bool store_word(std::string_view text, Settings& settings) {
  const std::string given(text);
  for (const auto& word : Words) {
    if (Rule == Case::kEither ? strcasecmp(given.c_str(), word.text) == 0 : given == word.text) {
      settings.*Member = word.value;
      return true;
    }
  }
  return false;
}

template <auto Member, const auto& Words, Case Rule>
SettingRow word_row(const char* name, FailureKind failure, std::string meaning, std::string default_value = "") {
  std::string allowed = "one of";
  for (const auto& word : Words) {
    allowed.append(" ").append(word.text);
    if (default_value.empty() && word.value == Settings{}.*Member) default_value = word.text;
  }
  allowed += Rule == Case::kEither ? " (in either case)" : " (in lower case)";
  return {name, "word", allowed, default_value, meaning, failure, store_word<Member, Words, Rule>};
}

// ---- texts and lists ----

template <std::string Settings::*Member>
bool store_text(std::string_view text, Settings& settings) {
  settings.*Member = text;
  return true;
}

// Any text switches it on; "no", which the guide gives as the default, does not.
bool store_never_time_out(std::string_view text, Settings& settings) {
  settings.never_time_out = strcasecmp(std::string(text).c_str(), "no") != 0;
  return true;
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return piece;
}

bool store_modules(std::string_view text, Settings& settings) {
  std::vector<std::string> names;
  if (text.ends_with(',')) return false;
  while (!text.empty()) {
    const std::string_view name = take_until(text, ',');
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char letter) {
      return letter == '_' || (letter < 0x80 && std::isalnum(letter) != 0);
    });
    if (name.empty() || !plain) return false;
    names.emplace_back(name);
  }
  settings.modules = std::move(names);
  return true;
}

bool is_window_number(std::string_view text) { return whole_number<unsigned>(text, 0, INT_MAX).has_value(); }

bool is_dotted_decimal(std::string_view text) {
  if (std::count(text.begin(), text.end(), '.') != 3) return false;
  for (int part = 0; part < 4; ++part) {
    const std::string_view number = take_until(text, '.');
    if (number.size() > 3 || !whole_number<unsigned>(number, 0, 255)) return false;
  }
  return true;
}

// "2", "4-7" or several of these with commas in between.
bool parse_processors(std::string_view text, std::vector<int>& processors) {
  if (text.ends_with(',')) return false;
  while (!text.empty()) {
    std::string_view last = take_until(text, ',');
    const bool range = last.find('-') != std::string_view::npos;
    const std::string_view first = range ? take_until(last, '-') : last;
    const auto from = whole_number<unsigned>(first, 0, Settings::kMaxProcessor);
    const auto to = whole_number<unsigned>(last, 0, Settings::kMaxProcessor);
    if (!from || !to) return false;
    for (unsigned at = *from; at <= *to; ++at) processors.push_back(static_cast<int>(at));
  }
  return !processors.empty();
}

bool store_thread_cpu(std::string_view text, Settings& settings) {
  const std::string word(text);
  settings.thread_processors.clear();
  settings.thread_place = ThreadPlace::kListed;
  if (strcasecmp(word.c_str(), "near") == 0) settings.thread_place = ThreadPlace::kNear;
  if (strcasecmp(word.c_str(), "none") == 0) settings.thread_place = ThreadPlace::kNone;
  return settings.thread_place != ThreadPlace::kListed || parse_processors(text, settings.thread_processors);
}

// "@count:first,adapter[:first,adapter...]" with as many pairs as `count` says. The guide also prints the first colon
// of MP_LAPI_NETWORK as '>'.
template <std::vector<NetworkInstance> Settings::*Member, bool (*IsAddress)(std::string_view)>
bool store_network_statement(std::string_view text, Settings& settings) {
  if (!text.starts_with('@')) return false;
  text.remove_prefix(1);
  const std::size_t count_end = text.find_first_of(":>");
  if (count_end == std::string_view::npos || text.back() == ':') return false;
  const auto count = whole_number<std::int64_t>(text.substr(0, count_end));
  text.remove_prefix(count_end + 1);

  std::vector<NetworkInstance> instances;
  while (!text.empty()) {
    std::string_view adapter = take_until(text, ':');
    const std::string_view address = take_until(adapter, ',');
    if (!IsAddress(address) || adapter.empty() || adapter.find(',') != std::string_view::npos) return false;
    instances.push_back({std::string(address), std::string(adapter)});
  }
  if (instances.empty() || !count || *count != static_cast<std::int64_t>(instances.size())) return false;
  settings.*Member = std::move(instances);
  return true;
}

// ---- the table ----

std::vector<SettingRow> network_rows() {
  return {
      word_row<&Settings::message_api, kMessageApis, Case::kAsWritten>(
          "MP_MSG_API", FailureKind::message_interfaces, "which interfaces the job uses; mpi alone is none of them",
          "lapi under a launcher; a standalone task must set it"),
      word_row<&Settings::library, kLibraries, Case::kAsWritten>(
          "MP_EUILIB", FailureKind::transport, "how tasks of different nodes talk: ip is UDP, us is user space"),
      {"MP_EUIDEVICE", "text", adapter_names() + ", sn_single or sn_all", "any that fits",
       "the adapter to use; AIX names without such a device count as not set", FailureKind::setting,
       store_text<&Settings::device>},
      {"OPENLAPI_MODULES", "list", "names of letters, digits and _, with commas between them", usual_modules_text(),
       "user space transports, the preferred one first; each is a library libopenlapi-NAME.so", FailureKind::setting,
       store_modules},
      {"OPENLAPI_LIBRARY_FOLDER", "text", "a folder", "openlapi, in the folder that liblapi.so is in or beside it",
       "where the libraries of user space transports are", FailureKind::setting, store_text<&Settings::library_folder>},
  };
}

std::vector<SettingRow> path_rows() {
  return {
      {"MP_INSTANCES", "integer",
       "an integer from 1 on, or max (in either case); more than " + std::to_string(Settings::kMaxInstances) +
           " means " + std::to_string(Settings::kMaxInstances),
       "one for each adapter that MP_EUIDEVICE names",
       "instances of a context: adapters of one network, or with MP_EUIDEVICE=sn_all of each, at most eight, where "
       "none are named",
       FailureKind::setting, store_instances},
      word_row<&Settings::shared_memory, kSharedMemoryUses, Case::kEither>(
          "LAPI_USE_SHM", FailureKind::shared_memory,
          "whether tasks of one node talk through shared memory; only: through nothing else",
          "yes under a launcher; no for a standalone task"),
      word_row<&Settings::direct, kDirectUses, Case::kEither>("OPENLAPI_DIRECT", FailureKind::setting,
                                                              "whether puts, gets and read-modify-writes between tasks "
                                                              "of one node reach memory by loads and stores, without "
                                                              "a message: not at all, gets alone, or all that can"),
      {"OPENLAPI_DIRECT_HEAP", "word", "no, yes, or a number of bytes from 64M to 4T, which may end in K, M, G or T",
       "no",
       "whether neighbours reach the heap from the first allocation on, with a preloaded allocator (lapirun "
       "--direct-heap), and in how many bytes of addresses; yes: 1T",
       FailureKind::setting, store_direct_heap},
      word_row<&Settings::packet_authentication, kPacketAuthentications, Case::kEither>(
          "OPENLAPI_PACKET_AUTH", FailureKind::setting,
          "whether every packet over " + networks_with_tags() +
              " carries a keyed tag, against who can see packets; auto: over UDP, in jobs of several hosts and "
              "standalone ones; the same in all tasks"),
  };
}

std::vector<SettingRow> standalone_rows() {
  const std::string pairs = "[:...] with count pairs, of which the first eight are used";
  return {
      integer_row<&Settings::task, 0, kMostTasks - 1>("MP_CHILD", FailureKind::task_numbers,
                                                      "this task's number, below MP_PROCS",
                                                      "the launcher's; a standalone task must set it"),
      integer_row<&Settings::num_tasks, 1, kMostTasks>("MP_PROCS", FailureKind::task_numbers,
                                                       "number of tasks in the job",
                                                       "the launcher's; a standalone task must set it"),
      {"MP_PARTITION", "text", "anything that is the same in all tasks of the job and in no other job",
       "the launcher's; a standalone task must set it", "the job's key, to which a network table may belong",
       FailureKind::task_numbers, store_text<&Settings::partition>},
      word_row<&Settings::secret, kSecretSources, Case::kEither>(
          "OPENLAPI_SECRET", FailureKind::setting,
          "what keeps strangers' packets out of a job without a launcher: a file that this user alone can read, or "
          "nothing but MP_PARTITION, for which nobody else must know it"),
      {"OPENLAPI_SECRET_FILE", "text", "a file of this user with mode 0600 or 0400 and 32 hexadecimal digits",
       ".openlapi/secret in the folder HOME, made by the first task", "where that file is; the same on all nodes",
       FailureKind::setting, store_text<&Settings::secret_file>},
      {"MP_COMMON_TASKS", "list", "count:task[:task...], the other tasks of this node; 0 when there is none",
       "the launcher's; a standalone task that shares memory must set it", "the other tasks of this node",
       FailureKind::shared_memory, store_text<&Settings::common_tasks>},
      {"MP_LAPI_INET_ADDR", "list",
       "@count:address,adapter" + pairs + ", addresses in dotted decimal, adapters of this machine",
       "MP_EUIDEVICE's adapters; a standalone task that uses UDP must set it",
       "the local addresses and adapters for UDP", FailureKind::network_statement,
       store_network_statement<&Settings::inet_addresses, is_dotted_decimal>},
      {"MP_LAPI_NETWORK", "list", "@count:window,adapter" + pairs, "MP_EUIDEVICE's adapters",
       "the local windows and adapters for user space; without a launcher those that lapi_ntbl has reserved for the "
       "task",
       FailureKind::network_statement, store_network_statement<&Settings::network_windows, is_window_number>},
  };
}

std::vector<SettingRow> tuning_rows() {
  return {
      integer_row<&Settings::ack_threshold, 1, 31>("MP_ACK_THRESH", FailureKind::setting,
                                                   "packets received before a batch of acknowledgements is returned"),
      integer_row<&Settings::polling_interval, 10001, INT_MAX>(
          "MP_POLLING_INTERVAL", FailureKind::setting,
          "longest time in microseconds that a sleeping task goes without looking at its timers"),
      word_row<&Settings::thread_policy, kThreadPolicies, Case::kEither>(
          "OPENLAPI_THREAD_POLICY", FailureKind::setting,
          "what a context's dataplane thread (interrupt mode) does when nothing arrives: polls a while if messages "
          "follow each other and sleeps then, polls for ever, or sleeps at once"),
      {"OPENLAPI_THREAD_CPU", "list",
       "near, none (in either case), or processors that the task may use, such as 3 or 2,4-7", "near",
       "where dataplane threads run: pinned near their adapter if that costs nobody anything, not pinned, or pinned to "
       "these, which the tasks of a node take in turn",
       FailureKind::setting, store_thread_cpu},
      integer_row<&Settings::retransmit_interval, 1000, INT_MAX>(
          "MP_RETRANSMIT_INTERVAL", FailureKind::setting,
          "most idle polling loops between looks for packets to be sent again"),
      integer_row<&Settings::retransmit_buffer_count, 1, INT_MAX>(
          "MP_REXMIT_BUF_CNT", FailureKind::setting,
          "messages in flight whose data is kept in the library's own buffers"),
      integer_row<&Settings::retransmit_buffer_size, 1, INT_MAX>(
          "MP_REXMIT_BUF_SIZE", FailureKind::setting,
          "longest message in bytes (user header and data) that such a buffer keeps"),
      {"MP_UDP_PACKET_SIZE", "integer",
       "an integer from 1024 to 65536; more than " + std::to_string(Settings::kLongestDatagram) + " means " +
           std::to_string(Settings::kLongestDatagram),
       "8968, or less where the path's MTU is smaller", "bytes in a UDP packet", FailureKind::packet_size,
       store_udp_packet_size},
      word_row<&Settings::use_bulk, kYesNo, Case::kEither>(
          "MP_USE_BULK_XFER", FailureKind::setting,
          "whether long messages are moved by RDMA; shared memory and UDP take no notice"),
      {"MP_BULK_MIN_MSG_SIZE", "bytes", "an integer from 0 to 2147483647, K or M may follow; less than 4K means 4K",
       std::to_string(Settings{}.bulk_minimum),
       "shortest message that is moved by RDMA; shared memory and UDP take no notice", FailureKind::setting,
       store_bulk_minimum},
  };
}

std::vector<SettingRow> diagnostic_rows() {
  return {
      word_row<&Settings::verify_dgsp, kYesNo, Case::kEither>(
          "LAPI_VERIFY_DGSP", FailureKind::setting, "whether data gather/scatter programs are checked when registered"),
      word_row<&Settings::check_arguments, kYesNo, Case::kEither>(
          "OPENLAPI_ERROR_CHK", FailureKind::setting,
          "whether the arguments of calls are checked, as when the program sets ERROR_CHK with LAPI_Senv, which counts "
          "more"),
      word_row<&Settings::explain_faults, kYesNo, Case::kEither>(
          "OPENLAPI_EXPLAIN_FAULTS", FailureKind::setting,
          "whether a task that dies of a wrong address says whose operation named it"),
      integer_row<&Settings::term_wait, 0, 86400>(
          "OPENLAPI_TERM_WAIT", FailureKind::setting,
          "longest time in seconds that LAPI_Term waits for other tasks to take the last messages, and for handlers"),
      {"MP_DEBUG_NOTIMEOUT", "text", "any text; no is as if it were not set", "no",
       "never time out, so that tasks can be stopped in a debugger", FailureKind::setting, store_never_time_out},
      integer_row<&Settings::info_level, 0, 6>(
          "MP_INFOLEVEL", FailureKind::setting,
          "messages: 0 errors, 1 and warnings, 2 and information, 3-6 and diagnostics"),
      integer_row<&Settings::trace_level, 0, 5>("MP_LAPI_TRACE_LEVEL", FailureKind::setting,
                                                "trace output, 0 none; only the tracing library obeys it"),
  };
}

const std::vector<SettingRow>& setting_rows() {
  static const std::vector<SettingRow> rows = [] {
    std::vector<SettingRow> all;
    for (auto group :
         {network_rows(), module_rows(), path_rows(), standalone_rows(), tuning_rows(), diagnostic_rows()}) {
      for (SettingRow& row : group) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

std::string_view present_value(const ReadEnvironment& read, const SettingRow& row) {
  const char* value = read(row.name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::string SettingError::message() const { return variable + "=" + value + ": allowed is " + allowed; }

bool read_settings(const ReadEnvironment& read, Settings& settings, SettingError& error) {
  Settings found;
  for (const SettingRow& row : setting_rows()) {
    const std::string_view value = present_value(read, row);
    if (!value.empty() && !row.store(value, found)) {
      error = {row.name, std::string(value), row.allowed, row.failure};
      return false;
    }
  }
  if (!found.inet_addresses.empty() && !found.network_windows.empty()) {
    error = {"MP_LAPI_NETWORK", read("MP_LAPI_NETWORK"),
             "nothing while MP_LAPI_INET_ADDR is set (only one of both may be)", FailureKind::two_network_statements};
    return false;
  }
  settings = std::move(found);
  return true;
}

std::vector<SettingReport> report_settings(const ReadEnvironment& read) {
  std::vector<SettingReport> report;
  for (const SettingRow& row : setting_rows()) {
    const std::string_view present = present_value(read, row);
    Settings scratch;
    const bool valid = present.empty() || row.store(present, scratch);
    report.push_back({row.name, row.type, row.allowed, row.default_value, row.meaning, std::string(present), valid});
  }
  return report;
}

bool names_any_adapter(std::string_view device) {
  if (device.empty() || device == "sn_single" || device == "sn_all") return true;
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  return device.size() > 2 && device.starts_with("sn") && std::all_of(device.begin() + 2, device.end(), is_digit);
}

bool names_aix_device(std::string_view device) {
  if (device == "csss") return true;
  for (const std::string_view family : {"en", "fi", "ml", "tr"}) {
    if (device.starts_with(family)) return whole_number<unsigned>(device.substr(family.size()), 0, INT_MAX).has_value();
  }
  return false;
}

}  // namespace openlapi
