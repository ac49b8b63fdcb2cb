// The short path begins at ShmDirect::put(); what is above it runs at set-up and at first contact.
#include "shm/shm_direct_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/base/monotonic_clock.h"
#include "dataplane/base/sanitizer_order.h"
#include "shm/direct/demand.h"
#include "shm/direct/neighbour_memory.h"
#include "shm/direct/open_memory.h"
#include "shm/direct/process_memory.h"
#include "shm/direct/shared_bytes.h"
#include "shm/direct/unattended_memory.h"
#include "shm/direct/wanted_memory.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

using direct::AccessorLine;
using direct::ControlHeader;
using direct::ControlMemory;
using direct::copy_word_or_bytes;
using direct::count_get;
using direct::count_put;
using direct::Entrance;
using direct::fetch_to_write;
using direct::NeighbourMemory;
using direct::OpenMemory;
using direct::UnattendedMemory;
using direct::WantedPieces;
using direct::WantedRange;

constexpr std::size_t kLoadedBefore = 64;            // bytes of the caller's that are not looked at during a visit
constexpr std::uint32_t kVisitsBetweenLooks = 1024;  // whether the owner still lives
constexpr int kTries = 3;                            // to find both addresses of an operation
constexpr std::uint32_t kMostFailures = 8;
constexpr Nanoseconds kPauseWithoutDescriptors = kSecond / 10;  // each operation would try to open a file

// Another process's memory file, by its own number. The kernel asks for the same rights as for reading its memory.
// Nothing: no descriptor is free, or none was lately; until `not_before` it is not tried again.
std::optional<FileDescriptor> descriptor_of(std::uint32_t process, std::int32_t number, Nanoseconds& not_before) {
  if (not_before != 0 && system_monotonic_time() < not_before) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const bool none_free = !file.is_open() && (errno == EMFILE || errno == ENFILE);
  not_before = none_free ? system_monotonic_time() + kPauseWithoutDescriptors : 0;
  if (none_free) return std::nullopt;
  return file;
}

enum class Visited : std::uint8_t {
  kDone,
  kRefused,  // the owner does not want it
  kUnknown,  // some of it is not known to be open
};

struct Neighbour {
  std::unique_ptr<NeighbourMemory> memory;                // null: not met yet
  std::unique_ptr<UnattendedMemory> unattended;           // null: not read so far
  shm::SendQueue* queue = nullptr;                        // null: not added
  std::uint64_t era = 0;                                  // the neighbour's with this task, that is sent for
  const std::atomic<std::uint64_t>* shown_era = nullptr;  // where the neighbour shows which it is
  std::uint32_t visits = 0, visits_seen = 0;
  std::uint32_t failures = 0;  // to get its memory, one after the other, though it offers some
  bool lost = false;           // ended, or what it offers is of no use
};

class ShmDirect final : public ShmDirectMemory {
 public:
  ShmDirect(shm::ShmGroup& group, ShmDoorbell& doorbell, DirectUse use, OpenMemory::Pointer memory)
      : group_(group), doorbell_(doorbell), use_(use), memory_(std::move(memory)), neighbours_(group.size()) {
    ControlHeader& header = memory_->control().header();
    header.read_only = use == DirectUse::kReads ? 1 : 0;
    header.own_proof_address = proof_.address();
    header.own_proof = proof_.value();
    for (std::uint32_t index = 0; index < group.size(); ++index) admit(index);
    shm::SegmentHeader& mine = *group.segment(group.self()).header;
    mine.direct_proof = header.proof;
    // Release: all that neighbours look at once they see it; pairs with meet().
    mine.direct.store(static_cast<std::uint32_t>(memory_->control().descriptor()) + 1, std::memory_order_release);
  }
  ~ShmDirect() override;

  void begin_era(std::uint32_t index, std::uint64_t era, shm::SendQueue& queue) override {
    neighbours_[index].queue = &queue;
    neighbours_[index].era = era;
    neighbours_[index].shown_era = &group_.segment(index).eras[group_.self()];
    neighbours_[index].unattended.reset();  // what was hot in another era is not any more
  }
  void end_visits(std::uint32_t index) override {
    memory_->end_visits(index);
    memory_->control().line(index).wanted.store(0, std::memory_order_relaxed);
  }
  const std::atomic<std::uint32_t>& moved_word() const override { return memory_->control().header().counters_moved; }
  std::atomic<std::uint32_t>& unattended_word() override { return memory_->control().header().unattended; }

