// Every error that the calls' arguments can cause, with ERROR_CHK on, and what is still refused with it off. A refused
// call changes nothing: no counter moves, no memory, nothing arrives.
#include <climits>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr ulong kTooLong = static_cast<ulong>(LAPI_MAX_MSG_SZ) + 1;
const unsigned kNobody[] = {1u << 20, UINT_MAX};

char here[64];
char there[64];
lapi_cntr_t origin{};
lapi_cntr_t completion{};
lapi_cntr_t target{};
std::vector<lapi_cntr_t*> targets;

void nothing_happened() {
  EXPECT_EQUAL(counter_value(origin), 0);
  EXPECT_EQUAL(counter_value(completion), 0);
  EXPECT_EQUAL(counter_value(target), 0);
}

int put(lapi_handle_t which, unsigned to, ulong length, void* to_address, void* from_address) {
  return LAPI_Put(which, to, length, to_address, from_address, targets[right()], &origin, &completion);
}

int get(lapi_handle_t which, unsigned from, ulong length, void* from_address, void* to_address) {
  return LAPI_Get(which, from, length, from_address, to_address, targets[right()], &origin);
}

void put_errors() {
  const unsigned to = right();
  RETURNS(put(handle + 1, to, 8, there, here), LAPI_ERR_HNDL_INVALID);
  RETURNS(put(handle, static_cast<unsigned>(tasks), 8, there, here), LAPI_ERR_TGT);
  for (const unsigned nobody : kNobody) RETURNS(put(handle, nobody, 8, there, here), LAPI_ERR_TGT);
  RETURNS(put(handle, to, kTooLong, there, here), LAPI_ERR_DATA_LEN);
  RETURNS(put(handle, to, ULONG_MAX, there, here), LAPI_ERR_DATA_LEN);
  RETURNS(put(handle, to, 8, there, nullptr), LAPI_ERR_ORG_ADDR_NULL);
  RETURNS(put(handle, to, 8, nullptr, here), LAPI_ERR_TGT_ADDR_NULL);
  CALL(LAPI_Gfence(handle));
  nothing_happened();
}

void get_errors() {
  const unsigned from = right();
  RETURNS(get(handle + 1, from, 8, there, here), LAPI_ERR_HNDL_INVALID);
  RETURNS(get(handle, static_cast<unsigned>(tasks), 8, there, here), LAPI_ERR_TGT);
  for (const unsigned nobody : kNobody) RETURNS(get(handle, nobody, 8, there, here), LAPI_ERR_TGT);
  RETURNS(get(handle, from, kTooLong, there, here), LAPI_ERR_DATA_LEN);
  RETURNS(get(handle, from, ULONG_MAX, there, here), LAPI_ERR_DATA_LEN);
  RETURNS(get(handle, from, 8, there, nullptr), LAPI_ERR_ORG_ADDR_NULL);
  RETURNS(get(handle, from, 8, nullptr, here), LAPI_ERR_TGT_ADDR_NULL);
  CALL(LAPI_Gfence(handle));
  nothing_happened();
}

int handled = 0;

void* count_message(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++handled;
  return nullptr;
}

int send(lapi_handle_t which, unsigned to, void* handler, void* header, unsigned header_length, void* data,
         ulong length) {
  return LAPI_Amsend(which, to, handler, header, header_length, data, length, targets[right()], &origin, &completion);
}

