#include "control/job/node/task_output.h"

#include <cerrno>
#include <utility>

namespace openlapi::jobs {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;
constexpr std::size_t kLineLimit = 64 * 1024;  // longer ones go on in pieces

}  // namespace

void TaskOutputReader::add_task(std::uint32_t task, FileDescriptor output, FileDescriptor errors) {
  sources_.push_back({task, false, std::move(output), LineAssembler(kLineLimit)});
  sources_.push_back({task, true, std::move(errors), LineAssembler(kLineLimit)});
}

void TaskOutputReader::watch(PollSet& poll_set) {
  // Not in close(): handlers of a round that goes on have these sources.
  std::erase_if(sources_, [this](const Source& source) { return closed_[source.is_errors]; });
  for (auto source = sources_.begin(); source != sources_.end(); ++source) {
    if (must_wait(source->is_errors)) continue;
    poll_set.add(source->pipe.get(), POLLIN, [this, source] { read_source(source); });
  }
}

// All lines of one read go as one message.
void TaskOutputReader::pass_on(Source& source, std::string_view bytes, bool is_end) {
  TaskOutput output{source.task, static_cast<std::uint8_t>(source.is_errors), {}};
  const auto append = [&output](std::string_view text) {
    output.bytes.insert(output.bytes.end(), text.begin(), text.end());
  };
  source.lines.take(bytes, append);
  if (is_end) source.lines.finish(append);
  if (output.bytes.empty()) return;
  under_way_[source.is_errors] += output.bytes.size();
  emit_(std::move(output));
}

void TaskOutputReader::read_source(std::list<Source>::iterator source) {
  char buffer[kReadSize];
  const ssize_t count = ::read(source->pipe.get(), buffer, sizeof buffer);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) {
    bytes_read_ += static_cast<std::uint64_t>(count);
    return pass_on(*source, std::string_view(buffer, static_cast<std::size_t>(count)), false);
  }
  pass_on(*source, {}, true);
  sources_.erase(source);
}

void TaskOutputReader::give_up_reading() {
  for (Source& source : sources_) pass_on(source, {}, true);
  sources_.clear();
}

}  // namespace openlapi::jobs
