// QUERY_STATISTICS, QUERY_SHM_STATISTICS, QUERY_LOCAL_SEND_STATISTICS, PRINT_STATISTICS: each path counts its own bytes
// and packets and nobody else's (chapter 8 of the guide).
#include <fcntl.h>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kPuts = 50;
constexpr int kHandler = 3;

struct Statistics {
  lapi_statistics_t network;
  lapi_statistics_t shared;
  lapi_statistics_t local;
};

lapi_statistics_t ask(lapi_query_t what) {
  lapi_statistics_t statistics;
  std::memset(&statistics, 0xff, sizeof statistics);
  CALL(LAPI_Qenv(handle, what, reinterpret_cast<int*>(&statistics)));
  return statistics;
}

Statistics now() { return {ask(QUERY_STATISTICS), ask(QUERY_SHM_STATISTICS), ask(QUERY_LOCAL_SEND_STATISTICS)}; }

bool over_shared_memory() { return query(QUERY_SHM_ENABLED) == 1; }

bool over_several_hosts() { return over_shared_memory() && host_tasks() != tasks; }

lapi_statistics_t sum(lapi_statistics_t one, const lapi_statistics_t& other) {
  one.Tot_pkt_sent_cnt += other.Tot_pkt_sent_cnt;
  one.Tot_pkt_recv_cnt += other.Tot_pkt_recv_cnt;
  one.Tot_data_sent += other.Tot_data_sent;
  one.Tot_data_recv += other.Tot_data_recv;
  return one;
}

// What goes to the neighbours: over several hosts one may be near and the other one far.
lapi_statistics_t path(const Statistics& all) {
  if (over_several_hosts()) return sum(all.shared, all.network);
  return over_shared_memory() ? all.shared : all.network;
}
const lapi_statistics_t& other_path(const Statistics& all) { return over_shared_memory() ? all.network : all.shared; }

unsigned char inbox[3 << 20];
unsigned char outbox[3 << 20];
std::vector<unsigned char*> inboxes;

void* take_message(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) { return inbox; }

template <class Send>
void counts_bytes(std::size_t sent, std::size_t received, Send send) {
  CALL(LAPI_Gfence(handle));
  const Statistics before = now();
  CALL(LAPI_Gfence(handle));  // nobody's transfers before everybody has asked
  send();
  CALL(LAPI_Gfence(handle));
  const Statistics after = now();
  EXPECT_EQUAL(path(after).Tot_data_sent - path(before).Tot_data_sent, sent);
  EXPECT_EQUAL(path(after).Tot_data_recv - path(before).Tot_data_recv, received);
  EXPECT(path(after).Tot_pkt_sent_cnt > path(before).Tot_pkt_sent_cnt);
  EXPECT(path(after).Tot_pkt_recv_cnt > path(before).Tot_pkt_recv_cnt);
  EXPECT(path(after).Tot_data_rcv == path(after).Tot_data_recv &&
         path(after).Tot_pkt_rcv_cnt == path(after).Tot_pkt_recv_cnt);
  EXPECT_EQUAL(std::memcmp(&after.local, &before.local, sizeof after.local), 0);
  if (over_several_hosts()) return;
  EXPECT_EQUAL(other_path(after).Tot_pkt_sent_cnt + other_path(after).Tot_pkt_recv_cnt, 0);
  EXPECT_EQUAL(other_path(after).Tot_data_sent + other_path(after).Tot_data_recv, 0);
}

void puts(std::size_t length) {
  counts_bytes(kPuts * length, kPuts * length, [&] {
    for (int turn = 0; turn < kPuts; ++turn) {
      CALL(LAPI_Put(handle, right(), length, inboxes[right()], outbox, nullptr, nullptr, nullptr));
    }
  });
}

void gets(std::size_t length) {
  counts_bytes(kPuts * length, kPuts * length, [&] {
    lapi_cntr_t done{};
    for (int turn = 0; turn < kPuts; ++turn) {
      CALL(LAPI_Get(handle, right(), length, inboxes[right()], outbox, nullptr, &done));
    }
    CALL(LAPI_Waitcntr(handle, &done, kPuts, nullptr));
  });
}

