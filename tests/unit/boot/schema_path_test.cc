// The C functions that read files and the command line.
#include "control/boot/schemas/schema_path.h"

#include <gtest/gtest.h>

#include <cerrno>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {
namespace {

namespace fs = std::filesystem;

class SchemaPath : public testing::Test {
 protected:
  SchemaPath() {
    std::string name = fs::temp_directory_path() / "openlapi-boot-XXXXXX";
    folder_ = mkdtemp(name.data());
    for (const char* part : {"here", "trollius/etc", "lam/etc/openlapi"}) fs::create_directories(folder_ / part);
    before_ = fs::current_path();
    fs::current_path(folder_ / "here");
    setenv("TROLLIUSHOME", (folder_ / "trollius").c_str(), 1);
    setenv("LAMHOME", (folder_ / "lam").c_str(), 1);
    for (const char* variable : {"LAM_MPI_SESSION_SUFFIX", "LAM_MPI_SOCKET_SUFFIX", "PBS_JOBID", "SLURM_JOB_ID",
                                 "LSB_JOBID", "JOB_ID", "LAM_MPI_SSI_boot_base_promisc"}) {
      unsetenv(variable);
    }
    unsetenv("LAMBHOST");
    unsetenv("TROLLIUSBHOST");
    ao_setflags(options_, AOPRESERVE_ARGV);
    ao_setopt1(options_, "dvlx", nullptr, 0, 0);
    ao_setopt(options_, "c", nullptr, 1, 0);
    ao_setopt(options_, "sessionsuffix", nullptr, 1, 0);
  }
  ~SchemaPath() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
    ao_free(options_);
  }

  void write(const std::string& file, const std::string& text) { std::ofstream(folder_ / file) << text; }
  void command_line(std::vector<std::string> words) {
    words.insert(words.begin(), "lamboot");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int count = static_cast<int>(words.size());
    ASSERT_EQ(ao_parse(options_, &count, pointers.data()), 0);
  }
  std::string found() {
    testing::internal::CaptureStderr();
    char* path = lam_ssi_boot_base_find_boot_schema(options_);
    error_ = testing::internal::GetCapturedStderr();
    const std::string text = path == nullptr ? "" : path;
    std::free(path);
    return text;
  }

  fs::path folder_, before_;
  OPT* options_ = ao_init();
  std::string error_{};
};

// Section 2.5.5.
TEST_F(SchemaPath, LooksInTheOrderOfTheSpecification) {
  command_line({"hosts"});
  write("lam/etc/openlapi/hosts", "a\n");
  EXPECT_EQ(found(), folder_ / "lam/etc/openlapi/hosts") << "a folder of ours";
  write("lam/etc/hosts", "a\n");
  EXPECT_EQ(found(), folder_ / "lam/etc/hosts");
  write("trollius/etc/hosts", "a\n");
  EXPECT_EQ(found(), folder_ / "trollius/etc/hosts");
  write("here/hosts", "a\n");
  EXPECT_EQ(found(), "hosts");
}

TEST_F(SchemaPath, TakesAnAbsolutePathAsItIs) {
  write("here/hosts", "a\n");
  command_line({"-v", folder_ / "here/hosts"});
  EXPECT_EQ(found(), folder_ / "here/hosts");
}

TEST_F(SchemaPath, TakesTheNameFromTheEnvironmentOrTheDefault) {
  command_line({});
  write("here/lam-bhost.def", "a\n");
  EXPECT_EQ(found(), "lam-bhost.def");
  write("here/trolls", "a\n");
  setenv("TROLLIUSBHOST", "trolls", 1);
  EXPECT_EQ(found(), "trolls");
  write("here/lambs", "a\n");
  setenv("LAMBHOST", "lambs", 1);
  EXPECT_EQ(found(), "lambs");
}

