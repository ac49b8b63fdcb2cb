#include "control/job/node/line_assembler.h"

#include <algorithm>

namespace openlapi {

void LineAssembler::take(std::string_view bytes, const Emit& emit) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = limit_ - pending_.size();
    const std::size_t wanted = newline == std::string_view::npos ? bytes.size() : newline + 1;
    const std::size_t length = std::min(wanted, room);
    const bool passes = length == room || (newline != std::string_view::npos && length == wanted);
    if (passes && pending_.empty()) {
      emit(bytes.substr(0, length));
    } else {
      pending_.append(bytes.substr(0, length));
      if (passes) finish(emit);
    }
    bytes.remove_prefix(length);
  }
}

void LineAssembler::finish(const Emit& emit) {
  if (pending_.empty()) return;
  emit(pending_);
  pending_.clear();
}

void LineMerger::add(std::uint32_t source, std::string_view text, std::string& out) {
  if (open_ && open_source_ != source) complete_open_line(out);
  if (!open_ && tag_) {
    out += '[';
    out += std::to_string(source);
    out += "] ";
  }
  out += text;
  open_ = text.back() != '\n';
  open_source_ = source;
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
