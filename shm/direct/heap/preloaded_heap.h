// What the library that is preloaded into a task (heap_calls.cc) and the LAPI library in it tell each other: a heap
// whose memory lies in a file that neighbours can map, from the first allocation on.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace openlapi::direct {

// The heap's window of addresses lies in its file from this offset on; below it nothing is used, behind twice it all
// else that the process puts into the file. So a window has at most as many bytes.
inline constexpr std::uint64_t kHeapPlace = std::uint64_t{1} << 42;
inline constexpr std::uint64_t kUsualHeapSize = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kLeastHeapSize = std::uint64_t{1} << 26;

// OPENLAPI_DIRECT_HEAP: yes, no, or the bytes of the window, which may end in K, M, G or T. 0: there is to be none.
// Nothing: it is none of these.
constexpr std::optional<std::uint64_t> heap_size_of(std::string_view text) {
  if (text == "no") return 0;
  if (text == "yes") return kUsualHeapSize;
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  unsigned shift = 0;
  if (unit != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    text.remove_suffix(1);
  }
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > kHeapPlace >> shift) return std::nullopt;
  const std::uint64_t bytes = count << shift;
  return bytes >= kLeastHeapSize ? std::optional(bytes) : std::nullopt;
}

inline constexpr std::uint32_t kPreloadedHeapVersion = 1;
inline constexpr char kPreloadedHeapSymbol[] = "openlapi_preloaded_heap";

// Belongs to the process, and lives as long.
struct PreloadedHeap {
  std::uint32_t version;
  const char* refusal;       // why there is no window; null: there is one
  int file;                  // of kFileSize, sealed; -1 once the heap is private
  std::uint64_t begin, end;  // addresses
  // Whether the window is still the file's. A fork ends that for good, as its child must have a heap of its own.
  bool (*is_shared)();
  // Ends it; nobody else is to use the file meanwhile. `copied`: somebody may still do so afterwards.
  void (*make_private)(bool copied);
};
using PreloadedHeapFunction = const PreloadedHeap*();

}  // namespace openlapi::direct
