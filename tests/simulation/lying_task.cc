#include "tests/simulation/lying_task.h"

#include <algorithm>
#include <cstring>

#include "dataplane/wire/layout_description.h"
#include "tests/simulation/lie_arena.h"
#include "tests/simulation/simulation.h"

namespace openlapi::simulation {

namespace {

using wire::RecordKind;

constexpr std::uint64_t kLyingStream = 0x6c696172;
constexpr std::size_t kMostSeen = 256;
constexpr std::uint32_t kFewIds = 8;
constexpr std::uint64_t kRecordsOfAFlood = 200;
constexpr Nanoseconds kLongestLying = 200 * kMillisecond;  // most of the others' work is done by then
constexpr std::uint64_t kLongestPayload = 900;
constexpr RecordKind kFloods[] = {RecordKind::put,           RecordKind::active_message, RecordKind::get_request,
                                  RecordKind::fence_request, RecordKind::collective,     RecordKind::put_strided,
                                  RecordKind::rmw_request,   RecordKind::put_pieces,     RecordKind::get_layout};

}  // namespace

LyingTask::LyingTask(Simulation& simulation, std::uint32_t context)
    : simulation_(simulation),
      scenario_(simulation.scenario()),
      context_(context),
      random_(scenario_.options.seed, kLyingStream + context),
      config_(simulation.endpoint_config(scenario_.liar(), context)),
      victims_(scenario_.options.tasks),
      own_(LieArena::kLongest) {
  open_ports();
  flooded_ = static_cast<PeerIndex>(random_.below(victims_.size()));
  flood_ = random_.pick(kFloods);
  lies_until_ = simulation_.time().now() + kLongestLying;
  flood_left_ = random_.chance(0.5) ? tuning::kMostThingsOfPeer + 5000 : 2000;
  step();
}

LyingTask::~LyingTask() {
  victims_.clear();  // before the set of the paths
}

void LyingTask::open_ports() {
  for (auto* port : {&memory_, &network_}) {
    const bool memory = port == &memory_;
    if (memory ? scenario_.can_come_back(scenario_.liar()) : scenario_.flavour == Flavour::shared_memory) continue;
    PortConfig config = simulation_.port_config(scenario_.liar(), context_, memory ? Simulation::kSharedMemory : 0);
    config.readable = config.readable && memory;
    *port = std::make_unique<SimulatedTransport>(simulation_.network(), config);
  }
  if (network_ == nullptr) return;
  Transport* const unreliable = network_.get();
  channels_ = std::make_unique<ChannelSet>(config_, std::span(&unreliable, 1), simulation_.time().clock(), *this);
}

// The channel to a task, or to its new port.
void LyingTask::meet(PeerIndex peer) {
  Victim& victim = victims_[peer];
  const bool near = memory_ != nullptr && scenario_.share_node(scenario_.liar(), peer);
  SimulatedTransport* const port = near ? memory_.get() : network_.get();
  std::string error;
  port->add_peer(
      peer, SimulatedTransport::encode(simulation_.address_of(peer, context_, near ? Simulation::kSharedMemory : 0)),
      error);
  if (near) {
    victim.memory = port;
  } else if (victim.channel == nullptr) {
    Transport* const over = port;
    victim.channel = channels_->make_channel(peer, {&over, 1}, {0, 0});
  }
}

PeerChannel* LyingTask::channel_to(PeerIndex source, bool) {
  if (source >= victims_.size()) return nullptr;
  meet(source);
  return victims_[source].channel.get();
}

void LyingTask::channel_delivered(PeerIndex source, std::span<std::byte> payload) { learn(victims_[source], payload); }

void LyingTask::channel_timed_out(PeerIndex peer) { victims_[peer].channel->reset(); }

// Ids and tickets are words near a record's beginning.
void LyingTask::learn(Victim& victim, std::span<const std::byte> packet) {
  for (std::size_t at = 0; at + 4 <= std::min<std::size_t>(packet.size(), 80); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, packet.data() + at, sizeof(word));
    if (victim.seen.size() < kMostSeen) {
      victim.seen.push_back(word);
    } else {
      victim.seen[random_.below(kMostSeen)] = word;
    }
  }
}

