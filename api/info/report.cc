#include "api/info/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/poller/machine_cores.h"

namespace openlapi::info {
namespace {

using Json = nlohmann::ordered_json;

std::string padded(const std::string& text, std::size_t width) {
  std::string result = text;
  result.resize(std::max(width, text.size() + 1), ' ');
  return result;
}

void append(std::string& text, const TransportReport& transport) {
  const char* state = !transport.built ? "not built" : transport.usable ? "usable" : "not usable";
  text += "  " + padded(transport.name, 8) + state;
  if (!transport.reason.empty()) text += ": " + transport.reason;
  text += "\n";
  for (const std::string& note : transport.notes) text += "          " + note + "\n";
  for (const Adapter& adapter : transport.adapters) {
    text += "          adapter " + adapter.name + " " + adapter.address + ", MTU " + std::to_string(adapter.mtu) +
            (adapter.up ? "\n" : ", down\n");
  }
  for (const Device& device : transport.devices) {
    text += "          device " + device.name + (device.state.empty() ? "" : " " + device.state) +
            (device.chosen ? " (used when none is named)" : "") +
            (device.reason.empty() ? "" : ", not usable: " + device.reason) + "\n";
  }
}

Json transport_json(const TransportReport& transport) {
  Json json{{"name", transport.name},     {"built", transport.built}, {"usable", transport.usable},
            {"reason", transport.reason}, {"notes", transport.notes}, {"adapters", Json::array()},
            {"devices", Json::array()}};
  for (const Adapter& adapter : transport.adapters) {
    json["adapters"].push_back(
        {{"name", adapter.name}, {"address", adapter.address}, {"mtu", adapter.mtu}, {"up", adapter.up}});
  }
  for (const Device& device : transport.devices) {
    json["devices"].push_back(
        {{"name", device.name}, {"state", device.state}, {"reason", device.reason}, {"chosen", device.chosen}});
  }
  return json;
}

Json lam_json(const LamReport& lam) {
  return {{"program", lam.program}, {"module_folder", lam.folder}, {"finds_module", lam.found}, {"reason", lam.reason}};
}

Json report_json(const Report& report) {
  Json json{{"version", report.version},
            {"build_stamp", report.build_stamp},
            {"processor", report.processor},
            {"kernel", report.kernel},
            {"cores", report.cores},
            {"allowed_cores", report.allowed_cores},
            {"dataplane_thread", report.thread},
            {"runs_32_bit_tasks", report.narrow_refusal.empty()},
            {"transports", Json::array()},
            {"lam_mpi", lam_json(report.lam)},
            {"limits", Json::object()}};
  for (const TransportReport& transport : report.transports) json["transports"].push_back(transport_json(transport));
  for (const Limit& limit : report.limits) json["limits"][limit.name] = limit.value;
  return json;
}

Json settings_json(const std::vector<SettingReport>& settings) {
  Json json = Json::array();
  for (const SettingReport& setting : settings) {
    json.push_back({{"name", setting.name},
                    {"type", setting.type},
                    {"allowed", setting.allowed},
                    {"default", setting.default_value},
                    {"meaning", setting.meaning},
                    {"present", setting.present.empty() ? Json(nullptr) : Json(setting.present)},
                    {"valid", setting.valid}});
  }
  return json;
}

}  // namespace

std::string describe(const Report& report) {
  const auto allowed = report.allowed_cores.size();
  std::string text = report.version + ", built " + report.build_stamp + "\n\nMachine\n";
  text += "  " + report.processor + ", " + report.kernel + "\n";
  text += "  " + std::to_string(report.cores) + (report.cores == 1 ? " core" : " cores") + "; this process may use " +
          to_ranges(report.allowed_cores) +
          (static_cast<int>(allowed) < report.cores ? " (bound by its launcher or a container)\n" : " (not bound)\n");
  text += "  dataplane thread of a lone task: " + report.thread + "\n";
  text += report.narrow_refusal.empty() ? "  32-bit tasks run here\n"
                                        : "  no 32-bit tasks: the kernel refuses 32-bit programs (" +
                                              report.narrow_refusal + ")\n";
  text += "\nTransports\n";
  for (const TransportReport& transport : report.transports) append(text, transport);
  text += "\nLAM/MPI\n" + describe(report.lam) + "\nLimits\n";
  for (const Limit& limit : report.limits) {
    text += "  " + padded(limit.name, 10) + padded(limit.value, 30) + limit.meaning + "\n";
  }
  return text + "\nEnvironment variables: lapi_info --env\n";
}

std::string describe(const std::vector<SettingReport>& settings) {
  std::string text;
  for (const SettingReport& setting : settings) {
    text += setting.name + "\n  " + setting.meaning + "\n";
    text += "  " + setting.type + "; allowed: " + setting.allowed + "; default: " + setting.default_value + "\n";
    text += "  present: " + (setting.present.empty() ? std::string("not set") : setting.present) +
            (setting.valid ? "\n" : "  <- not allowed: LAPI_Init would refuse it\n");
  }
  return text;
}

std::string to_json(const Report* report, const std::vector<SettingReport>* settings) {
  Json json = report != nullptr ? report_json(*report) : Json::object();
  if (settings != nullptr) json["environment"] = settings_json(*settings);
  // What the environment holds need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace openlapi::info