TEST_F(SchemaPath, SaysWhereItLooked) {
  command_line({"nowhere"});
  EXPECT_EQ(found(), "");
  EXPECT_NE(error_.find(std::string(program_invocation_short_name) +
                        ": no boot schema nowhere; looked for it in:\n  nowhere: No such file"),
            std::string::npos);
  EXPECT_NE(error_.find((folder_ / "trollius/etc/nowhere: ").string()), std::string::npos);
  EXPECT_NE(error_.find((folder_ / "lam/etc/nowhere: ").string()), std::string::npos);
  fs::create_directory(folder_ / "here/folder");
  command_line({folder_ / "here/folder"});
  EXPECT_EQ(found(), "");
  EXPECT_NE(error_.find("folder: it is a directory"), std::string::npos);
  command_line({"one", "two"});
  EXPECT_EQ(found(), "");
  EXPECT_NE(error_.find("names 2 boot schemas (one, two); allowed: one"), std::string::npos);
}

// Section 2.5.6.
TEST_F(SchemaPath, FindsAHostName) {
  command_line({"127.0.0.1"});
  char* host = lam_ssi_boot_base_find_hostname(options_);
  EXPECT_STREQ(host, "127.0.0.1");
  std::free(host);
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"a", "b"}, {"no.such.host.invalid"}}) {
    command_line(words);
    testing::internal::CaptureStderr();
    EXPECT_EQ(lam_ssi_boot_base_find_hostname(options_), nullptr);
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  }
}

// Sections 2.5.1 and 2.5.3.
TEST_F(SchemaPath, BootSchemasBecomeNodes) {
  write("here/hosts", "inky cpu=2\nclyde user=jsmith schedule=no rack=7\n");
  lamnode* nodes = nullptr;
  int count = 0;
  ASSERT_EQ(bhostparse("hosts", &nodes, &count), 0);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(nodes[0].lnd_nodeid, 0);
  EXPECT_EQ(nodes[0].lnd_type, NT_BOOT);
  EXPECT_EQ(nodes[0].lnd_ncpus, 2);
  EXPECT_EQ(nodes[0].lnd_uname, nullptr);
  EXPECT_STREQ(nodes[1].lnd_hname, "clyde");
  EXPECT_STREQ(nodes[1].lnd_uname, "jsmith");
  EXPECT_EQ(nodes[1].lnd_type, NT_BOOT | NT_WASTE);
  char key[] = "RACK";
  const ELEM wanted{key, nullptr};
  const auto* pair = static_cast<const ELEM*>(al_find(nodes[1].lnd_keyval, &wanted));
  ASSERT_NE(pair, nullptr);
  EXPECT_STREQ(pair->value, "7");
  EXPECT_EQ(al_count(nodes[1].lnd_keyval), 3);
  EXPECT_EQ(lam_deallocate_nodes(&nodes, &count), 0);
  EXPECT_EQ(nodes, nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(lam_deallocate_nodes(&nodes, &count), 0);

  testing::internal::CaptureStderr();
  write("here/bad", "a\nb cpu=none\n");
  EXPECT_EQ(bhostparse("bad", &nodes, &count), LAMERROR);
  EXPECT_EQ(bhostparse("missing", &nodes, &count), LAMERROR);
  EXPECT_EQ(bhostparse(nullptr, &nodes, &count), LAMERROR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) +
                ": bad:2: cpu=\"none\"; allowed: a number from 1 to 2147483647\n" +
                std::string(program_invocation_short_name) + ": missing: cannot be read: No such file or directory\n" +
                std::string(program_invocation_short_name) + ": bhostparse: NULL argument\n");
}

// Section 2.5.2.
TEST_F(SchemaPath, ProcessSchemasBecomeProcesses) {
  write("here/conf", "lamd $inet_topo $debug $session_suffix\ntracer {delay=2}\n");
  command_line({"-d", "-c", "conf", "-sessionsuffix", "7"});
  LIST* list = nullptr;
  ASSERT_EQ(hbootparse(-1, options_, "-H 10.0.0.1 -n 0", nullptr, &list), 0);
  ASSERT_EQ(al_count(list), 2);
  const auto* first = static_cast<const psc*>(al_top(list));
  ASSERT_EQ(first->psc_argc, 8);
  EXPECT_STREQ(first->psc_argv[0], "lamd");
  EXPECT_STREQ(first->psc_argv[4], "0");
  EXPECT_STREQ(first->psc_argv[5], "-d");
  EXPECT_STREQ(first->psc_argv[6], "-sessionsuffix");
  EXPECT_EQ(first->psc_argv[8], nullptr);
  EXPECT_EQ(static_cast<const psc*>(al_next(list, first))->psc_delay, 2);
  EXPECT_EQ(al_free(list), 0);
}

