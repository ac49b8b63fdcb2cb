// LAPI_Qenv and LAPI_Senv: every query with its value (tables 44-46 of the guide); LAPI_Msg_string: every code. The
// environment must be that of lapirun: nothing of appendix D set but LAPI_USE_SHM.
#include <climits>
#include <set>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

void integers() {
  EXPECT(query(TASK_ID) >= 0 && query(TASK_ID) < tasks);
  EXPECT_EQUAL(query(NUM_TASKS), tasks);
  EXPECT(query(MAX_UHDR_SZ) >= 912);
  EXPECT_EQUAL(query(MAX_DATA_SZ), sizeof(long) == 8 ? -1 : INT_MAX);
  EXPECT_EQUAL(query(MIN_TIMEOUT), 10);
  EXPECT_EQUAL(query(MAX_TIMEOUT), 86400);
  EXPECT_EQUAL(query(MAX_PORTS), 16);
  EXPECT(query(MAX_PKT_SZ) >= query(MAX_UHDR_SZ));
  EXPECT_EQUAL(query(NUM_REX_BUFS), 128);
  EXPECT_EQUAL(query(REX_BUF_SZ), 16384);
  EXPECT_EQUAL(query(BUF_CP_SIZE), 16384);
  EXPECT(query(LOC_ADDRTBL_SZ) > 64);
  EXPECT(query(MAX_ATOM_SIZE) >= 1);
  EXPECT(query(MAX_PKTS_OUT) >= 1);
  EXPECT_EQUAL(query(BULK_XFER), 0);
  EXPECT_EQUAL(query(BULK_MIN_MSG_SIZE), 153600);
  for (const lapi_query_t old : {EPOCH_NUM, USE_THRESH, RCV_FIFO_SIZE}) EXPECT_EQUAL(query(old), 0);
}

// Default, smallest and largest value of what LAPI_Senv sets.
void settable(lapi_query_t attribute, int standard, std::vector<int> values) {
  EXPECT_EQUAL(query(attribute), standard);
  for (const int value : values) {
    CALL(LAPI_Senv(handle, attribute, value));
    EXPECT_EQUAL(query(attribute), value);
  }
  CALL(LAPI_Senv(handle, attribute, standard));
  EXPECT_EQUAL(query(attribute), standard);
}

void attributes() {
  settable(ACK_THRESHOLD, 30, {1, 31, 17});
  settable(TIMEOUT, 900, {10, 86400, 100});
  settable(ERROR_CHK, 1, {0, 1});  // `begin` has switched it on
  settable(INTERRUPT_SET, polling ? 0 : 1, {0, 1, 0, 1});
}

// A new context has the defaults, whatever this one was set to; the attributes belong to one context.
void defaults() {
  CALL(LAPI_Senv(handle, TIMEOUT, 11));
  CALL(LAPI_Senv(handle, ACK_THRESHOLD, 3));
  lapi_handle_t other = 0;
  CALL(open_context(&other, cleared_info()));
  const struct {
    lapi_query_t attribute;
    int value;
  } expected[] = {{ERROR_CHK, 0}, {TIMEOUT, 900}, {INTERRUPT_SET, 1}, {ACK_THRESHOLD, 30}};
  for (const auto& [attribute, value] : expected) {
    int found = -1;
    CALL(LAPI_Qenv(other, attribute, &found));
    EXPECT_EQUAL(found, value);
  }
  EXPECT_EQUAL(query(TIMEOUT), 11);
  EXPECT_EQUAL(query(ACK_THRESHOLD), 3);
  CALL(LAPI_Gfence(other));
  CALL(LAPI_Term(other));
  CALL(LAPI_Senv(handle, TIMEOUT, 900));
  CALL(LAPI_Senv(handle, ACK_THRESHOLD, 30));
}

void shared_memory() {
  const char* use = std::getenv("LAPI_USE_SHM");
  const bool shared = use == nullptr || std::strcmp(use, "no") != 0;
  std::vector<int> numbers(static_cast<std::size_t>(tasks) + 1, -9);
  CALL(LAPI_Qenv(handle, QUERY_SHM_TASKS, numbers.data()));
  EXPECT_EQUAL(numbers.back(), -9);
  EXPECT_EQUAL(query(QUERY_SHM_ENABLED), shared ? 1 : 0);
  EXPECT_EQUAL(query(QUERY_SHM_NUM_TASKS), shared ? host_tasks() : 0);
  std::set<int> different;
  for (int other = 0; other < tasks; ++other) {
    const int number = numbers[static_cast<std::size_t>(other)];
    const bool near = shared && other / host_tasks() == task / host_tasks();
    EXPECT(near ? number >= 0 && number < host_tasks() : number == -1);
    if (near) different.insert(number);
  }
  EXPECT_EQUAL(different.size(), shared ? host_tasks() : 0);
}

void messages() {
  std::vector<int> known = {LAPI_SUCCESS, 1, 2, 11, 35};
  for (int code = 400; code <= 511; ++code) {
    const bool unused = code == 403 || code == 411 || code == 450 || code == 457 || (code >= 483 && code <= 484);
    if (!unused) known.push_back(code);
  }
  std::set<std::string> texts;
  for (const int code : known) {
    char text[LAPI_MAX_ERR_STRING + 8];
    std::memset(text, 0x7f, sizeof text);
    CALL(LAPI_Msg_string(code, text));
    const std::size_t length = strnlen(text, sizeof text);
    EXPECT(length >= 1 && length <= 99);
    EXPECT_EQUAL(text[length + 1], 0x7f);  // not padded
    EXPECT(text[length - 1] != '\n' && text[length - 1] != ' ');
    texts.insert(text);
  }
  EXPECT_EQUAL(texts.size(), known.size());
  for (const int code : {ENOENT, ENOMEM, EDEADLK}) {
    char text[LAPI_MAX_ERR_STRING];
    CALL(LAPI_Msg_string(code, text));
    EXPECT(std::strcmp(text, std::strerror(code)) == 0);
  }
  for (const int code : {-1, 399, 403, 512, 100000, INT_MIN, INT_MAX}) {
    char text[LAPI_MAX_ERR_STRING] = "";
    RETURNS(LAPI_Msg_string(code, text), LAPI_ERR_CODE_UNKNOWN);
    EXPECT(std::strstr(text, std::to_string(code).c_str()) != nullptr);
  }
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  run("integer queries have the guide's values", 20, integers);
  run("attributes are set and queried", 20, attributes);
  run("attributes begin with their defaults", 20, defaults);
  run("queries about shared memory", 20, shared_memory);
  run("LAPI_Msg_string knows every code", 20, messages);
  return finish();
}
