#include "nic/verbs/bulk_reads.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/check.h"
#include "nic/verbs/device_kind.h"

namespace openlapi::verbs {
namespace {

constexpr int kPollBatch = 16;

// Tells the adapters of a job apart: the numbers of queue pairs and remote keys do not. It is no proof, which remote
// keys are not either.
std::uint32_t mark_of(const Address& address) {
  std::uint32_t mark = address.queue_pair;
  for (const std::uint8_t byte : address.gid) mark = (mark ^ byte) * 0x01000193;  // FNV-1a
  return mark;
}

// A key: remote key of the adapter, place of the entry in the owner's cache and its generation, and the adapter's mark,
// 4 bytes each.
MemoryKey to_key(const RegistrationCache::Entry& entry, const Address& adapter) {
  const std::uint32_t words[4] = {htole32(entry.region.remote_key), htole32(entry.number), htole32(entry.generation),
                                  htole32(mark_of(adapter))};
  MemoryKey key;
  std::memcpy(key.bytes.data(), words, sizeof words);
  return key;
}

std::uint32_t word_of(const MemoryKey& key, std::size_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, key.bytes.data() + index * sizeof word, sizeof word);
  return le32toh(word);
}

// Where the kernel does not give forked children copies of pages that an adapter uses, a fork takes the pages from this
// process, and libibverbs's own remedy goes wrong with memory that was unmapped before it was deregistered.
std::shared_ptr<MemoryMonitor> choose_monitor(bool pages, OnDemandPaging paging, std::string& text) {
  if (pages && paging == OnDemandPaging::always) {
    text = "memory is not registered: the adapter pages on demand";
    return nullptr;
  }
  const std::string each = pages ? "the adapter pages on demand: " : "memory is registered for each use: ";
  if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED) {
    text = each + "this kernel takes registered pages away when the process forks";
    return nullptr;
  }
  std::string reason;
  auto monitor = process_memory_monitor(reason);
  text = monitor ? "registered memory is kept; userfaultfd tells of changes"
                 : each + "nothing tells of changes (" + reason + ")";
  if (monitor && pages) text += "; other memory is paged on demand";
  return monitor;
}

}  // namespace

// If nothing else is to be registered, it has to be known whether that is possible.
BulkReads::AdapterRegistrar::AdapterRegistrar(ibv_context& context, ibv_pd& of, OnDemandPaging paging)
    : domain(of), pages(paging != OnDemandPaging::never && pages_whole_memory(context)) {
  if (!pages || paging != OnDemandPaging::always) return;
  whole = register_whole_memory(domain, true);
  pages = whole != nullptr;
}

Registrar::Outcome BulkReads::AdapterRegistrar::add(std::uint64_t begin, std::uint64_t end, bool writable,
                                                    Region& region) {
  const CancellationOff off;
  // Nobody polls this memory: the adapter may write what it has read in any order, which lets it use the bus better.
  // Its completion comes after all of it. Drivers that know no such right leave it out.
  const unsigned rights =
      IBV_ACCESS_REMOTE_READ | (writable ? IBV_ACCESS_LOCAL_WRITE : 0) | IBV_ACCESS_RELAXED_ORDERING;
  ibv_mr* const made = ibv_reg_mr(&domain, reinterpret_cast<void*>(static_cast<std::uintptr_t>(begin)),
                                  static_cast<std::size_t>(end - begin), rights);
  if (made == nullptr) return errno == ENOMEM || errno == EAGAIN ? Outcome::no_room : Outcome::refused;
  region = {made, made->lkey, made->rkey};
  return Outcome::done;
}

bool BulkReads::AdapterRegistrar::whole_memory(std::uint64_t begin, std::uint64_t end, bool writable, Region& region) {
  if (pages && !whole) whole = register_whole_memory(domain, true);
  pages = whole != nullptr;
  if (!pages || !page_in(domain, *whole, begin, end, writable)) return false;
  region = {nullptr, whole->lkey, whole->rkey};
  return true;
}

void BulkReads::AdapterRegistrar::remove(const Region& region) {
  const CancellationOff off;
  ibv_dereg_mr(static_cast<ibv_mr*>(region.handle));
}

std::unique_ptr<BulkReads> BulkReads::make(ibv_context& context, const Domains& domains, ibv_comp_channel& channel,
                                           const PortPlace& place, ConnectionPath& path, const BulkLimits& limits) {
  std::unique_ptr<BulkReads> made(new BulkReads(context, domains, path, limits));
  if (!made->open(context, channel, place)) return nullptr;
  return made;
}

