// A call of task 0 is given one address of memory that is not there: task 1's, of which task 1 dies, or its own.
//   lapirun -n 2 api_wrong_address OPERATION     prints that address
//   OPERATION: one of the table's; own-...: task 0's own address is the wrong one; self-...: task 0 is its own target;
//   counter-...: it is no data's, but that of the target's counter; own-counter-...: of the origin counter
//   verified-...: before LAPI_Init a data gather/scatter program is registered, and with LAPI_VERIFY_DGSP=yes looked at
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lapi.h"
#include "tests/system/gather_scatter_case.h"

namespace {

constexpr ulong kShort = 8, kLong = 1 << 20, kBlock = 64;

// Where task 1's header handler wants its data.
void* destination = nullptr;

void* header_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  return destination;
}

void* header_handler_that_fails(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  *static_cast<volatile char*>(destination) = 1;
  return nullptr;
}

bool dropped_once = false;
void* header_handler_that_drops(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  if (!dropped_once) reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_DROP_PKT;
  dropped_once = true;
  return destination;
}

lapi_vec_t* vector_handler(lapi_handle_t*, void*, uint*, ulong* lengths, compl_hndlr_t** completion, void**) {
  static void* places[1];
  static ulong sizes[1];
  static lapi_vec_t vector{LAPI_GEN_IOVECTOR, 1, places, sizes};
  *completion = nullptr;
  places[0] = destination;
  sizes[0] = lengths[0];
  return &vector;
}

// Runs where the message has arrived, in the thread that carries it out.
void reply(lapi_handle_t* handle, void*) {
  LAPI_Put(*handle, 0, kShort, nullptr, destination, nullptr, nullptr, nullptr);
}

void* header_handler_that_replies(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void**) {
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = LAPI_SEND_REPLY;
  *completion = reply;
  return nullptr;
}

void do_nothing(lapi_handle_t*, void*) {}

void* header_handler_with_completion(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = do_nothing;
  return destination;
}

// Numbers of handlers: their addresses differ from task to task.
enum { kAccepts = 1, kFails, kDrops, kAnswersVector, kReplies, kCompletes };

void set_handlers(lapi_handle_t handle) {
  LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler), kAccepts);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler_that_fails), kFails);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler_that_drops), kDrops);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(vector_handler), kAnswersVector);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler_that_replies), kReplies);
  LAPI_Addr_set(handle, reinterpret_cast<void*>(header_handler_with_completion), kCompletes);
}

struct Call {
  lapi_handle_t handle;
  uint target;
  char* there;  // memory of the target's
  char* here;   // memory of this task's
  lapi_cntr_t* target_counter;
  lapi_cntr_t* origin_counter;

  int put(ulong length) const { return put_to(there, length); }
  int put_to(char* place, ulong length) const {
    return LAPI_Put(handle, target, length, place, here, target_counter, origin_counter, nullptr);
  }
  int get(ulong length) const { return LAPI_Get(handle, target, length, there, here, target_counter, origin_counter); }
  int rmw() const {
    int one = 1;
    return LAPI_Rmw(handle, FETCH_AND_ADD, target, reinterpret_cast<int*>(there), &one, reinterpret_cast<int*>(here),
                    origin_counter);
  }
  int message(int handler, ulong length) const {
    return LAPI_Amsend(handle, target, code(handler), nullptr, 0, here, length, target_counter, origin_counter,
                       nullptr);
  }
  int no_handler() const {
    return LAPI_Amsend(handle, target, there, nullptr, 0, here, kShort, nullptr, nullptr, nullptr);
  }
  int wait() const { return LAPI_Waitcntr(handle, counter(), 1, nullptr); }
  int set() const { return LAPI_Setcntr(handle, counter(), 1); }
  int transfer() const { return LAPI_Xfer(handle, reinterpret_cast<lapi_xfer_t*>(here)); }
  int text() const { return LAPI_Msg_string(LAPI_SUCCESS, here); }
  int crash() const { return *static_cast<volatile char*>(here); }
  int header() const {
    return LAPI_Amsend(handle, target, code(kAccepts), here, kShort, nullptr, 0, nullptr, nullptr, nullptr);
  }
  lapi_cntr_t* counter() const { return reinterpret_cast<lapi_cntr_t*>(here); }
  static void* code(int handler) { return reinterpret_cast<void*>(static_cast<long>(handler)); }
};

// Two pieces with a hole between them, or as many blocks as the length has.
struct Vector {
  std::array<void*, 3> info;
  std::array<ulong, 2> lengths;
  lapi_vec_t vector;

  Vector(char* base, ulong length, bool strided) {
    if (strided) {
      info = {base, reinterpret_cast<void*>(kBlock), reinterpret_cast<void*>(2 * kBlock)};
      vector = {LAPI_GEN_STRIDED_XFER, static_cast<uint>(length / kBlock), info.data(), nullptr};
    } else {
      info = {base, base + length, nullptr};
      lengths = {length / 2, length / 2};
      vector = {LAPI_GEN_IOVECTOR, 2, info.data(), lengths.data()};
    }
  }
};

int put_vector(const Call& call, ulong length, bool strided) {
  Vector there(call.there, length, strided), here(call.here, length, strided);
  return LAPI_Putv(call.handle, call.target, &there.vector, &here.vector, call.target_counter, call.origin_counter,
                   nullptr);
}

int get_vector(const Call& call, ulong length, bool strided) {
  Vector there(call.there, length, strided), here(call.here, length, strided);
  return LAPI_Getv(call.handle, call.target, &there.vector, &here.vector, call.target_counter, call.origin_counter);
}

int vector_message(const Call& call, ulong length) {
  Vector here(call.here, length, false);
  return LAPI_Amsendv(call.handle, call.target, Call::code(kAnswersVector), nullptr, 0, &here.vector,
                      call.target_counter, call.origin_counter, nullptr);
}

