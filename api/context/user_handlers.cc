#include "api/context/user_handlers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "api/arguments/messages.h"
#include "api/arguments/program_registry.h"
#include "api/arguments/vectors.h"
#include "api/context/context_resources.h"
#include "api/context/path_report.h"
#include "api/wiring/libraries.h"
#include "dataplane/base/cancellation.h"
#include "dataplane/layout/program_cursor.h"
#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

namespace {

constexpr int kReturnInfoMagic = 0x4c415049;  // "LAPI"

// How many of the context's callbacks are on this thread's stack: such a thread must not wait for itself.
constinit thread_local unsigned callbacks = 0;

class InCallback {
 public:
  InCallback() { ++callbacks; }
  ~InCallback() { --callbacks; }
};

// Around a handler that runs with the context's lock held.
class RunningInside {
 public:
  RunningInside(RunningHandler& running, RunningHandler handler)
      : running_(running), outer_(running), outer_on_thread_(innermost_handler()) {
    running = innermost_handler() = handler;
  }
  ~RunningInside() {
    innermost_handler() = outer_on_thread_;
    running_ = outer_;
  }
  RunningInside(const RunningInside&) = delete;
  RunningInside& operator=(const RunningInside&) = delete;

 private:
  const CancellationOff off_;  // the engine is on the stack
  RunningHandler& running_;
  const RunningHandler outer_;
  const RunningHandler outer_on_thread_;
};

CompletionStyle style_of(lapi_ret_flags_t flags) {
  switch (flags) {
    case LAPI_LOCAL_STATE:
      return CompletionStyle::inline_local;
    case LAPI_SEND_REPLY:
      return CompletionStyle::inline_reply;
    default:
      return CompletionStyle::thread;
  }
}

struct FaultReport {
  int code;
  lapi_err_t type;
  std::string why{};  // when the code's own text does not say it
};

FaultReport report_of(Fault fault) {
  switch (fault) {
    case Fault::timeout:
      return {LAPI_ERR_TIMEOUT, LAPI_COMMUNICATION_ERROR};
    case Fault::adapters_down:
      return {LAPI_ERR_ADAPTERS_DOWN, LAPI_COMMUNICATION_ERROR, "the task has not answered within the time-out"};
    case Fault::no_path:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR,
              "the task has not answered within the time-out over any adapter"};
    case Fault::no_connectivity:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR};
    case Fault::purged:
      return {LAPI_ERR_TGT_PURGED, LAPI_COMMUNICATION_ERROR};
    case Fault::unknown_handler:
      return {LAPI_ERR_HDR_HNDLR_NULL, LAPI_PROGRAM_ERROR};
    case Fault::not_own_memory:
      return {EFAULT, LAPI_PROGRAM_ERROR, "a message names memory beyond the 4 GiB that a 32-bit task has"};
    case Fault::refused:
      return {EFAULT, LAPI_PROGRAM_ERROR, "a request names memory beyond the 4 GiB that its 32-bit target has"};
    case Fault::origin_vector:
      return {LAPI_ERR_ORG_VEC_ADDR, LAPI_PROGRAM_ERROR, "a vector here names memory that is not there"};
    case Fault::target_vector:
      return {LAPI_ERR_TGT_VEC_ADDR, LAPI_PROGRAM_ERROR, "a vector names memory here that is not there"};
    case Fault::program_memory:
      return {LAPI_ERR_DGSP_OTHER, LAPI_PROGRAM_ERROR, "a program here names memory that is not there"};
    case Fault::out_of_memory:
      return {LAPI_ERR_MEMORY_EXHAUSTED, LAPI_INTERNAL_ERROR};
    case Fault::too_much_kept:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR,
              "it has left more unfinished or unanswered here than a task may, and is cut off"};
    case Fault::other_secret:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR,
              "it has another secret (OPENLAPI_SECRET_FILE), MP_PARTITION or OPENLAPI_PACKET_AUTH"};
    case Fault::other_version:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR, "it runs a library of another wire version"};
    case Fault::lost_for_good:
      return {LAPI_ERR_NO_CONNECTIVITY, LAPI_COMMUNICATION_ERROR,
              "it has not answered in time too often, and is lost for good"};
    case Fault::target_out_of_memory:
      return {LAPI_ERR_MEMORY_EXHAUSTED, LAPI_INTERNAL_ERROR, "the target of a get has no memory to answer it"};
    case Fault::internal:
      break;
  }
  return {LAPI_ERR_UNKNOWN, LAPI_INTERNAL_ERROR};
}

