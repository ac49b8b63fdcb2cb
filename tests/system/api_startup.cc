// The first moments of a job, again and again: LAPI_Init, LAPI_Address_init, and messages at once, while other tasks
// are still on their way. Each message is answered by its completion handler through the table that LAPI_Address_init
// has filled, and the answers have to be all there and right.
//
//   lapirun -n N api_startup [interrupt|polling] [ROUNDS]
#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kMostTasks = 64, kMessages = 8;

struct Window {
  lapi_cntr_t answered;
  lapi_cntr_t added;             // this task's answers that are counted where they belong
  std::atomic<int> answers[kMostTasks];  // of each task: the sum of what it has answered
};

Window window;
void* windows[kMostTasks];
void* handlers[kMostTasks];
std::atomic<int> asked{0};

struct Question {
  int source;
  int number;
};

void answer(lapi_handle_t* which, void* information) {
  auto* const question = static_cast<Question*>(information);
  auto* const there = static_cast<Window*>(windows[question->source]);
  CALL(LAPI_Rmw(*which, FETCH_AND_ADD, static_cast<unsigned>(question->source),
                reinterpret_cast<int*>(&there->answers[task]), &question->number, nullptr, &window.added));
  CALL(LAPI_Amsend(*which, static_cast<unsigned>(question->source), handlers[question->source], nullptr, 0, nullptr, 0,
                   &there->answered, nullptr, nullptr));
  delete question;
  ++asked;
}

// A question has a header; what has none says that an answer is complete.
void* take(lapi_handle_t*, void* user_header, uint* header_length, ulong*, compl_hndlr_t** completion,
           void** information) {
  *completion = nullptr;
  *information = nullptr;
  if (*header_length == 0) return nullptr;
  auto* const question = new Question;
  std::memcpy(question, user_header, sizeof *question);
  *completion = answer;
  *information = question;
  return nullptr;
}

void one_life() {
  window.answered = window.added = {};
  for (auto& sum : window.answers) sum = 0;
  asked = 0;
  CALL(open_context(&handle, cleared_info()));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  CALL(LAPI_Qenv(handle, NUM_TASKS, &tasks));
  EXPECT(tasks <= kMostTasks);
  if (polling) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  CALL(LAPI_Address_init(handle, reinterpret_cast<void*>(take), handlers));
  CALL(LAPI_Address_init(handle, &window, windows));
  for (int number = 1; number <= kMessages; ++number) {
    for (int other = 0; other < tasks; ++other) {
      const Question question{task, number};
      CALL(LAPI_Amsend(handle, static_cast<unsigned>(other), handlers[other], const_cast<Question*>(&question),
                       sizeof question, nullptr, 0, nullptr, nullptr, nullptr));
    }
  }
  CALL(LAPI_Waitcntr(handle, &window.answered, kMessages * tasks, nullptr));
  CALL(LAPI_Gfence(handle));
  while (asked < kMessages * tasks) CALL(LAPI_Probe(handle));
  CALL(LAPI_Waitcntr(handle, &window.added, kMessages * tasks, nullptr));
  CALL(LAPI_Gfence(handle));
  for (int other = 0; other < tasks; ++other) {
    EXPECT_EQUAL(window.answers[other].load(), kMessages * (kMessages + 1) / 2);
  }
  CALL(LAPI_Term(handle));
}

}  // namespace

int main(int count, char** arguments) {
  read_words(count, arguments);
  const int rounds = words.empty() ? 3 : std::atoi(words[0].c_str());
  std::snprintf(name, sizeof name, "first messages");
  number = 1;
  for (int round = 0; round < rounds; ++round) {
    limit(60);
    one_life();
  }
  if (task == 0) std::printf("ok 1 - first messages, %d times\n1..1\n", rounds);
  return 0;
}
