#include "control/job/node/line_assembler.h"

#include <algorithm>

namespace openlapi {

void LineAssembler::take(std::string_view bytes, const Emit& emit) {
  if (!pending_.empty()) bytes.remove_prefix(complete_pending(bytes, emit));
  const std::size_t last = bytes.rfind('\n');
  if (last != std::string_view::npos) {
    emit(bytes.substr(0, last + 1));
    bytes.remove_prefix(last + 1);
  }
  for (; bytes.size() >= limit_; bytes.remove_prefix(limit_)) emit(bytes.substr(0, limit_));
  pending_.append(bytes);
}

// How many bytes it has taken: all, if the line is still not whole.
std::size_t LineAssembler::complete_pending(std::string_view bytes, const Emit& emit) {
  const std::size_t newline = bytes.find('\n');
  const std::size_t wanted = newline == std::string_view::npos ? bytes.size() : newline + 1;
  const std::size_t length = std::min(wanted, limit_ - pending_.size());
  pending_.append(bytes.substr(0, length));
  if (pending_.size() == limit_ || pending_.back() == '\n') finish(emit);
  return length;
}

void LineAssembler::finish(const Emit& emit) {
  if (pending_.empty()) return;
  emit(pending_);
  pending_.clear();
}

void LineMerger::add(std::uint32_t source, std::string_view text, std::string& out) {
  if (open_ && open_source_ != source) complete_open_line(out);
  open_source_ = source;
  if (tag_) return add_tagged(text, out);
  out += text;
  open_ = text.back() != '\n';
}

void LineMerger::add_tagged(std::string_view text, std::string& out) {
  const std::string tag = "[" + std::to_string(open_source_) + "] ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    if (!open_) out += tag;
    out += line;
    open_ = line.back() != '\n';
    text.remove_prefix(line.size());
  }
}

void LineMerger::add_note(std::string_view text, std::string& out) {
  complete_open_line(out);
  out += text;
}

void LineMerger::complete_open_line(std::string& out) {
  if (open_) out += '\n';
  open_ = false;
}

}  // namespace openlapi