// Nobody handles the error: say it and end the task; under a launcher the job ends with it.
[[noreturn]] void end_task(ContextResources& resources, const FaultReport& report, PeerIndex peer) {
  const char* text = message_text(report.code);
  std::string message = "openlapi: task " + std::to_string(resources.bootstrap->task()) + ": error " +
                        std::to_string(report.code) + ": " + (text != nullptr ? text : "unknown");
  if (!report.why.empty() && message.back() == '.') message.pop_back();
  if (!report.why.empty()) message += ": " + report.why;
  if (peer != kUnknownPeer) message += " (task " + std::to_string(peer) + ")";
  std::fprintf(stderr, "%s\n", message.c_str());
  std::fflush(stdout);
  resources.bootstrap->abort(1, message);
  _exit(1);
}

}  // namespace

bool in_context_callback() { return callbacks != 0; }

HeaderVerdict UserHandlers::run_header_handler(const ArrivedMessage& message) {
  auto handler = reinterpret_cast<hdr_hndlr_t*>(message.handler);
  if (message.handler < static_cast<std::uint64_t>(kAddressTableSize)) {
    void* const listed = context().resources().address_table[message.handler].load(std::memory_order_acquire);
    handler = reinterpret_cast<hdr_hndlr_t*>(listed);
  }
  HeaderVerdict verdict;
  if (handler == nullptr) [[unlikely]] {
    keep({.fault = Fault::unknown_handler, .peer = message.source, .handler = message.handler});
    verdict.delivery = Delivery::bury;
    return verdict;
  }
  lapi_return_info_t info{};
  info.msg_len = message.length;
  info.MAGIC = kReturnInfoMagic;
  info.bytes = message.length;
  info.src = static_cast<int>(message.source);
  info.udata_one_pkt_ptr = message.one_packet_data;
  lapi_handle_t name = context().name();
  uint user_header_length = message.user_header_length;
  compl_hndlr_t* completion_handler = nullptr;
  void* completion_info = nullptr;

  void* answer = nullptr;
  {
    const RunningInside mark(running_, RunningHandler::header);
    answer =
        handler(&name, message.user_header, &user_header_length, &info.msg_len, &completion_handler, &completion_info);
  }
  verdict.style = style_of(info.ret_flags);
  verdict.completion_handler = reinterpret_cast<void*>(completion_handler);
  verdict.completion_info = completion_info;
  if (info.ctl_flags == LAPI_DROP_PKT) {
    verdict.delivery = Delivery::drop;
  } else if (info.ctl_flags == LAPI_BURY_MSG || answer == nullptr) {
    verdict.delivery = Delivery::bury;
  } else if (message.vector) [[unlikely]] {
    take_answered_vector(message, answer, verdict);
  } else if (info.dgsp_handle != nullptr) [[unlikely]] {
    take_answered_program(message, answer, info, verdict);
  } else {
    verdict.buffer = answer;
  }
  return verdict;
}

// The vector is the handler's until the target counter has moved. A wrong one buries the message.
void UserHandlers::take_answered_vector(const ArrivedMessage& message, const void* answer, HeaderVerdict& verdict) {
  const VectorView vector(static_cast<const lapi_vec_t*>(answer));
  const int error = check_answered_vector(vector, message.length, context().checks_arguments());
  if (error == LAPI_SUCCESS) {
    verdict.layout = cursor_of(vector);
  } else {
    verdict.delivery = Delivery::bury;
    report_mistake(error, message.source);
  }
}

// The data is scattered from `answer` on. A program that cannot run buries the message; CONTROL is for data that its
// origin has cut between atoms only, or the user's function would get parts of operands.
void UserHandlers::take_answered_program(const ArrivedMessage& message, void* answer, const lapi_return_info_t& info,
                                         HeaderVerdict& verdict) {
  const std::uint64_t bytes = std::min<std::uint64_t>(info.bytes, message.length);
  const std::uint64_t base = reinterpret_cast<std::uintptr_t>(answer);
  if (ContiguousProgram contiguous; programs().find_contiguous(info.dgsp_handle, bytes, contiguous)) [[likely]] {
    const std::uint64_t place = base + contiguous.offset;
    const bool guards = context().checks_arguments() || programs().any_verified();
    if (bytes == message.length && !guards) {
      verdict.buffer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(place));
    } else {
      verdict.layout = std::make_unique<StridedCursor>(place, bytes);
      verdict.layout->set_guarded(guards);
    }
    return;
  }
  auto program = programs().find(info.dgsp_handle);
  ddm_func_t* const function = message.in_atoms ? context().resources().distribution_function : nullptr;
  const int error =
      program == nullptr ? LAPI_ERR_DGSP : return_code(program->scatter_fault(bytes, function != nullptr));
  if (error != LAPI_SUCCESS) {
    verdict.delivery = Delivery::bury;
    return report_mistake(error, message.source);
  }
  verdict.layout = std::make_unique<ProgramCursor>(std::move(program), base, bytes, function);
}

bool UserHandlers::run_completion_handler(const CompletionRun& run, bool now) {
  if (!now) {
    context().resources().completions->push(run);
    return false;
  }
  lapi_handle_t name = context().name();
  const RunningInside mark(running_, RunningHandler::inline_completion);
  reinterpret_cast<compl_hndlr_t*>(run.handler)(&name, run.info);
  return true;
}

