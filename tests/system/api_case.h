// The frame of the api_* programs: LAPI_Init, numbered cases that end together in all tasks, TAP output by task 0.
//
//   lapirun -n N PROGRAM [interrupt|polling] [further words]
//
// A task in which something is wrong says so and ends; the launcher ends the others. Every case has a limit in seconds,
// so that nothing waits for ever: the text then names the line of the call that did not return.
// API_UDP_LIST=address:port,... (one entry per task) makes the program start without a launcher over UDP: these are the
// ports of the first context, every further one uses the next as many.
// API_HOST_TASKS=N: the job is on several hosts, the first N tasks on the first of them, and so on.
#pragma once

#include <arpa/inet.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "lapi.h"

namespace api_case {

inline int task = -1;
inline int tasks = 0;
inline lapi_handle_t handle = 0;
inline bool polling = false;
inline std::vector<std::string> words;  // of the command line, behind the mode
inline int number = 0;
inline char name[80] = "start";
inline std::atomic<int> line = 0;  // of the last call, of whichever thread
inline unsigned slowness = 1;  // API_SLOWNESS: multiplies the limits, for sanitizers and lossy networks

[[noreturn]] inline void fail(const char* text) {
  char out[700];
  const int length = std::snprintf(out, sizeof out, "not ok %d - %s: task %d, %s\n", number, name, task, text);
  if (write(STDOUT_FILENO, out, static_cast<std::size_t>(length)) < 0) _exit(3);
  _exit(1);
}

[[noreturn]] inline void fail_expectation(int at, const char* what) {
  fail(("line " + std::to_string(at) + ": " + what + " does not hold").c_str());
}

inline void expect_equal(int at, const char* what, long long is, long long wanted) {
  if (is == wanted) return;
  fail(("line " + std::to_string(at) + ": " + what + " is " + std::to_string(is) + ", not " + std::to_string(wanted))
           .c_str());
}

inline int called(int at, const char* what, int code, int wanted) {
  if (code == wanted) return code;
  char text[LAPI_MAX_ERR_STRING] = "";
  PLAPI_Msg_string(code, text);
  fail(("line " + std::to_string(at) + ": " + what + " returned " + std::to_string(code) + " (" + text + "), not " +
        std::to_string(wanted))
           .c_str());
}

#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) api_case::fail_expectation(__LINE__, #condition); \
  } while (false)
