// Tasks with different numbers of adapters: those without a pair are other ends of the paths of those that have one.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/api/two_adapters.h"

namespace openlapi {
namespace {

// A UDP address without a port.
std::string at(const char* address) {
  const in_addr ipv4{inet_addr(address)};
  return {reinterpret_cast<const char*>(&ipv4), sizeof(ipv4)};
}

using Adapters = std::vector<const char*>;  // of a task: their addresses
enum class Choice { by_user, by_library };

// An adapter here leads to one there, as another end of the path of the last one, here.
struct Way {
  std::size_t here, there, path;
  auto operator<=>(const Way&) const = default;
};

// What a task comes to of which the former adapters are, to the other one.
struct Found {
  std::set<std::pair<std::size_t, std::size_t>> pairs{};
  std::set<Way> others{};
  int asked = 0;
};

std::vector<ChosenAdapter> places_of(const Adapters& adapters) {
  std::vector<ChosenAdapter> places;
  for (const char* address : adapters) places.push_back(chosen(address));
  return places;
}

// The number of the adapter with the address.
std::size_t number_of(const Adapters& adapters, const std::string& address) {
  std::size_t number = 0;
  while (at(adapters.at(number)) != address) ++number;
  return number;
}

Found find(const Adapters& here, const Adapters& there, Choice choice = Choice::by_user, PeerIndex task = 0) {
  const PeerIndex peer = 1 - task;
  const std::string keys = address_keys(1, 0);
  auto tasks = std::make_shared<TwoTasks>(task);
  std::array<RecordingTransport, 8> transports{};
  std::vector<ContextRoutes::Network> networks(here.size());
  for (std::size_t n = 0; n != here.size(); ++n) {
    networks[n].transport = &transports[n];
    networks[n].keys = keys;
    networks[n].number = n;
    networks[n].own = chosen(here[n]);
    networks[n].place_of = place_of_ipv4;
    if (choice == Choice::by_library) networks[n].chosen = chosen(here[n]);
  }
  for (std::size_t n = 0; n != there.size(); ++n) {
    tasks->published[keys + std::to_string(n)] =
        published_address(at(there[n]), choice == Choice::by_library, static_cast<std::uint8_t>(there.size()));
  }
  tasks->published[places_key(keys)] = encode(places_of(there));
  const Route route = ContextRoutes(tasks, {}, {}, networks, 0).resolve(peer);
  EXPECT_EQ(tasks->waits, 0);

  Found found{.asked = tasks->asked};
  const auto index_of = [&](const Transport* transport) {
    std::size_t index = 0;
    while (&transports[index] != transport) ++index;
    return index;
  };
  for (std::size_t n = 0; n != route.count; ++n) {
    const std::size_t index = index_of(route.paths[n]);
    found.pairs.insert({index, number_of(there, transports[index].addresses.at(peer))});
  }
  for (const OtherEnd& end : route.other_ends) {
    const std::size_t index = index_of(end.over);
    EXPECT_GE(end.number, 2u) << "no task has it";
    EXPECT_EQ(transports[index].addresses.at(end.number), at(there.at(end.number / 2 - 1)));
    found.others.insert({index, end.number / 2 - 1, index_of(end.path)});
  }
  EXPECT_EQ(found.others.size(), route.other_ends.size());
  return found;
}

const Adapters kOne = {"10.0.0.9"}, kThree = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};

TEST(UnevenAdapters, AllOfThreeLeadToTheOnlyOne) {
  for (const Choice choice : {Choice::by_user, Choice::by_library}) {
    const Found found = find(kThree, kOne, choice);
    EXPECT_EQ(found.pairs, (std::set<std::pair<std::size_t, std::size_t>>{{0, 0}}));
    EXPECT_EQ(found.others, (std::set<Way>{{1, 0, 0}, {2, 0, 0}}));
  }
}

TEST(UnevenAdapters, TheOnlyOneLeadsToAllOfThree) {
  for (const Choice choice : {Choice::by_user, Choice::by_library}) {
    const Found found = find(kOne, kThree, choice);
    EXPECT_EQ(found.pairs, (std::set<std::pair<std::size_t, std::size_t>>{{0, 0}}));
    EXPECT_EQ(found.others, (std::set<Way>{{0, 1, 0}, {0, 2, 0}}));
  }
}

TEST(UnevenAdapters, TheThirdOneLeadsToBothOfTwo) {
  const Found found = find(kThree, {"10.0.0.8", "10.0.0.9"});
  EXPECT_EQ(found.pairs.size(), 2u);
  EXPECT_EQ(found.others, (std::set<Way>{{0, 1, 0}, {1, 0, 1}, {2, 0, 0}, {2, 1, 1}}));
}

TEST(UnevenAdapters, LeadToNoOtherNetwork) {
  EXPECT_TRUE(find({"10.0.0.1", "10.0.1.1", "10.0.2.1"}, kOne).others.empty());
  EXPECT_TRUE(find(kOne, {"10.0.0.1", "10.0.1.1"}).others.empty());
}

TEST(UnevenAdapters, LeadEverywhereBehindARouter) {
  EXPECT_EQ(find(kThree, {"10.0.1.1"}).others.size(), 2u);
  EXPECT_EQ(find({"10.0.1.1"}, kThree).others.size(), 2u);
}

TEST(UnevenAdapters, AreAskedForOnlyWhereThereAreSome) {
  EXPECT_EQ(find(kOne, {"10.0.0.1"}).asked, 1);
  EXPECT_EQ(find(kOne, kThree).asked, 3);
}

// Or what comes from such an adapter would be a stranger's.
TEST(UnevenAdapters, LeadAlikeInBothTasks) {
  const std::array<Adapters, 2> places = {Adapters{"10.0.0.1", "10.0.1.1", "10.0.0.2", "10.0.2.1"},
                                          Adapters{"10.0.0.3", "10.0.1.2", "10.0.0.4", "10.0.3.1"}};
  const auto some = [&](std::size_t task, unsigned which) {
    Adapters adapters;
    for (std::size_t turn = 0; turn <= which % 4; ++turn) adapters.push_back(places[task][(which / 4 + turn) % 4]);
    return adapters;
  };
  for (unsigned which = 0; which != 16 * 16 * 2; ++which) {
    const Choice choice = which / 256 == 0 ? Choice::by_user : Choice::by_library;
    const Adapters here = some(0, which % 16), there = some(1, which / 16 % 16);
    std::set<std::pair<std::size_t, std::size_t>> from_here, from_there;
    for (const Way& way : find(here, there, choice).others) from_here.insert({way.here, way.there});
    for (const Way& way : find(there, here, choice, 1).others) from_there.insert({way.there, way.here});
    EXPECT_EQ(from_here, from_there) << which;
  }
}

}  // namespace
}  // namespace openlapi