unsigned LyingTask::take_arrivals() {
  const unsigned received = channels_ != nullptr ? channels_->receive() : 0;
  if (memory_ == nullptr) return received;
  std::array<IncomingPacket, tuning::kReceiveBurst> packets;
  const std::size_t count = memory_->receive_burst(packets);
  for (std::size_t i = 0; i < count; ++i) {
    if (packets[i].source < victims_.size()) learn(victims_[packets[i].source], {packets[i].data, packets[i].length});
  }
  memory_->release(count);
  return received + static_cast<unsigned>(count);
}

bool LyingTask::is_done() const {
  return simulation_.finishing() || (lies_left_ == 0 && flood_left_ == 0) || simulation_.time().now() >= lies_until_;
}

void LyingTask::step() {
  const Nanoseconds now = simulation_.time().now();
  if (random_.chance(0.01)) deaf_until_ = now + random_.between(kMillisecond, 200 * kMillisecond);
  while (now >= deaf_until_ && take_arrivals() != 0 && is_done()) {  // the others' answers shall come to an end
  }
  if (!is_done()) {
    if (flood_left_ != 0) lie_to(flooded_, kRecordsOfAFlood);
    if (lies_left_ != 0 && random_.chance(0.3)) {
      --lies_left_;
      lie_to(static_cast<PeerIndex>(random_.below(victims_.size())), random_.between(1, 6));
    }
  }
  if (channels_ != nullptr) {
    channels_->transmit(now);
    channels_->run_timers(now);
  }
  const Nanoseconds longest = is_done() ? kMillisecond : 200 * kMicrosecond;
  simulation_.time().after(random_.between(longest / 100, longest), [this] { step(); });
}

void LyingTask::lie_to(PeerIndex peer, std::uint64_t records) {
  if (!simulation_.checker().alive(peer)) {
    if (peer == flooded_) flood_left_ = 0;
    return;
  }
  meet(peer);
  const bool flood = peer == flooded_ && flood_left_ != 0;
  std::vector<std::byte> packet;
  std::uint64_t in_packet = 0;
  const auto send_packet = [&] {
    if (!send(victims_[peer], peer, packet)) return false;
    if (flood) flood_left_ -= std::min(flood_left_, in_packet);
    packet.clear();
    in_packet = 0;
    return true;
  };
  const std::uint32_t most = std::min(scenario_.network_limits.max_packet, scenario_.memory_limits.max_packet) - 200;
  for (; records != 0; --records) {
    const auto any = static_cast<RecordKind>(random_.between(wire::kFirstRecordKind, wire::kLastRecordKind));
    const std::vector<std::byte> next = record(peer, flood ? flood_ : any);
    if (packet.size() + next.size() > most) {
      if (!send_packet()) return;
    }
    if (next.size() > most) continue;
    packet.insert(packet.end(), next.begin(), next.end());
    packet.resize(wire::align_record(packet.size()));
    ++in_packet;
  }
  if (!packet.empty()) send_packet();
}

bool LyingTask::send(Victim& victim, PeerIndex peer, std::span<const std::byte> packet) {
  const ConstBuffer piece{packet.data(), packet.size()};
  ++simulation_.tally().lies;
  if (victim.channel != nullptr) return victim.channel->send({&piece, 1}, static_cast<std::uint32_t>(packet.size()));
  const OutgoingPacket outgoing{{&piece, 1}, static_cast<std::uint32_t>(packet.size())};
  return victim.memory->send_burst(peer, {&outgoing, 1}) != 0;
}

std::uint64_t LyingTask::place(PeerIndex peer, std::uint64_t length) {
  return simulation_.arena(peer).place(random_.next(), length);
}

std::uint64_t LyingTask::counter(PeerIndex peer) {
  return random_.chance(0.5) ? 0 : simulation_.arena(peer).counter(random_.next());
}

std::uint32_t LyingTask::number(PeerIndex peer) {
  const std::vector<std::uint32_t>& seen = victims_[peer].seen;
  if (random_.chance(0.4)) return static_cast<std::uint32_t>(random_.between(1, kFewIds));
  if (!seen.empty() && random_.chance(0.8)) return seen[random_.below(seen.size())];
  return static_cast<std::uint32_t>(random_.next());
}

