// Header and completion handlers: every field of lapi_return_info_t, what header handlers may answer, and in which
// thread completion handlers run.
#include "tests/system/api_handler_case.h"

using namespace api_case;

namespace {

// ---- fields ----

std::atomic<int> magic{0};
std::atomic<int> one_packet{0};

void* fields_handler(lapi_handle_t* which, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion,
                     void** info) {
  auto* about = reinterpret_cast<lapi_return_info_t*>(length);
  ++seen.headers;
  check(*which == handle);
  check(*length == about->msg_len && about->bytes == about->msg_len);
  check(about->src == left());
  check(about->ret_flags == LAPI_NORMAL && about->ctl_flags == LAPI_DELIVER_MSG && about->dgsp_handle == nullptr);
  check(magic == 0 || magic == about->MAGIC);
  magic = about->MAGIC;
  unsigned long wanted = 0;
  std::memcpy(&wanted, header, sizeof wanted);
  check(*header_length == 8 && wanted == about->msg_len);
  if (about->udata_one_pkt_ptr != nullptr) {
    ++one_packet;
    check(holds(about->udata_one_pkt_ptr, about->msg_len, wanted));
    std::memset(about->udata_one_pkt_ptr, 0, about->msg_len);  // the handler's only: it may write there ...
    fill(about->udata_one_pkt_ptr, about->msg_len, wanted);    // ... and what it leaves is delivered
  }
  *completion = count_completion;
  *info = &seen;
  return inbox;
}

void fields() {
  std::vector<unsigned char> data(sizeof inbox);
  const auto packet = static_cast<std::size_t>(query(MAX_PKT_SZ));
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{100}, packet - 8, packet - 7, packet + 1,
                                   std::size_t{20000}, sizeof inbox}) {
    magic = one_packet = 0;
    start();
    const unsigned long header = length;
    fill(data.data(), length, length);
    exchange_message(kFields, &header, sizeof header, data.data(), length);
    EXPECT_EQUAL(seen.headers.load(), 1);
    EXPECT_EQUAL(seen.completions.load(), 1);
    EXPECT(magic != 0);
    if (length >= 1 && length <= packet - 8) EXPECT_EQUAL(one_packet.load(), 1);
    // MAX_PKT_SZ is that of the transport with the smallest packets; on one host all go the same way.
    if (length > packet - 8 && host_tasks() == tasks) EXPECT_EQUAL(one_packet.load(), 0);
    EXPECT(holds(inbox, length, length));
  }
}

// ---- no buffer, BURY, bytes ----

void* null_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void** info) {
  ++seen.headers;
  *completion = count_completion;
  *info = &seen;
  return nullptr;
}

void* bury_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  ++seen.headers;
  reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_BURY_MSG;
  *completion = count_completion;
  *info = &seen;
  return inbox;
}

void* bytes_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  ++seen.headers;
  reinterpret_cast<lapi_return_info_t*>(length)->bytes = 3;  // counts only with a data gather/scatter program
  return inbox;
}

void thrown_away(Index index) {
  std::vector<unsigned char> data(200000, 0x77);
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, std::size_t{15000}, data.size()}) {
    start();
    exchange_message(index, nullptr, 0, data.data(), length);
    EXPECT_EQUAL(seen.headers.load(), 1);
    EXPECT_EQUAL(seen.completions.load(), 1);
    for (const unsigned char byte : inbox) EXPECT(byte == 0);
  }
}

void bytes_are_ignored() {
  std::vector<unsigned char> data(70000);
  for (const std::size_t length : {std::size_t{10}, data.size()}) {
    start();
    fill(data.data(), length, 5);
    exchange_message(kBytes, nullptr, 0, data.data(), length);
    EXPECT(holds(inbox, length, 5));
  }
}

// ---- DROP ----

constexpr int kDrops = 3;

void* drop_handler(lapi_handle_t*, void* header, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  auto* about = reinterpret_cast<lapi_return_info_t*>(length);
  int greeting = 0;
  std::memcpy(&greeting, header, sizeof greeting);
  check(greeting == 4242);
  if (++seen.headers <= kDrops) {
    about->ctl_flags = LAPI_DROP_PKT;
    return nullptr;
  }
  *completion = count_completion;
  *info = &seen;
  return inbox;
}

