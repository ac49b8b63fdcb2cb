#include "control/boot/schemas/process_schema.h"

#include <gtest/gtest.h>

#include "control/boot/errors/boot_error.h"

namespace openlapi::boot {
namespace {

const SchemaVariables kVariables{
    {"inet_topo", "-H 10.0.0.1 -P 4711 -n 3 -o 0"}, {"debug", "-d"}, {"session_prefix", ""}};

std::string mistake_in(std::string_view text) {
  try {
    parse_process_schema(text, "conf", kVariables);
    return "none";
  } catch (const BootError& error) {
    return error.what();
  }
}

using Words = std::vector<std::string>;

TEST(ProcessSchema, SubstitutesVariables) {
  const auto processes =
      parse_process_schema("# the default\nlamd $inet_topo $session_prefix $debug\n", "conf", kVariables);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].words, (Words{"lamd", "-H", "10.0.0.1", "-P", "4711", "-n", "3", "-o", "0", "-d"}));
  EXPECT_EQ(processes[0].delay, 0);
}

TEST(ProcessSchema, KeepsTheOrderAndTheDelays) {
  const auto processes = parse_process_schema(
      "kernel $delay\n"
      "{delay=3}\n"
      "router -a \"two words\" \"$debug\"\n"
      "kenyad {delay=0}\n"
      "dli_inet {delay=(7)}\n"
      "dlo_inet {delay(8)}\n",
      "conf", kVariables);
  ASSERT_EQ(processes.size(), 5u);
  EXPECT_EQ(processes[0].words, (Words{"kernel"}));
  EXPECT_EQ(processes[0].delay, 1);
  EXPECT_EQ(processes[1].words, (Words{"router", "-a", "two words", "$debug"}));
  EXPECT_EQ(processes[1].delay, 3);
  EXPECT_EQ(processes[2].delay, 0);
  EXPECT_EQ(processes[3].delay, 7);
  EXPECT_EQ(processes[4].delay, 8);
}

TEST(ProcessSchema, NamesFileLineValueAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "conf: names no process"},
      {"$session_prefix", "conf: names no process"},
      {"\nlamd $inet\n", "conf:2: variable \"$inet\" is unknown; allowed: $debug, $inet_topo, $session_prefix, $delay"},
      {"lamd {delay=x}", "conf:1: option \"{delay=x}\"; allowed: {delay=SECONDS}, 0 to 3600"},
      {"lamd {delay=-1}", "conf:1: option \"{delay=-1}\"; allowed: {delay=SECONDS}, 0 to 3600"},
      {"lamd {delay=3601}", "conf:1: option \"{delay=3601}\"; allowed: {delay=SECONDS}, 0 to 3600"},
      {"lamd {priority=1}", "conf:1: option \"{priority=1}\"; allowed: {delay=SECONDS}, 0 to 3600"},
      {"lamd {", "conf:1: option \"{\"; allowed: {delay=SECONDS}, 0 to 3600"},
      {"lamd {delay=1} -d", "conf:1: \"-d\" stands behind an option; options come last"},
      {"lamd \"x", "conf:1: \"\"x\" has no closing quote"},
  };
  for (const auto& [text, mistake] : cases) EXPECT_EQ(mistake_in(text), mistake) << text;
}

}  // namespace
}  // namespace openlapi::boot
