#include "api/context/path_report.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "api/wiring/unlisted_adapter.h"
#include "dataplane/peers/peer_table.h"

namespace openlapi {

namespace {

std::string duration(Nanoseconds time) {
  std::array<char, 32> text;
  const double milliseconds = static_cast<double>(time) / kMillisecond;
  if (milliseconds < 1000) {
    std::snprintf(text.data(), text.size(), "%.1f ms", milliseconds);
  } else {
    std::snprintf(text.data(), text.size(), "%.3f s", milliseconds / 1000);
  }
  return text.data();
}

std::string state_of(const PathStatus& status, Nanoseconds now) {
  if (!status.is_there) return "not there yet";
  if (status.silent_since != 0) return "silent for " + duration(now - status.silent_since);
  return status.in_use ? "in use" : "for long messages";
}

std::string cause_of(const PathChange& change) {
  switch (change.cause) {
    case PathCause::no_answer:
      return "no answer for " + duration(change.waited);
    case PathCause::link_down:
      return change.told_by == nullptr ? "link down" : "link down (" + std::string(change.told_by) + ")";
    case PathCause::answered:
      return "it has answered a probe";
    case PathCause::carried_data:
      break;
  }
  return "what was sent over it has arrived";
}

}  // namespace

std::vector<PathReport> report_paths(const Endpoint& endpoint, const ContextRoutes& routes, PeerIndex peer,
                                     Nanoseconds now) {
  const std::vector<PathStatus> statuses = endpoint.peers().paths_to(peer);
  std::uint64_t all_bytes = 0;
  for (const PathStatus& status : statuses) all_bytes += status.bytes;
  std::vector<PathReport> reports;
  for (const PathStatus& status : statuses) {
    reports.push_back({.path = routes.name_of(*status.transport, status.end),
                       .state = state_of(status, now),
                       .share = all_bytes != 0 ? static_cast<double>(status.bytes) / static_cast<double>(all_bytes) : 0,
                       .packets = status.packets,
                       .bytes = status.bytes,
                       .again = status.again,
                       .lost = status.lost,
                       .failures = status.failures,
                       .read = status.read,
                       .round_trip = static_cast<double>(status.round_trip) / kMicrosecond});
  }
  return reports;
}

std::string to_text(const PathReport& report) {
  const auto number = [](std::uint64_t count, const char* of) { return std::to_string(count) + of; };
  std::array<char, 32> share, round_trip;
  std::snprintf(share.data(), share.size(), ", %.0f %% of the bytes, ", std::round(100 * report.share));
  std::snprintf(round_trip.data(), round_trip.size(), "round trip %.1f us", report.round_trip);
  std::string text = report.path + ": " + report.state + share.data() + number(report.bytes, " in ") +
                     number(report.packets, " packets, ") + number(report.again, " of them again, ") +
                     number(report.lost, " lost, ");
  if (report.failures != 0) text += "failed " + number(report.failures, report.failures == 1 ? " time, " : " times, ");
  if (report.read != 0) text += number(report.read, " bytes read in bulk, ");
  return text + (report.round_trip != 0 ? round_trip.data() : "round trip not measured");
}

void print_paths(const Endpoint& endpoint, const ContextRoutes& routes, const Bootstrap& bootstrap, Nanoseconds now) {
  constexpr unsigned kMostTasks = 16;
  unsigned tasks = 0;
  if (routes.networks() < 2) return;
  for (PeerIndex peer = 0; peer != bootstrap.size() && tasks != kMostTasks; ++peer) {
    const std::vector<PathReport> reports = report_paths(endpoint, routes, peer, now);
    if (reports.size() < 2) continue;
    ++tasks;
    for (const PathReport& report : reports) {
      std::fprintf(stderr, "openlapi: task %u to task %u: %s\n", bootstrap.task(), peer, to_text(report).c_str());
    }
  }
}

std::string describe(const AddressChange& change, const ContextRoutes& routes) {
  if (const std::optional<std::size_t> adapter = unlisted_adapter(change.before)) {
    const std::string whose =
        change.transport != nullptr
            ? routes.name_of(*change.transport, kUnknownPeer) + " is there, which others are told"
            : "adapter " + std::to_string(*adapter) + " of task " + std::to_string(change.peer) + " is there now";
    return ": " + whose + ": " + routes.text_of(change.now);
  }
  std::string text = change.transport != nullptr
                         ? ": " + routes.name_of(*change.transport, kUnknownPeer) + " has another address"
                         : ": an adapter of task " + std::to_string(change.peer) + " has another address";
  const std::string now = routes.text_of(change.now);
  return now.empty() ? text : text + ": " + now + ", before " + routes.text_of(change.before);
}

std::string describe(const PathChange& change, const ContextRoutes& routes) {
  std::string text = routes.name_of(*change.path, change.end) + (change.failed() ? " has failed: " : " serves again: ");
  text += cause_of(change);
  if (change.none_serves) {
    text += "; no adapter serves";
  } else if (change.taken != nullptr && (change.taken != change.path || change.taken_end != change.end)) {
    text += "; messages take " + routes.name_of(*change.taken, change.taken_end);
  }
  text += change.failed() ? "; nothing moved for " + duration(change.idle)
                          : "; nothing moved over it for " + duration(change.waited);
  if (change.untold != 0)
    text += "; " + std::to_string(change.untold) + (change.untold == 1 ? " more change" : " more changes") +
            " since the line before";
  return text;
}

}  // namespace openlapi