void dropped() {
  const int greeting = 4242;
  std::vector<unsigned char> data(sizeof inbox);
  for (const std::size_t length : {std::size_t{8}, std::size_t{9000}, data.size()}) {
    start();
    fill(data.data(), length, length);
    exchange_message(kDrop, &greeting, sizeof greeting, data.data(), length);
    EXPECT_EQUAL(seen.headers.load(), kDrops + 1);
    EXPECT_EQUAL(seen.completions.load(), 1);
    EXPECT(holds(inbox, length, length));
  }
  start();
  lapi_cntr_t done{};
  fill(data.data(), 100, 9);
  CALL(LAPI_Amsend(handle, static_cast<unsigned>(task), reinterpret_cast<void*>(kDrop), const_cast<int*>(&greeting),
                   sizeof greeting, data.data(), 100, nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  EXPECT_EQUAL(seen.headers.load(), kDrops + 1);
  EXPECT(seen.right && holds(inbox, 100, 9));
}

// ---- how completion handlers run ----

std::atomic<long> header_thread{0};
std::atomic<long> completion_thread{0};
std::atomic<int> wait_result{0};
lapi_ret_flags_t style = LAPI_NORMAL;

void styled_completion(lapi_handle_t* which, void* info) {
  completion_thread = thread_number();
  lapi_cntr_t counter{};
  counter.cntr = 1;
  wait_result = LAPI_Waitcntr(*which, &counter, 1, nullptr);
  count_completion(which, info);
}

void* styled_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  header_thread = thread_number();
  reinterpret_cast<lapi_return_info_t*>(length)->ret_flags = style;
  *completion = styled_completion;
  *info = &seen;
  return inbox;
}

void styles() {
  for (const lapi_ret_flags_t kind : {LAPI_NORMAL, LAPI_LOCAL_STATE, LAPI_SEND_REPLY}) {
    for (const std::size_t length : {std::size_t{8}, sizeof inbox}) {
      start();
      style = kind;
      CALL(LAPI_Gfence(handle));
      std::vector<unsigned char> data(length, 1);
      exchange_message(kStyle, nullptr, 0, data.data(), length);
      EXPECT_EQUAL(seen.completions.load(), 1);
      // Its own thread may wait; inline it may not, and a message of one packet runs both handlers in one thread.
      EXPECT_EQUAL(wait_result.load(), kind == LAPI_NORMAL ? LAPI_SUCCESS : EDEADLK);
      if (kind == LAPI_NORMAL) EXPECT(header_thread != completion_thread);
      if (kind == LAPI_LOCAL_STATE && length == 8) EXPECT_EQUAL(header_thread.load(), completion_thread.load());
    }
  }
}

// The handler's address works as well as its index. Tasks may have it at different addresses.
void by_address() {
  std::vector<void*> handlers(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(handle, reinterpret_cast<void*>(&fields_handler), handlers.data()));
  magic = 0;
  start();
  const unsigned long length = 50;
  std::vector<unsigned char> data(length);
  fill(data.data(), length, length);
  lapi_cntr_t done{};
  unsigned long header = length;
  CALL(LAPI_Amsend(handle, right(), handlers[right()], &header, sizeof header, data.data(), length,
                   &windows[right()]->arrived, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &window.arrived, 1, nullptr));
  EXPECT(seen.right && holds(inbox, length, length));
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  register_all({{kFields, fields_handler},
                {kNull, null_handler},
                {kBury, bury_handler},
                {kDrop, drop_handler},
                {kBytes, bytes_handler},
                {kStyle, styled_handler}});
  windows = exchange(&window);
  run("a header handler is told everything", 30, fields);
  run("NULL from a header handler buries the data", 20, [] { thrown_away(kNull); });
  run("LAPI_BURY_MSG buries the data", 20, [] { thrown_away(kBury); });
  run("bytes without a program is ignored", 20, bytes_are_ignored);
  run("LAPI_DROP_PKT: the handler is called again", 40, dropped);
  run("completion handlers run as ret_flags says", 20, styles);
  run("handlers are called by address", 20, by_address);
  return finish();
}
