#include "control/launch/command_line.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

using Words = std::vector<std::string>;

JobOptions parse(const Words& words) {
  const auto result = parse_command_line(words, "1.2.3");
  if (const auto* end = std::get_if<CommandLineEnd>(&result)) {
    ADD_FAILURE() << end->text;
    return {};
  }
  return std::get<JobOptions>(result);
}

CommandLineEnd refused(const Words& words) {
  const auto result = parse_command_line(words, "1.2.3");
  if (std::holds_alternative<JobOptions>(result)) {
    ADD_FAILURE() << "accepted";
    return {};
  }
  return std::get<CommandLineEnd>(result);
}

TEST(CommandLine, TakesThreeSpellingsOfTheNumberOfTasks) {
  for (const char* option : {"-n", "-np", "--np"}) EXPECT_EQ(parse({option, "7", "prog"}).tasks, 7U) << option;
  EXPECT_EQ(parse({"-n3", "prog"}).tasks, 3U);
  EXPECT_EQ(parse({"prog"}).tasks, 1U);
}

TEST(CommandLine, TakesNodesAsLamDoes) {
  const JobOptions options = parse({"-v", "N", "-np", "4", "n0-3,7", "c1", "C", "h", "o", "-host", "a,b", "-host", "c",
                                    "-N", "2", "-sessionsuffix", "x", "prog", "N"});
  EXPECT_EQ(options.placement.words, (Words{"N", "n0-3,7", "c1", "C", "h", "o"}));
  EXPECT_EQ(options.placement.hosts, (Words{"a", "b", "c"}));
  EXPECT_EQ(options.placement.tasks, 4U);
  EXPECT_EQ(options.placement.per_node, 2U);
  EXPECT_EQ(options.session_suffix, "x");
  EXPECT_EQ(options.command, (Words{"prog", "N"}));
  EXPECT_EQ(options.universe, UseUniverse::kIfBooted);
  EXPECT_EQ(parse({"--", "N"}).command, Words{"N"});
  EXPECT_EQ(parse({"n0x"}).command, Words{"n0x"});
  EXPECT_EQ(parse({"cat", "-n"}).command, (Words{"cat", "-n"}));
  EXPECT_EQ(parse({"prog"}).placement.tasks, 0U);
}

TEST(CommandLine, ListsJobsWithoutAProgram) {
  EXPECT_TRUE(parse({"--jobs"}).list_jobs);
  EXPECT_FALSE(parse({"prog", "--jobs"}).list_jobs);
}

TEST(CommandLine, ChoosesTheUniverse) {
  EXPECT_EQ(parse({"--universe", "prog"}).universe, UseUniverse::kYes);
  EXPECT_EQ(parse({"--no-universe", "prog"}).universe, UseUniverse::kNo);
  EXPECT_EQ(refused({"--universe", "--no-universe", "prog"}).status, kExitUsage);
  EXPECT_EQ(refused({"-N", "0", "prog"}).status, kExitUsage);
  EXPECT_EQ(refused({"N"}).status, kExitNotFound);
}

TEST(CommandLine, LeavesTheProgramsArgumentsAlone) {
  const Words command{"prog", "-n", "5", "-np", "--bind", "none", "--", "--help"};
  Words words{"-n", "2"};
  words.insert(words.end(), command.begin(), command.end());
  const JobOptions options = parse(words);
  EXPECT_EQ(options.command, command);
  EXPECT_EQ(options.tasks, 2U);
  EXPECT_EQ(options.binding, Binding::kCore);
}

TEST(CommandLine, EndsItsOptionsAtTwoDashes) {
  EXPECT_EQ(parse({"-n", "2", "--", "-prog", "--"}).command, (Words{"-prog", "--"}));
}

TEST(CommandLine, ReadsAllOptions) {
  const JobOptions options = parse({"--bind", "none", "--report-bindings", "--tag-output", "-v", "-x", "A", "-x",
                                    "B=c d", "--wd", "/tmp", "--timeout", "1.5", "prog"});
  EXPECT_EQ(options.binding, Binding::kNone);
  EXPECT_TRUE(options.report_bindings && options.tag_output && options.verbose);
  EXPECT_EQ(options.variables, (Words{"A", "B=c d"}));
  EXPECT_EQ(options.working_directory, "/tmp");
  EXPECT_EQ(options.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(options.command, Words{"prog"});
}

TEST(CommandLine, TakesValuesBehindAnEqualSign) {
  const JobOptions options = parse({"--bind=none", "--timeout=3", "--np=4", "prog"});
  EXPECT_EQ(options.binding, Binding::kNone);
  EXPECT_EQ(options.tasks, 4U);
}

TEST(CommandLine, RefusesWrongValuesByName) {
  const std::vector<std::pair<Words, std::string>> wrong{{{"-n", "0", "prog"}, "--np"},
                                                         {{"-n", "-1", "prog"}, "--np"},
                                                         {{"-n", "two", "prog"}, "--np"},
                                                         {{"-n", "65537", "prog"}, "--np"},
                                                         {{"--bind", "socket", "prog"}, "socket"},
                                                         {{"--timeout", "0", "prog"}, "--timeout"},
                                                         {{"--nonsense", "prog"}, "--nonsense"},
                                                         {{"-x", "=v", "prog"}, "-x"},
                                                         {{"-x", "", "prog"}, "-x"}};
  for (const auto& [words, name] : wrong) {
    const CommandLineEnd end = refused(words);
    EXPECT_EQ(end.status, kExitUsage) << words[0];
    EXPECT_NE(end.text.find(name), std::string::npos) << end.text;
  }
}

TEST(CommandLine, WantsAProgram) {
  for (const Words& words : {Words{}, Words{"-n", "2"}, Words{"-n", "2", "--"}}) {
    EXPECT_EQ(refused(words).status, kExitNotFound);
    EXPECT_NE(refused(words).text.find("no program"), std::string::npos);
  }
}

TEST(CommandLine, WantsAValueWhereOneIsDue) { EXPECT_EQ(refused({"-n"}).status, kExitUsage); }

TEST(CommandLine, PrintsHelpAndVersion) {
  EXPECT_EQ(refused({"--help"}).status, 0);
  for (const char* word : {"--report-bindings", "--timeout", "[--] program [arguments]", "Exit status"})
    EXPECT_NE(refused({"--help"}).text.find(word), std::string::npos) << word;
  EXPECT_EQ(refused({"--version"}).text, "lapirun (openlapi) 1.2.3\n");
}

}  // namespace
}  // namespace openlapi