// Other hosts do not have our environment.
TEST_F(SchemaPath, ASuffixOfTheEnvironmentIsPassedOn) {
  write("here/conf", "lamd $session_suffix\n");
  command_line({"-c", "conf"});
  for (const auto& [variable, value, suffix] :
       {std::tuple{"LAM_MPI_SESSION_SUFFIX", "mine", "mine"}, {"PBS_JOBID", "7", "pbs-7"}}) {
    setenv(variable, value, 1);
    LIST* list = nullptr;
    ASSERT_EQ(hbootparse(-1, options_, nullptr, nullptr, &list), 0);
    const auto* process = static_cast<const psc*>(al_top(list));
    ASSERT_EQ(process->psc_argc, 3);
    EXPECT_STREQ(process->psc_argv[1], "-sessionsuffix");
    EXPECT_STREQ(process->psc_argv[2], suffix);
    EXPECT_EQ(al_free(list), 0);
    unsetenv(variable);
  }
}

// Sections 2.5.9 and 2.5.10.
TEST_F(SchemaPath, ArgumentsForADaemon) {
  lamnode origin{}, node{};
  char name[] = "inky";
  origin.lnd_hname = name;
  origin.lnd_addr.sin_addr.s_addr = htonl(0x0a000001);
  node.lnd_nodeid = 3;
  lam_ssi_boot_base_server_port = 4711;
  const auto topology = [&] {
    lam_ssi_boot_optd = options_;
    char* text = lam_ssi_boot_build_inet_topo(&node, origin, 1);
    lam_ssi_boot_optd = nullptr;
    const std::string copy = text;
    std::free(text);
    return copy;
  };
  EXPECT_EQ(topology(), "-H 10.0.0.1 -P 4711 -n 3 -o 1");
  setenv("LAM_MPI_SSI_boot_base_promisc", "1", 1);
  EXPECT_EQ(topology(), "-H 10.0.0.1 -P 4711 -n 3 -o 1 -ssi boot_base_promisc 1");
  unsetenv("LAM_MPI_SSI_boot_base_promisc");
  command_line({"-l", "-x", "-v", "-d"});
  EXPECT_EQ(topology(), "-x -H inky -P 4711 -n 3 -o 1");
  lam_ssi_boot_base_server_port = 0;

  int argc = 0;
  char** argv = nullptr;
  EXPECT_EQ(lam_ssi_boot_do_common_args(options_, &argc, &argv), 0);
  ASSERT_EQ(argc, 2);
  EXPECT_STREQ(argv[0], "-d");
  EXPECT_STREQ(argv[1], "-v");
  for (int n = 0; n < argc; ++n) std::free(argv[n]);
  std::free(argv);
}

// Section 2.5.4.
TEST(CheckPriority, FollowsTheSpecification) {
  int priority = 0;
  EXPECT_EQ(lam_ssi_boot_base_check_priority("test", 10, 0, &priority), 0);
  EXPECT_EQ(priority, 10);
  EXPECT_EQ(lam_ssi_boot_base_check_priority("test", 10, 1, &priority), 0);
  EXPECT_EQ(priority, 75);
  setenv("LAM_MPI_SSI_boot_test_priority", "33", 1);
  EXPECT_EQ(lam_ssi_boot_base_check_priority("test", 10, 1, &priority), 0);
  EXPECT_EQ(priority, 33);
  EXPECT_EQ(lam_ssi_boot_base_check_priority(nullptr, 10, 0, &priority), 0);
  EXPECT_EQ(priority, 10);
  setenv("LAM_MPI_SSI_boot_test_priority", "high", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(lam_ssi_boot_base_check_priority("test", 10, 0, &priority), LAMERROR);
  EXPECT_EQ(priority, 10);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) +
                ": LAM_MPI_SSI_boot_test_priority is \"high\"; allowed: an integer\n");
  unsetenv("LAM_MPI_SSI_boot_test_priority");
}

}  // namespace
}  // namespace openlapi::boot
