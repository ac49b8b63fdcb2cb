#include "api/wiring/unknown_variables.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

std::vector<std::string> lines_of(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return unknown_variables(environment.data());
}

TEST(UnknownVariables, AreNamedWithTheNearestKnownOne) {
  EXPECT_EQ(lines_of({"LAPI_USE_SHMEM=yes", "HOME=/", "OPENLAPI_THREAD_POLICI=spin", "MP_EUIDEVISE=eth0"}),
            (std::vector<std::string>{
                "LAPI_USE_SHMEM is set, and is no variable of openlapi's: did you mean LAPI_USE_SHM?",
                "OPENLAPI_THREAD_POLICI is set, and is no variable of openlapi's: did you mean OPENLAPI_THREAD_POLICY?",
                "MP_EUIDEVISE is set, and is no variable of openlapi's: did you mean MP_EUIDEVICE?"}));
}

TEST(UnknownVariables, WithoutANearOneNameThePlaceThatListsThem) {
  EXPECT_EQ(lines_of({"OPENLAPI_COLOUR_OF_THE_SHED=red"}),
            std::vector<std::string>{
                "OPENLAPI_COLOUR_OF_THE_SHED is set, and is no variable of openlapi's: `lapi_info --env` lists those "
                "that are"});
}

TEST(UnknownVariables, AreNotTakenForEveryShortName) {
  for (const char* name : {"LAPI_LOG", "LAPI_X", "LAPI_", "MP_LAPI_FOO"}) {
    EXPECT_EQ(lines_of({name}),
              std::vector<std::string>{std::string(name) + " is set, and is no variable of openlapi's: "
                                                           "`lapi_info --env` lists those that are"});
  }
  EXPECT_EQ(lines_of({"MP_LAPI_TRACE_LEVELS=1"}),
            std::vector<std::string>{"MP_LAPI_TRACE_LEVELS is set, and is no variable of openlapi's: did you mean "
                                     "MP_LAPI_TRACE_LEVEL?"});
}

TEST(UnknownVariables, OfPoesKindAreFoundByTheBeginningsOfTheirWords) {
  const std::pair<const char*, const char*> cases[] = {{"MP_ACK_THRESHOLD", "MP_ACK_THRESH"},
                                                       {"MP_POLL_INTERVAL", "MP_POLLING_INTERVAL"},
                                                       {"MP_REXMIT_BUFFER_SIZE", "MP_REXMIT_BUF_SIZE"},
                                                       {"MP_USE_BULK", "MP_USE_BULK_XFER"},
                                                       {"MP_INSTANCE", "MP_INSTANCES"}};
  for (const auto& [name, meant] : cases) {
    EXPECT_EQ(lines_of({name}), std::vector<std::string>{std::string(name) +
                                                         " is set, and is no variable of openlapi's: "
                                                         "did you mean " +
                                                         meant + "?"});
  }
}

TEST(UnknownVariables, AreNotWhatSitesSetForEveryPackage) {
  EXPECT_TRUE(lines_of({"OPENLAPI_ROOT=/opt", "OPENLAPI_HOME=/opt", "LAPI_ROOT=/opt", "OPENLAPI_VERSION=1"}).empty());
}

TEST(UnknownVariables, AreNotThoseOfPoeNorOursNorAnybodyElses) {
  EXPECT_TRUE(lines_of({"MP_EUIDEVELOP=yes", "MP_EUILIBPATH=/", "MP_CHILD_INET_ADDR=@1:10.0.0.1",
                        "MP_MPI_NETWORK=@1:3,sn0", "MP_RESD=no", "MP_DEBUG_LOG=1", "MP_CSS_INTERRUPT=no",
                        "MP_SHARED_MEMORY=yes", "MP_RETRY=1", "MP_TASK_AFFINITY=CORE", "MP_TIMEOUT=3",
                        "LAPI_USE_SHM=", "MP_PROCS=2", "MP=", "OPENLAPI=1", "LAM_MPI_SESSION_SUFFIX=a", "ODD_ENTRY"})
                  .empty());
}

TEST(UnknownVariables, AreNotThoseOfTheCompilerWrappers) {
  EXPECT_TRUE(lines_of({"LAPI_CC=gcc", "LAPI_CXX=g++", "LAPI_FC=gfortran", "LAPI_TRACE_LIBRARY=yes"}).empty());
}

}  // namespace
}  // namespace openlapi
