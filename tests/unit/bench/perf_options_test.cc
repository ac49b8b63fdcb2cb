#include "bench/perf/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace openlapi::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ParsedOptions parse(std::vector<const char*> words, const char* shared_memory = nullptr) {
  words.insert(words.begin(), "lapi_perf");
  return parse_options(static_cast<int>(words.size()), words.data(), shared_memory);
}

TEST(Options, Defaults) {
  const ParsedOptions parsed = parse({});
  ASSERT_FALSE(parsed.exit) << parsed.text;
  EXPECT_THAT(parsed.options.wires, ElementsAre(Wire::shm, Wire::udp));
  EXPECT_THAT(parsed.options.sizes, ElementsAre(8, 64, 1024, 8192, 65536, 1 << 20, 4 << 20));
  EXPECT_EQ(parsed.options.mode, Mode::polling);
  EXPECT_EQ(parsed.options.pairs, PairPattern::none);
  EXPECT_TRUE(parsed.options.pin);
}

TEST(Options, EveryOption) {
  const ParsedOptions parsed = parse({"--transport", "udp", "--mode", "interrupt", "--sizes", "1M,8,8", "--ops",
                                      "get,am", "--iterations", "40", "--json", "a.json", "--quick", "--no-pin"});
  ASSERT_FALSE(parsed.exit) << parsed.text;
  EXPECT_THAT(parsed.options.wires, ElementsAre(Wire::udp));
  EXPECT_EQ(parsed.options.mode, Mode::interrupt);
  EXPECT_THAT(parsed.options.sizes, ElementsAre(8, 1 << 20));
  EXPECT_THAT(parsed.options.operations, ElementsAre("get", "am"));
  EXPECT_EQ(parsed.options.iterations, 40u);
  EXPECT_EQ(parsed.options.json_file, "a.json");
  EXPECT_TRUE(parsed.options.quick);
  EXPECT_FALSE(parsed.options.pin);
  EXPECT_EQ(parse({"--pairs", "halves"}).options.pairs, PairPattern::halves);
}

TEST(Options, PairsAloneMeansAdjacent) {
  EXPECT_EQ(parse({"--pairs"}).options.pairs, PairPattern::adjacent);
  EXPECT_EQ(parse({"--pairs", "--quick"}).options.pairs, PairPattern::adjacent);
}

