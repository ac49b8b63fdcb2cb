// One task of a job in which another one dies; api_faults.py starts it and kills. Says "ready" and then, as the words
// say:
//
//   api_fault_probe [interrupt|polling] WHAT ON_ERROR
//   WHAT:     gfence     waits in LAPI_Gfence, to which task 1 never comes
//             rmw        read-modify-writes to task 1 until an error ends it
//             put        long puts to task 1, likewise
//             bare       likewise, puts that no counter and no other call waits for
//             xfer       likewise, with a send completion handler
//             flood      when told to on its input, 5,000 puts to task 1, then LAPI_Gfence, to which task 1 comes, too
//             idle       does not call LAPI at all
//             leave      task 1 leaves with exit() and without LAPI_Term; the others as with gfence
//             exit       all leave with exit() and without LAPI_Term
//             missing    waits in LAPI_Gfence for a task that has never been there
//             left       when told to, messages that a stopped task 1 does not take, then LAPI_Term
//             left_get   likewise, gets and a read-modify-write that it does not answer
//             left_own   likewise, messages to itself, which its header handler refuses
//             term_exit  a message to an unknown handler; the error handler calls LAPI_Term and exit(0)
//   ON_ERROR: return     the error handler returns
//             term       it calls LAPI_Term and exit(5)
//             none       there is none
//
// Task 1, the victim, waits for its end without calling LAPI.
#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

std::string what;
std::string on_error;
std::atomic<int> errors{0};
std::atomic<int> sends_told{0};
std::atomic<unsigned> last_reason{0}, last_target{0};
std::vector<unsigned char> large(3u << 20);
struct Window {
  int word = 0;
  unsigned char bytes[3u << 20];
} window;

[[noreturn]] void leave(int status) {
  std::fflush(stdout);
  std::exit(status);
}

void handle_error(lapi_handle_t* which, int* code, lapi_err_t* kind, int* own, int* source) {
  std::printf("error %d\nkind %d\nown %d\nsource %d\n", *code, *kind, *own, *source);
  std::fflush(stdout);
  if (on_error == "return") {
    ++errors;
    return;
  }
  // Another thread that waits for an error must not end the process first, with a status of its own.
  std::printf("term %d\n", LAPI_Term(*which));
  leave(what == "term_exit" ? 0 : 5);
}

void report(const char* call, int code) {
  std::printf("%s %d\n", call, code);
  std::fflush(stdout);
}

void say_ready() {
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
}

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

void keep_talking(const std::vector<Window*>& windows) {
  int code = LAPI_SUCCESS;
  while (code == LAPI_SUCCESS && errors == 0) {
    lapi_cntr_t done{};
    int one = 1;
    if (what == "rmw") {
      code = LAPI_Rmw(handle, FETCH_AND_ADD, 1, &windows[1]->word, &one, nullptr, &done);
    } else {
      code = LAPI_Put(handle, 1, large.size(), windows[1]->bytes, large.data(), nullptr, nullptr, &done);
    }
    int value = 0;
    while (code == LAPI_SUCCESS && errors == 0 && value == 0) {
      code = LAPI_Probe(handle);
      if (code == LAPI_SUCCESS) code = LAPI_Getcntr(handle, &done, &value);
    }
  }
  report("talk", code);
}

void put_blindly(const std::vector<Window*>& windows) {
  int code = LAPI_SUCCESS;
  while (code == LAPI_SUCCESS) {
    code = LAPI_Put(handle, 1, sizeof window.word, &windows[1]->word, &task, nullptr, nullptr, nullptr);
  }
  report("talk", code);
}

// Until all is there, or an error has come.
void flood(const std::vector<Window*>& windows) {
  constexpr int kPuts = 20000;  // more than there is room for on the way
  lapi_cntr_t done{};
  int code = LAPI_SUCCESS, value = 0;
  char word = 0;
  if (task != 1 && read(STDIN_FILENO, &word, 1) != 1) fail("nobody said when to begin");
  for (int n = 0; task != 1 && n < kPuts && code == LAPI_SUCCESS && errors == 0; ++n) {
    code = LAPI_Put(handle, 1, sizeof window.word, &windows[1]->word, &n, nullptr, nullptr, &done);
  }
  report("put", code);
  while (task != 1 && value < kPuts && code == LAPI_SUCCESS && errors == 0) {
    code = LAPI_Probe(handle);
    if (code == LAPI_SUCCESS) code = LAPI_Getcntr(handle, &done, &value);
  }
  report("flood", value);
  if (errors == 0) report("gfence", LAPI_Gfence(handle));
}

