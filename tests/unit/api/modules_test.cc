#include "api/wiring/modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace openlapi {
namespace {

using Strings = std::vector<std::string>;

// Where the build has put the modules of tests/support/modules.
std::string built_modules() {
  const char* folder = std::getenv("API_MODULES");
  return folder != nullptr ? folder : "API_MODULES is not set";
}

TEST(ModuleFolders, AreBesideTheLibraryAndBesideItsFolder) {
  EXPECT_EQ(module_folders("/nowhere/lib/liblapi.so.0", ""), Strings({"/nowhere/lib/openlapi", "/nowhere/openlapi"}));
  EXPECT_EQ(module_folders("/nowhere/lib/openlapi/liblapi.so", "").back(), "/nowhere/lib/openlapi");
}

TEST(ModuleFolders, FollowLinksOfTheLibrary) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("modules." + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "real/lib");
  std::ofstream(folder / "real/lib/liblapi.so.0") << "x";
  std::filesystem::create_symlink(folder / "real/lib/liblapi.so.0", folder / "liblapi.so");
  const Strings found = module_folders(folder / "liblapi.so", "");
  EXPECT_EQ(found.front(), std::filesystem::canonical(folder / "real/lib").string() + "/openlapi");
  std::filesystem::remove_all(folder);
}

TEST(ModuleFolders, AreTheOneThatTheUserNames) {
  EXPECT_EQ(module_folders("/usr/lib/liblapi.so.0", "/opt/modules"), Strings({"/opt/modules"}));
}

TEST(LoadModule, NamesThePlacesWhereAModuleIsMissing) {
  std::string reason;
  EXPECT_EQ(load_module("absent", {"/nowhere", "/nor/here"}, reason), nullptr);
  EXPECT_EQ(reason, "libopenlapi-absent.so is not installed: it was looked for in /nowhere and /nor/here");
}

TEST(LoadModule, TakesTheFirstThatIsThere) {
  std::string reason;
  TransportModule* const first = load_module("first", {"/nowhere", built_modules()}, reason);
  ASSERT_NE(first, nullptr) << reason;
  EXPECT_EQ(first->name(), "first");
  EXPECT_EQ(load_module("first", {built_modules()}, reason), first) << "one object for the process";
  TransportModule* const second = load_module("second", {built_modules()}, reason);
  ASSERT_NE(second, nullptr) << reason;
  EXPECT_EQ(second->name(), "second") << "modules do not see each other's symbols";
}

TEST(LoadModule, PassesTheRequestAndTheReason) {
  std::string reason;
  TransportModule* const module = load_module("first", {built_modules()}, reason);
  ASSERT_NE(module, nullptr) << reason;
  EXPECT_EQ(module->devices({}, reason).size(), 2u);
  const ModuleTransport refused = module->open({.device = "eth7"});
  EXPECT_EQ(refused.transport, nullptr);
  EXPECT_EQ(refused.reason, "there is no device 'eth7', only first");
  const ModuleTransport opened = module->open({.device = "first", .packet_size = 2048});
  ASSERT_NE(opened.transport, nullptr) << opened.reason;
  EXPECT_LE(opened.transport->limits().max_packet, 2048u);
  EXPECT_EQ(opened.device, "first, task 1 of 1");
}

TEST(LoadModule, RefusesAnotherVersion) {
  std::string reason;
  EXPECT_EQ(load_module("other_version", {built_modules()}, reason), nullptr);
  EXPECT_EQ(reason, built_modules() +
                        "/libopenlapi-other_version.so is of another openlapi: it has interface 77, this "
                        "library needs " +
                        std::to_string(kTransportModuleVersion));
}

TEST(LoadModule, RefusesALibraryThatIsNoModule) {
  std::string reason;
  EXPECT_EQ(load_module("none", {built_modules()}, reason), nullptr);
  EXPECT_EQ(reason, built_modules() +
                        "/libopenlapi-none.so is no transport of openlapi: it has no "
                        "openlapi_transport_module");
}

TEST(LoadModule, SaysWhatTheLinkerSays) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("broken." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "libopenlapi-broken.so") << "no library";
  std::string reason;
  EXPECT_EQ(load_module("broken", {folder}, reason), nullptr);
  EXPECT_TRUE(reason.starts_with("cannot be loaded: ")) << reason;
  EXPECT_NE(reason.find("libopenlapi-broken.so"), std::string::npos) << reason;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace openlapi
