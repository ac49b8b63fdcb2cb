// The rules of data gather/scatter programs in transfers: contiguous ones are not run, CONTROL is for data that was
// gathered in atoms. To the right neighbour, and each task to itself. Usage:
//   lapirun -n N api_program_rules [interrupt|polling]
#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kRoom = 256 * 1024;
constexpr int kIndex = 12;
constexpr std::size_t sizes[] = {8, 800, 40'000, kRoom};

unsigned char outbox[kRoom], inbox[kRoom];
std::vector<void*> arrived_there;
lapi_cntr_t arrived{}, completion{};
std::atomic<int> mistakes{0}, last_mistake{0}, calls{0}, wrong{0};
std::atomic<long> operand_bytes{8};

void hear_of_mistake(lapi_handle_t*, int* code, lapi_err_t* kind, int* own_task, int* source) {
  if (*kind != LAPI_PROGRAM_ERROR || *own_task != task) ++wrong;
  if (*source != static_cast<int>(left()) && *source != task) ++wrong;
  last_mistake = *code;
  ++mistakes;
}

struct Instructions {
  std::vector<int> code;
  template <class Instruction>
  void append(const Instruction& instruction) {
    const auto at = code.size();
    code.resize(at + sizeof instruction / sizeof(int));
    std::memcpy(code.data() + at, &instruction, sizeof instruction);
  }
};

// `length` bytes in every `extent`, combined by the registered function if `control`.
lapi_dg_handle_t program_of(long length, long extent, lapi_dgsp_density_t density, int atom_size,
                            bool control = false) {
  Instructions program;
  if (control) program.append(lapi_dgsm_control_t{LAPI_DGSM_CONTROL, 1, 2});
  program.append(lapi_dgsm_copy_t{LAPI_DGSM_COPY, length, 0});
  program.append(lapi_dgsm_iterate_t{LAPI_DGSM_ITERATE, -static_cast<int>(program.code.size())});
  lapi_dgsp_descr_t description{};
  description.code = program.code.data();
  description.code_size = static_cast<int>(program.code.size());
  description.depth = 1;
  description.density = density;
  description.size = length;
  description.extent = density == LAPI_DGSM_UNIT ? length : extent;
  description.rext = length;
  description.atom_size = atom_size;
  lapi_util_t command{};
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &description;
  CALL(LAPI_Util(handle, &command));
  return command.RegDgsp.dgsp_handle;
}

// What the header handler answers with.
lapi_dg_handle_t answer = nullptr;
ulong answered_bytes = 0;

void* answer_with_program(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  info->dgsp_handle = answer;
  if (answered_bytes != 0) info->bytes = answered_bytes;
  return inbox;
}

void start() {
  fill(outbox, sizeof outbox, 100 + static_cast<unsigned long>(task));
  std::memset(inbox, 0xcd, sizeof inbox);
  mistakes = calls = wrong = 0;
  CALL(LAPI_Gfence(handle));
}

void send(unsigned target, lapi_dg_handle_t program, std::size_t bytes, unsigned header_bytes = 0) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  command.Dgsp.Xfer_type = LAPI_DGSP_XFER;
  command.Dgsp.tgt = target;
  command.Dgsp.hdr_hdl = kIndex;
  command.Dgsp.uhdr = header_bytes != 0 ? outbox : nullptr;
  command.Dgsp.uhdr_len = header_bytes;
  command.Dgsp.udata = outbox;
  command.Dgsp.udata_len = bytes;
  command.Dgsp.tgt_cntr = reinterpret_cast<ulong>(arrived_there[target]);
  command.Dgsp.cmpl_cntr = &completion;
  command.Dgsp.dgsp = program;
  CALL(LAPI_Xfer(handle, &command));
}