void amsend_errors() {
  const unsigned to = right();
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&count_message), 3));
  void* handler = reinterpret_cast<void*>(3);
  const auto most = static_cast<unsigned>(query(MAX_UHDR_SZ));
  EXPECT(most >= 912 && most % 4 == 0);
  std::vector<char> header(most + 8);
  CALL(LAPI_Gfence(handle));
  RETURNS(send(handle + 1, to, handler, here, 8, there, 8), LAPI_ERR_HNDL_INVALID);
  RETURNS(send(handle, static_cast<unsigned>(tasks), handler, here, 8, there, 8), LAPI_ERR_TGT);
  for (const unsigned nobody : kNobody) RETURNS(send(handle, nobody, handler, here, 8, there, 8), LAPI_ERR_TGT);
  RETURNS(send(handle, to, nullptr, here, 8, there, 8), LAPI_ERR_HDR_HNDLR_NULL);
  RETURNS(send(handle, to, handler, nullptr, 8, there, 8), LAPI_ERR_UHDR_NULL);
  RETURNS(send(handle, to, handler, header.data(), most + 4, there, 8), LAPI_ERR_UHDR_LEN);
  RETURNS(send(handle, to, handler, header.data(), UINT_MAX - 3, there, 8), LAPI_ERR_UHDR_LEN);
  for (const unsigned odd : {1u, 2u, 3u, 5u, 911u}) {
    RETURNS(send(handle, to, handler, header.data(), odd, there, 8), LAPI_ERR_HDR_LEN);
  }
  RETURNS(send(handle, to, handler, here, 8, there, kTooLong), LAPI_ERR_DATA_LEN);
  RETURNS(send(handle, to, handler, here, 8, nullptr, 8), LAPI_ERR_ORG_ADDR_NULL);
  CALL(LAPI_Gfence(handle));
  nothing_happened();
  EXPECT_EQUAL(handled, 0);
  CALL(LAPI_Gfence(handle));

  // What is just allowed.
  CALL(send(handle, to, handler, header.data(), most, there, 8));
  CALL(send(handle, to, handler, nullptr, 0, there, 8));
  CALL(send(handle, to, handler, header.data(), 4, nullptr, 0));
  CALL(send(handle, to, handler, nullptr, 0, nullptr, 0));
  CALL(LAPI_Waitcntr(handle, &completion, 4, nullptr));
  CALL(LAPI_Waitcntr(handle, &origin, 4, nullptr));
  CALL(LAPI_Waitcntr(handle, &target, 4, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(handled, 4);
  nothing_happened();
}

void rmw_errors() {
  const unsigned to = right();
  int variable = 5, operand[2] = {1, 2}, previous = 77;
  long long wide = 5, wide_operand[2] = {1, 2}, wide_previous = 77;
  const auto none = static_cast<RMW_ops_t>(4);
  RETURNS(LAPI_Rmw(handle + 1, SWAP, to, &variable, operand, &previous, &origin), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Rmw(handle, none, to, &variable, operand, &previous, &origin), LAPI_ERR_RMW_OP);
  RETURNS(LAPI_Rmw(handle, static_cast<RMW_ops_t>(-1), to, &variable, operand, &previous, &origin), LAPI_ERR_RMW_OP);
  for (const unsigned nobody : kNobody) {
    RETURNS(LAPI_Rmw(handle, SWAP, nobody, &variable, operand, &previous, &origin), LAPI_ERR_TGT);
    RETURNS(LAPI_Rmw64(handle, SWAP, nobody, &wide, wide_operand, &wide_previous, &origin), LAPI_ERR_TGT);
  }
  RETURNS(LAPI_Rmw(handle, SWAP, static_cast<unsigned>(tasks), &variable, operand, &previous, &origin), LAPI_ERR_TGT);
  RETURNS(LAPI_Rmw(handle, SWAP, to, nullptr, operand, &previous, &origin), LAPI_ERR_TGT_VAR_NULL);
  RETURNS(LAPI_Rmw(handle, SWAP, to, &variable, nullptr, &previous, &origin), LAPI_ERR_IN_VAL_NULL);
  RETURNS(LAPI_Rmw64(handle + 1, SWAP, to, &wide, wide_operand, &wide_previous, &origin), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Rmw64(handle, none, to, &wide, wide_operand, &wide_previous, &origin), LAPI_ERR_RMW_OP);
  RETURNS(LAPI_Rmw64(handle, SWAP, static_cast<unsigned>(tasks), &wide, wide_operand, &wide_previous, &origin),
          LAPI_ERR_TGT);
  RETURNS(LAPI_Rmw64(handle, SWAP, to, nullptr, wide_operand, &wide_previous, &origin), LAPI_ERR_TGT_VAR_NULL);
  RETURNS(LAPI_Rmw64(handle, SWAP, to, &wide, nullptr, &wide_previous, &origin), LAPI_ERR_IN_VAL_NULL);
  CALL(LAPI_Gfence(handle));
  nothing_happened();
  EXPECT(variable == 5 && wide == 5 && previous == 77 && wide_previous == 77);
}

// A right command in which one thing is changed.
template <class Change>
int xfer_with(lapi_xfer_t command, Change change) {
  change(command);
  return LAPI_Xfer(handle, &command);
}

int handlers_run = 0;

void count_handler(lapi_handle_t*, void*, lapi_sh_info_t*) { ++handlers_run; }
void count_get_handler(lapi_handle_t*, void*) { ++handlers_run; }

lapi_xfer_t cleared(lapi_xfer_type_t type) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Xfer_type = type;
  return command;
}