// The user header is not user data.
void messages(std::size_t length) {
  counts_bytes(kPuts * length, kPuts * length, [&] {
    for (int turn = 0; turn < kPuts; ++turn) {
      CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kHandler), outbox, 64, outbox, length, nullptr, nullptr,
                       nullptr));
    }
  });
}

// A local copy has no packets.
void local() {
  const auto me = static_cast<unsigned>(task);
  const Statistics before = now();
  lapi_cntr_t done{};
  CALL(LAPI_Put(handle, me, 1000, inbox, outbox, nullptr, nullptr, &done));
  CALL(LAPI_Get(handle, me, 200, inbox, outbox, nullptr, &done));
  CALL(LAPI_Amsend(handle, me, reinterpret_cast<void*>(kHandler), nullptr, 0, outbox, 30, nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 3, nullptr));
  const Statistics after = now();
  EXPECT_EQUAL(after.local.Tot_data_sent - before.local.Tot_data_sent, 1230);
  EXPECT_EQUAL(after.local.Tot_data_recv - before.local.Tot_data_recv, 1230);
  EXPECT_EQUAL(after.local.Tot_pkt_sent_cnt + after.local.Tot_pkt_recv_cnt, 0);
  EXPECT_EQUAL(path(after).Tot_data_sent, path(before).Tot_data_sent);
}

// One attachment stands for a whole long message; attachments that fail are counted as sent again.
void attachments() {
  const Statistics before = now();
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Put(handle, right(), sizeof outbox, inboxes[right()], outbox, nullptr, nullptr, nullptr));
  CALL(LAPI_Gfence(handle));
  const Statistics after = now();
  EXPECT_EQUAL(path(after).Tot_data_sent - path(before).Tot_data_sent, sizeof outbox);
  if (over_shared_memory() && after.shared.Tot_retrans_pkt_cnt == 0) {
    EXPECT(after.shared.Tot_pkt_sent_cnt - before.shared.Tot_pkt_sent_cnt < 50);
  }
}

// All three sets on standard output; the argument is left alone.
void printed() {
  std::fflush(stdout);
  char file[] = "/tmp/api_statistics.XXXXXX";
  const int scratch = mkstemp(file);
  EXPECT(scratch >= 0);
  unlink(file);
  const int output = dup(STDOUT_FILENO);
  dup2(scratch, STDOUT_FILENO);
  int untouched = 4711;
  const int code = LAPI_Qenv(handle, PRINT_STATISTICS, &untouched);
  std::fflush(stdout);
  dup2(output, STDOUT_FILENO);
  close(output);
  EXPECT_EQUAL(code, LAPI_SUCCESS);
  EXPECT_EQUAL(untouched, 4711);
  char text[8192] = "";
  const ssize_t length = pread(scratch, text, sizeof text - 1, 0);
  close(scratch);
  EXPECT(length > 0);
  const Statistics all = now();
  for (const lapi_statistics_t* set : {&all.network, &all.shared, &all.local}) {
    EXPECT(std::strstr(text, std::to_string(set->Tot_data_sent).c_str()) != nullptr);
    EXPECT(std::strstr(text, std::to_string(set->Tot_data_recv).c_str()) != nullptr);
  }
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&take_message), kHandler));
  inboxes = exchange(inbox);
  for (const std::size_t length : {std::size_t{8}, std::size_t{5000}, std::size_t{16384}, std::size_t{100000}}) {
    const std::string size = std::to_string(length);
    run(("puts of " + size + " bytes are counted").c_str(), 30, [&] { puts(length); });
    run(("gets of " + size + " bytes are counted").c_str(), 30, [&] { gets(length); });
    run(("messages of " + size + " bytes are counted").c_str(), 30, [&] { messages(length); });
  }
  run("local copies are counted", 20, local);
  run("a long message is one attachment", 20, attachments);
  run("PRINT_STATISTICS prints all", 20, printed);
  return finish();
}
