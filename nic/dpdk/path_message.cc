#include "nic/dpdk/path_message.h"

#include <cstring>

#include "nic/dpdk/network_bytes.h"

namespace openlapi::dpdk {
namespace {

constexpr std::uint32_t kMessageLength = 8;
constexpr std::size_t kKind = kHeaderLength;
constexpr std::size_t kTokenOffset = kKind + 4;
static_assert(kHeaderLength + kMessageLength <= kShortestFrame);
constexpr std::uint32_t kQuestion = 0x01000000;  // with the zeros behind it
constexpr std::uint32_t kAnswer = 0x02000000;

}  // namespace

PathFrame make_path_frame(const FrameEnd& own, const FrameEnd& to, const FrameMarks& marks, bool question) {
  PathFrame frame{};
  FrameMarks untagged = marks;
  untagged.tag.reset();
  FrameHeader(own, to, UdpSum::none, untagged).write(frame.data(), kMessageLength);
  store16(frame.data() + kMark, kPathMark);
  store32(frame.data() + kKind, question ? kQuestion : kAnswer);
  store32(frame.data() + kTokenOffset, own.token);
  return frame;
}

bool parse_path_frame(std::span<const std::byte> frame, const FrameView& view, PathMessage& message) {
  if (view.length < kMessageLength || frame.size() < view.tag + kHeaderLength + kMessageLength) return false;
  const std::byte* const content = frame.data() + view.tag;
  const std::uint32_t kind = load32(content + kKind);
  if (kind != kQuestion && kind != kAnswer) return false;
  message.question = kind == kQuestion;
  message.sender = sender_of(frame.data(), view.tag);
  message.sender.token = load32(content + kTokenOffset);
  return (message.sender.mac[0] & 1) == 0 && message.sender.token != 0;
}

}  // namespace openlapi::dpdk