TEST(Options, HelpAndVersionEndWell) {
  const ParsedOptions help = parse({"--help"});
  EXPECT_TRUE(help.exit);
  EXPECT_EQ(help.status, 0);
  for (const OperationName& operation : operation_names()) EXPECT_THAT(help.text, HasSubstr(operation.name));
  EXPECT_THAT(help.text, HasSubstr("  U, U(n)  "));
  const ParsedOptions version = parse({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.text, HasSubstr("lapi_perf 0."));
}

struct Wrong {
  std::vector<const char*> words;
  const char* shared_memory;
  const char* says;
};

class WrongOptions : public testing::TestWithParam<Wrong> {};

TEST_P(WrongOptions, NameTheOptionTheValueAndWhatIsAllowed) {
  const ParsedOptions parsed = parse(GetParam().words, GetParam().shared_memory);
  EXPECT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.status, 2);
  EXPECT_THAT(parsed.text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongOptions,
    testing::Values(Wrong{{"--sizes", "8,x"}, nullptr, "--sizes 'x': allowed"},
                    Wrong{{"--sizes", "0"}, nullptr, "--sizes '0': allowed"},
                    Wrong{{"--sizes", "2G"}, nullptr, "--sizes '2G': allowed"},
                    Wrong{{"--sizes", "8,"}, nullptr, "--sizes '': allowed"},
                    Wrong{{"--ops", "put,fly"}, nullptr, "--ops 'fly': allowed are put,"},
                    Wrong{{"--transport", "tin"}, nullptr, "--transport"},
                    Wrong{{"-t", "shm", "-t", "udp"}, nullptr, "--transport is there 2 times; allowed: once"},
                    Wrong{{"--iterations", "3"}, nullptr, "--iterations"},
                    Wrong{{"--plot", "a.png"}, nullptr, "--plot 'a.png': allowed is a file name that ends in .svg"},
                    Wrong{{"--no-such"}, nullptr, "--no-such"},
                    Wrong{{"--ops", ""}, nullptr, "--ops '': allowed are put,"},
                    Wrong{{"--ops", "wake"}, nullptr, "--ops wake: a task that polls does not sleep"},
                    Wrong{{"--ops", "get-computing"}, nullptr, "--ops get-computing: in polling mode nobody answers"},
                    Wrong{{"--ops", "put,wake"}, nullptr, "--ops wake: a task that polls does not sleep"},
                    Wrong{{"--ops", "wake,wake"}, nullptr, "--ops wake: a task that polls does not sleep"},
                    Wrong{{"--ops", "put-warm", "-t", "udp"}, nullptr, "--ops put-warm: only puts through shared"},
                    Wrong{{"--ops", "put-warm"}, "no", "--ops put-warm: only puts through shared memory"},
                    Wrong{{"--ops", "put-complete", "-s", "1M"}, nullptr, "it needs --sizes up to 8K"},
                    Wrong{{"--ops", "am-untouched", "-s", "8,64"}, nullptr, "it needs --sizes over 64"},
                    Wrong{{"--pairs", "--sizes", "1M"}, nullptr, "--sizes and --pairs: pairs put 8 bytes"},
                    Wrong{{"--pairs", "--ops", "get"}, nullptr, "--ops and --pairs"},
                    Wrong{{"--pairs", "--iterations", "50"}, nullptr, "--iterations and --pairs"},
                    Wrong{{"--pairs", "--json", "a.json"}, nullptr, "--json and --pairs"},
                    Wrong{{"--pairs", "--plot", "a.svg"}, nullptr, "--plot and --pairs"},
                    Wrong{{"--json", ""}, nullptr, "--json '': allowed is a file name"},
                    Wrong{{"--plot", ""}, nullptr, "--plot '': allowed is a file name that ends in .svg"},
                    Wrong{{"--transport", "shm"}, "no", "contradicts LAPI_USE_SHM=no"},
                    Wrong{{"--transport", "udp"}, "only", "contradicts LAPI_USE_SHM=only"},
                    Wrong{{"--transport", "verbs"}, "only", "contradicts LAPI_USE_SHM=only"},
                    Wrong{{"--transport", "dpdk"}, "only", "contradicts LAPI_USE_SHM=only"},
                    Wrong{{}, "maybe", "LAPI_USE_SHM='maybe': allowed are no, yes, only"}));

TEST(Options, TheEnvironmentChoosesWhenTheCommandLineDoesNot) {
  EXPECT_THAT(parse({}, "no").options.wires, ElementsAre(Wire::udp));
  EXPECT_THAT(parse({}, "ONLY").options.wires, ElementsAre(Wire::shm));
  EXPECT_THAT(parse({}, "yes").options.wires, ElementsAre(Wire::shm, Wire::udp));
  EXPECT_THAT(parse({"--transport", "udp"}, "yes").options.wires, ElementsAre(Wire::udp));
  EXPECT_THAT(parse({"--transport", "verbs"}, "yes").options.wires, ElementsAre(Wire::verbs));
  EXPECT_THAT(parse({"--transport", "dpdk"}, "yes").options.wires, ElementsAre(Wire::dpdk));
}

TEST(Options, WhatIsNeverDrawnIsRefusedWithAPlot) {
  const ParsedOptions parsed = parse({"--ops", "rmw,rate", "--plot", "x.svg"});
  EXPECT_EQ(parsed.status, 2);
  EXPECT_THAT(parsed.text,
              testing::AnyOf(HasSubstr("--plot draws put, get and am"), HasSubstr("--plot needs gnuplot")));
}

TEST(Sizes, Text) {
  EXPECT_EQ(size_text(8), "8");
  EXPECT_EQ(size_text(1536), "1536");
  EXPECT_EQ(size_text(65536), "64K");
  EXPECT_EQ(size_text(4 << 20), "4M");
}

}  // namespace
}  // namespace openlapi::bench
