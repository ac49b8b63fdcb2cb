// Messages that nobody has asked for yet, in the order of their arrival.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/matching/wanted.h"
#include "dataplane/base/linked_list.h"

namespace openlapi::rpi {

// There is a list for each way to ask for each message, so four for a message: the oldest match is the first of its
// list, and nothing takes longer when there are more messages. Not thread safe.
class UnexpectedMessages {
 public:
  UnexpectedMessages() = default;
  ~UnexpectedMessages();
  UnexpectedMessages(const UnexpectedMessages&) = delete;
  UnexpectedMessages& operator=(const UnexpectedMessages&) = delete;

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
    Wanted wanted{};
    ListLinks<Place> links{};
  };
  using List = LinkedList<Place, &Place::links>;
  struct Kept {
    lam_ssi_rpi_cbuf_msg message;  // first: it is what callers have
    ListLinks<Kept> links{};
    std::array<Place, kWaysToAsk> places{};
    bool is_in = true;  // in the lists
  };

  static void free(Kept* kept);

  std::pmr::unsynchronized_pool_resource pool_{};
  std::pmr::unordered_map<Wanted, List, WantedHash> lists_{&pool_};
  LinkedList<Kept, &Kept::links> all_{};
};

}  // namespace openlapi::rpi
