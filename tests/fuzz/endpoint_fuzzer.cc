// A whole endpoint against a peer that is of the job and lies: any record, in any order, with any lengths, among
// operations of the endpoint's own and those of an honest peer. A record writes where it says, so what it says of this
// task's memory is moved into the arena below, as a liar would do who wants to stay hidden; everything else stays as
// the input has it. Whatever comes: no crash, nothing written outside of the arena and of what the operations named,
// nothing kept without bound, and the honest peer is served.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "dataplane/wire/layout_description.h"
#include "dataplane/wire/operation_header.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/guarded_bytes.h"

namespace openlapi {
namespace {

constexpr PeerIndex kVictim = 0, kLiar = 1, kHonest = 2;
constexpr std::uint32_t kMaxPacket = 1024;
constexpr std::size_t kArenaBytes = 64 * 1024;
constexpr std::uint64_t kMostTotal = 16 * 1024;  // of what one message names
constexpr std::size_t kMostCommands = 512;

// What records may name.
class Arena {
 public:
  std::uint64_t place(std::uint64_t wanted, std::uint64_t length) const {
    OPENLAPI_CHECK(length <= kMostTotal);
    return address(bytes_.data()) + wanted % (kArenaBytes - length);
  }
  // 0 stays: no counter.
  std::uint64_t counter(std::uint64_t wanted) const { return wanted == 0 ? 0 : place(wanted, 8) & ~std::uint64_t{7}; }
  // Of what is read by the receiver itself, which must not overlap where it writes.
  std::uint64_t source(std::uint64_t wanted, std::uint64_t length) const {
    return address(sources_.data()) + wanted % (kArenaBytes - length);
  }
  void* at(std::uint64_t wanted, std::uint64_t length) { return bytes_.data() + wanted % (kArenaBytes - length); }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kArenaBytes);
  std::vector<std::byte> sources_ = std::vector<std::byte>(kArenaBytes);
};

// Moves what a record says of the receiver's memory into the arena. Records that are none stay as they are.
class Moved {
 public:
  Moved(std::span<std::byte> packet, Arena& arena) : arena_(arena) {
    std::span<std::byte> rest = packet;
    for (wire::Record record; !rest.empty() && wire::next_record(rest, record);) move(record);
  }

 private:
  template <typename Body, typename Change>
  void change(const wire::Record& record, Change change) {
    auto body = wire::body_of<Body>(record);
    change(body);
    std::memcpy(const_cast<std::byte*>(record.body), &body, sizeof(body));
  }

  // The extension stands behind the body. Answers the message's length.
  std::uint64_t extended(const wire::Record& record) {
    if (!record.is_long()) return record.header.payload_length;
    auto* const place = const_cast<std::byte*>(record.body) + wire::body_size(record.header.kind);
    wire::LongExtension extension = record.extension;
    extension.total_length = std::max<std::uint64_t>(extension.total_length % kMostTotal, record.header.payload_length);
    extension.source_address = arena_.source(extension.source_address, extension.total_length);
    std::memcpy(place, &extension, sizeof(extension));
    clear_flags(record, wire::kFlagLayout);  // what lies in the arena is no description
    return extension.total_length;
  }

  static void clear_flags(const wire::Record& record, std::uint8_t flags) {
    auto* const header = const_cast<std::byte*>(record.body) - sizeof(wire::RecordHeader);
    header[offsetof(wire::RecordHeader, flags)] &= static_cast<std::byte>(~flags);
  }

  void move_short_put(const wire::Record& record) {
    wire::PutBody body = wire::put_body(record);
    OPENLAPI_CHECK(record.header.payload_length <= kMaxPacket);
    body.target_address = arena_.place(body.target_address, record.header.payload_length);
    auto* next = const_cast<std::byte*>(record.body);
    const auto put = [&next](std::uint64_t word) {
      std::memcpy(next, &word, sizeof(word));
      next += sizeof(word);
    };
    put(body.target_address);
    if ((record.header.flags & wire::kFlagTargetCounter) != 0) put(arena_.counter(body.target_counter));
    if ((record.header.flags & wire::kFlagCompletionCounter) != 0) put(body.completion_counter);
  }

