// Data gather/scatter programs that name memory which is not there, or may only be read: the call that finds
// out refuses them, or the error handler of the task where the memory is hears of it, once for the message. Counters,
// fences and other messages do not suffer, and nothing is written beside the template. To the right neighbour, and each
// task to itself. Usage:
//   lapirun -n N api_program_memory_faults [interrupt|polling]
#include "tests/system/memory_fault_case.h"

using namespace memory_fault_case;

namespace {

// ---- programs ----

// One MCOPY of the same pieces, at absolute addresses.
struct Program {
  std::vector<int> code;
  lapi_dg_handle_t which = nullptr;

  Program(const Vector& pieces, bool control, int atom_size = 0) {
    if (control) {
      auto* const instruction = append<lapi_dgsm_control_t>(LAPI_DGSM_CONTROL_SIZE);
      *instruction = {LAPI_DGSM_CONTROL, 1, 1};
    }
    const int count = static_cast<int>(pieces.info.size());
    auto* const blocks = append<lapi_dgsm_mcopy_t>(LAPI_DGSM_MCOPY_SIZE + (count - 1) * LAPI_DGSM_MCOPY_BLOCK_SIZE);
    blocks->opcode = LAPI_DGSM_MCOPY;
    blocks->count = count;
    for (std::size_t i = 0; i < pieces.info.size(); ++i) {
      blocks->block[i].block_disp = static_cast<long>(reinterpret_cast<ulong>(pieces.info[i]));
      blocks->block[i].block_len = static_cast<long>(pieces.len[i]);
    }
    const int back = static_cast<int>(code.size());
    *append<lapi_dgsm_iterate_t>(LAPI_DGSM_ITERATE_SIZE) = {LAPI_DGSM_ITERATE, -back};
    lapi_dgsp_descr_t description{};
    description.code = code.data();
    description.code_size = static_cast<int>(code.size());
    description.depth = 1;
    description.density = LAPI_DGSM_SPARSE;
    description.atom_size = atom_size;
    description.size = static_cast<long>(pieces.info.size() * pieces.len[0]);
    description.rext = description.extent = 0x7fffffffffff;
    register_it(description);
  }
  // A piece that ends in bad memory, as a program of one block.
  explicit Program(long bytes) {
    auto* const copy = append<lapi_dgsm_copy_t>(LAPI_DGSM_COPY_SIZE);
    copy->opcode = LAPI_DGSM_COPY;
    copy->bytes = bytes;
    copy->offset = 0;
    *append<lapi_dgsm_iterate_t>(LAPI_DGSM_ITERATE_SIZE) = {LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE};
    lapi_dgsp_descr_t description{};
    description.code = code.data();
    description.code_size = static_cast<int>(code.size());
    description.depth = 1;
    description.density = LAPI_DGSM_UNIT;
    description.size = description.rext = description.extent = bytes;
    register_it(description);
  }
  ~Program() {
    lapi_util_t command{};
    command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
    command.DrefDgsp.dgsp_handle = which;
    CALL(LAPI_Util(handle, &command));
  }
  Program(const Program&) = delete;

 private:
  template <class Instruction>
  Instruction* append(int size) {
    code.resize(code.size() + static_cast<std::size_t>(size));
    return reinterpret_cast<Instruction*>(&code[code.size() - static_cast<std::size_t>(size)]);
  }
  void register_it(lapi_dgsp_descr_t& description) {
    lapi_util_t command{};
    command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
    command.RegDgsp.idgsp = &description;
    CALL(LAPI_Util(handle, &command));
    which = command.RegDgsp.dgsp_handle;
  }
};

lapi_dg_handle_t program_answer = nullptr;
void* base_answer = nullptr;

void* take_program(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t** completion, void** info) {
  auto* const returned = reinterpret_cast<lapi_return_info_t*>(length);
  *completion = completed;
  *info = nullptr;
  returned->dgsp_handle = program_answer;
  returned->bytes = returned->msg_len;
  return base_answer;
}

int send_program(const Fault& fault, const Program& program, void* base, ulong bytes, lapi_cntr_t& free,
                 lapi_cntr_t& done) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Dgsp.Xfer_type = LAPI_DGSP_XFER;
  command.Dgsp.tgt = fault.target;
  command.Dgsp.hdr_hdl = kProgramHandler;
  command.Dgsp.udata = base;
  command.Dgsp.udata_len = bytes;
  command.Dgsp.dgsp = program.which;
  command.Dgsp.tgt_cntr = reinterpret_cast<ulong>(moved_of[fault.target]);
  command.Dgsp.org_cntr = &free;
  command.Dgsp.cmpl_cntr = &done;
  return LAPI_Xfer(handle, &command);
}

// A program that scatters at absolute addresses needs a base that is none: the handler's answer may not be null.
void make_relative(Vector& pieces, const unsigned char* base) {
  for (void*& piece : pieces.info) {
    piece = reinterpret_cast<void*>(reinterpret_cast<ulong>(piece) - reinterpret_cast<ulong>(base));
  }
}

void gather_from_nowhere(const Fault& fault) {
  Vector origin(own, fault.shape), there(places.memory, fault.shape);
  origin.info[fault.piece] = address(fault.kind, places, fault.shape.length);
  make_relative(there, places.memory);
  const Program gather(origin, false), scatter(there, false);
  program_answer = scatter.which;
  base_answer = places.memory;
  lapi_cntr_t free{}, done{};
  CALL(LAPI_Gfence(handle));
  const ulong bytes = fault.shape.pieces * fault.shape.length;
  origin_fault(fault, send_program(fault, gather, nullptr, bytes, free, done), LAPI_ERR_DGSP_OTHER, free, done);
}

