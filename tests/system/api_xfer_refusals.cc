// What LAPI_Xfer refuses of vectors and of data gather/scatter programs: the mistakes of LAPI_Putv, LAPI_Getv,
// LAPI_Amsendv and LAPI_Util, each with the code that it has there. A refused command moves nothing. Usage:
//   lapirun -n N api_xfer_refusals [interrupt|polling]
#include <set>

#include "tests/system/gather_scatter_case.h"
#include "tests/system/vector_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kMemory = 64 * kRows;

unsigned char memory[kMemory], own[kMemory];
std::vector<unsigned char*> memories;
std::vector<lapi_cntr_t*> counters;
lapi_cntr_t arrived{}, origin_counter{}, completion{};
int handled = 0;

void count_send(lapi_handle_t*, void*, lapi_sh_info_t*) { ++handled; }
void count_get(lapi_handle_t*, void*) { ++handled; }
void* count_message(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  ++handled;
  return nullptr;
}

template <class Part>
lapi_xfer_t command_of(Part lapi_xfer_t::*part, lapi_xfer_type_t type) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  Part& fields = command.*part;
  fields.Xfer_type = type;
  fields.tgt = right();
  fields.tgt_cntr = reinterpret_cast<ulong>(counters[right()]);
  fields.org_cntr = &origin_counter;
  return command;
}

constexpr lapi_long_t kHandler = 9;

void nothing_happened() {
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(counter_value(origin_counter) + counter_value(completion) + counter_value(arrived), 0);
  EXPECT_EQUAL(handled, 0);
  for (const unsigned char byte : memory) EXPECT_EQUAL(byte, 0xee);
}

// The numbers of a vector as lapi_lvec_t has them; a null pointer stays one.
struct WideVector {
  lapi_long_t info[3] = {}, len[3] = {};
  lapi_lvec_t vector{};
  bool given;

  explicit WideVector(const lapi_vec_t* narrow) : given(narrow != nullptr) {
    if (!given) return;
    const uint count = narrow->vec_type == LAPI_GEN_STRIDED_XFER ? 3 : narrow->num_vecs;
    for (uint i = 0; i < count; ++i) {
      if (narrow->info != nullptr) info[i] = reinterpret_cast<ulong>(narrow->info[i]);
      if (narrow->len != nullptr) len[i] = narrow->len[i];
    }
    vector = {narrow->vec_type, narrow->num_vecs, narrow->info != nullptr ? info : nullptr,
              narrow->len != nullptr ? len : nullptr};
  }
  lapi_lvec_t* pointer() { return given ? &vector : nullptr; }
};

int put_vector(lapi_vec_t* there, lapi_vec_t* origin, int flags) {
  WideVector wide(there);
  lapi_xfer_t command = command_of(&lapi_xfer_t::Putv, LAPI_PUTV_XFER);
  command.Putv.flags = flags;
  command.Putv.shdlr = count_send;
  command.Putv.org_vec = origin;
  command.Putv.tgt_vec = flags != 0 ? static_cast<void*>(there) : wide.pointer();
  command.Putv.cmpl_cntr = &completion;
  return LAPI_Xfer(handle, &command);
}

int get_vector(lapi_vec_t* there, lapi_vec_t* origin, int flags) {
  WideVector wide(there);
  lapi_xfer_t command = command_of(&lapi_xfer_t::Getv, LAPI_GETV_XFER);
  command.Getv.flags = flags;
  command.Getv.chndlr = count_get;
  command.Getv.org_vec = origin;
  command.Getv.tgt_vec = flags != 0 ? static_cast<void*>(there) : wide.pointer();
  return LAPI_Xfer(handle, &command);
}

int send_vector(lapi_vec_t* origin) {
  lapi_xfer_t command = command_of(&lapi_xfer_t::Amv, LAPI_AMV_XFER);
  command.Amv.hdr_hdl = kHandler;
  command.Amv.shdlr = count_send;
  command.Amv.org_vec = origin;
  command.Amv.cmpl_cntr = &completion;
  return LAPI_Xfer(handle, &command);
}

void wrong_vectors() {
  for (const int flags : {0, USE_TGT_VEC_TYPE}) {
    const VectorMistakes mistakes(
        own, memories[right()],
        {[flags](lapi_vec_t* there, lapi_vec_t* origin) { return put_vector(there, origin, flags); },
         [flags](lapi_vec_t* there, lapi_vec_t* origin) { return get_vector(there, origin, flags); }, send_vector});
    mistakes.check_all();
    nothing_happened();
  }
}

void unregister(lapi_dg_handle_t which) {
  lapi_util_t command{};
  command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
  command.DrefDgsp.dgsp_handle = which;
  CALL(LAPI_Util(handle, &command));
}

// Registered without verification. What nothing can be gathered with is refused with its code; what is only wrong in
// its description would be sent, and is not tried. Nor is a program that its user calls a unit while arguments are not
// checked: it is not run.
void wrong_programs() {
  std::set<int> found;
  for (const int checks : {1, 0}) {
    CALL(LAPI_Senv(handle, ERROR_CHK, checks));
    for (const Mistake& mistake : mistakes()) {
      Program program = with_mistake(mistake);
      lapi_dg_handle_t which = nullptr;
      if (register_as(program, &which) != LAPI_SUCCESS) continue;  // what no copy can be made of
      const bool believed = checks == 0 && program.description.density == LAPI_DGSM_UNIT;
      if (mistake.runs || believed) {
        unregister(which);
        continue;
      }
      lapi_xfer_t command = command_of(&lapi_xfer_t::Dgsp, LAPI_DGSP_XFER);
      command.Dgsp.hdr_hdl = kHandler;
      command.Dgsp.udata = own;
      command.Dgsp.udata_len = 4;
      command.Dgsp.shdlr = count_send;
      command.Dgsp.cmpl_cntr = &completion;
      command.Dgsp.dgsp = which;
      const int code = LAPI_Xfer(handle, &command);
      if (code != mistake.code) fail((std::string(mistake.name) + " gave " + std::to_string(code)).c_str());
      found.insert(code);
      unregister(which);
    }
    nothing_happened();
  }
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
  for (const int code : {LAPI_ERR_DGSP_OPC, LAPI_ERR_DGSP_COPY_SZ, LAPI_ERR_DGSP_BRANCH, LAPI_ERR_DGSP_STACK,
                         LAPI_ERR_DGSP_REPS, LAPI_ERR_DGSP_CTL, LAPI_ERR_DGSP_OTHER}) {
    if (!found.contains(code)) fail(("no program was refused with " + std::to_string(code)).c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  std::memset(memory, 0xee, sizeof memory);
  memories = exchange(memory);
  counters = exchange(&arrived);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&count_message), static_cast<int>(kHandler)));
  CALL(LAPI_Gfence(handle));
  run("every mistake in a vector has its code", 30, wrong_vectors);
  run("every mistake in a program has its code", 30, wrong_programs);
  return finish();
}