std::uint64_t LyingTask::length() {
  if (random_.chance(0.1)) return LieArena::kLongest - random_.below(100);
  return random_.chance(0.5) ? random_.below(3000) : random_.below(100'000);
}

std::vector<std::byte> LyingTask::record(PeerIndex peer, RecordKind kind) {
  if (kind == RecordKind::put_pieces) return pieces_record(peer);
  if (kind == RecordKind::get_layout) return layout_record(peer);
  if (kind == RecordKind::short_put) return short_put_record(peer);
  std::uint64_t behind = 0;
  const RecordBytes fixed = fixed_part(peer, kind, behind);
  std::vector<std::byte> bytes(fixed.length() + behind);
  std::memcpy(bytes.data(), fixed.piece().data, fixed.length());
  for (std::size_t at = fixed.length(); at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at);
  wire::RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool has_keys = kind == RecordKind::get_key || (header.flags & wire::kFlagBulk) != 0;
  for (std::size_t left = has_keys ? header.payload_length : 0; left >= sizeof(wire::BulkKey);) {
    const wire::BulkKey next = key();
    std::memcpy(bytes.data() + bytes.size() - left, &next, sizeof(next));
    left -= sizeof(next);
  }
  return bytes;
}

// So many bytes of the peer's memory, or of this task's, in blocks or in pieces; or something that is no description.
void LyingTask::describe(std::vector<std::byte>& out, std::uint64_t total, PeerIndex peer, bool own) {
  const auto somewhere = [&](std::uint64_t length) {
    const auto here = reinterpret_cast<std::uintptr_t>(own_.data());
    return own ? here + random_.below(own_.size() - length) : place(peer, length);
  };
  const std::size_t begin = out.size();
  if (random_.chance(0.5)) {
    const std::uint64_t block = random_.between(1, 64), count = total / block + 1;
    wire::append_description(out, wire::StridedLayout{somewhere(2 * block * count), block, 2 * block, count});
  } else {
    std::vector<wire::LayoutPiece> pieces;
    for (std::uint64_t left = total; left != 0; left -= pieces.back().length) {
      const std::uint64_t piece = std::min(left, random_.below(total / 4 + 2));
      pieces.push_back({somewhere(piece), piece});
    }
    wire::append_description(out, pieces, total);
  }
  if (random_.chance(0.1)) out[begin + 8 * random_.below(3)] ^= std::byte{1};  // kind, count, or total
}

std::vector<std::byte> LyingTask::pieces_record(PeerIndex peer) {
  const bool flood = flood_left_ != 0 && peer == flooded_ && flood_ == RecordKind::put_pieces;
  std::vector<wire::LayoutPiece> pieces(random_.below(6));
  std::uint64_t bytes = 0;
  for (wire::LayoutPiece& piece : pieces) {
    piece.length = random_.below(150);
    piece.address = place(peer, piece.length);
    bytes += piece.length;
  }
  const std::uint32_t id = flood ? 1'000'000 + next_flood_++ : random_.chance(0.4) ? 0 : number(peer);
  const std::uint64_t total = flood ? 1000 : id == 0 && random_.chance(0.8) ? bytes : bytes + length();
  const std::uint64_t list = pieces.size() * sizeof(wire::LayoutPiece);
  const std::uint32_t said = static_cast<std::uint32_t>(pieces.size()) + (!flood && random_.chance(0.05) ? 1 : 0);
  RecordBytes fixed(
      RecordKind::put_pieces,
      wire::PutPiecesBody{counter(peer), flood || random_.chance(0.5) ? 0 : random_.next(), total, id, said});
  fixed.payload_length(list + bytes);
  std::vector<std::byte> record(fixed.length() + list + bytes, std::byte{0xa5});
  std::memcpy(record.data(), fixed.piece().data, fixed.length());
  if (list != 0) std::memcpy(record.data() + fixed.length(), pieces.data(), list);
  return record;
}

std::vector<std::byte> LyingTask::short_put_record(PeerIndex peer) {
  const auto flags = static_cast<std::uint8_t>(random_.below(4) * wire::kFlagTargetCounter);
  const auto length = static_cast<std::uint16_t>(random_.below(kLongestPayload));
  const wire::ShortPutHeader header{static_cast<std::uint8_t>(RecordKind::short_put), flags, length};
  std::vector<std::byte> record(wire::short_put_fixed_part(flags) + length, std::byte{0xa5});
  std::memcpy(record.data(), &header, sizeof(header));
  std::byte* next = record.data() + sizeof(header);
  const auto append = [&next](std::uint64_t word) {
    std::memcpy(next, &word, sizeof(word));
    next += sizeof(word);
  };
  append(place(peer, length));
  if ((flags & wire::kFlagTargetCounter) != 0) append(counter(peer));
  if ((flags & wire::kFlagCompletionCounter) != 0) append(random_.next());
  return record;
}

// A description that comes in several records is never finished: what random fragments made of it could name anything.
std::vector<std::byte> LyingTask::layout_record(PeerIndex peer) {
  const bool flood = flood_left_ != 0 && peer == flooded_ && flood_ == RecordKind::get_layout;
  std::vector<std::byte> description;
  describe(description, random_.below(3000), peer, false);
  RecordBytes fixed(RecordKind::get_layout, wire::GetLayoutBody{counter(peer), number(peer), 0});
  if (flood || random_.chance(0.2)) {
    const std::uint64_t more = random_.chance(0.2) ? random_.next() >> 1 : random_.chance(0.5) ? length() + 1 : 24;
    fixed.extend({description.size() + more, random_.next(), 2'000'000 + next_flood_++, 0}, wire::kFlagLong);
  }
  fixed.payload_length(description.size());
  const auto* begin = static_cast<const std::byte*>(fixed.piece().data);
  description.insert(description.begin(), begin, begin + fixed.length());
  return description;
}

// What the other one shall read by itself: the extension's flags, and in it where.
std::uint8_t LyingTask::elsewhere(PeerIndex peer, RecordKind kind, wire::LongExtension& extension) {
  const std::uint64_t way = random_.below(3);
  if (way == 0) return wire::kFlagAttach;
  if (way == 1) return wire::kFlagAttach | wire::kFlagBulk;
  extension.total_length = random_.below(3000);
  std::vector<std::byte>& description = descriptions_.emplace_back();
  describe(description, extension.total_length, peer, true);
  if (kind == RecordKind::put) describe(description, extension.total_length, peer, false);
  extension.source_address = reinterpret_cast<std::uintptr_t>(description.data());
  extension.layout_length = static_cast<std::uint32_t>(description.size() - (random_.chance(0.1) ? 8 : 0));
  return wire::kFlagAttach | wire::kFlagLayout;
}

// Of a put or an active message; a flood's do not end, or are dropped.
RecordBytes LyingTask::long_part(PeerIndex peer, RecordKind kind, std::uint64_t& behind) {
  const bool flood = flood_left_ != 0 && peer == flooded_ && kind == flood_;
  const std::uint64_t total = flood ? 1000 : length();
  const std::uint64_t completion = flood ? 0 : random_.next();
  RecordBytes fixed(kind, wire::PutBody{kind == RecordKind::put ? place(peer, total)
                                                                : random_.next() & ~std::uint64_t{flood ? 3u : 0u},
                                        counter(peer), random_.chance(0.5) ? 0 : completion});
  const bool attach = !flood && random_.chance(0.3);
  const bool message = kind == RecordKind::active_message;
  std::uint8_t flags = 0;
  if (message && !flood && random_.chance(0.2)) flags |= wire::kFlagVector;
  if (message && !flood && random_.chance(0.1)) flags |= wire::kFlagAtoms;
  if (flood || attach || random_.chance(0.6)) {
    wire::LongExtension extension{total, reinterpret_cast<std::uintptr_t>(own_.data()),
                                  flood ? 1'000'000 + next_flood_++ : number(peer), 0};
    flags |= wire::kFlagLong | (attach ? elsewhere(peer, kind, extension) : 0);
    fixed.extend(extension, flags);
  } else {
    fixed.flags(flags);
  }
  behind = attach || flood ? 0 : std::min(random_.below(kLongestPayload), total);
  if ((flags & wire::kFlagBulk) != 0) behind = keys_length();
  fixed.payload_length(behind);
  if (message && random_.chance(0.4)) {
    const std::uint64_t user_header = 4 * random_.below(40);
    fixed.user_header_length(static_cast<std::uint32_t>(user_header));
    behind += user_header;
  }
  return fixed;
}

// Of no adapter's memory, or of one's that is there.
wire::BulkKey LyingTask::key() {
  const std::uint64_t words[2] = {random_.below(8), random_.below(8)};
  wire::BulkKey key;
  std::memcpy(key.bytes, words, sizeof key.bytes);
  return key;
}

// Of some keys, and seldom of none.
std::uint64_t LyingTask::keys_length() {
  if (random_.chance(0.05)) return random_.below(300);
  return random_.between(1, wire::kMostBulkKeys) * sizeof(wire::BulkKey);
}

RecordBytes LyingTask::fixed_part(PeerIndex peer, RecordKind kind, std::uint64_t& behind) {
  const auto fragment = [&] { return behind = random_.below(kLongestPayload); };
  const std::uint64_t offset = random_.chance(0.5) ? random_.below(3000) : length();
  switch (kind) {
    case RecordKind::put:
    case RecordKind::active_message:
      return long_part(peer, kind, behind);
    case RecordKind::data:
      return RecordBytes(kind, wire::DataBody{number(peer), 0, offset}).payload_length(fragment());
    case RecordKind::get_data:
      return RecordBytes(kind, wire::GetDataBody{number(peer), 0, offset}).payload_length(fragment());
    case RecordKind::get_request: {
      const std::uint64_t bytes = length();
      RecordBytes fixed(kind, wire::GetRequestBody{place(peer, bytes), bytes, counter(peer), number(peer), 0});
      return random_.chance(0.3) ? fixed.flags(wire::kFlagBulk) : fixed;
    }
    case RecordKind::rmw_request:
      return {kind, wire::RmwRequestBody{static_cast<std::uint8_t>(random_.below(6)),
                                         static_cast<std::uint8_t>(random_.chance(0.9) ? 8 : random_.below(20)), 0,
                                         number(peer), simulation_.arena(peer).counter(random_.next()), random_.next(),
                                         random_.next()}};
    case RecordKind::rmw_reply:
      return {kind, wire::RmwReplyBody{number(peer), 0, random_.next()}};
    case RecordKind::counter_update:
      return {kind, wire::CounterUpdateBody{random_.next()}};
    case RecordKind::attach_done:
      return {kind, wire::AttachDoneBody{number(peer), static_cast<wire::AttachAnswer>(random_.below(4))}};
    case RecordKind::fence_request:
    case RecordKind::fence_reply:
      return {kind, wire::FenceBody{number(peer), number(peer)}};
    case RecordKind::collective: {
      behind = random_.below(9) * 8;
      const wire::CollectiveBody body{flood_ == kind ? next_flood_++ : number(peer),
                                      static_cast<std::uint32_t>(random_.below(4))};
      return RecordBytes(kind, body).payload_length(behind);
    }
    case RecordKind::memory_read:
      return {kind, wire::MemoryReadBody{counter(peer), length()}};
    case RecordKind::put_strided: {
      const bool flood = flood_ == kind;
      const std::uint64_t block = random_.between(1, 64), total = random_.between(1000, 3000);
      behind = flood ? 0 : random_.below(kLongestPayload);
      const wire::PutStridedBody body{counter(peer),
                                      0,
                                      total,
                                      place(peer, total * 3),
                                      block,
                                      block * 2,
                                      flood ? 0 : random_.below(total),
                                      flood ? 1'000'000 + next_flood_++ : number(peer),
                                      0};
      return RecordBytes(kind, body).payload_length(behind);
    }
    case RecordKind::request_refused:
      // Who says that it begins anew in an era that it has not got is not listened to any more.
      return {kind, wire::RequestRefusedBody{
                        number(peer), static_cast<wire::RefusalReason>(random_.below(random_.chance(0.02) ? 3 : 2))}};
    case RecordKind::get_key:
      behind = keys_length();
      return RecordBytes(kind,
                         wire::GetKeyBody{number(peer), number(peer), reinterpret_cast<std::uintptr_t>(own_.data())})
          .payload_length(behind);
    case RecordKind::put_pieces:
    case RecordKind::get_layout:
    case RecordKind::short_put:
      break;  // record() makes them
  }
  return {RecordKind::fence_request, wire::FenceBody{1, 1}};
}

}  // namespace openlapi::simulation
