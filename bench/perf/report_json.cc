#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/include/lapi.h"
#include "bench/perf/report.h"

namespace openlapi::bench {
namespace {

using Json = nlohmann::ordered_json;

// Raised when a name or its meaning changes; further names do not.
constexpr const char* kSchema = "lapi_perf/1";

// Times in microseconds, bandwidths in bytes a second; what was not measured is null.
Json measured(double value, double unit = 1) { return value != 0 ? Json(value / unit) : Json(nullptr); }

Json row_json(const Row& row) {
  const Comparison& f = row.figures;
  Json json;
  json["transport"] = name_of(row.wire);
  json["operation"] = row.operation;
  json["variant"] = row.variant;
  json["size"] = row.size;
  json["median_us"] = measured(f.median, 1000);
  json["p99_us"] = measured(f.p99, 1000);
  json["bandwidth"] = measured(row.bandwidth());
  json["rate"] = row.is_rate ? measured(f.median > 0 ? 1e9 / f.median : 0) : Json(nullptr);
  json["floor"] = row.floor_name;
  json["floor_us"] = measured(f.floor, 1000);
  json["floor_bandwidth"] = measured(row.floor_bandwidth());
  json["ratio"] = measured(f.ratio);
  json["difference_us"] = f.floor > 0 ? Json(f.difference / 1000) : Json(nullptr);
  json["samples"] = f.samples;
  json["flag_us"] = measured(row.flag, 1000);
  json["repeats"] = row.repeats;
  json["unusual_state"] = row.unusual;
  return json;
}

}  // namespace

bool can_write(const char* option, const std::string& file, std::string& error) {
  if (file.empty()) return true;
  const bool was_there = access(file.c_str(), F_OK) == 0;
  if (std::ofstream(file, std::ios::app)) {
    if (!was_there) unlink(file.c_str());  // who measures nothing leaves none
    return true;
  }
  error = std::string(option) + " " + file + ": cannot be written: " + std::strerror(errno);
  return false;
}

bool write_json(const std::string& file, const RunDescription& run, const std::vector<Row>& rows, std::string& error) {
  Json json;
  json["schema"] = kSchema;
  json["program"] = "lapi_perf";
  json["version"] = OPENLAPI_VERSION;
  json["processor"] = run.processor;
  json["kernel"] = run.kernel;
  json["cores"] = run.cores;
  json["clock"] = clock_name();
  json["mode"] = name_of(run.mode);
  json["units"] = {{"size", "bytes"},
                   {"*_us", "microseconds"},
                   {"*bandwidth", "bytes per second"},
                   {"rate", "operations per second"},
                   {"ratio", "library / floor"}};
  json["flag_us"] = measured(run.flag.usual, 1000);
  json["flag_bounds_us"] = {run.flag.low() / 1000, run.flag.high() / 1000};
  json["rows"] = Json::array();
  for (const Row& row : rows) json["rows"].push_back(row_json(row));
  std::ofstream out(file, std::ios::trunc);
  out << json.dump(2) << '\n';
  out.close();
  if (out) return true;
  error = "--json " + file + ": cannot be written: " + std::strerror(errno);
  return false;
}

}  // namespace openlapi::bench
