// Messages that nobody has asked for yet, in the order of their arrival.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "api/rpi/include/rpisys.h"
#include "dataplane/base/linked_list.h"

namespace openlapi::rpi {

// What a request asks for: a context, a rank or MPI_ANY_SOURCE, a tag or MPI_ANY_TAG.
struct Pattern {
  std::int32_t context = 0, rank = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
  bool operator==(const Pattern&) const = default;
};

// There is a list for each way to ask for each message, so four for a message: the oldest match is the first of its
// list, and nothing takes longer when there are more messages. Not thread safe.
class UnexpectedMessages {
 public:
  UnexpectedMessages() = default;
  ~UnexpectedMessages();
  UnexpectedMessages(const UnexpectedMessages&) = delete;
  UnexpectedMessages& operator=(const UnexpectedMessages&) = delete;

  static std::size_t hash(const Pattern& pattern) { return Hash()(pattern); }

  // Keeps a copy, which stays where it is. Throws std::bad_alloc, and SsiError: its rank or tag is a wildcard.
  lam_ssi_rpi_cbuf_msg& append(const lam_ssi_rpi_cbuf_msg& message);
  // The oldest match, or nullptr.
  lam_ssi_rpi_cbuf_msg* find(const lam_ssi_rpi_envl& request);
  // Nobody finds a message that is kept here any more; it is the caller's, until remove().
  void take_out(lam_ssi_rpi_cbuf_msg& message);
  // Of a message that is kept here or was taken out. Frees its data unless it says not to.
  void remove(lam_ssi_rpi_cbuf_msg& message);

 private:
  struct Kept;
  // A message's place in one list.
  struct Place {
    Kept* kept = nullptr;
    Pattern pattern{};
    ListLinks<Place> links{};
  };
  using List = LinkedList<Place, &Place::links>;
  struct Kept {
    lam_ssi_rpi_cbuf_msg message;  // first: it is what callers have
    ListLinks<Kept> links{};
    std::array<Place, 4> places{};
    bool is_in = true;  // in the lists
  };
  struct Hash {
    std::size_t operator()(const Pattern& pattern) const;
  };

  static void free(Kept* kept);

  std::pmr::unsynchronized_pool_resource pool_{};
  std::pmr::unordered_map<Pattern, List, Hash> lists_{&pool_};
  LinkedList<Kept, &Kept::links> all_{};
};

}  // namespace openlapi::rpi
