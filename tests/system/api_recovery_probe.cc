// One task of a standalone job whose tasks die and are replaced; api_recovery.py starts it, and tells it on its
// standard input what to do. Every command is answered by one line: its name and what it returned.
//
//   api_recovery_probe interrupt|polling
//   send T N      N messages to task T, with a completion counter; the first code that is not 0
//   wait N        LAPI_Waitcntr on that counter
//   set           LAPI_Setcntr of that counter to 0
//   ask T...      asks the tasks; each answers with a message that moves a counter of LAPI_Setcntr_wstatus. A thread
//                 waits in LAPI_Nopoll_wait and says "answers CODE VALUE STATUS..." when it has ended
//   mute          does not answer questions any more
//   idle          a thread, whose number is the answer, waits in LAPI_Nopoll_wait for nothing and says "idled CODE"
//   talk T        a thread sends to T and waits for each message to be complete, until
//   quiet         it ends; messages sent, errors, messages received from T, of these not in order
//   heard T       messages received from T, and the number of the last one
//   fencing       a thread, whose number is the answer, calls LAPI_Fence and says "fenced CODE"
//   gfencing      the same with LAPI_Gfence; it says "gfenced CODE"
//   patience N    LAPI_Senv of TIMEOUT
//   every T       makes every call that needs T, the collective ones last; their codes
//   purge T, resume T, fence, gfence
//   port T PORT   LAPI_ADD_UDP_DEST_PORT, on the loopback
//   still, lively in polling mode: makes no call between commands; makes calls again
//   where         the addresses of what others change here with
//   burst T ADDRESS...  does not wait: 5 read-modify-writes, 20 puts and one of 4 MB, a get of 4 MB, a message
//   flood T ADDRESS...  does not wait: 80 puts of 20,000 bytes: of two packets each they do not fit a task's queue
//   landed        the word that read-modify-writes change, the counter that puts move, messages from all tasks
//   term          LAPI_Term and the end
#include <poll.h>

#include <array>
#include <atomic>
#include <sstream>
#include <thread>

#include "tests/system/every_call.h"

using namespace api_case;

namespace {

constexpr int kMostTasks = 8;
constexpr int kHandlerIndex = 7;
constexpr std::size_t kLarge = 4 << 20;

enum class Kind : int { message, question, answer, talk };

struct Header {
  Kind kind;
  int number;
  lapi_cntr_t* counter;
};

struct Heard {
  std::atomic<int> messages{0}, last{0}, talk{0}, disorder{0};
};

std::array<Heard, kMostTasks> heard;
std::array<unsigned char, 64> sink;
std::atomic<bool> mute{false};
std::atomic<bool> talking{false};
std::atomic<int> talks{0}, talk_errors{0};
lapi_cntr_t completion{};
int next_number = 0;
bool still = false;
int changed_word = 0;
lapi_cntr_t changed_counter{};
std::vector<char> changed_bytes(kLarge), own_bytes(kLarge), fetched_bytes(kLarge);
std::vector<std::thread> threads;

void* handler_address() { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(kHandlerIndex)); }

int send_to(unsigned target, Header header, lapi_cntr_t* target_counter, lapi_cntr_t* completion_counter) {
  std::array<unsigned char, 64> data{};
  return LAPI_Amsend(handle, target, handler_address(), &header, sizeof header, data.data(), data.size(),
                     target_counter, nullptr, completion_counter);
}

struct Question {
  unsigned source;
  lapi_cntr_t* counter;
};

void answer(lapi_handle_t*, void* parameter) {
  auto* question = static_cast<Question*>(parameter);
  send_to(question->source, {Kind::answer, 0, nullptr}, question->counter, nullptr);
  delete question;
}

