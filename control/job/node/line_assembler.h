// Turns the bytes of many tasks into one stream of whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace openlapi {

// Passes on one task's stream in whole lines. What is longer than the limit and has no end yet is passed on in pieces,
// so that memory is bounded.
class LineAssembler {
 public:
  // Gets whole lines, the last with its newline, or a piece of one without.
  using Emit = std::function<void(std::string_view)>;

  explicit LineAssembler(std::size_t limit) : limit_(limit) {}

  void take(std::string_view bytes, const Emit& emit);

  // The stream has ended: passes on what has no newline.
  void finish(const Emit& emit);

 private:
  std::size_t complete_pending(std::string_view bytes, const Emit& emit);

  const std::size_t limit_;
  std::string pending_;  // the beginning of a line, shorter than limit_
};

// Merges the lines of several sources into one stream. A piece without newline is completed when another source comes
// in between, so that no two sources ever share a line.
class LineMerger {
 public:
  explicit LineMerger(bool tag) : tag_(tag) {}

  // `text` is not empty.
  void add(std::uint32_t source, std::string_view text, std::string& out);

  // A line of lapirun's own, never tagged; with its newline.
  void add_note(std::string_view text, std::string& out);

 private:
  void add_tagged(std::string_view text, std::string& out);
  void complete_open_line(std::string& out);

  const bool tag_;
  bool open_ = false;  // the last piece had no newline
  std::uint32_t open_source_ = 0;
};

}  // namespace openlapi
