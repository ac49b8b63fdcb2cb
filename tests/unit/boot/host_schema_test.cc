#include "control/boot/schemas/host_schema.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

std::string mistake_in(std::string_view text) {
  try {
    parse_host_schema(text, "hosts");
    return "none";
  } catch (const BootError& error) {
    return error.what();
  }
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Section 2.3.1.
TEST(HostSchema, KeysThatAreNearlyOursAreNamedOnce) {
  testing::internal::CaptureStderr();
  const auto hosts =
      parse_host_schema("a cpus=4\nb ncpus=2 cpus=4 CPU=1 slots2=1\nc note=1 rack=2 gpu=4\nd gpus=4\n", "hosts");
  const std::string said = testing::internal::GetCapturedStderr();
  for (const char* line :
       {"hosts:1: key \"cpus\" is none of openlapi's, and kept for boot modules: did you mean cpu?",
        "hosts:2: key \"ncpus\" is none of openlapi's, and kept for boot modules: did you mean cpu?",
        "hosts:2: key \"slots2\" is none of openlapi's, and kept for boot modules: did you mean slots?"}) {
    EXPECT_NE(said.find(line), std::string::npos) << said;
  }
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
  EXPECT_EQ(hosts[0].cpus, 1);
}

TEST(HostSchema, ReadsTheSpecificationsExample) {
  const auto hosts = parse_host_schema(
      "inky.cluster.example.com cpu=2\n"
      "pinky.cluster.example.com cpu=4\n"
      "blinky.cluster.example.com cpu=4\n"
      "clyde.cluster.example.com cpu=2 user=jsmith\n",
      "hosts");
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_EQ(hosts[0].name, "inky.cluster.example.com");
  EXPECT_EQ(hosts[0].cpus, 2);
  EXPECT_EQ(hosts[0].pairs, (Pairs{{"cpu", "2"}}));
  EXPECT_EQ(hosts[3].user, "jsmith");
  EXPECT_EQ(hosts[3].pairs, (Pairs{{"cpu", "2"}, {"user", "jsmith"}}));
}

// bhost(5) of LAM.
TEST(HostSchema, ReadsCommentsScheduleAndRepeatedHosts) {
  const auto hosts = parse_host_schema(
      "# example LAM host file\n"
      "\n"
      "server.example.com schedule=no # boots, runs nothing\n"
      "beowulf1.example.com cpu=2\n"
      "beowulf2.example.com\n"
      "  beowulf2.example.com\r\n"
      "somewhere.else.example.com user=guest",
      "hosts");
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_FALSE(hosts[0].schedule);
  EXPECT_TRUE(hosts[1].schedule);
  EXPECT_EQ(hosts[2].name, "beowulf2.example.com");
  EXPECT_EQ(hosts[2].cpus, 2);
  EXPECT_EQ(hosts[2].line, 5);
  EXPECT_TRUE(hosts[2].pairs.empty());
  EXPECT_EQ(hosts[3].user, "guest");
}

TEST(HostSchema, AddsProcessorsOfARepeatedHostToItsPair) {
  const auto hosts = parse_host_schema("a cpu=2\nb\nA cpu=3 user=u\na\n", "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].cpus, 6);
  EXPECT_EQ(hosts[0].pairs, (Pairs{{"cpu", "6"}, {"user", "u"}}));
  EXPECT_EQ(hosts[0].user, "u");
}

TEST(HostSchema, TakesTheSlotsOfOpenMpisFilesForProcessors) {
  const auto hosts = parse_host_schema("a slots=4 max_slots=8\na slots=2\n", "hosts");
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].cpus, 6);
  EXPECT_EQ(hosts[0].pairs, (Pairs{{"cpu", "6"}, {"max_slots", "8"}}));
  EXPECT_EQ(mistake_in("a slots=x"), "hosts:1: slots=\"x\"; allowed: a number from 1 to 2147483647");
  EXPECT_EQ(mistake_in("a cpu=2 slots=3"), "hosts:1: key \"slots\" is given twice: it is cpu");
}

TEST(HostSchema, TakesTheNameFromTheKeyToo) {
  const auto hosts = parse_host_schema("hostname=10.0.0.7 cpu=4\ninky hostname=10.0.0.8\n", "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "10.0.0.7");
  EXPECT_EQ(hosts[1].name, "10.0.0.8");
}

TEST(HostSchema, KeepsUnknownKeysAndQuotedWords) {
  const auto hosts = parse_host_schema("a \"note=two words # no comment\" prefix=/opt/lam rack=7=8 empty=\n", "hosts");
  EXPECT_EQ(hosts[0].pairs,
            (Pairs{{"note", "two words # no comment"}, {"prefix", "/opt/lam"}, {"rack", "7=8"}, {"empty", ""}}));
}

TEST(HostSchema, NamesFileLineValueAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "hosts: names no host"},
      {"# only a comment\n", "hosts: names no host"},
      {"a\n\nb cpu=0\n", "hosts:3: cpu=\"0\"; allowed: a number from 1 to 2147483647"},
      {"a cpu=2x", "hosts:1: cpu=\"2x\"; allowed: a number from 1 to 2147483647"},
      {"a cpu=", "hosts:1: cpu=\"\"; allowed: a number from 1 to 2147483647"},
      {"a cpu=99999999999", "hosts:1: cpu=\"99999999999\"; allowed: a number from 1 to 2147483647"},
      {"a schedule=maybe", "hosts:1: schedule=\"maybe\"; allowed: yes, no"},
      {"a four",
       "hosts:1: \"four\" is no key=value pair; known keys: cpu (or slots), hostname, prefix, schedule, user"},
      {"a =4", "hosts:1: \"=4\" is no key=value pair; known keys: cpu (or slots), hostname, prefix, schedule, user"},
      {"cpu=4", "hosts:1: host name is empty"},
      {"a cpu=1 CPU=2", "hosts:1: key \"CPU\" is given twice"},
      {"a \"b=c", "hosts:1: \"\"b=c\" has no closing quote"},
      {"-oProxyCommand=x", "hosts:1: host name is empty"},
      {"-l", "hosts:1: host name \"-l\" begins with -"},
      {"a user=-l", "hosts:1: user \"-l\" begins with -"},
      {"\"a b\"", "hosts:1: host name \"a b\" has blanks or unprintable letters"},
      {"a user=", "hosts:1: user is empty"},
      {"a prefix=", "hosts:1: prefix is empty; allowed: a path (\"prefix=/with a blank\" in quotes as a whole)"},
      {"a user=u\na user=v", "hosts:2: user=\"v\" contradicts user=\"u\" of line 1 for host \"a\""},
      {"a k\x1by=1\na k\x1by=2", "hosts:1: key \"k?y\" has blanks or unprintable letters"},
      {"a cpu=2147483647\na", "hosts:2: host \"a\" has more than 2147483647 processors with these"},
  };
  for (const auto& [text, mistake] : cases) EXPECT_EQ(mistake_in(text), mistake) << text;
  EXPECT_EQ(mistake_in(std::string_view("a\0b", 3)), "hosts:1: the line has a zero byte; allowed: text");
}

TEST(HostSchema, ReadsManyHosts) {
  std::string text;
  for (int n = 0; n < 20000; ++n) text += "node" + std::to_string(n) + " cpu=2\n";
  EXPECT_EQ(parse_host_schema(text, "hosts").size(), 20000u);
}

}  // namespace
}  // namespace openlapi::boot
