#include "api/rpi/lapi/process_group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "api/rpi/lapi/lam_messages.h"
#include "api/rpi/lapi/meeting_bootstrap.h"
#include "dataplane/base/little_endian.h"

namespace openlapi::rpi {

namespace {

constexpr const char* kMembers = "rpi.lapi.members";
constexpr std::size_t kBytesOfOne = 16;
constexpr unsigned kNoWait = 0;

auto place_of(const _gps& gps) { return std::tuple(gps.gps_node, gps.gps_idx, gps.gps_pid); }

bool is_before(const _gps& left, const _gps& right) { return place_of(left) < place_of(right); }

std::vector<std::byte> encode(std::span<const _gps> members) {
  std::vector<std::byte> bytes(members.size() * kBytesOfOne);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::array numbers{members[i].gps_node, members[i].gps_pid, members[i].gps_idx, members[i].gps_grank};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      store_little(bytes.data() + i * kBytesOfOne + 4 * k, static_cast<std::uint32_t>(numbers[k]));
    }
  }
  return bytes;
}

std::vector<_gps> decode(std::span<const std::byte> bytes) {
  std::vector<_gps> members(bytes.size() / kBytesOfOne);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::byte* const begin = bytes.data() + i * kBytesOfOne;
    const auto number = [&](std::size_t k) { return static_cast<int4>(load_little<std::uint32_t>(begin + 4 * k)); };
    members[i] = {.gps_node = number(0), .gps_pid = number(1), .gps_idx = number(2), .gps_grank = number(3)};
  }
  return members;
}

// Where this MPI_COMM_WORLD begins among the processes.
std::size_t begin_of_world(std::span<const _gps> processes) {
  std::size_t begin = processes.size();
  while (begin > 0 && processes[begin - 1].gps_grank != 0) --begin;
  return begin == 0 ? 0 : begin - 1;
}

// Only one of them knows the others.
std::shared_ptr<Bootstrap> meet_two(const _gps& first, const _gps& other, const _gps& own) {
  const std::array both{first, other};
  return open_meeting_bootstrap(open_lam_messages(both, own));
}

bool tell_members(std::span<const _gps> members, const _gps& other, std::string& error) {
  const std::shared_ptr<Bootstrap> meeting = meet_two(members.front(), other, members.front());
  return meeting->put(kMembers, encode(members), error) && meeting->exchange(error);
}

}  // namespace

bool is_same(const _gps& left, const _gps& right) { return place_of(left) == place_of(right); }

bool meet_at_start(std::span<const _gps> processes, const _gps& own, ProcessGroup& group, std::string& error) {
  const std::size_t begin = begin_of_world(processes);
  group.members.assign(processes.begin() + static_cast<std::ptrdiff_t>(begin), processes.end());
  group.members.insert(group.members.end(), processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(begin));
  std::sort(group.members.begin() + 1, group.members.end(), is_before);
  if (is_same(group.members.front(), own)) {
    for (const _gps& starter : processes.first(begin)) {
      if (!tell_members(group.members, starter, error)) return false;
    }
  }
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(group.members, own));
  return true;
}

bool meet_started(std::span<const _gps> started, const _gps& own, ProcessGroup& group, std::string& error) {
  const auto first = std::ranges::find_if(started, [](const _gps& gps) { return gps.gps_grank == 0; });
  if (first == started.end()) {
    error = "processes can join as an MPI_COMM_WORLD that was started, and the first one of theirs is missing";
    return false;
  }
  const std::shared_ptr<Bootstrap> meeting = meet_two(*first, own, own);
  std::vector<std::byte> members;
  if (!meeting->exchange(error) || !meeting->get(0, kMembers, kNoWait, members, error)) return false;
  group.members = decode(members);
  const auto is_in = [&](const _gps& gps) {
    return std::ranges::any_of(group.members, [&](const _gps& member) { return is_same(member, gps); });
  };
  if (members.size() % kBytesOfOne != 0 || !is_in(own) || !std::ranges::all_of(started, is_in)) {
    error = "the first process of the MPI_COMM_WORLD that was started says that others are in it";
    return false;
  }
  group.bootstrap = open_meeting_bootstrap(open_lam_messages(group.members, own));
  return true;
}

}  // namespace openlapi::rpi