void* header_handler(lapi_handle_t*, void* user_header, uint*, ulong* length, compl_hndlr_t** completion_handler,
                     void** parameter) {
  const auto& header = *static_cast<Header*>(user_header);
  auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  Heard& from = heard[static_cast<std::size_t>(info->src)];
  if (header.kind == Kind::talk) {
    if (header.number != ++from.talk) ++from.disorder;
  } else if (header.kind == Kind::message) {
    ++from.messages;
    from.last = header.number;
  } else if (header.kind == Kind::question && !mute) {
    *completion_handler = answer;
    *parameter = new Question{static_cast<unsigned>(info->src), header.counter};
  }
  return sink.data();
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string numbers(const std::vector<int>& values) {
  std::ostringstream text;
  for (std::size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "" : " ") << values[i];
  return text.str();
}

void handle_error(lapi_handle_t*, int* code, lapi_err_t*, int*, int* source) {
  std::fprintf(stderr, "fault %d %d\n", *code, *source);
}

int send_many(unsigned target, int count) {
  for (int n = 0; n < count; ++n) {
    if (const int code = send_to(target, {Kind::message, ++next_number, nullptr}, nullptr, &completion)) return code;
  }
  return LAPI_SUCCESS;
}

void ask(std::vector<uint> tasks) {
  lapi_cntr_t counter;
  std::vector<int> statuses(tasks.size(), -1);
  int value = -1;
  CALL(LAPI_Setcntr_wstatus(handle, &counter, static_cast<int>(tasks.size()), tasks.data(), statuses.data()));
  for (const uint task : tasks) send_to(task, {Kind::question, 0, &counter}, nullptr, nullptr);
  say("asked 0");
  const int code = LAPI_Nopoll_wait(handle, &counter, static_cast<int>(tasks.size()), nullptr);
  CALL(LAPI_Getcntr(handle, &counter, &value));
  std::string line = "answers " + numbers({code, value}) + " " + numbers(statuses);
  CALL(LAPI_Setcntr(handle, &counter, 0));
  say(line);
}

void idle() {
  lapi_cntr_t counter{};
  say("idle " + numbers({gettid()}));
  say("idled " + numbers({LAPI_Nopoll_wait(handle, &counter, 1, nullptr)}));
}

void fence() {
  say("fencing " + numbers({gettid()}));
  say("fenced " + numbers({LAPI_Fence(handle)}));
}

void global_fence() {
  say("gfencing " + numbers({gettid()}));
  say("gfenced " + numbers({LAPI_Gfence(handle)}));
}

// In the order of NAMES in api_recovery.py.
std::string every_call(unsigned target) {
  CallWindow window;
  EveryCallMaker maker(target, &window, handler_address(), {});
  std::vector<int> codes;
  for (const EveryCall& call : maker.calls()) codes.push_back(call.make());
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  std::vector<lapi_long_t> wide_table(table.size());
  codes.push_back(LAPI_Address_init(handle, &window, table.data()));
  codes.push_back(LAPI_Address_init64(handle, 1, wide_table.data()));
  codes.push_back(LAPI_Gfence(handle));
  return numbers(codes);
}

void talk(unsigned target) {
  lapi_cntr_t done{};
  for (int number = 1; talking; ++number) {
    const bool sent = send_to(target, {Kind::talk, number, nullptr}, nullptr, &done) == LAPI_SUCCESS;
    if (!sent || LAPI_Waitcntr(handle, &done, 1, nullptr) != LAPI_SUCCESS) ++talk_errors;
    ++talks;
  }
}

int add_port(unsigned target, unsigned port) {
  lapi_udp_t where{inet_addr("127.0.0.1"), port};
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Udp.Util_type = LAPI_ADD_UDP_DEST_PORT;
  command.Udp.tgt = target;
  command.Udp.udp_port = &where;
  return LAPI_Util(handle, &command);
}

std::string where() {
  std::ostringstream text;
  text << reinterpret_cast<std::uintptr_t>(&changed_word) << " " << reinterpret_cast<std::uintptr_t>(&changed_counter)
       << " " << reinterpret_cast<std::uintptr_t>(changed_bytes.data());
  return text.str();
}

// What `where` of the target has said.
struct Places {
  unsigned target = 0;
  std::uintptr_t word = 0, bytes = 0;
  lapi_cntr_t* counter = nullptr;
};

Places places_of(std::istringstream& arguments) {
  Places places;
  std::uintptr_t counter = 0;
  arguments >> places.target >> places.word >> counter >> places.bytes;
  places.counter = reinterpret_cast<lapi_cntr_t*>(counter);
  return places;
}

int flood(const Places& places) {
  int worst = LAPI_SUCCESS;
  for (int n = 0; n < 80; ++n) {
    const int code = LAPI_Put(handle, places.target, 20'000, reinterpret_cast<void*>(places.bytes), own_bytes.data(),
                              places.counter, nullptr, nullptr);
    worst = worst != LAPI_SUCCESS ? worst : code;
  }
  return worst;
}

int burst(const Places& places) {
  const auto [target, word, bytes, there] = places;
  int one = 1, worst = LAPI_SUCCESS;
  const auto check = [&](int code) { worst = worst != LAPI_SUCCESS ? worst : code; };
  for (int n = 0; n < 5; ++n) {
    check(LAPI_Rmw(handle, FETCH_AND_ADD, target, reinterpret_cast<int*>(word), &one, nullptr, nullptr));
  }
  for (int n = 0; n < 20; ++n) {
    check(LAPI_Put(handle, target, 8, reinterpret_cast<void*>(bytes), own_bytes.data(), there, nullptr, nullptr));
  }
  check(LAPI_Put(handle, target, kLarge, reinterpret_cast<void*>(bytes), own_bytes.data(), there, nullptr, nullptr));
  check(LAPI_Get(handle, target, kLarge, reinterpret_cast<void*>(bytes), fetched_bytes.data(), nullptr, nullptr));
  check(send_to(target, {Kind::message, ++next_number, nullptr}, nullptr, nullptr));
  return worst;
}

std::string landed() {
  int moved = 0, messages = 0;
  CALL(LAPI_Getcntr(handle, &changed_counter, &moved));
  for (const Heard& from : heard) messages += from.messages;
  return numbers({std::atomic_ref<int>(changed_word).load(), moved, messages});
}

std::string quiet() {
  talking = false;
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  int received = 0, disorder = 0;
  for (const Heard& from : heard) received += from.talk, disorder += from.disorder;
  return numbers({talks, talk_errors, received, disorder});
}

// Empty: the command answers by itself.
std::string obey(const std::string& word, std::istringstream& arguments) {
  unsigned target = 0;
  int number = 0;
  const auto code = [](int value) { return numbers({value}); };
  if (word == "set") return code(LAPI_Setcntr(handle, &completion, 0));
  if (word == "mute") return code(mute = true);
  if (word == "fence") return code(LAPI_Fence(handle));
  if (word == "gfence") return code(LAPI_Gfence(handle));
  if (word == "quiet") return quiet();
  if (word == "still") return still = true, code(LAPI_SUCCESS);
  if (word == "lively") return still = false, code(LAPI_SUCCESS);
  if (word == "where") return where();
  if (word == "burst") return code(burst(places_of(arguments)));
  if (word == "flood") return code(flood(places_of(arguments)));
  if (word == "landed") return landed();
  if (word == "idle") return threads.emplace_back(idle), "";
  if (word == "fencing") return threads.emplace_back(fence), "";
  if (word == "gfencing") return threads.emplace_back(global_fence), "";
  if (word == "wait") {
    arguments >> number;
    return code(LAPI_Waitcntr(handle, &completion, number, nullptr));
  }
  if (word == "ask") {
    std::vector<uint> tasks;
    while (arguments >> target) tasks.push_back(target);
    threads.emplace_back(ask, tasks);
    return "";
  }
  arguments >> target >> number;
  if (word == "patience") return code(LAPI_Senv(handle, TIMEOUT, static_cast<int>(target)));
  if (word == "send") return code(send_many(target, number));
  if (word == "every") return every_call(target);
  if (word == "purge") return code(LAPI_Purge_totask(handle, target));
  if (word == "resume") return code(LAPI_Resume_totask(handle, target));
  if (word == "port") return code(add_port(target, static_cast<unsigned>(number)));
  if (word == "heard") return numbers({heard.at(target).messages, heard.at(target).last});
  if (word != "talk") fail(("no such command: " + word).c_str());
  talking = true;
  threads.emplace_back(talk, target);
  return "0";
}

// Between commands a task in polling mode makes progress itself.
bool read_line(std::string& line) {
  for (line.clear();;) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, polling && !still ? 1 : -1) == 0) {
      CALL(LAPI_Probe(handle));
      continue;
    }
    char next = 0;
    if (read(STDIN_FILENO, &next, 1) != 1) return false;
    if (next == '\n') return true;
    line += next;
  }
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = handle_error;
  info.lib_vers = LAST_LIB;
  begin(count, arguments, info);
  limit(100);
  CALL(LAPI_Senv(handle, TIMEOUT, 10));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler), kHandlerIndex));
  say("ready " + std::to_string(getpid()));
  for (std::string line; read_line(line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "term") break;
    const std::string result = obey(word, words);
    if (!result.empty()) say(word + " " + result);
  }
  quiet();
  const int code = LAPI_Term(handle);
  say("term " + std::to_string(code));
  return code;
}