BulkReads::BulkReads(ibv_context& context, const Domains& domains, ConnectionPath& path, const BulkLimits& limits)
    : domains_(domains),
      registrar_(context, domains.of_memory(), limits.on_demand_paging),
      monitor_(choose_monitor(registrar_.pages, limits.on_demand_paging, registration_text_)),
      path_(path),
      limits_(limits),
      cache_(registrar_, monitor_.get(), limits.registrations),
      reads_(kMostReads),
      served_(setting_, path, limits.connections) {
  for (std::uint32_t i = kMostReads; i-- != 0;) free_reads_.push_back(i);
}

// The adapter must have let go of the memory before it is deregistered.
BulkReads::~BulkReads() { connections_.clear(); }

bool BulkReads::open(ibv_context& context, ibv_comp_channel& channel, const PortPlace& place) {
  ibv_device_attr device{};
  ibv_port_attr attributes{};
  if (ibv_query_device(&context, &device) != 0) return false;
  if (ibv_query_port(&context, static_cast<std::uint8_t>(place.port), &attributes) != 0) return false;
  const int at_a_time = std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom);
  if (at_a_time < 1) return false;
  software_ = is_software(*context.device, device);
  const std::uint32_t pieces = std::min(software_ ? kSoftPiecesAtATime : kPiecesAtATime,
                                        static_cast<std::uint32_t>(std::max(device.max_qp_wr, 1)));
  // Twice: what a queue pair that was given up has left behind lies there, too.
  const std::uint32_t each = 2 * pieces;
  limits_.connections = std::min(limits_.connections, static_cast<std::uint32_t>(std::max(device.max_cqe, 0)) / each);
  if (limits_.connections == 0) return false;
  completions_ = domains_.make_completion_queue(static_cast<int>(each * limits_.connections), &channel);
  setting_ = {.context = &context,
              .domain = &domains_.of_queues(),
              .completions = completions_.get(),
              .place = place,
              .reads = static_cast<std::uint8_t>(std::min<std::uint32_t>(pieces, static_cast<unsigned>(at_a_time))),
              .queue_length = pieces,
              .rights = IBV_ACCESS_REMOTE_READ,
              .destruction = domains_.have_locks() ? &destruction_ : nullptr};
  longest_piece_ = attributes.max_msg_sz;
  return completions_ != nullptr;
}

bool BulkReads::expose(const void* address, std::size_t length, MemoryKey& key) {
  const RegistrationCache::Entry* const entry = cache_.acquire_current(address, length, false);
  if (entry == nullptr) return false;
  key = to_key(*entry, path_.own_address());
  return true;
}

bool BulkReads::leads_to(PeerIndex peer, const MemoryKey& key) {
  const Address* const address = path_.address_of(peer);
  return address != nullptr && word_of(key, 3) == mark_of(*address);
}

void BulkReads::withdraw(const MemoryKey& key) {
  RegistrationCache::Entry* const entry = cache_.find(word_of(key, 1), word_of(key, 2));
  OPENLAPI_CHECK(entry != nullptr);
  cache_.release(*entry);
}

BulkMemory::Begin BulkReads::begin_read(PeerIndex peer, std::uint64_t remote_address, const MemoryKey& key, void* local,
                                        std::size_t length, std::uint64_t token, const MemoryRange& around) {
  if (length == 0 || length > kLongestRead || !reachable(peer)) return Begin::failed;
  if (free_reads_.empty()) return Begin::full;
  Connection* connection = find(peer);
  if (connection == nullptr) connection = connect(peer);
  if (connection == nullptr) return free_reads_.size() < kMostReads ? Begin::full : Begin::failed;
  if (connection->state == Connection::State::stopping || connection->reads >= kReadsPerConnection) return Begin::full;
  RegistrationCache::Entry* const entry = acquire_for_read(local, length, around);
  if (entry == nullptr) return Begin::failed;
  const std::uint32_t number = free_reads_.back();
  free_reads_.pop_back();
  Read& read = reads_[number];
  read.token = token;
  read.entry = entry;
  read.local_address = reinterpret_cast<std::uintptr_t>(local);
  read.length = length;
  read.remote_address = remote_address;
  read.remote_key = word_of(key, 0);
  read.pieces = 0;
  read.begun = 0;
  read.failed = false;
  read.connection = connection;
  ++connection->reads;
  connection->last_use = ++uses_;
  connection->waiting.push_back(number);
  post_pieces(*connection);
  remove_if_stopped(*connection);
  return Begin::begun;
}

