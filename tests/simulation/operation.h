// One operation of a run, as the checker follows it. What the engine does to it is compared with what is written here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "tests/simulation/data_layout.h"

namespace openlapi::simulation {

enum class Kind : std::uint8_t { put, get, active_message, read_modify_write };

// A word that read-modify-writes of one kind work on; the checker finds the serial order of them.
struct SharedWord {
  PeerIndex task = 0;
  std::uint32_t incarnation = 0;
  wire::RmwOperation operation = wire::RmwOperation::fetch_and_add;
  std::uint8_t width = 8;
  std::uint64_t initial = 0;
  std::uint64_t step = 0;  // fetch-and-add: what everybody adds
  std::byte* place = nullptr;
  std::uint32_t operations = 0;  // issued
};

struct Operation {
  std::uint64_t id = 0;
  Kind kind = Kind::put;
  std::uint32_t context = 0;
  PeerIndex origin = 0;
  PeerIndex target = 0;
  std::uint32_t origin_incarnation = 0;
  std::uint32_t target_incarnation = 0;
  Nanoseconds issued_at = 0;
  bool in_doubt = false;               // it was issued when the origin may not have known of the target's death
  std::uint32_t era = 0;               // how often the origin had begun anew with the target
  std::uint32_t faults_before = 0;     // told to the origin of the target until it was issued
  bool closed_at_origin = false;       // the origin has purged the target since, or
  bool closed_at_target = false;       // the other way round: nothing of it may move there any more
  bool completion_was_queued = false;  // but what a completion handler that waits for its thread still has to do

  std::uint64_t key = 0;     // of the data's pattern; the user header has key + 1
  std::uint64_t length = 0;  // bytes of data
  std::uint32_t header_length = 0;

  // Where the data comes from and goes to. Data of puts and messages begins in `data`, that of gets in `source`, a
  // region of the target. `place` is a region of the target, of a get and read-modify-write one of the origin. How the
  // data lies there `from` and `to` say; of a message that is buried `to` is nowhere.
  std::unique_ptr<std::byte[]> data;
  std::unique_ptr<std::byte[]> header;
  std::span<std::byte> source;
  std::span<std::byte> place;
  DataLayout from, to;
  bool copied = false;  // the origin's buffers are free as soon as the call has returned

  // Counters: addresses of ints in the memories of origin and target; null: not asked for.
  int* origin_counter = nullptr;
  int* target_counter = nullptr;
  int* completion_counter = nullptr;
  bool origin_seen = false, target_seen = false, completion_seen = false;

  // A send completion handler, or of a get a completion handler at the origin.
  bool has_origin_handler = false;
  std::uint32_t origin_handlers_run = 0;  // times

  // Active messages.
  Delivery delivery = Delivery::deliver;
  CompletionStyle style = CompletionStyle::thread;
  bool has_completion = false;     // the header handler names a completion handler
  bool takes_one_packet = false;   // the header handler copies the data itself when it can see all of it
  bool replies = false;            // the completion handler sends something back
  std::uint32_t drops_left = 0;    // the header handler refuses it so often
  bool refused_once = false;       // it has done so
  std::uint32_t accepted = 0;      // times
  std::uint32_t handlers_run = 0;  // completion handlers that were begun
  bool handler_returned = false;

  // Read-modify-writes.
  SharedWord* word = nullptr;
  std::uint64_t input = 0;
  std::uint64_t swap_value = 0;

  bool issued = false;       // the engine has accepted it
  bool in_place = false;     // the data was seen where it belongs (and then overwritten, so that a second copy is seen)
  bool excused = false;      // checker.h says what that means
  std::uint64_t frozen = 0;  // digest of `place` when nothing could change it any more; 0: not yet

  bool has_layout() const { return !from.contiguous() || !to.contiguous(); }
  // The origin describes where the data lies instead of saying where it begins, and the target is told of a vector.
  bool is_vector() const { return from.kind == DataLayout::Kind::pieces || from.kind == DataLayout::Kind::strided; }
};

}  // namespace openlapi::simulation