void UserHandlers::run_send_handler(const SendCompletion& completion) {
  lapi_handle_t name = context().name();
  lapi_sh_info_t info{};
  info.src = completion.target;
  info.reason = static_cast<uint>(completion.given_up ? report_of(completion.fault).code : LAPI_SUCCESS);
  const RunningInside mark(running_, RunningHandler::inline_completion);
  reinterpret_cast<scompl_hndlr_t*>(completion.handler.function)(&name, completion.handler.info, &info);
}

void UserHandlers::run_in_thread(const CompletionRun& run) {
  const InCallback mark;
  lapi_handle_t name = context().name();
  reinterpret_cast<compl_hndlr_t*>(run.handler)(&name, run.info);
}

void UserHandlers::warn_of_other_secret(PeerIndex peer) {
  std::fprintf(stderr,
               "openlapi: task %u: what comes from the address of task %u was made with another secret. Tasks without "
               "a launcher need the same one: have one file on every node and name it by OPENLAPI_SECRET_FILE, or set "
               "OPENLAPI_SECRET=partition where no stranger reaches the tasks (man 7 lapi, SECURITY); MP_PARTITION and "
               "OPENLAPI_PACKET_AUTH have to be the same, too, and so has the library's wire version\n",
               context().resources().bootstrap->task(), peer);
}

void UserHandlers::name_other_version(PeerIndex peer, unsigned version) {
  std::fprintf(stderr, "openlapi: %s\n",
               describe_other_version(context().resources().bootstrap->task(), peer, version).c_str());
}

bool UserHandlers::adapters_down(PeerIndex peer) { return context().resources().routes->adapters_down(peer); }

void UserHandlers::path_changed(PeerIndex peer, const PathChange& change) {
  const ContextResources& resources = context().resources();
  if (resources.settings.info_level < kLevelInformation) return;
  std::fprintf(stderr, "openlapi: task %u to task %u: %s\n", resources.bootstrap->task(), peer,
               describe(change, *resources.routes).c_str());
}

void UserHandlers::address_changed(const AddressChange& change) {
  const ContextResources& resources = context().resources();
  if (change.transport != nullptr) resources.routes->own_address_changed(*change.transport);
  if (resources.settings.info_level < kLevelInformation) return;
  std::fprintf(stderr, "openlapi: task %u%s\n", resources.bootstrap->task(),
               describe(change, *resources.routes).c_str());
}

void UserHandlers::report_fault(Fault fault, PeerIndex peer) {
  if (fault == Fault::timeout || fault == Fault::adapters_down || fault == Fault::no_path ||
      fault == Fault::no_connectivity || fault == Fault::too_much_kept || fault == Fault::lost_for_good ||
      fault == Fault::other_secret || fault == Fault::other_version) {
    context().recovery().task_lost(peer);
  } else if (fault == Fault::refused || fault == Fault::target_out_of_memory || fault == Fault::not_own_memory) {
    context().recovery().request_lost();
  }
  keep({fault, peer});
}

void UserHandlers::report_mistake(int code, PeerIndex peer) { keep({Fault::internal, peer, code}); }

void UserHandlers::keep(const PendingFault& fault) {
  faults_.push_back(fault);
  context().call_attention();
}

void UserHandlers::counter_moves(std::uint64_t counter, PeerIndex peer) {
  context().recovery().counter_moves(counter, peer);
}

void UserHandlers::deliver_faults() {
  while (!faults_.empty()) {
    const PendingFault pending = faults_.front();
    faults_.erase(faults_.begin());
    deliver(pending);
  }
}

void UserHandlers::deliver(const PendingFault& pending) {
  FaultReport report = pending.code != 0 ? FaultReport{pending.code, LAPI_PROGRAM_ERROR} : report_of(pending.fault);
  if (pending.fault == Fault::unknown_handler)
    report.why = "the message names index " + std::to_string(pending.handler);
  ContextResources& resources = context().resources();
  if (context().closing()) return;  // the program has turned away from this context
  if (pending.fault == Fault::timeout || pending.fault == Fault::adapters_down || pending.fault == Fault::no_path) {
    print_attention(LAPI_ATTENTION_TIMEOUT, resources.settings.info_level, "task %u had no answer from task %d",
                    resources.bootstrap->task(), static_cast<int>(pending.peer));
  }
  lapi_handle_t name = context().name();
  int own_task = static_cast<int>(resources.bootstrap->task());
  int source = pending.peer == kUnknownPeer ? -1 : static_cast<int>(pending.peer);
  context().unlock();
  {
    const InCallback mark;
    const CancellationOff off;
    if (resources.error_handler == nullptr) end_task(resources, report, pending.peer);
    resources.error_handler(&name, &report.code, &report.type, &own_task, &source);
  }
  context().lock();
}

}  // namespace openlapi