  void move(const wire::Record& record) {
    switch (record.kind()) {
      case wire::RecordKind::put:
        return change<wire::PutBody>(record, [&](wire::PutBody& body) {
          body.target_address = arena_.place(body.target_address, extended(record));
          body.target_counter = arena_.counter(body.target_counter);
        });
      case wire::RecordKind::short_put:
        return move_short_put(record);
      case wire::RecordKind::active_message:
        return change<wire::ActiveMessageBody>(record, [&](wire::ActiveMessageBody& body) {
          extended(record);
          body.target_counter = arena_.counter(body.target_counter);
        });
      case wire::RecordKind::get_request:
        return change<wire::GetRequestBody>(record, [&](wire::GetRequestBody& body) {
          body.length %= kMostTotal;
          body.target_address = arena_.place(body.target_address, body.length);
          body.target_counter = arena_.counter(body.target_counter);
        });
      case wire::RecordKind::rmw_request:
        return change<wire::RmwRequestBody>(
            record, [&](wire::RmwRequestBody& body) { body.target_address = arena_.counter(body.target_address | 1); });
      case wire::RecordKind::memory_read:
        return change<wire::MemoryReadBody>(
            record, [&](wire::MemoryReadBody& body) { body.counter = arena_.counter(body.counter); });
      case wire::RecordKind::put_pieces:
        return change<wire::PutPiecesBody>(record, [&](wire::PutPiecesBody& body) {
          move_pieces(record, body);
          body.target_counter = arena_.counter(body.target_counter);
        });
      case wire::RecordKind::put_strided:
        return change<wire::PutStridedBody>(record, [&](wire::PutStridedBody& body) {
          move_blocks(body);
          body.target_counter = arena_.counter(body.target_counter);
        });
      case wire::RecordKind::get_layout:
        return change<wire::GetLayoutBody>(record, [&](wire::GetLayoutBody& body) {
          move_description(record);
          body.target_counter = arena_.counter(body.target_counter);
        });
      default:
        return;  // names nothing of the receiver's but by numbers, which the engine has to check
    }
  }

  void move_pieces(const wire::Record& record, const wire::PutPiecesBody& body) {
    wire::PiecesAndData payload;
    if (!wire::split_pieces(record, body, payload)) return;
    for (std::size_t i = 0; i < payload.count; ++i) move_piece(const_cast<std::byte*>(payload.pieces), i);
  }

  void move_piece(std::byte* pieces, std::size_t i) {
    wire::LayoutPiece piece;
    std::memcpy(&piece, pieces + i * sizeof(piece), sizeof(piece));
    if (piece.length > kMostTotal) piece.length %= kMostTotal;
    piece.address = arena_.place(piece.address, piece.length);
    std::memcpy(pieces + i * sizeof(piece), &piece, sizeof(piece));
  }

  void move_blocks(wire::PutStridedBody& body) {
    body.total_length %= kMostTotal / 2;
    body.block %= kMostTotal / 2;
    const std::uint64_t blocks = body.block == 0 ? 0 : body.total_length / body.block + 1;
    body.stride %= kMostTotal / (2 * (blocks + 1));
    body.base = arena_.place(body.base, kMostTotal);
  }

  // One description in one record: a longer one would come in pieces that nobody could move.
  void move_description(const wire::Record& record) {
    auto* const payload = record.payload;
    std::span<const std::byte> rest(payload, record.header.payload_length);
    wire::LayoutDescription description;
    if (record.is_long()) {
      const std::uint64_t none = record.header.payload_length;
      std::memcpy(const_cast<std::byte*>(record.body) + sizeof(wire::GetLayoutBody), &none, sizeof(none));
    }
    while (wire::next_description(rest, description)) {
      if (description.kind == wire::LayoutKind::pieces) {
        for (std::uint64_t i = 0; i < description.count; ++i) {
          move_piece(const_cast<std::byte*>(description.pieces), i);
        }
      } else {
        std::byte* const place = payload + (record.header.payload_length - rest.size()) - sizeof(wire::StridedLayout);
        wire::StridedLayout strided = description.strided;
        strided.block %= kMostTotal / 64;
        strided.stride %= kMostTotal / 64;
        strided.count %= 32;
        strided.base = arena_.place(strided.base, kMostTotal);
        std::memcpy(place, &strided, sizeof(strided));
        const std::uint64_t total = strided.block * strided.count;
        std::memcpy(place - sizeof(total), &total, sizeof(total));  // the end of its LayoutHeader
      }
    }
  }