// Where nothing is kept, no more than what is read.
RegistrationCache::Entry* BulkReads::acquire_for_read(void* local, std::size_t length, const MemoryRange& around) {
  if (monitor_ == nullptr || around.length <= length) return cache_.acquire_current(local, length, true);
  const auto* const begin = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(around.address));
  RegistrationCache::Entry* const all = cache_.acquire_current(begin, static_cast<std::size_t>(around.length), true);
  return all != nullptr ? all : cache_.acquire_current(local, length, true);
}

// Posts what may be posted now.
void BulkReads::post_pieces(Connection& connection) {
  while (connection.state == Connection::State::ready && !connection.waiting.empty() &&
         connection.posted < setting_.queue_length) {
    const std::uint32_t number = connection.waiting.front();
    if (!post_piece(connection, number)) return stop(connection);
    if (reads_[number].begun == reads_[number].length) connection.waiting.pop_front();
  }
}

bool BulkReads::post_piece(Connection& connection, std::uint32_t number) {
  Read& read = reads_[number];
  const std::uint64_t length = std::min(connection.piece, read.length - read.begun);
  const std::uint64_t name = std::uint64_t{read.generation} << 32 | number;
  const ibv_sge local{.addr = read.local_address + read.begun,
                      .length = static_cast<std::uint32_t>(length),
                      .lkey = read.entry->region.local_key};
  if (connection.queue_pair->read(name, local, read.remote_address + read.begun, read.remote_key) != 0) return false;
  read.begun += length;
  ++read.pieces;
  ++posted_;
  if (connection.posted++ == 0) expect_ending(connection);
  return true;
}

void BulkReads::piece_done(Read& read, bool good) {
  Connection& connection = *read.connection;
  --read.pieces;
  --connection.posted;
  --posted_;
  if (!good) read.failed = true;
  if (read.pieces == 0 && (read.failed || read.begun == read.length)) end(read);
  if (!good) stop(connection);
  if (good) expect_ending(connection);
  post_pieces(connection);
  remove_if_stopped(connection);
}

// A fork moves memory while the adapter writes there, to pages that nobody looks at any more: all of it is read again.
bool BulkReads::read_again(Read& read) {
  cache_.settle();
  if (!read.entry->moved) return false;
  RegistrationCache::Entry* const entry =
      cache_.acquire_current(reinterpret_cast<void*>(static_cast<std::uintptr_t>(read.local_address)),
                             static_cast<std::size_t>(read.length), true);
  read.failed = entry == nullptr;
  if (read.failed) return false;
  cache_.release(*std::exchange(read.entry, entry));
  read.begun = 0;
  read.connection->waiting.push_back(static_cast<std::uint32_t>(&read - reads_.data()));
  return true;
}

// The adapter has nothing of it any more.
void BulkReads::end(Read& read) {
  if (!read.failed && read_again(read)) return;
  Connection& connection = *read.connection;
  --connection.reads;
  connection.posted -= read.pieces;
  posted_ -= read.pieces;
  if (!read.failed) {
    ++counters_.reads_done;
    counters_.bytes_read += read.length;
    failure_record_of(connection.peer).failures = 0;
  } else {
    ++counters_.reads_failed;
  }
  endings_.push_back({read.token, !read.failed});
  cache_.release(*read.entry);
  read.entry = nullptr;
  ++read.generation;
  free_reads_.push_back(static_cast<std::uint32_t>(&read - reads_.data()));
}

void BulkReads::poll() {
  std::array<ibv_wc, kPollBatch> done;
  int count = 0;
  do {
    count = posted_ != 0 ? ibv_poll_cq(completions_.get(), kPollBatch, done.data()) : 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = done[static_cast<std::size_t>(i)];
      const auto number = static_cast<std::uint32_t>(completion.wr_id);
      if (number >= kMostReads) continue;
      Read& read = reads_[number];
      if (read.entry == nullptr || read.pieces == 0 || read.generation != completion.wr_id >> 32) continue;  // given up
      piece_done(read, completion.status == IBV_WC_SUCCESS);
    }
  } while (count == kPollBatch);
}

std::size_t BulkReads::take_endings(std::span<Ending> endings) {
  poll();
  if (posted_ != 0) ++looks_;
  if (unsettled_ != 0 || looks_ >= kLooksBetweenTimers) [[unlikely]]
    keep_time();
  const std::size_t count = std::min(endings.size(), endings_.size());
  for (std::size_t i = 0; i < count; ++i) {
    endings[i] = endings_.front();
    endings_.pop_front();
  }
  return count;
}

// While a connection is asked for or stopping there are times to keep: the caller goes on looking, for two seconds at
// most.
bool BulkReads::arm() {
  if (posted_ != 0) {
    ibv_req_notify_cq(completions_.get(), 0);
    poll();
  }
  return endings_.empty() && unsettled_ == 0;
}

}  // namespace openlapi::verbs