lapi_long_t bits(const void* address) { return static_cast<lapi_long_t>(reinterpret_cast<ulong>(address)); }

int transfer_put(const Call& call) {
  lapi_xfer_t transfer{};
  transfer.Put = {};
  transfer.Put.Xfer_type = LAPI_PUT_XFER;
  transfer.Put.tgt = call.target;
  transfer.Put.tgt_addr = bits(call.there);
  transfer.Put.org_addr = call.here;
  transfer.Put.len = kShort;
  return LAPI_Xfer(call.handle, &transfer);
}

int transfer_message(const Call& call) {
  lapi_xfer_t transfer{};
  transfer.Am = {};
  transfer.Am.Xfer_type = LAPI_AM_XFER;
  transfer.Am.tgt = call.target;
  transfer.Am.hdr_hdl = kAccepts;
  transfer.Am.udata = call.here;
  transfer.Am.udata_len = kShort;
  return LAPI_Xfer(call.handle, &transfer);
}

const std::map<std::string_view, int (*)(const Call&)> kOperations = {
    {"put", [](const Call& call) { return call.put(kShort); }},
    {"long-put", [](const Call& call) { return call.put(kLong); }},
    {"null-put", [](const Call& call) { return call.put_to(nullptr, kShort); }},
    {"long-null-put", [](const Call& call) { return call.put_to(nullptr, kLong); }},
    {"get", [](const Call& call) { return call.get(kShort); }},
    {"long-get", [](const Call& call) { return call.get(kLong); }},
    {"rmw", [](const Call& call) { return call.rmw(); }},
    {"message", [](const Call& call) { return call.message(kAccepts, kShort); }},
    {"long-message", [](const Call& call) { return call.message(kAccepts, kLong); }},
    {"completed-message", [](const Call& call) { return call.message(kCompletes, kShort); }},
    {"long-completed-message", [](const Call& call) { return call.message(kCompletes, kLong); }},
    {"header", [](const Call& call) { return call.header(); }},
    {"handler", [](const Call& call) { return call.message(kFails, kShort); }},
    {"no-handler", [](const Call& call) { return call.no_handler(); }},
    {"unregistered", [](const Call& call) { return call.message(77, kShort); }},
    {"reply", [](const Call& call) { return call.message(kReplies, kShort); }},
    {"wait", [](const Call& call) { return call.wait(); }},
    {"set", [](const Call& call) { return call.set(); }},
    {"transfer", [](const Call& call) { return call.transfer(); }},
    {"text", [](const Call& call) { return call.text(); }},
    {"crash", [](const Call& call) { return call.crash(); }},
    {"dropped", [](const Call& call) { return call.message(kDrops, kShort); }},
    {"long-dropped", [](const Call& call) { return call.message(kDrops, kLong); }},
    {"vector-put", [](const Call& call) { return put_vector(call, 2 * kBlock, false); }},
    {"long-vector-put", [](const Call& call) { return put_vector(call, kLong, false); }},
    {"strided-put", [](const Call& call) { return put_vector(call, 2 * kBlock, true); }},
    {"long-strided-put", [](const Call& call) { return put_vector(call, kLong, true); }},
    {"vector-get", [](const Call& call) { return get_vector(call, 2 * kBlock, false); }},
    {"long-vector-get", [](const Call& call) { return get_vector(call, kLong, false); }},
    {"strided-get", [](const Call& call) { return get_vector(call, 2 * kBlock, true); }},
    {"long-strided-get", [](const Call& call) { return get_vector(call, kLong, true); }},
    {"vector-message", [](const Call& call) { return vector_message(call, 2 * kBlock); }},
    {"long-vector-message", [](const Call& call) { return vector_message(call, kLong); }},
    {"xfer-put", transfer_put},
    {"xfer-message", transfer_message},
};

// Which it does behind the library's own handler of memory faults.
int register_program() {
  api_case::Program program = api_case::structures();
  return api_case::register_as(program);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

int main(int count, char** words) {
  std::string_view operation = count > 1 ? words[1] : "";
  lapi_handle_t handle;
  lapi_info_t info{};
  info.lib_vers = LAST_LIB;
  if (take_prefix(operation, "verified-") && register_program() != LAPI_SUCCESS) return 5;
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 3;
  int task = -1;
  LAPI_Qenv(handle, TASK_ID, &task);
  set_handlers(handle);
  const bool self = take_prefix(operation, "self-"), own = take_prefix(operation, "own-");
  const bool counter = take_prefix(operation, "counter-");
  const auto found = kOperations.find(operation);
  if (found == kOperations.end()) return 4;

  auto* const nowhere = static_cast<char*>(mmap(nullptr, 3 * kLong, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::vector<char> memory(3 * kLong);
  destination = own || counter ? memory.data() : nowhere;
  void *places[2], *wrong[2];
  LAPI_Address_init(handle, destination, places);
  LAPI_Address_init(handle, nowhere, wrong);
  if (task == 0) {
    const uint target = self ? 0 : 1;
    auto* const bad = static_cast<char*>(own ? nowhere : wrong[target]);
    auto* const bad_counter = reinterpret_cast<lapi_cntr_t*>(bad);
    const Call call{handle,
                    target,
                    static_cast<char*>(places[target]),
                    own && !counter ? nowhere : memory.data(),
                    counter && !own ? bad_counter : nullptr,
                    counter && own ? bad_counter : nullptr};
    std::printf("%p\n", static_cast<void*>(bad));
    std::fflush(stdout);
    if (const int error = found->second(call); error != LAPI_SUCCESS) std::printf("error %d\n", error);
  }
  LAPI_Gfence(handle);
  LAPI_Term(handle);
  return 0;
}
