#include "api/rpi/lapi/lam_messages.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "api/rpi/lapi/lam_host.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/base/siphash.h"

namespace openlapi::rpi {

namespace {

constexpr int kPieceWord = 0x4d504c4f;          // "OLPM": first of the words beside a piece
constexpr int4 kEvents = 0x7ff90000;            // of our receivers: with their indices
constexpr std::size_t kMostBytes = 256u << 20;  // of a message; more is no message of ours
constexpr Nanoseconds kShortestNap = 20'000, kLongestNap = 5'000'000;  // between looks

// What came while something else was waited for: LAM compares senders with less care than we need.
struct Piece {
  nmsg head;
  std::vector<char> bytes;
};
constexpr std::size_t kMostKept = 4096;

std::deque<Piece>& kept_pieces() {
  static std::deque<Piece>* pieces = new std::deque<Piece>;  // of all groups, as long as the process lives
  return *pieces;
}

void keep(const nmsg& message) {
  const auto length = static_cast<std::size_t>(std::clamp(message.nh_length, 0, MAXNMSGLEN));
  if (kept_pieces().size() == kMostKept) kept_pieces().pop_front();
  kept_pieces().push_back({message, {message.nh_msg, message.nh_msg + length}});
}

std::function<void()>& step_while_waiting() {
  static auto* step = new std::function<void()>;
  return *step;
}

class LamMessages final : public ProcessMessages {
 public:
  LamMessages(std::span<const _gps> processes, const _gps& own, LamMeeting meeting);

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(processes_.size()); }
  const std::vector<std::uint32_t>& on_this_node() const override { return near_; }
  std::uint64_t identity() const override { return identity_; }
  bool send(std::uint32_t to, std::span<const std::byte> bytes, std::string& error) override;
  bool has_message(std::uint32_t from) override;
  bool has_died(std::uint32_t process) const override;
  bool receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) override;

 private:
  const _gps& own() const { return processes_[rank_]; }
  nmsg message_between(const _gps& sender, const _gps& receiver) const;
  void name_group(nmsg& message) const;
  bool is_wanted(const nmsg& message, std::uint32_t from) const;
  bool take_kept(std::uint32_t from, nmsg& message) const;
  bool receive_piece(std::uint32_t from, nmsg& message, std::string& error);

  std::vector<_gps> processes_;
  std::uint32_t rank_ = 0;
  std::vector<std::uint32_t> near_;
  std::uint64_t identity_;
  MonotonicClock clock_;
};

std::uint64_t hash_of(std::span<const _gps> processes, LamMeeting meeting) {
  SipHash hash({0x6d656574696e67, 0x6c6170692e727069});
  for (const _gps& gps : processes) {
    hash.add_word(static_cast<std::uint32_t>(gps.gps_node) | std::uint64_t{static_cast<std::uint32_t>(gps.gps_pid)}
                                                                 << 32);
    hash.add_word(static_cast<std::uint32_t>(gps.gps_idx));
  }
  hash.add_word(static_cast<std::uint64_t>(meeting));
  return hash.finish();
}

LamMessages::LamMessages(std::span<const _gps> processes, const _gps& own, LamMeeting meeting)
    : processes_(processes.begin(), processes.end()) {
  identity_ = hash_of(processes_, meeting);
  for (std::uint32_t process = 0; process < size(); ++process) {
    if (place_of(processes_[process]) == place_of(own)) rank_ = process;
    if (processes_[process].gps_node == own.gps_node) near_.push_back(process);
  }
}

// The sender's node has more bits than LAM compares: the tag has the others.
nmsg LamMessages::message_between(const _gps& sender, const _gps& receiver) const {
  nmsg message{};
  const int tag = 0x4000 | ((sender.gps_node >> 8) & 0x3fff);
  _m2l_fillsys(sender.gps_node, sender.gps_idx, receiver.gps_node, receiver.gps_idx, 0, tag, &message);
  // Not the event at which LAM itself has messages of these processes.
  message.nh_event = kEvents | (receiver.gps_idx & 0x7fff);
  message.nh_flags |= DINT4DATA;
  return message;
}

// LAM keeps what processes have sent that died, for whoever gets the places of those to whom they sent it.
void LamMessages::name_group(nmsg& message) const {
  message.nh_data[3] = static_cast<int4>(identity_);
  message.nh_data[4] = static_cast<int4>(identity_ >> 32);
}

bool LamMessages::take_kept(std::uint32_t from, nmsg& message) const {
  const auto found = std::ranges::find_if(kept_pieces(), [&](const Piece& each) { return is_wanted(each.head, from); });
  if (found == kept_pieces().end()) return false;
  char* const room = message.nh_msg;
  std::ranges::copy(found->bytes, room);
  message = found->head;
  message.nh_msg = room;
  kept_pieces().erase(found);
  return true;
}

bool LamMessages::is_wanted(const nmsg& message, std::uint32_t from) const {
  nmsg named{};
  name_group(named);
  return message.nh_data[0] == kPieceWord && message.nh_data[3] == named.nh_data[3] &&
         message.nh_data[4] == named.nh_data[4] && static_cast<std::uint32_t>(message.nh_data[5]) == from;
}