#define EXPECT_EQUAL(is, wanted) \
  api_case::expect_equal(__LINE__, #is, static_cast<long long>(is), static_cast<long long>(wanted))
#define RETURNS(call, wanted) (api_case::line = __LINE__, api_case::called(__LINE__, #call, (call), wanted))
#define CALL(call) RETURNS(call, LAPI_SUCCESS)

inline void alarmed(int) {
  char out[300];
  const int length =
      std::snprintf(out, sizeof out, "not ok %d - %s: task %d went no further than line %d in the time allowed\n",
                    number, name, task, line.load());
  if (write(STDOUT_FILENO, out, static_cast<std::size_t>(length)) < 0) _exit(3);
  _exit(1);
}

inline void limit(unsigned seconds) {
  signal(SIGALRM, alarmed);
  alarm(seconds * slowness);
}

// One entry per task of API_UDP_LIST; empty: a launcher is there.
inline std::vector<lapi_udp_t> udp_list() {
  std::vector<lapi_udp_t> list;
  const char* text = std::getenv("API_UDP_LIST");
  while (text != nullptr && *text != 0) {
    const char* colon = std::strchr(text, ':');
    if (colon == nullptr) fail("API_UDP_LIST holds an entry without a port");
    list.push_back({inet_addr(std::string(text, colon).c_str()), static_cast<unsigned>(std::atoi(colon + 1))});
    text = std::strchr(text, ',');
    if (text != nullptr) ++text;
  }
  return list;
}

// While it lives, `info` holds the addresses of one more context, if API_UDP_LIST has any: as a list, and for every
// second context by a handler.
class UdpAddresses {
 public:
  explicit UdpAddresses(lapi_info_t& info) {
    list() = udp_list();
    if (list().empty()) return;
    static unsigned contexts = 0;
    for (lapi_udp_t& entry : list()) entry.port_no += contexts * static_cast<unsigned>(list().size());
    std::memset(&extension_, 0, sizeof extension_);
    if (contexts++ % 2 == 0) {
      extension_.add_udp_addrs = list().data();
    } else {
      extension_.udp_hndlr = hand_out;
    }
    info.add_info = &extension_;
  }
  UdpAddresses(const UdpAddresses&) = delete;
  UdpAddresses& operator=(const UdpAddresses&) = delete;
  bool given() const { return !list().empty(); }

 private:
  static std::vector<lapi_udp_t>& list() {
    static std::vector<lapi_udp_t> addresses;
    return addresses;
  }
  static int hand_out(lapi_handle_t*, lapi_udp_t*, lapi_udp_t* all, lapi_udpinfo_t* about) {
    if (about->num_tasks != list().size()) return 1;
    std::copy(list().begin(), list().end(), all);
    return 0;
  }

  lapi_extend_t extension_;
};

// LAPI_Init, with addresses if they are needed.
inline int open_context(lapi_handle_t* which, lapi_info_t info) {
  const UdpAddresses addresses(info);
  return LAPI_Init(which, &info);
}

inline lapi_info_t cleared_info() {
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  return info;
}

inline void read_words(int count, char** arguments) {
  for (int word = 1; word < count; ++word) words.emplace_back(arguments[word]);
  if (!words.empty() && (words[0] == "polling" || words[0] == "interrupt")) {
    polling = words[0] == "polling";
    words.erase(words.begin());
  }
  if (const char* factor = std::getenv("API_SLOWNESS")) slowness = static_cast<unsigned>(std::atoi(factor));
}

// LAPI_Init as the command line and the environment say; argument checks on.
inline void begin(int count, char** arguments, lapi_info_t info = cleared_info()) {
  read_words(count, arguments);
  limit(60);
  CALL(open_context(&handle, info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
  if (polling) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
}

// Runs a case in all tasks. `seconds`: limit for the whole case.
template <class Body>
void run(const char* title, unsigned seconds, Body body) {
  ++number;
  std::snprintf(name, sizeof name, "%s", title);
  limit(seconds);
  body();
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    std::printf("ok %d - %s\n", number, title);
    std::fflush(stdout);
  }
}

inline int finish() {
  std::snprintf(name, sizeof name, "end");
  limit(30);
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  if (task == 0) std::printf("1..%d\n", number);
  return 0;
}

template <class T>
std::vector<T*> exchange(T* own) {
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(handle, own, table.data()));
  std::vector<T*> typed;
  for (void* entry : table) typed.push_back(static_cast<T*>(entry));
  return typed;
}

inline int counter_value(lapi_cntr_t& counter) {
  int value = 0;
  CALL(LAPI_Getcntr(handle, &counter, &value));
  return value;
}

inline int query(lapi_query_t what) {
  int value = 0;
  CALL(LAPI_Qenv(handle, what, &value));
  return value;
}

// Of this task's host.
inline int host_tasks() {
  const char* text = std::getenv("API_HOST_TASKS");
  return text == nullptr ? tasks : std::atoi(text);
}

inline unsigned right() { return static_cast<unsigned>((task + 1) % tasks); }
inline int left() { return (task + tasks - 1) % tasks; }

inline unsigned char pattern(unsigned long seed, std::size_t at) {
  return static_cast<unsigned char>((at * 2654435761u + seed * 40503u) >> 11);
}

inline void fill(void* buffer, std::size_t length, unsigned long seed) {
  auto* bytes = static_cast<unsigned char*>(buffer);
  for (std::size_t at = 0; at < length; ++at) bytes[at] = pattern(seed, at);
}

inline bool holds(const void* buffer, std::size_t length, unsigned long seed) {
  const auto* bytes = static_cast<const unsigned char*>(buffer);
  for (std::size_t at = 0; at < length; ++at) {
    if (bytes[at] != pattern(seed, at)) return false;
  }
  return true;
}

// Holds the caller up without LAPI until `done`, and fails after `seconds`. For what another thread or task changes.
template <class Done>
void await(int at, const char* what, double seconds, Done done) {
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (!done()) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double passed =
        static_cast<double>(now.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec);
    if (passed > seconds * slowness) fail_expectation(at, what);
    usleep(200);
  }
}
#define AWAIT(condition, seconds) api_case::await(__LINE__, #condition, seconds, [&] { return (condition); })

}  // namespace api_case
