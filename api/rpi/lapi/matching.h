// Which message goes to which receive: MPI's matching. What is posted is served in the order of posting, what has come
// unasked for in the order of arrival, and neither takes longer when there is more of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "api/rpi/lapi/module_memory.h"
#include "api/rpi/matching/wanted.h"
#include "dataplane/base/linked_list.h"

namespace openlapi::rpi {

// What is asked for: owned by whoever posts it, and taken back before it ends.
struct Posted {
  Wanted wanted{};
  std::uint64_t order = 0;  // set when it is posted; 0: it is not
  ListLinks<Posted> links{};
};

class PostedList {
 public:
  PostedList() = default;
  PostedList(const PostedList&) = delete;
  PostedList& operator=(const PostedList&) = delete;

  // Behind all others. Throws std::bad_alloc.
  void post(Posted& posted);
  // Posted or not.
  void take_back(Posted& posted);
  // The one that was posted first of those that take the message, still posted; nullptr: there is none.
  Posted* find(const Wanted& message);

  // Lists that were looked into so far: what a match costs.
  std::uint64_t steps() const { return steps_; }

 private:
  using List = LinkedList<Posted, &Posted::links>;
  using Lists = std::pmr::unordered_map<Wanted, List, WantedHash>;

  Lists::value_type& list_of(const Wanted& wanted);
  Posted* find_in(const Wanted& wanted);

  ModuleMemory memory_{};
  std::pmr::unsynchronized_pool_resource pool_{&memory_};
  Lists lists_{&pool_};
  // The list that was posted to last: the only one that stays when it is empty. A program that asks for the same again
  // and again is not looked up.
  Lists::value_type* recent_ = nullptr;
  // Lists, not empty, that ask in each of the ways: those that nobody uses are not looked for.
  std::array<std::size_t, kWaysToAsk> in_use_{};
  std::size_t all_in_use_ = 0;
  std::uint64_t last_order_ = 0, steps_ = 0;
};

// A message that nobody has asked for yet: owned by whoever adds it, and removed before it ends.
struct Unasked {
  struct Place {
    Unasked* message = nullptr;
    ListLinks<Place> links{};
  };
  Wanted wanted{};
  bool listed = false;
  std::array<Place, kWaysToAsk> places{};
};

class UnaskedList {
 public:
  UnaskedList() = default;
  UnaskedList(const UnaskedList&) = delete;
  UnaskedList& operator=(const UnaskedList&) = delete;

  // Behind all others. Throws std::bad_alloc, and then has not changed.
  void add(Unasked& message);
  // Listed or not.
  void remove(Unasked& message);
  // The oldest that is taken, still listed; nullptr: there is none.
  Unasked* find(const Wanted& wanted);

  // Lists that were looked into so far: what a match costs.
  std::uint64_t steps() const { return steps_; }

 private:
  using List = LinkedList<Unasked::Place, &Unasked::Place::links>;

  ModuleMemory memory_{};
  std::pmr::unsynchronized_pool_resource pool_{&memory_};
  std::pmr::unordered_map<Wanted, List, WantedHash> lists_{&pool_};
  std::uint64_t steps_ = 0;
};

}  // namespace openlapi::rpi