lapi_long_t number(const void* place) { return reinterpret_cast<ulong>(place); }

void xfer_command_errors() {
  lapi_xfer_t command = cleared(LAPI_PUT_XFER);
  RETURNS(LAPI_Xfer(handle + 1, &command), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Xfer(handle + 1, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Xfer(handle, nullptr), LAPI_ERR_XFER_CMD);
  for (const int none : {-1, 9, 100, INT_MAX, INT_MIN}) {
    command.Xfer_type = static_cast<lapi_xfer_type_t>(none);
    RETURNS(LAPI_Xfer(handle, &command), LAPI_ERR_XFER_CMD);
  }
}

void xfer_put_errors() {
  lapi_xfer_t right_one = cleared(LAPI_PUT_XFER);
  lapi_put_t& put = right_one.Put;
  put.tgt = right();
  put.tgt_addr = number(there);
  put.org_addr = here;
  put.len = 8;
  put.shdlr = count_handler;
  put.org_cntr = &origin;
  const auto refused = [&](auto change, int code) { RETURNS(xfer_with(right_one, change), code); };
  for (const unsigned nobody : kNobody) refused([&](lapi_xfer_t& c) { c.Put.tgt = nobody; }, LAPI_ERR_TGT);
  refused([](lapi_xfer_t& c) { c.Put.tgt = static_cast<unsigned>(tasks); }, LAPI_ERR_TGT);
  refused([](lapi_xfer_t& c) { c.Put.len = kTooLong; }, LAPI_ERR_DATA_LEN);
  refused([](lapi_xfer_t& c) { c.Put.org_addr = nullptr; }, LAPI_ERR_ORG_ADDR_NULL);
  refused([](lapi_xfer_t& c) { c.Put.tgt_addr = 0; }, LAPI_ERR_TGT_ADDR_NULL);

  lapi_xfer_t right_get = cleared(LAPI_GET_XFER);
  lapi_get_t& get = right_get.Get;
  get.tgt = right();
  get.tgt_addr = number(there);
  get.org_addr = here;
  get.len = 8;
  get.chndlr = count_get_handler;
  get.org_cntr = &origin;
  const auto no_get = [&](auto change, int code) { RETURNS(xfer_with(right_get, change), code); };
  for (const unsigned nobody : kNobody) no_get([&](lapi_xfer_t& c) { c.Get.tgt = nobody; }, LAPI_ERR_TGT);
  no_get([](lapi_xfer_t& c) { c.Get.len = ULONG_MAX; }, LAPI_ERR_DATA_LEN);
  no_get([](lapi_xfer_t& c) { c.Get.org_addr = nullptr; }, LAPI_ERR_ORG_ADDR_NULL);
  no_get([](lapi_xfer_t& c) { c.Get.tgt_addr = 0; }, LAPI_ERR_TGT_ADDR_NULL);
}

void xfer_message_errors() {
  static char header[1 << 16];
  const auto most = static_cast<unsigned>(query(MAX_UHDR_SZ));
  for (const lapi_xfer_type_t type : {LAPI_AM_XFER, LAPI_AM_LW_XFER}) {
    lapi_xfer_t right_one = cleared(type);
    lapi_am_t& message = right_one.Am;
    message.tgt = right();
    message.hdr_hdl = 3;
    message.uhdr = header;
    message.uhdr_len = 8;
    message.udata = here;
    message.udata_len = 8;
    message.shdlr = count_handler;
    message.org_cntr = &origin;
    const auto refused = [&](auto change, int code) { RETURNS(xfer_with(right_one, change), code); };
    for (const unsigned nobody : kNobody) refused([&](lapi_xfer_t& c) { c.Am.tgt = nobody; }, LAPI_ERR_TGT);
    refused([](lapi_xfer_t& c) { c.Am.hdr_hdl = 0; }, LAPI_ERR_HDR_HNDLR_NULL);
    refused([](lapi_xfer_t& c) { c.Am.uhdr = nullptr; }, LAPI_ERR_UHDR_NULL);
    refused([&](lapi_xfer_t& c) { c.Am.uhdr_len = most + 4; }, LAPI_ERR_UHDR_LEN);
    refused([](lapi_xfer_t& c) { c.Am.uhdr_len = 6; }, LAPI_ERR_HDR_LEN);
    refused([](lapi_xfer_t& c) { c.Am.udata = nullptr; }, LAPI_ERR_ORG_ADDR_NULL);
    refused([](lapi_xfer_t& c) { c.Am.udata_len = kTooLong; }, LAPI_ERR_DATA_LEN);
  }
}

void xfer_rmw_errors() {
  long long variable = 5, operands[2] = {1, 2}, previous = 77;
  lapi_xfer_t right_one = cleared(LAPI_RMW_XFER);
  lapi_rmw_t& rmw = right_one.Rmw;
  rmw.op = SWAP;
  rmw.tgt = right();
  rmw.size = 64;
  rmw.tgt_var = number(&variable);
  rmw.in_val = operands;
  rmw.prev_tgt_val = &previous;
  rmw.shdlr = count_handler;
  rmw.org_cntr = &origin;
  const auto refused = [&](auto change, int code) { RETURNS(xfer_with(right_one, change), code); };
  for (const unsigned nobody : kNobody) refused([&](lapi_xfer_t& c) { c.Rmw.tgt = nobody; }, LAPI_ERR_TGT);
  for (const unsigned size : {0u, 4u, 8u, 31u, 33u, 63u, 65u, UINT_MAX}) {
    refused([&](lapi_xfer_t& c) { c.Rmw.size = size; }, LAPI_ERR_OP_SZ);
  }
  refused([](lapi_xfer_t& c) { c.Rmw.op = static_cast<Rmw_ops_t>(4); }, LAPI_ERR_RMW_OP);
  refused([](lapi_xfer_t& c) { c.Rmw.tgt_var = 0; }, LAPI_ERR_TGT_VAR_NULL);
  refused([](lapi_xfer_t& c) { c.Rmw.in_val = nullptr; }, LAPI_ERR_IN_VAL_NULL);
  CALL(LAPI_Gfence(handle));
  EXPECT(variable == 5 && previous == 77);
}

void xfer_errors() {
  xfer_command_errors();
  xfer_put_errors();
  xfer_message_errors();
  xfer_rmw_errors();
  CALL(LAPI_Gfence(handle));
  nothing_happened();
  EXPECT_EQUAL(handlers_run, 0);
  EXPECT_EQUAL(handled, 4);
}

void counter_errors() {
  int value = 12;
  RETURNS(LAPI_Setcntr(handle + 1, &origin, 3), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Setcntr(handle, nullptr, 3), LAPI_ERR_CNTR_NULL);
  RETURNS(LAPI_Getcntr(handle + 1, &origin, &value), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Getcntr(handle, nullptr, &value), LAPI_ERR_CNTR_NULL);
  RETURNS(LAPI_Getcntr(handle, &origin, nullptr), LAPI_ERR_RET_PTR_NULL);
  RETURNS(LAPI_Waitcntr(handle + 1, &origin, 0, &value), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Waitcntr(handle, nullptr, 0, &value), LAPI_ERR_CNTR_NULL);
  EXPECT_EQUAL(value, 12);
  nothing_happened();
}

void progress_errors() {
  lapi_msg_info_t info;
  RETURNS(LAPI_Probe(handle + 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Msgpoll(handle + 1, 1, &info), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Msgpoll(handle, 1, nullptr), LAPI_ERR_MSG_INFO_NULL);
  RETURNS(LAPI_Fence(handle + 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Gfence(handle + 1), LAPI_ERR_HNDL_INVALID);
}

void address_errors() {
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  std::vector<lapi_long_t> wide_table(static_cast<std::size_t>(tasks));
  RETURNS(LAPI_Address_init(handle + 1, here, table.data()), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Address_init(handle, here, nullptr), LAPI_ERR_RET_PTR_NULL);
  RETURNS(LAPI_Address_init64(handle + 1, 1, wide_table.data()), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Address_init64(handle, 1, nullptr), LAPI_ERR_RET_PTR_NULL);

  ulong number = 0;
  RETURNS(LAPI_Address(nullptr, &number), LAPI_ERR_ORG_ADDR_NULL);
  RETURNS(LAPI_Address(here, nullptr), LAPI_ERR_TGT_ADDR_NULL);
  CALL(LAPI_Address(here, &number));
  EXPECT(number == reinterpret_cast<ulong>(here));

  const int size = query(LOC_ADDRTBL_SZ);
  void* found = here;
  RETURNS(LAPI_Addr_set(handle + 1, here, 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Addr_get(handle + 1, &found, 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Addr_get(handle, nullptr, 1), LAPI_ERR_RET_PTR_NULL);
  for (const int wrong : {INT_MIN, -1, 0, size, size + 1, INT_MAX}) {
    RETURNS(LAPI_Addr_set(handle, here, wrong), LAPI_ERR_ADDR_HNDL_RANGE);
    RETURNS(LAPI_Addr_get(handle, &found, wrong), LAPI_ERR_ADDR_HNDL_RANGE);
  }
  EXPECT(found == here);
}

void attribute_errors() {
  int value = 5;
  RETURNS(LAPI_Qenv(handle + 1, TASK_ID, &value), LAPI_ERR_HNDL_INVALID);
  for (const int wrong : {-1, static_cast<int>(LAST_QUERY), 1000, INT_MAX}) {
    RETURNS(LAPI_Qenv(handle, static_cast<lapi_query_t>(wrong), &value), LAPI_ERR_QUERY_TYPE);
    RETURNS(LAPI_Senv(handle, static_cast<lapi_query_t>(wrong), 1), LAPI_ERR_QUERY_TYPE);
  }
  for (int what = 0; what < LAST_QUERY; ++what) {
    const auto asked = static_cast<lapi_query_t>(what);
    RETURNS(LAPI_Qenv(handle, asked, nullptr), LAPI_ERR_RET_PTR_NULL);
    if (asked == ACK_THRESHOLD || asked == ERROR_CHK || asked == INTERRUPT_SET || asked == TIMEOUT) continue;
    RETURNS(LAPI_Senv(handle, asked, 1), LAPI_ERR_QUERY_TYPE);
  }
  EXPECT_EQUAL(value, 5);
  RETURNS(LAPI_Senv(handle + 1, TIMEOUT, 100), LAPI_ERR_HNDL_INVALID);
}

void refuse_values(lapi_query_t attribute, std::vector<int> wrong) {
  const int before = query(attribute);
  for (const int value : wrong) {
    RETURNS(LAPI_Senv(handle, attribute, value), LAPI_ERR_SET_VAL);
    EXPECT_EQUAL(query(attribute), before);
  }
}

void value_errors() {
  refuse_values(ACK_THRESHOLD, {INT_MIN, -1, 0, 32, INT_MAX});
  refuse_values(TIMEOUT, {INT_MIN, -1, 0, 9, 86401, INT_MAX});
  refuse_values(ERROR_CHK, {INT_MIN, -1, 2, INT_MAX});
  refuse_values(INTERRUPT_SET, {INT_MIN, -1, 2, INT_MAX});
}

// Handles and ranges are refused although arguments are not checked.
void unchecked() {
  CALL(LAPI_Senv(handle, ERROR_CHK, 0));
  EXPECT_EQUAL(query(ERROR_CHK), 0);
  const lapi_handle_t strangers[] = {0, handle + 1, handle + 16, handle - 16, handle + 15, UINT_MAX};
  for (const lapi_handle_t stranger : strangers) {
    RETURNS(put(stranger, right(), 8, there, here), LAPI_ERR_HNDL_INVALID);
    RETURNS(get(stranger, right(), 8, there, here), LAPI_ERR_HNDL_INVALID);
    RETURNS(LAPI_Gfence(stranger), LAPI_ERR_HNDL_INVALID);
    RETURNS(LAPI_Probe(stranger), LAPI_ERR_HNDL_INVALID);
    RETURNS(LAPI_Term(stranger), LAPI_ERR_HNDL_INVALID);
    RETURNS(LAPI_Senv(stranger, TIMEOUT, 100), LAPI_ERR_HNDL_INVALID);
    int rest = 0;
    RETURNS(LAPI_Waitcntr(stranger, &origin, 0, &rest), LAPI_ERR_HNDL_INVALID);
  }
  value_errors();
  RETURNS(LAPI_Addr_set(handle, here, 0), LAPI_ERR_ADDR_HNDL_RANGE);
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
}

void init_errors() {
  lapi_info_t info = cleared_info();
  lapi_handle_t other = 0;
  RETURNS(LAPI_Init(nullptr, &info), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Init(&other, nullptr), LAPI_ERR_INFO_NULL);
  info.info6 = 1;
  RETURNS(LAPI_Init(&other, &info), LAPI_ERR_INFO_NONZERO);
  RETURNS(LAPI_Init(&other, &info), LAPI_ERR_INFO_NONZERO_INFO);
  info = cleared_info();
  info.instance_no = 17;
  RETURNS(LAPI_Init(&other, &info), LAPI_ERR_ALL_HNDL_IN_USE);
  EXPECT_EQUAL(info.instance_no, 17);
  EXPECT_EQUAL(other, 0);
  RETURNS(LAPI_Msg_string(400, nullptr), LAPI_ERR_RET_PTR_NULL);
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  targets = exchange(&target);
  run("LAPI_Put refuses wrong arguments", 20, put_errors);
  run("LAPI_Get refuses wrong arguments", 20, get_errors);
  run("LAPI_Amsend refuses wrong arguments", 20, amsend_errors);
  run("LAPI_Rmw and LAPI_Rmw64 refuse wrong arguments", 20, rmw_errors);
  run("LAPI_Xfer refuses wrong arguments", 20, xfer_errors);
  run("counter calls refuse wrong arguments", 20, counter_errors);
  run("calls that make progress refuse wrong arguments", 20, progress_errors);
  run("address calls refuse wrong arguments", 20, address_errors);
  run("LAPI_Qenv and LAPI_Senv refuse wrong arguments", 20, attribute_errors);
  run("LAPI_Senv refuses values out of range", 20, value_errors);
  run("handles and ranges are checked without ERROR_CHK", 20, unchecked);
  run("LAPI_Init refuses wrong arguments", 20, init_errors);
  return finish();
}