  bool put(PeerIndex peer, std::uint64_t address, const void* data, std::size_t length, std::uint64_t counter) override;
  bool get(PeerIndex peer, std::uint64_t address, void* buffer, std::size_t length, std::uint64_t counter) override;
  bool put_pieces(PeerIndex peer, Pieces pieces, const std::byte* data, std::uint64_t counter) override;
  bool get_pieces(PeerIndex peer, Pieces pieces, std::byte* buffer, std::uint64_t counter) override;
  bool change(PeerIndex peer, std::uint64_t address, std::size_t width, ChangeWord change, void* operands) override;

  bool is_in_use(PeerIndex peer) override;
  void asked_for(std::uint64_t address) override {
    if (file_ != memory_->control().header().file.load(std::memory_order_relaxed)) [[unlikely]]
      begin_demand();
    if (demand_.grows(address)) [[unlikely]]
      open_hot(address);
  }
  void asked_for_pieces(Pieces pieces) override;
  bool counters_have_moved() override {
    std::atomic<std::uint32_t>& moved = memory_->control().header().counters_moved;
    // Sequentially consistent: whoever finds 1 there has moved its counter before we look at it; pairs with tell().
    if (moved.load(std::memory_order_relaxed) == 0 || moved.exchange(0, std::memory_order_seq_cst) == 0) return false;
    if (memory_->control().header().wishes.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      grant_wishes();
    return true;
  }
  void leave_counters_to_peers(bool on) override {
    memory_->control().header().counters_private.store(on ? 0 : 1, std::memory_order_relaxed);
    memory_->wait_for_accessors();
  }
  Traffic traffic() const override;

 private:
  void admit(std::uint32_t index);
  void begin_demand();
  void open_hot(std::uint64_t address);
  void grant_wishes();
  bool meet(std::uint32_t index);
  bool take_file(std::uint32_t index);
  static void count_failure(Neighbour& neighbour);
  static bool is_shut(const Neighbour& neighbour);
  Neighbour* ready(std::uint32_t index);
  bool is_open_to(std::uint32_t index, Neighbour& neighbour, bool changes);
  Neighbour* way_to(std::uint32_t index, bool changes);
  void tell(std::uint32_t index, const Neighbour& neighbour);
  template <typename Wanted, typename Act>
  Visited visit_once(Neighbour& neighbour, Wanted& wanted, std::uint64_t counter, Act act);
  template <typename Wanted, typename Act>
  bool visit(std::uint32_t index, Neighbour& neighbour, Wanted& wanted, std::uint64_t counter, Act act);
  bool get_open(std::uint32_t index, Neighbour& neighbour, const MemoryRange& range, void* buffer,
                std::uint64_t counter);
  bool get_unattended(std::uint32_t index, Neighbour& neighbour, const MemoryRange& range, void* buffer);
  void wish_for(std::uint32_t index, const Neighbour& neighbour, std::uint64_t address);

  shm::ShmGroup& group_;
  ShmDoorbell& doorbell_;
  const DirectUse use_;
  const pid_t process_ = getpid();
  const direct::OwnProof proof_;
  OpenMemory::Pointer memory_;
  std::vector<Neighbour> neighbours_;  // by local index
  direct::Demand demand_;
  std::uint64_t file_ = 0;                // that has what demand_ has seen opened
  Nanoseconds no_descriptor_before_ = 0;  // 0: there was one when it was last tried
};

// A child of a fork has neither the windows nor the control memory.
ShmDirect::~ShmDirect() {
  if (process_ == getpid()) return;
  for (Neighbour& neighbour : neighbours_) static_cast<void>(neighbour.memory.release());
}

// The kernel says when it has ended. Where it has no number here, it cannot come in either.
void ShmDirect::admit(std::uint32_t index) {
  const auto process = static_cast<pid_t>(group_.segment(index).header->process_id);
  if (process != getpid()) memory_->admit(index, process);
}

// All is private again: what was open does not wait for twice the messages.
[[gnu::noinline]] void ShmDirect::begin_demand() {
  file_ = memory_->control().header().file.load(std::memory_order_relaxed);
  demand_.forget_all();
}

// Each look costs two system calls: messages for what is open lead to one ever less often.
[[gnu::noinline]] void ShmDirect::open_hot(std::uint64_t address) {
  if (!memory_->is_open(address) && memory_->promote(address) == direct::Refusal::kNone) demand_.forget(address);
}

// What neighbours have read often while nobody polled here.
[[gnu::noinline]] void ShmDirect::grant_wishes() {
  const ControlMemory& control = memory_->control();
  control.header().wishes.store(0, std::memory_order_seq_cst);  // before the lines: pairs with wish_for()
  for (std::uint32_t index = 0; index < group_.size(); ++index) {
    const std::uint64_t address = control.line(index).wanted.exchange(0, std::memory_order_seq_cst);
    if (address != 0) open_hot(address);
  }
}

// The chunks of both ends, but for those of the piece before.
void ShmDirect::asked_for_pieces(Pieces pieces) {
  std::uint64_t latest = 1;  // no chunk begins there
  for (const MemoryRange& piece : pieces) {
    for (const std::uint64_t address : {piece.address, piece.address + piece.length - 1}) {
      const std::uint64_t chunk = direct::Demand::chunk_of(address);
      if (chunk != latest) asked_for(address);
      latest = chunk;
    }
  }
}

bool ShmDirect::meet(std::uint32_t index) {
  Neighbour& neighbour = neighbours_[index];
  const shm::SegmentHeader& header = *group_.segment(index).header;
  // Acquire: pairs with the owner's announcement.
  const std::uint32_t offered = header.direct.load(std::memory_order_acquire);
  if (offered == 0 || neighbour.lost) return false;
  std::string error;
  auto file = descriptor_of(header.process_id, static_cast<std::int32_t>(offered - 1), no_descriptor_before_);
  if (!file) return false;
  ControlMemory control = ControlMemory::attach(std::move(*file), error);
  if (!control.valid()) {
    count_failure(neighbour);
    return false;
  }
  // In another process namespace the number may mean a stranger.
  if (control.header().proof != header.direct_proof || control.accessors() <= group_.self()) {
    neighbour.lost = true;
    return false;
  }
  neighbour.memory = std::make_unique<NeighbourMemory>(std::move(control), group_.self());
  return true;
}

void ShmDirect::count_failure(Neighbour& neighbour) { neighbour.lost = ++neighbour.failures == kMostFailures; }

// The owner begins a new file with each fork, while the gate is closed. If it does so right now, or cannot, there is a
// next time, and so there is after a visit that a signal handler has interrupted.
bool ShmDirect::take_file(std::uint32_t index) {
  Neighbour& neighbour = neighbours_[index];
  const ControlHeader& header = neighbour.memory->control().header();
  const std::uint64_t generation = header.generation.load();
  if (direct::is_closed(generation) || neighbour.memory->entrance().is_inside()) return false;
  const std::uint64_t number = header.file.load();
  std::string error;
  auto file =
      descriptor_of(group_.segment(index).header->process_id, header.file_descriptor.load(), no_descriptor_before_);
  if (!file || header.generation.load() != generation) return false;
  if (!neighbour.memory->use_file(number, std::move(*file), error)) {
    count_failure(neighbour);
    return false;
  }
  neighbour.failures = 0;
  return true;
}

// Null: nothing can be done there without a message now.
Neighbour* ShmDirect::ready(std::uint32_t index) {
  if (index >= neighbours_.size()) return nullptr;
  Neighbour& neighbour = neighbours_[index];
  if (neighbour.memory == nullptr && !meet(index)) [[unlikely]]
    return nullptr;
  if (neighbour.lost || neighbour.queue == nullptr || !neighbour.queue->all_taken()) return nullptr;
  if (++neighbour.visits % kVisitsBetweenLooks == 0 && group_.gone(index)) [[unlikely]]
    neighbour.lost = true;
  return neighbour.lost ? nullptr : &neighbour;
}

bool ShmDirect::is_open_to(std::uint32_t index, Neighbour& neighbour, bool changes) {
  if (changes && (use_ != DirectUse::kAll || neighbour.memory->control().header().read_only != 0)) return false;
  return !neighbour.memory->needs_file() || take_file(index);
}

// Null: there is none now.
Neighbour* ShmDirect::way_to(std::uint32_t index, bool changes) {
  Neighbour* const neighbour = ready(index);
  return neighbour != nullptr && is_open_to(index, *neighbour, changes) ? neighbour : nullptr;
}

// The owner has purged this task, and perhaps resumed it since: what was begun before must not come any more.
bool ShmDirect::is_shut(const Neighbour& neighbour) {
  const std::uint64_t era = neighbour.shown_era->load(std::memory_order_relaxed);
  return era != neighbour.era || shm::is_closed(era);
}

// Sequentially consistent, both: a waiter that does not see the counter's new value sees the word, or is rung. The
// counter was moved by an instruction that comes before them in the same order.
void ShmDirect::tell(std::uint32_t index, const Neighbour& neighbour) {
  std::atomic<std::uint32_t>& moved = neighbour.memory->control().header().counters_moved;
  if (moved.load(std::memory_order_seq_cst) == 0) moved.store(1, std::memory_order_seq_cst);
  doorbell_.published(*group_.segment(index).header, index);
}

// Counters move after the data: who sees the one sees the other.
template <typename Wanted, typename Act>
Visited ShmDirect::visit_once(Neighbour& neighbour, Wanted& wanted, std::uint64_t counter, Act act) {
  NeighbourMemory& memory = *neighbour.memory;
  const Entrance::Visit visit(memory.entrance());
  std::byte* const counts = counter != 0 ? memory.find(visit, counter, sizeof(int)) : nullptr;
  if (!wanted.find(memory, visit) || (counter != 0 && counts == nullptr)) return Visited::kUnknown;
  if (is_shut(neighbour)) return Visited::kRefused;
  const ControlHeader& header = memory.control().header();
  if (counter != 0 && header.counters_private.load(std::memory_order_relaxed) != 0) return Visited::kRefused;
  if (counter != 0) fetch_to_write(counts);
  act(memory.control().line(group_.self()));
  if (counter != 0) {
    tell_release(counts);
    std::atomic_ref(*reinterpret_cast<int*>(counts)).fetch_add(1, std::memory_order_seq_cst);
  }
  return Visited::kDone;
}

// Calls act(line) while all that is wanted can be reached, as can the counter (0: none). False: they cannot.
template <typename Wanted, typename Act>
bool ShmDirect::visit(std::uint32_t index, Neighbour& neighbour, Wanted& wanted, std::uint64_t counter, Act act) {
  for (int tries = 0; tries < kTries; ++tries) {
    const Visited visited = visit_once(neighbour, wanted, counter, act);
    if (visited == Visited::kDone && counter != 0) tell(index, neighbour);
    if (visited != Visited::kUnknown) return visited == Visited::kDone;
    if (!wanted.learn(*neighbour.memory)) return false;
    if (counter != 0 && !neighbour.memory->learn(counter, sizeof(int))) return false;
  }
  return false;
}

bool ShmDirect::put(PeerIndex peer, std::uint64_t address, const void* data, std::size_t length,
                    std::uint64_t counter) {
  const std::uint32_t index = group_.index_of(peer);
  Neighbour* const neighbour = way_to(index, true);
  if (neighbour == nullptr || counter % sizeof(int) != 0) return false;
  alignas(16) std::byte loaded[kLoadedBefore];
  if (length <= kLoadedBefore) {
    copy_word_or_bytes(loaded, data, length);
    data = loaded;
  }
  WantedRange wanted(address, length);
  return visit(index, *neighbour, wanted, counter, [&](AccessorLine& line) {
    copy_word_or_bytes(wanted.bytes(), data, length);
    count_put(line, length);
  });
}

bool ShmDirect::get(PeerIndex peer, std::uint64_t address, void* buffer, std::size_t length, std::uint64_t counter) {
  const std::uint32_t index = group_.index_of(peer);
  Neighbour* const neighbour = ready(index);
  if (neighbour == nullptr || counter % sizeof(int) != 0) return false;
  const MemoryRange range{address, length};
  if (is_open_to(index, *neighbour, counter != 0) && get_open(index, *neighbour, range, buffer, counter)) return true;
  return counter == 0 && neighbour->memory->control().header().unattended.load(std::memory_order_relaxed) != 0 &&
         get_unattended(index, *neighbour, range, buffer);
}

bool ShmDirect::get_open(std::uint32_t index, Neighbour& neighbour, const MemoryRange& range, void* buffer,
                         std::uint64_t counter) {
  const std::size_t length = range.length;
  alignas(16) std::byte loaded[kLoadedBefore];
  std::byte* const target = length <= kLoadedBefore ? loaded : static_cast<std::byte*>(buffer);
  WantedRange wanted(range.address, length);
  const bool done = visit(index, neighbour, wanted, counter, [&](AccessorLine& line) {
    copy_word_or_bytes(target, wanted.bytes(), length);
    count_get(line, length);
  });
  if (done && target == loaded) copy_word_or_bytes(static_cast<std::byte*>(buffer), loaded, length);
  return done;
}

// A counter of the owner's cannot be moved this way. What the owner has taken back since it was read is not used: it
// may have other bytes there since it has purged this task, or has ended.
[[gnu::noinline]] bool ShmDirect::get_unattended(std::uint32_t index, Neighbour& neighbour, const MemoryRange& range,
                                                 void* buffer) {
  if (is_shut(neighbour)) return false;
  const ControlMemory& control = neighbour.memory->control();
  if (neighbour.unattended == nullptr) {
    neighbour.unattended =
        std::make_unique<UnattendedMemory>(static_cast<pid_t>(group_.segment(index).header->process_id),
                                           control.header().own_proof_address, control.header().own_proof);
  }
  const std::size_t length = range.length;
  alignas(16) std::byte loaded[kLoadedBefore];
  std::byte* const target = length <= kLoadedBefore ? loaded : static_cast<std::byte*>(buffer);
  if (!neighbour.unattended->read(range.address, target, length)) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // after the reading
  if (is_shut(neighbour) || group_.closed(index)) return false;
  if (target == loaded) copy_word_or_bytes(static_cast<std::byte*>(buffer), loaded, length);
  count_get(control.line(group_.self()), length);
  if (neighbour.unattended->is_hot(range.address)) [[unlikely]]
    wish_for(index, neighbour, range.address);
  return true;
}

// The owner opens it when it next makes a step: no message has told it that the memory is hot.
void ShmDirect::wish_for(std::uint32_t index, const Neighbour& neighbour, std::uint64_t address) {
  const ControlMemory& control = neighbour.memory->control();
  // Sequentially consistent, both, and before the word that tell() sets: pair with grant_wishes().
  control.line(group_.self()).wanted.store(address, std::memory_order_seq_cst);
  control.header().wishes.store(1, std::memory_order_seq_cst);
  tell(index, neighbour);
}

bool ShmDirect::put_pieces(PeerIndex peer, Pieces pieces, const std::byte* data, std::uint64_t counter) {
  const std::uint32_t index = group_.index_of(peer);
  Neighbour* const neighbour = way_to(index, true);
  if (neighbour == nullptr || counter % sizeof(int) != 0) return false;
  WantedPieces wanted(pieces);
  return visit(index, *neighbour, wanted, counter, [&](AccessorLine& line) {
    wanted.for_each([&](std::byte* bytes, std::uint64_t length) {
      copy_word_or_bytes(bytes, data, length);
      data += length;
    });
    count_put(line, wanted.total());
  });
}

bool ShmDirect::get_pieces(PeerIndex peer, Pieces pieces, std::byte* buffer, std::uint64_t counter) {
  const std::uint32_t index = group_.index_of(peer);
  Neighbour* const neighbour = way_to(index, counter != 0);
  if (neighbour == nullptr || counter % sizeof(int) != 0) return false;
  WantedPieces wanted(pieces);
  return visit(index, *neighbour, wanted, counter, [&](AccessorLine& line) {
    wanted.for_each([&](const std::byte* bytes, std::uint64_t length) {
      copy_word_or_bytes(buffer, bytes, length);
      buffer += length;
    });
    count_get(line, wanted.total());
  });
}

bool ShmDirect::change(PeerIndex peer, std::uint64_t address, std::size_t width, ChangeWord change, void* operands) {
  const std::uint32_t index = group_.index_of(peer);
  Neighbour* const neighbour = way_to(index, true);
  if (neighbour == nullptr) return false;
  WantedRange wanted(address, width);
  return visit(index, *neighbour, wanted, 0, [&](AccessorLine&) { change(wanted.bytes(), operands); });
}

bool ShmDirect::is_in_use(PeerIndex peer) {
  Neighbour& neighbour = neighbours_[group_.index_of(peer)];
  return std::exchange(neighbour.visits_seen, neighbour.visits) != neighbour.visits;
}

DirectMemory::Traffic ShmDirect::traffic() const {
  Traffic all;
  for (std::uint32_t index = 0; index < group_.size(); ++index) {
    const AccessorLine& line = memory_->control().line(index);
    all.puts += line.puts.load(std::memory_order_acquire);
    all.put_bytes += line.put_bytes.load(std::memory_order_relaxed);
    all.gets += line.gets.load(std::memory_order_acquire);
    all.got_bytes += line.got_bytes.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace

std::unique_ptr<ShmDirectMemory> ShmDirectMemory::open(shm::ShmGroup& group, ShmDoorbell& doorbell,
                                                       const ShmConfig& config, DirectReach& reach) {
  OpenMemory::Pointer memory = direct::open_process_memory(group.size(), config.alone, reach);
  return memory ? std::make_unique<ShmDirect>(group, doorbell, config.direct, std::move(memory)) : nullptr;
}

std::string ShmDirectMemory::why_not(DirectReach& reach) {
  return direct::open_process_memory(1, false, reach) != nullptr ? "" : reach.no_promotion;
}

std::uint32_t ShmDirectMemory::count_threads() { return direct::count_threads(); }

}  // namespace openlapi
