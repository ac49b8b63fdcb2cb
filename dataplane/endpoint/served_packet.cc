#include "dataplane/endpoint/served_packet.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace openlapi {

constinit thread_local ServedPacket* served_packet [[gnu::tls_model("initial-exec")]] = nullptr;

namespace {

using wire::RecordKind;

// A line that is put together without the heap: what faulted may have held its lock.
class FaultLine {
 public:
  FaultLine& operator<<(std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof text_ - length_);
    std::copy_n(text.data(), length, text_ + length_);
    length_ += length;
    return *this;
  }
  FaultLine& operator<<(std::uint64_t number) { return add(number, 10); }
  FaultLine& address(std::uint64_t place) { return (*this << "0x").add(place, 16); }
  void write_out() const { [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text_, length_); }

 private:
  FaultLine& add(std::uint64_t number, int base) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  char text_[240];
  std::size_t length_ = 0;
};

void name_put(const wire::Record& record, FaultLine& line) {
  const std::uint64_t length = record.is_long() ? record.extension.total_length : record.header.payload_length;
  line << "LAPI_Put of " << length << " bytes to ";
  line.address(wire::body_of<wire::PutBody>(record).target_address);
}

void name_get(const wire::Record& record, FaultLine& line) {
  const auto body = wire::body_of<wire::GetRequestBody>(record);
  line << "LAPI_Get of " << std::uint64_t{body.length} << " bytes from ";
  line.address(body.target_address);
}

void name_rmw(const wire::Record& record, FaultLine& line) {
  line << "LAPI_Rmw of ";
  line.address(wire::body_of<wire::RmwRequestBody>(record).target_address);
}

// False: it touches no memory of the user's.
bool name_operation(const wire::Record& record, FaultLine& line) {
  switch (record.kind()) {
    case RecordKind::put:
      return name_put(record, line), true;
    case RecordKind::get_request:
      return name_get(record, line), true;
    case RecordKind::rmw_request:
      return name_rmw(record, line), true;
    case RecordKind::active_message:
      return line << "LAPI_Amsend, its header handler or the buffer that it returned", true;
    case RecordKind::data:
      return line << "a message of several packets", true;
    case RecordKind::get_data:
    case RecordKind::rmw_reply:
      return line << "the answer to this task's own LAPI_Get or LAPI_Rmw", true;
    case RecordKind::put_pieces:
    case RecordKind::put_strided:
      return line << "LAPI_Putv", true;
    case RecordKind::get_layout:
      return line << "LAPI_Getv", true;
    default:
      return false;
  }
}

void explain(const ServedPacket& packet, const siginfo_t& info) {
  FaultLine line;
  line << "openlapi: task " << std::uint64_t{packet.self} << ": memory fault at ";
  // The processor does not tell an address that it cannot form.
  if (info.si_code == SI_KERNEL) {
    line << "an impossible address";
  } else {
    line.address(reinterpret_cast<std::uintptr_t>(info.si_addr));
  }
  line << " while it carries out for task " << std::uint64_t{packet.source} << ": ";
  if (!name_operation(packet.record, line)) return;
  (line << "\n").write_out();
}

// The instruction faults again when this returns.
void on_unexpected_fault(int signal, siginfo_t* info, void*) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  if (info->si_code <= 0) {  // somebody has sent it
    raise(signal);
  } else if (const ServedPacket* const packet = served_packet; packet != nullptr) {
    explain(*packet, *info);
  }
}

bool install_where_none_is(int signal) {
  struct sigaction former {};
  sigaction(signal, nullptr, &former);
  if ((former.sa_flags & SA_SIGINFO) != 0 || former.sa_handler != SIG_DFL) return false;
  struct sigaction ours {};
  ours.sa_sigaction = on_unexpected_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

}  // namespace

void explain_memory_faults() {
  [[maybe_unused]] static const bool segmentation = install_where_none_is(SIGSEGV);
  [[maybe_unused]] static const bool bus = install_where_none_is(SIGBUS);
}

}  // namespace openlapi