void wait_for_message() {
  CALL(LAPI_Waitcntr(handle, &completion, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
  CALL(LAPI_Gfence(handle));
}

unsigned long seed_from(unsigned target) { return 100 + (target == right() ? left() : target); }

// The descriptions say that the data is contiguous, the codes that it is not: whoever runs a code is found out.
void contiguous_programs_do_not_run() {
  const lapi_dg_handle_t plain = program_of(5, 13, LAPI_DGSM_UNIT, 0), atoms = program_of(8, 13, LAPI_DGSM_UNIT, 8);
  for (const unsigned target : {right(), static_cast<unsigned>(task)}) {
    for (const lapi_dg_handle_t gather : {plain, atoms}) {
      for (const std::size_t size : sizes) {
        for (const int checks : {0, 1}) {
          CALL(LAPI_Senv(handle, ERROR_CHK, checks));
          answer = checks ? atoms : plain;
          start();
          send(target, gather, size);
          wait_for_message();
          EXPECT(holds(inbox, size, seed_from(target)));
          EXPECT(size == kRoom || inbox[size] == 0xcd);
        }
      }
    }
  }
  CALL(LAPI_Senv(handle, ERROR_CHK, 0));
}

void part_of_a_contiguous_message() {
  answer = program_of(5, 13, LAPI_DGSM_UNIT, 0);
  for (const unsigned target : {right(), static_cast<unsigned>(task)}) {
    for (const std::size_t size : sizes) {
      answered_bytes = size - 3;
      start();
      send(target, answer, size);
      wait_for_message();
      EXPECT(holds(inbox, size - 3, seed_from(target)));
      EXPECT_EQUAL(inbox[size - 3], 0xcd);
    }
  }
  answered_bytes = 0;
}

void contiguous_packing() {
  const lapi_dg_handle_t program = program_of(5, 13, LAPI_DGSM_UNIT, 0);
  start();
  for (const std::size_t size : sizes) {
    lapi_util_t command{};
    command.PackDgsp.Util_type = LAPI_DGSP_PACK;
    command.PackDgsp.dgsp_handle = program;
    command.PackDgsp.in_buf = outbox;
    command.PackDgsp.bytes = size;
    command.PackDgsp.out_buf = inbox;
    command.PackDgsp.out_size = sizeof inbox;
    CALL(LAPI_Util(handle, &command));
    EXPECT(holds(inbox, size, 100 + static_cast<unsigned long>(task)));
    std::memset(inbox, 0xcd, sizeof inbox);
    command = {};
    command.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
    command.UnpackDgsp.dgsp_handle = program;
    command.UnpackDgsp.buf = outbox;
    command.UnpackDgsp.in_size = sizeof outbox;
    command.UnpackDgsp.out_buf = inbox;
    command.UnpackDgsp.out_size = sizeof inbox;
    command.UnpackDgsp.bytes = size;
    CALL(LAPI_Util(handle, &command));
    EXPECT(holds(inbox, size, 100 + static_cast<unsigned long>(task)));
  }
}

long copy_and_count(void* in, void* inout, long bytes, int operand, int operation) {
  if (operand != 2 || operation != 1 || bytes % operand_bytes != 0) ++wrong;
  std::memcpy(inout, in, static_cast<std::size_t>(bytes));
  ++calls;
  return bytes;
}

void expect_refused() {
  wait_for_message();
  while (mistakes == 0) CALL(LAPI_Probe(handle));
  EXPECT_EQUAL(mistakes.load(), 1);
  EXPECT_EQUAL(last_mistake.load(), LAPI_ERR_DGSP_CTL);
  EXPECT_EQUAL(calls.load() + wrong.load(), 0);
  for (const unsigned char byte : inbox) EXPECT_EQUAL(byte, 0xcd);
  CALL(LAPI_Gfence(handle));
}

// Without an atom size packets may end inside of an operand: the message is buried, the target's error handler is told.
void control_needs_atoms() {
  lapi_util_t function{};
  function.DdmFunc.Util_type = LAPI_REG_DDM_FUNC;
  function.DdmFunc.ddm_func = copy_and_count;
  CALL(LAPI_Util(handle, &function));
  answer = program_of(8, 8, LAPI_DGSM_SPARSE, 0, true);
  const lapi_dg_handle_t unit = program_of(8, 8, LAPI_DGSM_UNIT, 0), sparse = program_of(8, 8, LAPI_DGSM_SPARSE, 0),
                         atoms = program_of(8, 8, LAPI_DGSM_SPARSE, 8),
                         unit_atoms = program_of(8, 8, LAPI_DGSM_UNIT, 8),
                         gaps = program_of(16, 24, LAPI_DGSM_SPARSE, 0),
                         gap_atoms = program_of(16, 24, LAPI_DGSM_SPARSE, 8);
  for (const unsigned target : {right(), static_cast<unsigned>(task)}) {
    for (const std::size_t size : {8u, 800u, 40'000u}) {
      for (const lapi_dg_handle_t without : {unit, sparse, gaps}) {
        start();
        send(target, without, size);
        expect_refused();
      }
      // The guide forbids a program as the answer to LAPI_Amsend, which knows no atoms.
      start();
      CALL(LAPI_Amsend(handle, target, reinterpret_cast<void*>(kIndex), nullptr, 0, outbox, size,
                       static_cast<lapi_cntr_t*>(arrived_there[target]), nullptr, &completion));
      expect_refused();
      for (const lapi_dg_handle_t with : {atoms, unit_atoms, gap_atoms}) {
        start();
        send(target, with, size);
        wait_for_message();
        EXPECT_EQUAL(static_cast<std::size_t>(calls.load()), size / 8);
        EXPECT_EQUAL(mistakes.load() + wrong.load(), 0);
        for (std::size_t at = 0; at < size; ++at) {
          EXPECT_EQUAL(inbox[at], pattern(seed_from(target), with == gap_atoms ? at / 16 * 24 + at % 16 : at));
        }
        CALL(LAPI_Gfence(handle));
      }
    }
  }
}

// The first packet has the whole user header: no part of an operand fills what is left of it.
void operands_behind_long_user_headers() {
  const auto longest = static_cast<unsigned>(query(MAX_UHDR_SZ));
  const unsigned target = right();
  for (const long operand : {8L, 64L}) {
    operand_bytes = operand;
    answer = program_of(operand, operand, LAPI_DGSM_SPARSE, 0, true);
    const lapi_dg_handle_t atoms = program_of(operand, operand, LAPI_DGSM_SPARSE, static_cast<int>(operand));
    for (const std::size_t size : {64u, 128u, 6400u}) {
      for (unsigned shorter = 0; shorter <= 160; shorter += 4) {
        start();
        send(target, atoms, size, longest - shorter);
        wait_for_message();
        EXPECT_EQUAL(static_cast<long>(calls.load()), static_cast<long>(size) / operand);
        EXPECT_EQUAL(mistakes.load() + wrong.load(), 0);
        EXPECT(holds(inbox, size, seed_from(target)));
        CALL(LAPI_Gfence(handle));
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = hear_of_mistake;
  begin(count, arguments, info);
  arrived_there.resize(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(handle, &arrived, arrived_there.data()));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&answer_with_program), kIndex));
  run("contiguous programs do not run", 60, contiguous_programs_do_not_run);
  run("part of a contiguous message", 30, part_of_a_contiguous_message);
  run("contiguous programs pack without running", 30, contiguous_packing);
  run("CONTROL needs data in atoms", 60, control_needs_atoms);
  run("operands behind long user headers", 60, operands_behind_long_user_headers);
  return finish();
}
