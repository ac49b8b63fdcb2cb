#include "control/job/options/command_line.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/control/temporary_folder.h"

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
  EXPECT_EQ(refused({"--jobs", "extra"}).status, kExitUsage);
  EXPECT_NE(refused({"--jobs", "extra"}).text.find("--jobs: the command line has the program 'extra'"),
            std::string::npos);
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
  const std::vector<std::pair<Words, std::string>> wrong{{{"-n", "0", "prog"}, "-n: the value is '0'"},
                                                         {{"-np", "-1", "prog"}, "-np: the value is '-1'"},
                                                         {{"-c", "two", "prog"}, "-c: the value is 'two'"},
                                                         {{"--np", "16385", "prog"}, "allowed: 1 to 16384"},
                                                         {{"-N", "", "prog"}, "-N: the value is ''"},
                                                         {{"--timeout", "nan", "prog"}, "'nan'; allowed: 0.001 to"},
                                                         {{"-wd", "", "prog"}, "-wd: the value is empty"},
                                                         {{"-H", "", "prog"}, "--host '': a name in it is empty"},
                                                         {{"-H", ",", "-n", "2", "prog"}, "--host ','"},
                                                         {{"-H", "a,", "prog"}, "--host 'a,': a name in it is empty"},
                                                         {{"-H", "a:2", "prog"}, "the host is 'a:2'"},
                                                         {{"--mca=btl", "tcp", "p"}, "--mca=btl: values of it are"},
                                                         {{"-n", "2", "--mca"}, "--mca needs KEY and VALUE"},
                                                         {{"--oversubscribe=1", "prog"}, "takes no value"},
                                                         {{"-q=1", "prog"}, "-q=1: this option takes no value"},
                                                         {{"-rf", "file", "prog"}, "-rf: name places instead"},
                                                         {{"-ssi", "", "v", "prog"}, "-ssi: the key is ''"},
                                                         {{"-ssi", "a=b", "v", "prog"}, "-ssi: the key is 'a=b'"},
                                                         {{"-sessionsuffix", "a/b", "prog"}, "suffix is 'a/b'"},
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

TEST(CommandLine, UnderstandsOptionsOfLamsMpirun) {
  EXPECT_EQ(parse({"-c", "4", "prog"}).tasks, 4U);
  EXPECT_EQ(parse({"-wd", "/tmp", "prog"}).working_directory, "/tmp");
  EXPECT_TRUE(parse({"-D", "prog"}).in_program_folder);
  EXPECT_TRUE(parse({"prog"}).wait);
  EXPECT_FALSE(parse({"-nw", "-np", "2", "prog"}).wait);
  const JobOptions options = parse({"-w", "-O", "-ssi", "rpi", "tcp", "-nger", "-s", "n3", "-ssi", "rpi_tcp_short",
                                    "100", "-nsigs", "-npty", "-nx", "N", "prog", "-ssi", "-s"});
  EXPECT_EQ(options.variables, (Words{"LAM_MPI_SSI_rpi=tcp", "LAM_MPI_SSI_rpi_tcp_short=100"}));
  EXPECT_EQ(options.command, (Words{"prog", "-ssi", "-s"}));
  EXPECT_EQ(options.placement.words, Words{"N"});
  ASSERT_EQ(options.notices.size(), 1U);
  EXPECT_EQ(options.notices[0], "-s n3: programs are not copied; each node runs its own file of this name");
  for (const Words& words : {Words{"-ssi", "rpi"}, Words{"-s"}, Words{"-c"}, Words{"-D", "-wd", "/tmp", "prog"}}) {
    EXPECT_EQ(refused(words).status, kExitUsage) << words[0];
    EXPECT_NE(refused(words).text.find(words[0]), std::string::npos);
  }
}

TEST(CommandLine, SaysWhatItDoesNotDoOfLamsMpirun) {
  const JobOptions options = parse({"-ton", "-p", "x: ", "-sf", "-c2c", "-lamd", "-n", "2", "prog", "-toff", "-tv"});
  EXPECT_EQ(options.tasks, 2U);
  EXPECT_EQ(options.command, (Words{"prog", "-toff", "-tv"}));
  ASSERT_EQ(options.notices.size(), 2U);
  EXPECT_EQ(options.notices[0].find("-ton: LAM's execution traces are not made; MP_LAPI_TRACE_LEVEL"), 0U);
  EXPECT_EQ(options.notices[1].find("-p x: : how tasks end is said of those that fail"), 0U);
  for (const char* word : {"-t", "-toff", "-sa"}) EXPECT_EQ(parse({word, "prog"}).notices.size(), 1U) << word;
  for (const auto& [word, answer] : {std::pair{"-tv", "-tv: no debugger is started"}, std::pair{"-b", "-b: of lamboot"},
                                     std::pair{"-nn", "-nn: of lamboot, recon and lamwipe"}}) {
    const CommandLineEnd end = refused({word, "2", "prog"});
    EXPECT_EQ(end.status, kExitUsage) << word;
    EXPECT_EQ(end.text.find(std::string("lapirun: ") + answer), 0U) << end.text;
  }
  EXPECT_NE(refused({"-p"}).text.find("-p needs a value"), std::string::npos);
}

TEST(CommandLine, MatchesWholeWords) {
  using Advice = std::pair<std::string, std::string>;
  for (const auto& [word, advice] :
       {Advice{"-hostname", "; did you mean -host?"}, Advice{"-vn", "; did you mean -v -n?"},
        Advice{"-hn", "; did you mean -h -n?"}, Advice{"-xz", "; did you mean -x?"}, Advice{"-z", ""},
        Advice{"--app", ""}, Advice{"-nonsense=3", ""}, Advice{"-helpme", "; did you mean -help?"},
        Advice{"-Nx", "; did you mean -N -x?"}, Advice{"--jobsx", "; did you mean --jobs?"},
        Advice{"--timout", "; did you mean --timeout?"}, Advice{"-pernode", "; did you mean -npernode?"}}) {
    const CommandLineEnd end = refused({word, "2", "prog"});
    EXPECT_EQ(end.status, kExitUsage) << word;
    const std::string text = "lapirun: there is no option " + word.substr(0, word.find('=')) + advice + "\n";
    EXPECT_EQ(end.text.find(text), 0U) << end.text;
  }
  EXPECT_EQ(parse({"-np=2", "prog"}).tasks, 2U);
  EXPECT_EQ(parse({"-host=localhost", "prog"}).placement.hosts, Words{"localhost"});
  EXPECT_EQ(parse({"-hosts", "a,b", "prog"}).placement.hosts, (Words{"a", "b"}));
  EXPECT_EQ(parse({"-hosts=a,b", "prog"}).placement.hosts, (Words{"a", "b"}));
  EXPECT_EQ(parse({"-H", "a", "-H", "b,a", "prog"}).placement.hosts, (Words{"a", "b", "a"}));
  EXPECT_EQ(parse({"-perhost", "3", "prog"}).placement.per_node, 3U);
  EXPECT_EQ(refused({"-help"}).status, 0);
  EXPECT_NE(refused({"--verbose=1", "prog"}).text.find("--verbose=1: this option takes no value"), std::string::npos);
}

TEST(CommandLine, RefusesSeveralProgramsUnlessTheColonIsTheProgramsOwn) {
  const CommandLineEnd end = refused({"-n", "1", "a", ":", "-n", "2", "b"});
  EXPECT_EQ(end.status, kExitUsage);
  EXPECT_EQ(end.text.find("lapirun: ':': a job has one program"), 0U) << end.text;
  EXPECT_EQ(parse({"--", "prog", ":", "b"}).command, (Words{"prog", ":", "b"}));
}

TEST(CommandLine, UnderstandsHabitsOfOtherLaunchers) {
  const JobOptions options = parse({"--oversubscribe", "-q", "--mca", "btl", "tcp,self", "--bind-to", "none", "-H",
                                    "a,b", "-npernode", "2", "--wdir", "/tmp", "prog", "--mca"});
  EXPECT_EQ(options.binding, Binding::kNone);
  EXPECT_EQ(options.placement.hosts, (Words{"a", "b"}));
  EXPECT_EQ(options.placement.per_node, 2U);
  EXPECT_EQ(options.working_directory, "/tmp");
  EXPECT_EQ(options.command, (Words{"prog", "--mca"}));
  EXPECT_EQ(options.notices, Words{"--mca btl tcp,self: parameters of Open MPI have no effect here"});
  for (const char* word : {"-hostfile", "--hostfile", "-machinefile", "--map-by", "--map-by=core", "--rank-by",
                           "--output=tag", "--display-map", "-genv", "-env", "--nooversubscribe"}) {
    const CommandLineEnd end = refused({word, "x", "-n", "2", "prog"});
    EXPECT_EQ(end.status, kExitUsage) << word;
    EXPECT_EQ(end.text.find(std::string("lapirun: ") + word + ": "), 0U) << end.text;
    EXPECT_EQ(end.text.find("did you mean"), std::string::npos) << end.text;
  }
  EXPECT_TRUE(parse({"-l", "-report-bindings", "-timeout", "5", "-quiet", "prog"}).tag_output);
  EXPECT_EQ(refused({"-V"}).status, 0);
}

TEST(CommandLine, AnswersHostsWithSlots) {
  for (const Words& words : {Words{"-H", "localhost:2", "prog"}, Words{"-host", "b,a:12", "prog"}}) {
    const CommandLineEnd end = refused(words);
    EXPECT_EQ(end.status, kExitUsage);
    const std::string host = words[1].substr(words[1].find(',') + 1);
    EXPECT_EQ(end.text.find("lapirun: the host is '" + host + "'; allowed: its name alone; -n says"), 0U) << end.text;
  }
  EXPECT_EQ(parse({"-H", "fe80::1", "prog"}).placement.hosts, Words{"fe80::1"});
}

TEST(CommandLine, AnswersMpichsFileOfHosts) {
  const test::TemporaryFolder folder;
  folder.write("hosts", "a\nb\n");
  const std::string hosts = folder.path("hosts");
  const CommandLineEnd end = refused({"-f", hosts, "-n", "2", "prog"});
  EXPECT_EQ(end.status, kExitUsage);
  EXPECT_EQ(end.text.find("lapirun: -f " + hosts + ": lamboot takes the file of hosts"), 0U) << end.text;
  EXPECT_EQ(end.text.find("PATH"), std::string::npos) << end.text;
  EXPECT_EQ(parse({"-f", "/bin/sh", "-n"}).command, (Words{"/bin/sh", "-n"}));
  EXPECT_EQ(parse({"-f", "prog"}).command, Words{"prog"});
  EXPECT_EQ(parse({"-w", hosts}).command, Words{hosts});
}

TEST(CommandLine, SaysWhatItUnderstandsWhereAFileAndAProgramHaveOneName) {
  const test::TemporaryFolder folder;
  folder.write("env", "a\nb\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path("."));
  const CommandLineEnd end = refused({"-f", "env", "-n", "2", "prog"});
  const JobOptions meant = parse({"-f", "--", "env", "-n"});
  std::filesystem::current_path(before);
  EXPECT_NE(end.text.find("lamboot takes the file of hosts: lamboot env, then lapirun. Such a file was understood as "
                          "there is one here; the program of that name in PATH is run by lapirun -f -- env\n"),
            std::string::npos)
      << end.text;
  EXPECT_EQ(meant.command, (Words{"env", "-n"}));
}

TEST(CommandLine, KnowsTheOptionsOfPoe) {
  EXPECT_EQ(parse({"-procs", "4", "prog"}).tasks, 4U);
  EXPECT_NE(refused({"-labelio", "yes", "prog"}).text.find("--tag-output"), std::string::npos);
  EXPECT_NE(refused({"-infolevel", "2", "prog"}).text.find("MP_INFOLEVEL"), std::string::npos);
  EXPECT_NE(refused({"-euilib", "us", "prog"}).text.find("MP_EUILIB"), std::string::npos);
  EXPECT_NE(refused({"-euidevice", "eth0", "prog"}).text.find("MP_EUIDEVICE"), std::string::npos);
}

TEST(CommandLine, SaysThatAnOptionIsThereTooOften) {
  for (const auto& [words, option] :
       {std::pair{Words{"-n", "2", "-n", "3", "prog"}, "-n"}, std::pair{Words{"-n", "2", "-np", "3", "prog"}, "-np"},
        std::pair{Words{"--timeout", "2", "--timeout=3", "prog"}, "--timeout"}}) {
    const CommandLineEnd end = refused(words);
    EXPECT_EQ(end.status, kExitUsage);
    EXPECT_EQ(end.text.find(std::string("lapirun: ") + option + " is there 2 times; allowed: once\n"), 0U) << end.text;
  }
}

TEST(CommandLine, SaysThatMpProcsDoesNotCount) {
  setenv("MP_PROCS", "4", 1);
  const Words notices = parse({"prog"}).notices;
  const Words none = parse({"-n", "4", "prog"}).notices;
  unsetenv("MP_PROCS");
  EXPECT_EQ(notices, Words{"MP_PROCS=4 counts for tasks that are started by hand; here -n does"});
  EXPECT_EQ(none, Words{});
  EXPECT_EQ(parse({"prog"}).notices, Words{});
}

TEST(CommandLine, TakesTheFirstOfAParametersValues) {
  const JobOptions options = parse({"-ssi", "rpi", "tcp", "-ssi", "rpi", "lamd", "prog"});
  EXPECT_EQ(options.variables, Words{"LAM_MPI_SSI_rpi=tcp"});
  EXPECT_EQ(options.notices, Words{"-ssi rpi is there twice: the first counts"});
}

TEST(CommandLine, TakesSeveralVariablesAtOnce) {
  EXPECT_EQ(parse({"-x", "A=1,B=2", "prog"}).variables, (Words{"A=1", "B=2"}));
  EXPECT_EQ(parse({"-x", "DISPLAY,A_1=1,B=,PATH=a:b", "prog"}).variables,
            (Words{"DISPLAY", "A_1=1", "B=", "PATH=a:b"}));
  EXPECT_EQ(parse({"-x", "LIST=a,b,c", "-x", "A,B", "prog"}).variables, (Words{"LIST=a,b,c", "A", "B"}));
  EXPECT_EQ(parse({"-x", "LIST=a,2=b,C=d", "prog"}).variables, (Words{"LIST=a,2=b", "C=d"}));
  EXPECT_EQ(refused({"-x", "A,,B", "prog"}).status, kExitUsage);
}

TEST(CommandLine, ExportsWhatIsSetAndStandsBehindAValue) {
  setenv("OPENLAPI_TEST_SET", "here", 1);
  const JobOptions options = parse({"-x", "A=1,OPENLAPI_TEST_SET,B=a,b", "prog"});
  EXPECT_EQ(options.variables, (Words{"A=1", "OPENLAPI_TEST_SET", "B=a,b"}));
  EXPECT_EQ(options.notices, Words{"-x 'A=1,OPENLAPI_TEST_SET,B=a,b': OPENLAPI_TEST_SET is set here, and so is a "
                                   "variable of its own, no part of a value"});
  EXPECT_TRUE(parse({"-x", "OPENLAPI_TEST_SET,A=1", "prog"}).notices.empty());
  unsetenv("OPENLAPI_TEST_SET");
  EXPECT_EQ(parse({"-x", "A=1,OPENLAPI_TEST_SET", "prog"}).variables, Words{"A=1,OPENLAPI_TEST_SET"});
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

// As LAM's synopses have it: program -- arguments.
TEST(CommandLine, TakesLamsDashesBehindTheProgramInLamsCommandLines) {
  EXPECT_EQ(parse({"N", "prog", "--", "-a", "--", "b"}).command, (Words{"prog", "-a", "--", "b"}));
  EXPECT_EQ(parse({"-v", "c0-1", "n0", "prog", "--"}).command, Words{"prog"});
  EXPECT_EQ(parse({"N", "prog", "-a", "--"}).command, (Words{"prog", "-a", "--"}));
  EXPECT_EQ(parse({"N", "--", "prog", "--", "-a"}).command, (Words{"prog", "--", "-a"}));
  for (const Words& of_lam : {Words{"-np", "2"}, Words{"-c", "2"}, Words{"-ssi", "rpi", "tcp"}, Words{"h"}}) {
    Words words = of_lam;
    words.insert(words.end(), {"prog", "--", "-a"});
    EXPECT_EQ(parse(words).command, (Words{"prog", "-a"})) << of_lam[0];
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(of_lam.size()), "--");
    EXPECT_EQ(parse(words).command, (Words{"prog", "--", "-a"})) << of_lam[0];
  }
  for (const Words& own : {Words{"-n", "2"}, Words{"-host", "localhost"}, Words{}}) {
    Words words = own;
    words.insert(words.end(), {"prog", "--", "-a"});
    EXPECT_EQ(parse(words).command, (Words{"prog", "--", "-a"}));
  }
  const auto programs = parse_command_line({"-n", "2", "prog", "--", "-a"}, "1.2.3", Launcher::kLamexec);
  EXPECT_EQ(std::get<JobOptions>(programs).command, (Words{"prog", "-a"}));
  EXPECT_EQ(std::get<JobOptions>(programs).notices, Words{});
}

// The program may have meant them for itself.
TEST(CommandLine, SaysThatItTakesLamsDashes) {
  EXPECT_EQ(
      parse({"n0", "grep", "--", "-x", "f"}).notices,
      Words{"-- behind 'grep' is taken for LAM's, not for an argument; where it is one, -- goes before the program, "
            "too"});
  EXPECT_EQ(parse({"n0", "--", "grep", "--", "-x", "f"}).notices, Words{});
  EXPECT_EQ(parse({"-n", "1", "grep", "--", "-x", "f"}).notices, Words{});
}

// What -x says of the same variable comes behind it, and counts.
TEST(CommandLine, ATrustedNetworkTakesNoTags) {
  EXPECT_EQ(parse({"--trusted-network", "-n", "2", "prog"}).variables, Words{"OPENLAPI_PACKET_AUTH=no"});
  EXPECT_EQ(parse({"-x", "OPENLAPI_PACKET_AUTH=yes", "--trusted-network", "prog"}).variables,
            (Words{"OPENLAPI_PACKET_AUTH=no", "OPENLAPI_PACKET_AUTH=yes"}));
}

TEST(CommandLine, ADirectHeapIsAVariable) {
  EXPECT_EQ(parse({"--direct-heap", "-x", "OPENLAPI_DIRECT_HEAP=2G", "prog"}).variables,
            (Words{"OPENLAPI_DIRECT_HEAP=yes", "OPENLAPI_DIRECT_HEAP=2G"}));
}

TEST(CommandLine, OfLamexecIsForAUniverse) {
  const auto of_lamexec = [](const Words& words) { return parse_command_line(words, "1.2.3", Launcher::kLamexec); };
  const auto parsed = of_lamexec({"-c", "3", "-wd", "/tmp", "-x", "A=1,B=2", "n0-1", "C", "prog", "-v"});
  ASSERT_TRUE(std::holds_alternative<JobOptions>(parsed));
  const auto& options = std::get<JobOptions>(parsed);
  EXPECT_EQ(options.launcher, Launcher::kLamexec);
  EXPECT_EQ(options.universe, UseUniverse::kYes);
  EXPECT_EQ(options.binding, Binding::kNone);
  EXPECT_EQ(options.placement.tasks, 3U);
  EXPECT_EQ(options.placement.words, (Words{"n0-1", "C"}));
  EXPECT_EQ(options.working_directory, "/tmp");
  EXPECT_EQ(options.variables, (Words{"A=1", "B=2"}));
  EXPECT_EQ(options.command, (Words{"prog", "-v"}));
  for (const char* of_jobs : {"--standalone", "--no-universe", "--universe", "--jobs", "--outlive-daemons",
                              "--trusted-network", "--direct-heap"}) {
    const auto refused_one = of_lamexec({of_jobs, "prog"});
    ASSERT_TRUE(std::holds_alternative<CommandLineEnd>(refused_one)) << of_jobs;
    EXPECT_EQ(std::get<CommandLineEnd>(refused_one).status, kExitUsage);
    EXPECT_EQ(std::get<CommandLineEnd>(refused_one).text.find("lamexec: "), 0U);
  }
}

}  // namespace
}  // namespace openlapi