bool LamMessages::send(std::uint32_t to, std::span<const std::byte> bytes, std::string& error) {
  std::size_t offset = 0;
  do {
    const std::size_t piece = std::min<std::size_t>(bytes.size() - offset, MAXNMSGLEN);
    nmsg message = message_between(own(), processes_[to]);
    message.nh_length = static_cast<int4>(piece);
    message.nh_msg = const_cast<char*>(reinterpret_cast<const char*>(bytes.data() + offset));
    message.nh_data[0] = kPieceWord;
    message.nh_data[1] = static_cast<int4>(bytes.size());
    message.nh_data[2] = static_cast<int4>(offset);
    message.nh_data[5] = static_cast<int4>(rank_);
    name_group(message);
    if (nsend(&message) != 0) {
      error = "LAM could not send a message to process " + std::to_string(to) + " on its node " +
              std::to_string(processes_[to].gps_node) + ": " + std::strerror(errno);
      return false;
    }
    offset += piece;
  } while (offset < bytes.size());
  return true;
}

// Processes of other nodes are known by their silence only.
bool LamMessages::has_died(std::uint32_t process) const {
  const _gps& gps = processes_[process];
  return gps.gps_node == own().gps_node && kill(gps.gps_pid, 0) != 0 && errno == ESRCH;
}

// Looks again and again, because a look that waits would wait for the dead, too.
bool LamMessages::receive_piece(std::uint32_t from, nmsg& message, std::string& error) {
  const nmsg wanted = message;
  const Nanoseconds begin = clock_.now();
  Nanoseconds nap = kShortestNap;
  if (take_kept(from, message)) return true;
  for (bool dead = false;;) {
    if (ntry_recv(&message) == 0) {
      if (is_wanted(message, from)) return true;
      keep(message);
      message = wanted;
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
      error = std::string("LAM could not receive a message: ") + std::strerror(errno);
      return false;
    }
    const bool silent = clock_.now() - begin > kMostSilence;
    if (dead || silent) {
      error = "process " + std::to_string(from) + " (pid " + std::to_string(processes_[from].gps_pid) + " on node " +
              std::to_string(processes_[from].gps_node) + " of LAM) " +
              (dead ? "has ended" : "has said nothing for 120 seconds; does it use the rpi module 'lapi', too?");
      return false;
    }
    message = wanted;
    dead = has_died(from);  // what it said before is looked for once more
    rest_between_looks(nap);
    nap = std::min(2 * nap, kLongestNap);
  }
}

bool LamMessages::has_message(std::uint32_t from) {
  std::array<char, MAXNMSGLEN> room;
  for (;;) {
    nmsg message = message_between(processes_[from], own());
    message.nh_length = static_cast<int4>(room.size());
    message.nh_msg = room.data();
    if (ntry_recv(&message) != 0) break;
    keep(message);
  }
  return std::ranges::any_of(kept_pieces(), [&](const Piece& each) { return is_wanted(each.head, from); });
}

bool LamMessages::receive(std::uint32_t from, std::vector<std::byte>& bytes, std::string& error) {
  bytes.clear();
  std::array<char, MAXNMSGLEN> room;
  std::size_t total = 0;
  do {
    nmsg message = message_between(processes_[from], own());
    message.nh_length = static_cast<int4>(room.size());
    message.nh_msg = room.data();
    if (!receive_piece(from, message, error)) return false;
    if (bytes.empty()) total = static_cast<std::uint32_t>(message.nh_data[1]);
    const auto length = static_cast<std::uint32_t>(message.nh_length);
    if (static_cast<std::uint32_t>(message.nh_data[1]) != total ||
        static_cast<std::uint32_t>(message.nh_data[2]) != bytes.size() || total > kMostBytes || length > room.size() ||
        length > total - bytes.size() || (length == 0 && total != 0)) {
      error = "process " + std::to_string(from) + " has sent something else than the rpi module 'lapi' does";
      return false;
    }
    const auto* const begin = reinterpret_cast<const std::byte*>(room.data());
    bytes.insert(bytes.end(), begin, begin + length);
  } while (bytes.size() < total);
  return true;
}

}  // namespace

bool host_has_messages() { return nsend != nullptr && ntry_recv != nullptr && _m2l_fillsys != nullptr; }

WhileWaiting::WhileWaiting(std::function<void()> step) { step_while_waiting() = std::move(step); }

WhileWaiting::~WhileWaiting() { step_while_waiting() = nullptr; }

void rest_between_looks(Nanoseconds length) {
  if (step_while_waiting()) step_while_waiting()();
  const timespec nap{0, static_cast<long>(length)};
  nanosleep(&nap, nullptr);
}

std::unique_ptr<ProcessMessages> open_lam_messages(std::span<const _gps> processes, const _gps& own,
                                                   LamMeeting meeting) {
  return std::make_unique<LamMessages>(processes, own, meeting);
}

}  // namespace openlapi::rpi