  Arena& arena_;
};

class Scene {
 public:
  Scene() : job_(3, config(), kMaxPacket) {
    for (PeerIndex i = 0; i < 3; ++i) job_.task(i).transport.make_readable();
    for (const PeerIndex served : {kVictim, kHonest}) answer_as_told(job_.task(served).host);
    job_.start();
  }

  void run(FuzzInput input) {
    for (std::size_t n = 0; n < kMostCommands && !input.empty(); ++n) {
      command(input);
      step();
    }
    serve_the_honest();
    job_.task(kVictim).endpoint.reset();  // before the memory of its operations
    OPENLAPI_CHECK(std::all_of(memory_.begin(), memory_.end(), [](const auto& own) { return own.intact(); }));
  }

 private:
  static EndpointConfig config() {
    EndpointConfig config = small_copies();
    config.timeout = 10 * kSecond;
    config.idle_loops_between_timers = 1;
    return config;
  }

  void answer_as_told(ScriptedHost& host) {
    host.on_header = [this](const ArrivedMessage& message) {
      HeaderVerdict verdict;
      verdict.delivery = static_cast<Delivery>(answer_ % 3);
      verdict.style = static_cast<CompletionStyle>(answer_ / 4 % 3);
      if (answer_ & 64) verdict.completion_handler = this;
      if (message.length <= kMostTotal) {
        verdict.buffer = arena_.at(message.handler, message.length);
      } else if (verdict.delivery == Delivery::deliver) {
        verdict.delivery = Delivery::bury;
      }
      return verdict;
    };
    host.on_completion = [this](const CompletionRun& run, bool now) {
      if (now || (answer_ & 128) == 0) return true;
      runs_.push_back(run);
      return false;
    };
  }

  void command(FuzzInput& input) {
    const std::uint8_t choice = input.take();
    switch (choice % 8) {
      case 0:
        return lie(input.take_bytes(4 * std::size_t{input.take()}));
      case 1:
      case 2:
        return lie(record(input, choice / 8));
      case 3:
        return begin_operation(choice / 8, input.take());
      case 4:
        answer_ = input.take();
        return;
      case 5:
        return job_.clock.advance(Nanoseconds{1} << choice / 8);
      case 6:
        return meet(choice / 8);
      default:
        for (unsigned n = choice / 8; n != 0; --n) step();
    }
  }

  void step() {
    job_[kVictim].progress();
    job_[kHonest].progress();
    job_.task(kLiar).transport.forget_waiting();
  }

  // A record that is one, of any kind and flags; numbers in it are small (0 .. 255) or not, as `small` says by bits.
  std::vector<std::byte> record(FuzzInput& input, unsigned small) {
    wire::RecordHeader header{};
    header.kind = static_cast<std::uint8_t>(wire::kFirstRecordKind + input.take() % wire::kLastRecordKind);
    if (header.kind == static_cast<std::uint8_t>(wire::RecordKind::short_put)) return short_put(input);
    header.flags = input.take() & wire::kKnownFlags;
    const std::size_t fixed =
        wire::body_size(header.kind) + ((header.flags & wire::kFlagLong) != 0 ? sizeof(wire::LongExtension) : 0);
    std::vector<std::byte> bytes(sizeof(header));
    for (std::size_t at = 0; at < fixed; at += 8) {
      const auto word = input.take_bytes((small >> (at / 8 % 5) & 1) != 0 ? 1 : 8);
      bytes.insert(bytes.end(), word.begin(), word.end());
      bytes.resize(sizeof(header) + at + 8);
    }
    header.user_header_length = static_cast<std::uint16_t>(input.take() & 12);
    const auto rest = input.take_bytes(input.take());
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    header.user_header_length = std::min<std::uint16_t>(header.user_header_length, rest.size() & ~std::size_t{3});
    header.payload_length = static_cast<std::uint32_t>(rest.size() - header.user_header_length);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
  }

