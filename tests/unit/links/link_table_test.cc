// Messages of rtnetlink: what they change in the table, and that bytes of any kind do it no harm.
#include "nic/links/link_table.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <cstring>
#include <random>
#include <vector>

namespace openlapi {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Struct>
void append(Bytes& bytes, const Struct& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(value));
}

void append_attribute(Bytes& bytes, unsigned short kind, const void* content, std::size_t length) {
  append(bytes, rtattr{static_cast<unsigned short>(sizeof(rtattr) + length), kind});
  const auto* begin = static_cast<const std::byte*>(content);
  bytes.insert(bytes.end(), begin, begin + length);
  bytes.resize((bytes.size() + 3) & ~std::size_t{3});
}

Bytes message(unsigned short kind, const Bytes& content, unsigned short flags = 0) {
  Bytes bytes;
  nlmsghdr header{};
  header.nlmsg_len = static_cast<unsigned>(sizeof(header) + content.size());
  header.nlmsg_type = kind;
  header.nlmsg_flags = flags;
  append(bytes, header);
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

Bytes link_message(unsigned short kind, int number, const char* name, unsigned flags,
                   unsigned char family = AF_UNSPEC) {
  Bytes content;
  ifinfomsg info{};
  info.ifi_family = family;
  info.ifi_index = number;
  info.ifi_flags = flags;
  append(content, info);
  const std::uint32_t mtu = 1500;
  append_attribute(content, IFLA_IFNAME, name, std::strlen(name) + 1);
  append_attribute(content, IFLA_MTU, &mtu, sizeof(mtu));
  return message(kind, content);
}

Bytes address_message(unsigned short kind, unsigned number, const char* text, unsigned char bits = 24) {
  Bytes content;
  ifaddrmsg info{};
  info.ifa_family = AF_INET;
  info.ifa_index = number;
  info.ifa_prefixlen = bits;
  append(content, info);
  in_addr address{};
  inet_pton(AF_INET, text, &address);
  append_attribute(content, IFA_ADDRESS, &address, sizeof(address));
  append_attribute(content, IFA_LOCAL, &address, sizeof(address));
  return message(kind, content);
}

in_addr ipv4(const char* text) {
  in_addr address{};
  inet_pton(AF_INET, text, &address);
  return address;
}

constexpr unsigned kUp = IFF_UP | IFF_RUNNING;

class TableOfLinks : public testing::Test {
 protected:
  LinkTable::Taken take(const Bytes& bytes) { return table_.take(bytes); }
  bool serves(const char* address) const { return table_.serves(ipv4(address)); }
  void begin() {
    EXPECT_TRUE(take(link_message(RTM_NEWLINK, 1, "lo", kUp | IFF_LOOPBACK)).changed);
    EXPECT_TRUE(take(link_message(RTM_NEWLINK, 2, "eth0", kUp)).changed);
    EXPECT_TRUE(take(address_message(RTM_NEWADDR, 1, "127.0.0.1", 8)).changed);
    EXPECT_TRUE(take(address_message(RTM_NEWADDR, 2, "10.0.0.1")).changed);
  }

  LinkTable table_;
};

TEST_F(TableOfLinks, AnAddressServesWhileItsLinkIsUp) {
  begin();
  EXPECT_TRUE(serves("10.0.0.1"));
  EXPECT_TRUE(table_.knows(ipv4("10.0.0.1")));
  EXPECT_FALSE(table_.knows(ipv4("10.0.0.2")));
  EXPECT_FALSE(serves("10.0.0.2")) << "an address of the same network, of somebody else";
  EXPECT_TRUE(take(link_message(RTM_NEWLINK, 2, "eth0", IFF_UP)).changed) << "no carrier";
  EXPECT_FALSE(serves("10.0.0.1"));
  EXPECT_TRUE(table_.knows(ipv4("10.0.0.1")));
  EXPECT_FALSE(take(link_message(RTM_NEWLINK, 2, "eth0", IFF_UP)).changed) << "it is known";
  EXPECT_TRUE(take(link_message(RTM_NEWLINK, 2, "eth0", kUp)).changed);
  EXPECT_TRUE(serves("10.0.0.1"));
  const NetworkLink& link = table_.links().at(2);
  EXPECT_EQ(link.name, "eth0");
  EXPECT_EQ(link.mtu, 1500u);
  EXPECT_FALSE(link.loopback);
}

TEST_F(TableOfLinks, AnyAddressOfTheLoopbackServes) {
  begin();
  EXPECT_TRUE(serves("127.0.0.2"));
  EXPECT_FALSE(serves("128.0.0.1"));
}

TEST_F(TableOfLinks, AddressesComeAndGo) {
  begin();
  EXPECT_FALSE(take(address_message(RTM_NEWADDR, 2, "10.0.0.1")).changed);
  EXPECT_TRUE(take(address_message(RTM_DELADDR, 2, "10.0.0.1")).changed);
  EXPECT_FALSE(take(address_message(RTM_DELADDR, 2, "10.0.0.1")).changed);
  EXPECT_FALSE(serves("10.0.0.1"));
  EXPECT_TRUE(take(address_message(RTM_NEWADDR, 2, "10.0.0.7")).changed);
  EXPECT_TRUE(serves("10.0.0.7"));
}

TEST_F(TableOfLinks, AnInterfaceTakesItsAddressesAlong) {
  begin();
  EXPECT_TRUE(take(link_message(RTM_DELLINK, 2, "eth0", 0)).changed);
  EXPECT_FALSE(serves("10.0.0.1"));
  EXPECT_EQ(table_.addresses().size(), 1u);
  EXPECT_FALSE(take(link_message(RTM_DELLINK, 2, "eth0", 0)).changed);
}

TEST_F(TableOfLinks, ABridgeThatLosesAPortHasNotLostTheInterface) {
  begin();
  EXPECT_FALSE(take(link_message(RTM_DELLINK, 2, "eth0", 0, AF_BRIDGE)).changed);
  EXPECT_TRUE(serves("10.0.0.1"));
}

TEST_F(TableOfLinks, SeveralMessagesMayComeTogether) {
  Bytes all;
  for (const Bytes& one : {link_message(RTM_NEWLINK, 2, "eth0", kUp), address_message(RTM_NEWADDR, 2, "10.0.0.1"),
                           message(RTM_NEWROUTE, Bytes(40)), message(NLMSG_DONE, Bytes(4))}) {
    all.insert(all.end(), one.begin(), one.end());
  }
  const LinkTable::Taken taken = take(all);
  EXPECT_TRUE(taken.changed && taken.ended && !taken.unsound);
  EXPECT_TRUE(serves("10.0.0.1"));
}

TEST_F(TableOfLinks, AListThatChangedMeanwhileIsToBeAskedForAnew) {
  EXPECT_TRUE(take(message(NLMSG_DONE, Bytes(4), NLM_F_DUMP_INTR)).unsound);
  const LinkTable::Taken refused = take(message(NLMSG_ERROR, Bytes(sizeof(nlmsgerr))));
  EXPECT_TRUE(refused.ended && refused.unsound);
}

// Cut off at any place, and with lengths that lie.
TEST_F(TableOfLinks, WhatIsNoMessageChangesNothing) {
  const Bytes whole = link_message(RTM_NEWLINK, 2, "eth0", kUp);
  for (std::size_t length = 1; length != whole.size(); ++length) {
    const LinkTable::Taken taken = take({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    EXPECT_TRUE(taken.unsound && !taken.changed) << length;
  }
  for (const std::uint32_t length : {0u, 15u, static_cast<std::uint32_t>(whole.size()) + 1, UINT32_MAX}) {
    Bytes lying = whole;
    std::memcpy(lying.data(), &length, sizeof(length));
    const LinkTable::Taken taken = take(lying);
    EXPECT_TRUE(taken.unsound && !taken.changed) << length;
  }
  EXPECT_TRUE(table_.links().empty());
}

TEST_F(TableOfLinks, BytesOfAnyKindDoNoHarm) {
  std::mt19937 random(1);
  const Bytes link = link_message(RTM_NEWLINK, 2, "eth0", kUp), address = address_message(RTM_NEWADDR, 2, "10.0.0.1");
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = round % 2 == 0 ? link : address;
    // The header's length and kind stay more often than not, so that what is inside is looked at.
    for (unsigned changes = random() % 8; changes != 0; --changes) {
      const std::size_t first = random() % 4 == 0 ? 0 : sizeof(nlmsghdr);
      bytes[first + random() % (bytes.size() - first)] = static_cast<std::byte>(random());
    }
    take(bytes);
  }
  SUCCEED();
}

}  // namespace
}  // namespace openlapi