void program_from_nowhere() { for_each_fault(false, gather_from_nowhere); }

std::atomic<int> distributed{0};
long distribute(void* in, void* inout, long bytes, int, int) {
  std::memcpy(inout, in, static_cast<std::size_t>(bytes));
  ++distributed;
  return bytes;
}

void program_to_nowhere(bool control) {
  for_each_fault(true, [=](const Fault& fault) {
    Vector origin(own, fault.shape);
    Vector there(places.memory, fault.shape);
    there.info[fault.piece] = address(fault.kind, places, fault.shape.length);
    make_relative(there, places.memory);
    const Program gather(origin, false, control ? 1 : 0), scatter(there, control);  // CONTROL needs atoms
    program_answer = scatter.which;
    base_answer = places.memory;
    completions = 0;
    lapi_cntr_t free{}, done{};
    CALL(LAPI_Gfence(handle));
    const ulong bytes = fault.shape.pieces * fault.shape.length;
    EXPECT_EQUAL(send_program(fault, gather, nullptr, bytes, free, done), LAPI_SUCCESS);
    target_fault(fault, LAPI_ERR_DGSP_OTHER, free, done);
    EXPECT_EQUAL(completions.load(), 1);
  });
}

void distribute_to_nowhere() {
  lapi_util_t command{};
  command.DdmFunc.Util_type = LAPI_REG_DDM_FUNC;
  command.DdmFunc.ddm_func = distribute;
  CALL(LAPI_Util(handle, &command));
  program_to_nowhere(true);
  EXPECT(distributed > 0);
}

// A program of one block is contiguous: it is guarded all the same.
void contiguous(bool at_origin) {
  for (const bool to_self : {false, true}) {
    for (const long bytes : {200l, 12'000l, 200'000l}) {
      const Fault fault{{1, static_cast<std::size_t>(bytes)},
                        0,
                        Bad::across,
                        to_self ? static_cast<unsigned>(task) : right(),
                        to_self ? task : left(),
                        to_self};
      std::memset(places.memory, 0xee, kMemory);
      std::memset(own, 0xee, kMemory);
      const Program both(bytes);
      program_answer = both.which;
      unsigned char* const bad = (at_origin ? places.unmapped : places.read_only) - 100;
      base_answer = at_origin ? places.memory : bad;
      lapi_cntr_t free{}, done{};
      CALL(LAPI_Gfence(handle));
      const int code = send_program(fault, both, at_origin ? bad : own, static_cast<ulong>(bytes), free, done);
      if (at_origin) {
        origin_fault(fault, code, LAPI_ERR_DGSP_OTHER, free, done);
        continue;
      }
      EXPECT_EQUAL(code, LAPI_SUCCESS);
      target_fault(fault, LAPI_ERR_DGSP_OTHER, free, done);
    }
  }
}

void contiguous_programs() {
  contiguous(true);
  contiguous(false);
}

// ---- packing, lists, verification without checks ----

void packing() {
  Vector pieces(places.memory, {10, 100});
  pieces.info[5] = places.unmapped - 50;
  const Program absolute(pieces, false);
  lapi_util_t command{};
  command.PackDgsp.Util_type = LAPI_DGSP_PACK;
  command.PackDgsp.dgsp_handle = absolute.which;
  command.PackDgsp.bytes = 1000;
  command.PackDgsp.out_buf = own;
  command.PackDgsp.out_size = kMemory;
  command.PackDgsp.position = 7;
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_DGSP_OTHER);
  EXPECT_EQUAL(command.PackDgsp.position, 7);
  pieces.info[5] = places.read_only - 50;
  const Program partly_written(pieces, false);
  command = {};
  command.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
  command.UnpackDgsp.dgsp_handle = partly_written.which;
  command.UnpackDgsp.buf = own;
  command.UnpackDgsp.in_size = kMemory;
  command.UnpackDgsp.out_size = kMemory;
  command.UnpackDgsp.bytes = 1000;
  std::memset(places.memory, 0xee, kMemory);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_DGSP_OTHER);
  EXPECT_EQUAL(command.UnpackDgsp.position, 0);
  nothing_beside(places.memory, {10, 100});
  command.PackDgsp.Util_type = LAPI_DGSP_PACK;
  command.PackDgsp.bytes = 100;  // from memory that may be read
  command.PackDgsp.in_buf = nullptr;
  command.PackDgsp.out_buf = own;
  command.PackDgsp.out_size = kMemory;
  command.PackDgsp.position = 0;
  CALL(LAPI_Util(handle, &command));
}

// Programs that were registered to be verified are guarded without ERROR_CHK.
void verified_programs() {
  EXPECT(setenv("LAPI_VERIFY_DGSP", "yes", 1) == 0);
  CALL(LAPI_Senv(handle, ERROR_CHK, 0));
  for_each_fault(false, [](const Fault& fault) {
    if (fault.shape.pieces <= 100) gather_from_nowhere(fault);
  });
  contiguous_programs();
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
  EXPECT(setenv("LAPI_VERIFY_DGSP", "no", 1) == 0);
}

}  // namespace

int main(int count, char** arguments) {
  begin_with_places(count, arguments);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&take_program), kProgramHandler));
  CALL(LAPI_Gfence(handle));
  run("programs gather from memory that is not there", 60, program_from_nowhere);
  run("programs of header handlers name memory that is not there", 60, [] { program_to_nowhere(false); });
  run("CONTROL sends data to memory that is not there", 60, distribute_to_nowhere);
  run("contiguous programs name memory that is not there", 60, contiguous_programs);
  run("packing meets memory that is not there", 20, packing);
  run("verified programs are guarded without ERROR_CHK", 60, verified_programs);
  return finish();
}