void* refuse(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_DROP_PKT;
  return nullptr;
}

void begin_what_stays(Window& theirs) {
  static int words[2], one = 1;
  if (what == "left_own") {
    CALL(LAPI_Amsend(handle, task, reinterpret_cast<void*>(refuse), nullptr, 0, large.data(), 100, nullptr, nullptr,
                     nullptr));
  } else if (what == "left") {
    CALL(LAPI_Put(handle, 1, large.size(), theirs.bytes, large.data(), nullptr, nullptr, nullptr));
  } else {
    CALL(LAPI_Get(handle, 1, sizeof words[0], &theirs.word, &words[0], nullptr, nullptr));
    CALL(LAPI_Rmw(handle, FETCH_AND_ADD, 1, &theirs.word, &one, &words[1], nullptr));
  }
}

// The other task is stopped.
void leave_something(const std::vector<Window*>& windows) {
  char word = 0;
  if (task == 1) wait_for_the_end();
  if (read(STDIN_FILENO, &word, 1) != 1) fail("nobody said when to begin");
  for (int n = 0; n < 3; ++n) begin_what_stays(*windows[1]);
  report("ended", LAPI_Term(handle));
}

[[noreturn]] void wait_for_the_missing() {
  report("gfence", LAPI_Gfence(handle));
  while (errors == 0) usleep(1000);
  report("ended", LAPI_Term(handle));
  leave(0);
}

void sent(lapi_handle_t*, void*, lapi_sh_info_t* info) {
  last_reason = info->reason;
  last_target = info->src;
  ++sends_told;
}

// The last put is on its way when the victim's death is seen.
void put_with_handler(const std::vector<Window*>& windows) {
  lapi_cntr_t free{};
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Put.Xfer_type = LAPI_PUT_XFER;
  command.Put.tgt = 1;
  command.Put.tgt_addr = reinterpret_cast<ulong>(windows[1]->bytes);
  command.Put.org_addr = large.data();
  command.Put.len = large.size();
  command.Put.shdlr = sent;
  command.Put.org_cntr = &free;
  int begun = 0;
  while (errors == 0) {
    CALL(LAPI_Xfer(handle, &command));
    ++begun;
    while (errors == 0 && sends_told < begun) CALL(LAPI_Probe(handle));
  }
  report("reason", static_cast<int>(last_reason));
  report("target", static_cast<int>(last_target));
  report("untold", begun - sends_told);
  report("uncounted", begun - counter_value(free));
}

void send_to_unknown_handler() {
  // The error handler may call LAPI_Term in another thread at any time, and then ends the process.
  int code =
      LAPI_Amsend(handle, right(), reinterpret_cast<void*>(200), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr);
  while (code == LAPI_SUCCESS) code = LAPI_Probe(handle);
  wait_for_the_end();
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  if (count != 4) fail("usage: api_fault_probe interrupt|polling WHAT ON_ERROR");
  what = arguments[2];
  on_error = arguments[3];
  if (on_error != "none") info.err_hndlr = handle_error;
  begin(count, arguments, info);
  CALL(LAPI_Senv(handle, TIMEOUT, 10));
  if (what == "missing") wait_for_the_missing();
  const std::vector<Window*> windows = exchange(&window);
  CALL(LAPI_Gfence(handle));
  limit(50);
  if (what == "xfer" && task != 1) {
    say_ready();
    put_with_handler(windows);
    return 0;
  }
  say_ready();
  if (what == "exit") leave(0);
  if (what == "flood") {
    flood(windows);
    report("errors", errors);
    report("ended", LAPI_Term(handle));
    return 0;
  }
  if (what == "left" || what == "left_get" || what == "left_own") {
    leave_something(windows);
    return 0;
  }
  if (what == "term_exit") send_to_unknown_handler();
  if (task == 1 && what == "leave") leave(0);
  if (task == 1 || what == "idle") wait_for_the_end();
  if (what == "rmw" || what == "put") {
    keep_talking(windows);
  } else if (what == "bare") {
    put_blindly(windows);
  } else {
    report("gfence", LAPI_Gfence(handle));
  }
  while (errors == 0) usleep(1000);
  report("ended", LAPI_Term(handle));
  return 0;
}
