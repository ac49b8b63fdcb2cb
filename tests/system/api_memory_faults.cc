// Vectors that name memory which is not there, or may only be read: the call that finds
// out refuses them, or the error handler of the task where the memory is hears of it, once for the message. Counters,
// fences and other messages do not suffer, and nothing is written beside the template. To the right neighbour, and each
// task to itself. Usage:
//   lapirun -n N api_memory_faults [interrupt|polling]
#include "tests/system/memory_fault_case.h"

using namespace memory_fault_case;

namespace {

void put_from_nowhere() {
  for_each_fault(false, [](const Fault& fault) {
    Vector origin(own, fault.shape), there(all_places[fault.target].memory, fault.shape);
    origin.info[fault.piece] = address(fault.kind, places, fault.shape.length);
    lapi_cntr_t free{}, done{};
    const int code =
        LAPI_Putv(handle, fault.target, &there.vector, &origin.vector, moved_of[fault.target], &free, &done);
    origin_fault(fault, code, LAPI_ERR_ORG_VEC_ADDR, free, done);
  });
}

void put_to_nowhere() {
  for_each_fault(true, [](const Fault& fault) {
    Vector origin(own, fault.shape), there(all_places[fault.target].memory, fault.shape);
    there.info[fault.piece] = address(fault.kind, all_places[fault.target], fault.shape.length);
    lapi_cntr_t free{}, done{};
    const int code =
        LAPI_Putv(handle, fault.target, &there.vector, &origin.vector, moved_of[fault.target], &free, &done);
    if (!fault.to_self) {
      EXPECT_EQUAL(code, LAPI_SUCCESS);
      return target_fault(fault, LAPI_ERR_TGT_VEC_ADDR, free, done);
    }
    EXPECT_EQUAL(code, LAPI_ERR_TGT_VEC_ADDR);
    has_heard(0, 0);
    EXPECT(counter_value(free) == 0 && counter_value(done) == 0 && counter_value(moved) == 0);
    nothing_beside(places.memory, fault.shape);
    others_arrive(fault);
  });
}

// Whose vector is bad: the target's, which is read, or the origin's, which is written.
void get(bool target_is_bad) {
  for_each_fault(!target_is_bad, [=](const Fault& fault) {
    Vector here(own, fault.shape), there(all_places[fault.target].memory, fault.shape);
    (target_is_bad ? there : here).info[fault.piece] =
        address(fault.kind, target_is_bad ? all_places[fault.target] : places, fault.shape.length);
    const int wanted = target_is_bad ? LAPI_ERR_TGT_VEC_ADDR : LAPI_ERR_ORG_VEC_ADDR;
    lapi_cntr_t got{};
    const int code = LAPI_Getv(handle, fault.target, &there.vector, &here.vector, moved_of[fault.target], &got);
    if (fault.to_self) {
      EXPECT_EQUAL(code, wanted);
      has_heard(0, 0);
    } else {
      EXPECT_EQUAL(code, LAPI_SUCCESS);
      CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
      CALL(LAPI_Waitcntr(handle, &moved, 1, nullptr));
      has_heard(wanted, target_is_bad ? fault.from : static_cast<int>(fault.target));
    }
    EXPECT(counter_value(got) == 0 && counter_value(moved) == 0);
    nothing_beside(own, fault.shape);
    others_arrive(fault);
  });
}

// ---- messages ----

lapi_vec_t* vector_answer = nullptr;
lapi_vec_t* take_vector(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void** info) {
  *completion = completed;
  *info = nullptr;
  return vector_answer;
}

int send_vector(const Fault& fault, Vector& origin, lapi_cntr_t& free, lapi_cntr_t& done) {
  return LAPI_Amsendv(handle, fault.target, reinterpret_cast<void*>(kVectorHandler), nullptr, 0, &origin.vector,
                      moved_of[fault.target], &free, &done);
}

void message_from_nowhere() {
  for_each_fault(false, [](const Fault& fault) {
    Vector origin(own, fault.shape), answer(places.memory, fault.shape);
    vector_answer = &answer.vector;
    origin.info[fault.piece] = address(fault.kind, places, fault.shape.length);
    lapi_cntr_t free{}, done{};
    CALL(LAPI_Gfence(handle));
    origin_fault(fault, send_vector(fault, origin, free, done), LAPI_ERR_ORG_VEC_ADDR, free, done);
  });
}

void message_to_nowhere() {
  for_each_fault(true, [](const Fault& fault) {
    Vector origin(own, fault.shape), answer(places.memory, fault.shape, LAPI_GEN_IOVECTOR);
    answer.info[fault.piece] = address(fault.kind, places, fault.shape.length);
    vector_answer = &answer.vector;
    completions = 0;
    lapi_cntr_t free{}, done{};
    CALL(LAPI_Gfence(handle));
    EXPECT_EQUAL(send_vector(fault, origin, free, done), LAPI_SUCCESS);
    target_fault(fault, LAPI_ERR_TGT_VEC_ADDR, free, done);
    EXPECT_EQUAL(completions.load(), 1);
  });
}

void lists_in_bad_memory() {
  Vector good(own, {4, 100}), there(all_places[right()].memory, {4, 100});
  lapi_vec_t bad = good.vector;
  auto* const header_handler = reinterpret_cast<void*>(kVectorHandler);
  const auto refused = [&](lapi_vec_t* wrong) {
    RETURNS(LAPI_Putv(handle, right(), &there.vector, wrong, nullptr, nullptr, nullptr), LAPI_ERR_ORG_VEC_ADDR);
    RETURNS(LAPI_Getv(handle, right(), &there.vector, wrong, nullptr, nullptr), LAPI_ERR_ORG_VEC_ADDR);
    RETURNS(LAPI_Amsendv(handle, right(), header_handler, nullptr, 0, wrong, nullptr, nullptr, nullptr),
            LAPI_ERR_ORG_VEC_ADDR);
    RETURNS(LAPI_Putv(handle, right(), wrong, &good.vector, nullptr, nullptr, nullptr), LAPI_ERR_TGT_VEC_ADDR);
  };
  bad.info = reinterpret_cast<void**>(places.unmapped - 2 * sizeof(void*));
  refused(&bad);
  bad = good.vector;
  bad.len = reinterpret_cast<ulong*>(gone);
  refused(&bad);
  bad.vec_type = LAPI_GEN_STRIDED_XFER;
  bad.info = reinterpret_cast<void**>(gone);
  RETURNS(LAPI_Putv(handle, right(), &there.vector, &bad, nullptr, nullptr, nullptr), LAPI_ERR_ORG_VEC_ADDR);
}

}  // namespace

int main(int count, char** arguments) {
  begin_with_places(count, arguments);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&take_vector), kVectorHandler));
  CALL(LAPI_Gfence(handle));
  run("LAPI_Putv gathers from memory that is not there", 60, put_from_nowhere);
  run("LAPI_Putv scatters to memory that is not there", 60, put_to_nowhere);
  run("LAPI_Getv gathers from memory that is not there", 60, [] { get(true); });
  run("LAPI_Getv scatters to memory that is not there", 60, [] { get(false); });
  run("LAPI_Amsendv gathers from memory that is not there", 60, message_from_nowhere);
  run("vectors of header handlers name memory that is not there", 60, message_to_nowhere);
  run("lists of vectors lie in memory that is not there", 20, lists_in_bad_memory);
  return finish();
}
