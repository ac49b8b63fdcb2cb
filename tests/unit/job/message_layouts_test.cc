// Daemons, tools and lamtasks of another build understand each other's messages, or see by the version that they do
// not.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/network_message.h"
#include "control/job/messages/job_message.h"

namespace openlapi {
namespace {

// Writes down what a message consists of, in place of its bytes.
class LayoutWriter {
 public:
  std::string text_;

  void byte(const auto&) { text_ += " 1"; }
  void number(const auto&) { text_ += " 4"; }
  void wide(const auto&) { text_ += " 8"; }
  void bytes(const auto&) { text_ += " bytes"; }
  void text(const auto&) { text_ += " text"; }
  template <typename Element, typename Each>
  void list(const std::vector<Element>&, std::size_t, Each&& each) {
    Element element{};
    text_ += " (";
    each(*this, element);
    text_ += " )";
  }
};

template <typename Message>
std::string layout_of() {
  LayoutWriter writer;
  Message message{};
  Message::describe(writer, message);
  return std::to_string(Message::kKind) + ":" + writer.text_ + "\n";
}

template <typename Variant, std::size_t... index>
std::string layouts_of(std::index_sequence<index...>) {
  return (layout_of<std::variant_alternative_t<index, Variant>>() + ...);
}

template <typename Variant>
std::string layouts() {
  return layouts_of<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>());
}

std::uint64_t checksum(const std::string& text) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : text) sum = (sum ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return sum;
}

TEST(MessageLayouts, ChangeWithTheVersion) {
  const std::string all =
      layouts<daemon::DaemonMessage>() + layouts<daemon::NetworkAction>() + layouts<jobs::JobBody>();
  constexpr std::uint8_t kVersion = 2;
  constexpr std::uint64_t kLayouts = 0x5aaf7fffdabae75e;
  EXPECT_EQ(daemon::kMessageVersion, kVersion);
  EXPECT_EQ(checksum(all), kLayouts)
      << "messages have other fields now: raise kMessageVersion if a release had it (2: none), and change the numbers "
         "here. They are:\n"
      << all;
}

}  // namespace
}  // namespace openlapi