  // With flags that it cannot have now and then.
  static std::vector<std::byte> short_put(FuzzInput& input) {
    const std::uint8_t flags = input.take();
    const wire::ShortPutHeader header{static_cast<std::uint8_t>(wire::RecordKind::short_put),
                                      static_cast<std::uint8_t>(flags % 8 != 0 ? flags & wire::kShortPutFlags : flags),
                                      input.take()};
    std::vector<std::byte> bytes(sizeof(header));
    std::memcpy(bytes.data(), &header, sizeof(header));
    const std::size_t behind = wire::short_put_fixed_part(flags) - sizeof(header) + header.payload_length;
    const auto rest = input.take_bytes(behind);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  }

  void lie(std::vector<std::byte> packet) {
    if (packet.empty() || packet.size() > kMaxPacket) return;
    const Moved moved(packet, arena_);
    const ConstBuffer piece{packet.data(), packet.size()};
    const OutgoingPacket outgoing{{&piece, 1}, static_cast<std::uint32_t>(packet.size())};
    job_.task(kLiar).transport.send_burst(kVictim, {&outgoing, 1});
  }

  void begin_operation(unsigned choice, std::uint8_t size) {
    const PeerIndex peer = choice % 4 == 3 ? kHonest : kLiar;
    GuardedBytes& own = memory_.emplace_back(std::size_t{size} * (choice & 16 ? 40 : 1));
    int* const counters = counters_.emplace_back().data();
    Endpoint& victim = job_[kVictim];
    const std::uint64_t far = arena_.source(choice, own.size());
    switch (choice / 4 % 4) {
      case 0:
        victim.put({peer, address(arena_.at(0, own.size())), own.data(), own.size(), 0, address(counters),
                    address(counters + 1)});
        return;
      case 1:
        victim.get({peer, far, own.data(), own.size(), 0, address(counters)});
        return;
      case 2:
        victim.read_modify_write({peer, wire::RmwOperation::fetch_and_add, 8, arena_.counter(8), 1, 0,
                                  own.size() >= 8 ? own.data() : nullptr, address(counters)});
        return;
      default:
        victim.active_message(
            {peer, size, nullptr, 0, own.data(), own.size(), 0, address(counters), address(counters + 1)});
    }
  }

  // What concerns more than one operation.
  void meet(unsigned choice) {
    Endpoint& victim = job_[kVictim];
    switch (choice % 8) {
      case 0:
        fence_ = victim.fences().begin();
        return;
      case 1:
        victim.fences().state(fence_);
        return;
      case 2:
        if (victim.collectives().state() != CollectiveState::pending) victim.collectives().begin_barrier();
        return;
      case 3:
        if (victim.collectives().state() != CollectiveState::pending) victim.collectives().begin_exchange(choice);
        return;
      case 4:
        return victim.purge(kLiar);
      case 5:
        return victim.resume(kLiar, ++epoch_);
      case 6:
        if (runs_.empty()) return;
        victim.completion_returned(runs_.front());
        runs_.erase(runs_.begin());
        return;
      default:
        job_.task(kVictim).transport.set_gone(choice & 8 ? kLiar : kUnknownPeer);
    }
  }

  void serve_the_honest() {
    std::vector<unsigned char> source(5000, 7), sink(5000);
    int arrived = 0, completed = 0;
    const PutRequest put{kVictim, address(sink.data()), source.data(), source.size(), address(&arrived),
                         0,       address(&completed)};
    bool accepted = false;
    for (int n = 0; n < 2000 && completed == 0; ++n) {
      accepted = accepted || job_[kHonest].put(put) == Submit::accepted;
      step();
      job_.clock.advance(kMillisecond);
    }
    OPENLAPI_CHECK(arrived == 1 && completed == 1 && sink == source);
    job_.task(kHonest).endpoint.reset();
  }

  Arena arena_;
  std::list<GuardedBytes> memory_;  // of operations of the victim's own
  std::list<std::array<int, 2>> counters_;
  std::vector<CompletionRun> runs_;
  std::uint8_t answer_ = 0;
  std::uint32_t epoch_ = 1;
  FenceTicket fence_{};
  Job job_;
};

}  // namespace
}  // namespace openlapi

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  openlapi::Scene().run({data, size});
  return 0;
}
