// LAPI_Xfer with data that is not contiguous: LAPI_PUTV_XFER, LAPI_GETV_XFER, LAPI_AMV_XFER with both kinds of target
// vectors, and LAPI_DGSP_XFER, gathered and scattered by programs, accumulated, and at absolute addresses. To the right
// neighbour, and each task to itself. Usage:
//   lapirun -n N api_xfer_layouts [interrupt|polling]
#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kRoom = 3u << 20;
constexpr std::size_t kBlock = 24, kStride = 40;  // of the strided layouts
constexpr lapi_long_t kVectorIndex = 11, kProgramIndex = 12;

struct Window {
  lapi_cntr_t arrived;
  alignas(64) unsigned char bytes[kRoom];
};
Window* window = nullptr;
std::vector<lapi_long_t> windows;
alignas(64) unsigned char outbox[kRoom];
lapi_cntr_t origin{}, completion{};
std::atomic<int> told{0}, wrong{0}, mistakes{0}, last_mistake{0};

void sent(lapi_handle_t* which, void* info, lapi_sh_info_t* what) {
  if (*which != handle || what->reason != LAPI_SUCCESS || info != &told) ++wrong;
  ++told;
}

void fetched(lapi_handle_t* which, void* info) {
  if (*which != handle || info != &told) ++wrong;
  ++told;
}

void hear_of_mistake(lapi_handle_t*, int* code, lapi_err_t* kind, int*, int*) {
  if (*kind != LAPI_PROGRAM_ERROR) ++wrong;
  last_mistake = *code;
  ++mistakes;
}

std::vector<unsigned> both_targets() { return {right(), static_cast<unsigned>(task)}; }
unsigned long seed_of(unsigned target) { return 100 + (target == static_cast<unsigned>(task) ? target : left()); }

template <class Part>
lapi_xfer_t command_of(Part lapi_xfer_t::*part, lapi_xfer_type_t type, unsigned target) {
  lapi_xfer_t command;
  std::memset(&command, 0, sizeof command);
  Part& fields = command.*part;
  fields.Xfer_type = type;
  fields.tgt = target;
  fields.tgt_cntr = windows[target] + offsetof(Window, arrived);
  fields.org_cntr = &origin;
  return command;
}

void start() {
  told = wrong = 0;
  fill(outbox, sizeof outbox, 100 + static_cast<unsigned long>(task));
  std::memset(window->bytes, 0xcd, sizeof window->bytes);
  CALL(LAPI_Gfence(handle));
}

void wait_for_all(bool completes = true) {
  while (told == 0) CALL(LAPI_Probe(handle));
  CALL(LAPI_Waitcntr(handle, &origin, 1, nullptr));
  if (completes) CALL(LAPI_Waitcntr(handle, &completion, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &window->arrived, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(told.load(), 1);
  EXPECT_EQUAL(wrong.load(), 0);
}

// `bytes` lies in blocks of kBlock every kStride bytes and holds the pattern from `first` on; between them nothing was
// written.
bool holds_strided(const unsigned char* bytes, std::size_t blocks, unsigned long seed, std::size_t source_stride) {
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t at = 0; at < kStride; ++at) {
      const unsigned char wanted = at < kBlock ? pattern(seed, block * source_stride + at) : 0xcd;
      if (bytes[block * kStride + at] != wanted) return false;
    }
  }
  return true;
}

std::size_t block_counts[] = {1, 3, 100, 2000, 50'000};

// A strided vector's numbers, as lapi_vec_t and as lapi_lvec_t.
struct Blocks {
  Blocks(lapi_long_t base, std::size_t stride, std::size_t count) : wide{base, kBlock, stride} {
    for (int i = 0; i < 3; ++i) narrow[i] = reinterpret_cast<void*>(wide[i]);
    vector.vec_type = LAPI_GEN_STRIDED_XFER;
    vector.num_vecs = static_cast<uint>(count);
    vector.info = narrow;
    vector.len = nullptr;
    wide_vector = {LAPI_GEN_STRIDED_XFER, static_cast<uint>(count), wide, nullptr};
  }
  lapi_long_t wide[3];
  void* narrow[3];
  lapi_vec_t vector;
  lapi_lvec_t wide_vector;
};

void put_vectors() {
  for (const unsigned target : both_targets()) {
    for (const std::size_t count : block_counts) {
      for (const bool as_own_type : {false, true}) {
        start();
        Blocks from(reinterpret_cast<ulong>(outbox), kBlock + 8, count);
        Blocks to(windows[target] + offsetof(Window, bytes), kStride, count);
        lapi_xfer_t command = command_of(&lapi_xfer_t::Putv, LAPI_PUTV_XFER, target);
        command.Putv.flags = as_own_type ? USE_TGT_VEC_TYPE : 0;
        command.Putv.shdlr = sent;
        command.Putv.sinfo = &told;
        command.Putv.org_vec = &from.vector;
        command.Putv.tgt_vec = as_own_type ? static_cast<void*>(&to.vector) : &to.wide_vector;
        command.Putv.cmpl_cntr = &completion;
        CALL(LAPI_Xfer(handle, &command));
        wait_for_all();
        EXPECT(holds_strided(window->bytes, count, seed_of(target), kBlock + 8));
        CALL(LAPI_Gfence(handle));
      }
    }
  }
}

// Lists: pieces of 100 + i % 50 bytes, the empty ones included, from one end of the buffer and to the other.
void get_vectors() {
  for (const unsigned target : both_targets()) {
    for (const bool as_own_type : {false, true}) {
      start();
      fill(window->bytes, sizeof window->bytes, 100 + static_cast<unsigned long>(task));
      CALL(LAPI_Gfence(handle));
      constexpr std::size_t kPieces = 3000;
      std::vector<void*> from(kPieces), to(kPieces);
      std::vector<ulong> lengths(kPieces);
      std::vector<lapi_long_t> wide_from(kPieces), wide_lengths(kPieces);
      for (std::size_t i = 0; i < kPieces; ++i) {
        lengths[i] = i % 7 == 0 ? 0 : 100 + i % 50;
        wide_from[i] = windows[target] + offsetof(Window, bytes) + i * 200;
        from[i] = reinterpret_cast<void*>(wide_from[i]);
        wide_lengths[i] = lengths[i];
        to[i] = outbox + (kPieces - 1 - i) * 300;
      }
      lapi_vec_t into = {LAPI_GEN_IOVECTOR, kPieces, to.data(), lengths.data()};
      lapi_vec_t source = {LAPI_GEN_IOVECTOR, kPieces, from.data(), lengths.data()};
      lapi_lvec_t wide_source = {LAPI_GEN_IOVECTOR, kPieces, wide_from.data(), wide_lengths.data()};
      lapi_xfer_t command = command_of(&lapi_xfer_t::Getv, LAPI_GETV_XFER, target);
      command.Getv.flags = as_own_type ? USE_TGT_VEC_TYPE : 0;
      command.Getv.org_vec = &into;
      command.Getv.tgt_vec = as_own_type ? static_cast<void*>(&source) : &wide_source;
      command.Getv.chndlr = fetched;
      command.Getv.cinfo = &told;
      std::memset(outbox, 0xcd, sizeof outbox);
      CALL(LAPI_Xfer(handle, &command));
      wait_for_all(false);
      for (std::size_t i = 0; i < kPieces; ++i) {
        const auto* piece = static_cast<unsigned char*>(to[i]);
        for (std::size_t at = 0; at < 300; ++at) {
          EXPECT_EQUAL(piece[at], at < lengths[i] ? pattern(100 + target, i * 200 + at) : 0xcd);
        }
      }
      CALL(LAPI_Gfence(handle));
    }
  }
}

Blocks* answer = nullptr;
std::atomic<ulong> length_seen{0};

void* answer_with_vector(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t**, void**) {
  if (!holds(header, *header_length, 9)) ++wrong;
  length_seen = *length;
  return &answer->vector;
}

void vector_messages() {
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&answer_with_vector), static_cast<int>(kVectorIndex)));
  unsigned char header[40];
  fill(header, sizeof header, 9);
  for (const unsigned target : both_targets()) {
    for (const std::size_t count : block_counts) {
      Blocks from(reinterpret_cast<ulong>(outbox), kBlock + 8, count);
      Blocks to(reinterpret_cast<ulong>(window->bytes), kStride, count);
      answer = &to;
      start();
      lapi_xfer_t command = command_of(&lapi_xfer_t::Amv, LAPI_AMV_XFER, target);
      command.Amv.hdr_hdl = kVectorIndex;
      command.Amv.uhdr = header;
      command.Amv.uhdr_len = sizeof header;
      command.Amv.shdlr = sent;
      command.Amv.sinfo = &told;
      command.Amv.org_vec = &from.vector;
      command.Amv.cmpl_cntr = &completion;
      CALL(LAPI_Xfer(handle, &command));
      wait_for_all();
      EXPECT_EQUAL(length_seen.load(), count * kBlock);
      EXPECT(holds_strided(window->bytes, count, seed_of(target), kBlock + 8));
      CALL(LAPI_Gfence(handle));
    }
  }
}

// ---- programs ----

lapi_dg_handle_t register_program(std::vector<int> code, lapi_dgsp_density_t density, long size, long extent, long lext,
                                  long rext, int atom_size) {
  lapi_dgsp_descr_t description{};
  description.code = code.data();
  description.code_size = static_cast<int>(code.size());
  description.depth = 1;
  description.density = density;
  description.size = size;
  description.extent = extent;
  description.lext = lext;
  description.rext = rext;
  description.atom_size = atom_size;
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &description;
  CALL(LAPI_Util(handle, &command));
  return command.RegDgsp.dgsp_handle;
}

void append(std::vector<int>& code, const void* instruction, int ints) {
  const auto at = code.size();
  code.resize(at + static_cast<std::size_t>(ints));
  std::memcpy(code.data() + at, instruction, static_cast<std::size_t>(ints) * sizeof(int));
}

std::vector<int> code_of_copy(long bytes, long offset, const lapi_dgsm_control_t* control = nullptr) {
  std::vector<int> code;
  if (control != nullptr) append(code, control, LAPI_DGSM_CONTROL_SIZE);
  const lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, bytes, offset};
  append(code, &copy, LAPI_DGSM_COPY_SIZE);
  const lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -static_cast<int>(code.size())};
  append(code, &iterate, LAPI_DGSM_ITERATE_SIZE);
  return code;
}

// One block of kBlock bytes in every `extent`.
lapi_dg_handle_t blocks_program(long extent, int atom_size = 0) {
  return register_program(code_of_copy(kBlock, 0), LAPI_DGSM_SPARSE, kBlock, extent, 0, kBlock, atom_size);
}

struct Answer {
  void* buffer = nullptr;
  lapi_dg_handle_t program = nullptr;
  ulong bytes = 0;  // 0: as it was
};
Answer program_answer;

void* answer_with_program(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  length_seen = info->msg_len;
  if (info->bytes != info->msg_len || info->dgsp_handle != nullptr) ++wrong;
  info->dgsp_handle = program_answer.program;
  if (program_answer.bytes != 0) info->bytes = program_answer.bytes;
  return program_answer.buffer;
}

void send_program(unsigned target, lapi_dg_handle_t program, const void* data, std::size_t length, int flags = 0) {
  lapi_xfer_t command = command_of(&lapi_xfer_t::Dgsp, LAPI_DGSP_XFER, target);
  command.Dgsp.flags = flags;
  command.Dgsp.hdr_hdl = kProgramIndex;
  command.Dgsp.udata = const_cast<void*>(data);
  command.Dgsp.udata_len = length;
  command.Dgsp.shdlr = sent;
  command.Dgsp.sinfo = &told;
  command.Dgsp.cmpl_cntr = &completion;
  command.Dgsp.dgsp = program;
  command.Dgsp.status = 77;
  CALL(LAPI_Xfer(handle, &command));
  EXPECT_EQUAL(command.Dgsp.status, LAPI_SUCCESS);
  wait_for_all();
  EXPECT_EQUAL(length_seen.load(), length);
}

lapi_dg_handle_t gather_program = nullptr, scatter_program = nullptr, atoms_program = nullptr;

void programs_on_both_sides() {
  for (const unsigned target : both_targets()) {
    for (const std::size_t count : block_counts) {
      for (const lapi_dg_handle_t gather : {gather_program, atoms_program}) {
        program_answer = {window->bytes, scatter_program, 0};
        start();
        send_program(target, gather, outbox, count * kBlock);
        EXPECT(holds_strided(window->bytes, count, seed_of(target), kBlock + 8));
        // To contiguous memory.
        program_answer = {window->bytes, nullptr, 0};
        start();
        send_program(target, gather, outbox, count * kBlock);
        for (std::size_t at = 0; at < count * kBlock; ++at) {
          const std::size_t place = at / kBlock * (kBlock + 8) + at % kBlock;
          if (window->bytes[at] != pattern(seed_of(target), place)) EXPECT_EQUAL(at, ~0ul);
        }
        EXPECT_EQUAL(window->bytes[count * kBlock], 0xcd);
        CALL(LAPI_Gfence(handle));
      }
    }
  }
}

// `udata` NULL: the program's offsets are addresses.
void absolute_addresses() {
  const auto base = reinterpret_cast<long>(outbox);
  const lapi_dg_handle_t absolute =
      register_program(code_of_copy(1000, base + 64), LAPI_DGSM_CONTIG, 1000, 1200, base + 64, base + 1064, 0);
  const lapi_dg_handle_t unit =
      register_program(code_of_copy(8, base + 8), LAPI_DGSM_UNIT, 8, 8, base + 8, base + 16, 0);
  for (const unsigned target : both_targets()) {
    program_answer = {window->bytes, nullptr, 0};
    start();
    send_program(target, absolute, nullptr, 2500);
    for (std::size_t at = 0; at < 2500; ++at) {
      EXPECT_EQUAL(window->bytes[at], pattern(seed_of(target), 64 + at / 1000 * 1200 + at % 1000));
    }
    start();
    send_program(target, unit, nullptr, 100'000);
    for (std::size_t at = 0; at < 100'000; ++at) EXPECT_EQUAL(window->bytes[at], pattern(seed_of(target), at + 8));
    CALL(LAPI_Gfence(handle));
  }
}

// The program is sparse and the flag says that it does not matter.
void both_contiguous() {
  for (const unsigned target : both_targets()) {
    program_answer = {window->bytes, nullptr, 0};
    start();
    send_program(target, gather_program, outbox, 50'000, BUFFER_BOTH_CONTIGUOUS);
    EXPECT(holds(window->bytes, 50'000, seed_of(target)));
    CALL(LAPI_Gfence(handle));
  }
}

// `bytes` smaller than the message, in the middle of a repetition.
void some_bytes() {
  for (const unsigned target : both_targets()) {
    for (const std::size_t count : block_counts) {
      program_answer = {window->bytes, scatter_program, (count - 1) * kBlock + 5};
      start();
      send_program(target, gather_program, outbox, count * kBlock);
      EXPECT(holds_strided(window->bytes, count - 1, seed_of(target), kBlock + 8));
      const unsigned char* last = window->bytes + (count - 1) * kStride;
      EXPECT_EQUAL(last[4], pattern(seed_of(target), (count - 1) * (kBlock + 8) + 4));
      EXPECT_EQUAL(last[5], 0xcd);
      CALL(LAPI_Gfence(handle));
    }
  }
}

std::atomic<int> odd_calls{0};

// Adds doubles, times the operand. Every call has whole numbers.
long accumulate(void* in, void* inout, long bytes, int operand, int operation) {
  if (bytes % 8 != 0 || operation != 4) ++odd_calls;
  for (long at = 0; at + 8 <= bytes; at += 8) {
    double one, other;
    std::memcpy(&one, static_cast<char*>(in) + at, 8);
    std::memcpy(&other, static_cast<char*>(inout) + at, 8);
    other += operand * one;
    std::memcpy(static_cast<char*>(inout) + at, &other, 8);
  }
  return bytes;
}

void accumulated() {
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.DdmFunc.Util_type = LAPI_REG_DDM_FUNC;
  command.DdmFunc.ddm_func = accumulate;
  CALL(LAPI_Util(handle, &command));
  const lapi_dgsm_control_t control = {LAPI_DGSM_CONTROL, 4, 3};
  const lapi_dg_handle_t adds =
      register_program(code_of_copy(kBlock, 0, &control), LAPI_DGSM_SPARSE, kBlock, kStride, 0, kBlock, 8);
  auto* const source = reinterpret_cast<double*>(outbox);
  auto* const sum = reinterpret_cast<double*>(window->bytes);
  for (const unsigned target : both_targets()) {
    for (const std::size_t count : block_counts) {
      program_answer = {window->bytes, adds, 0};
      start();
      for (std::size_t i = 0; i < count * 4; ++i) source[i] = static_cast<double>(i + 1);
      for (std::size_t i = 0; i < count * 5; ++i) sum[i] = static_cast<double>(1000 * i);
      CALL(LAPI_Gfence(handle));
      send_program(target, atoms_program, outbox, count * kBlock);
      for (std::size_t block = 0; block < count; ++block) {
        for (std::size_t i = 0; i < 5; ++i) {
          const double before = static_cast<double>(1000 * (block * 5 + i));
          EXPECT(sum[block * 5 + i] == (i < 3 ? before + 3 * static_cast<double>(block * 4 + i + 1) : before));
        }
      }
      EXPECT_EQUAL(odd_calls.load(), 0);
      CALL(LAPI_Gfence(handle));
    }
  }
}

// The message of a header handler with a wrong program is buried, and the error handler hears of it.
void wrong_answers() {
  lapi_dgsp_descr_t stranger{};
  std::vector<int> endless = code_of_copy(8, 0);
  endless[0] = 99;
  const lapi_dg_handle_t no_opcode = register_program(endless, LAPI_DGSM_SPARSE, 8, 8, 0, 8, 0);
  const struct {
    lapi_dg_handle_t program;
    int code;
  } answers[] = {{&stranger, LAPI_ERR_DGSP}, {no_opcode, LAPI_ERR_DGSP_OPC}};
  for (const unsigned target : both_targets()) {
    for (const auto& wrong_one : answers) {
      program_answer = {window->bytes, wrong_one.program, 0};
      mistakes = 0;
      start();
      send_program(target, gather_program, outbox, 300 * kBlock);
      while (mistakes == 0) CALL(LAPI_Probe(handle));
      EXPECT_EQUAL(last_mistake.load(), wrong_one.code);
      for (std::size_t at = 0; at < sizeof window->bytes; ++at) EXPECT_EQUAL(window->bytes[at], 0xcd);
      CALL(LAPI_Gfence(handle));
    }
  }
}

void refused() {
  start();
  const auto refused_with = [](auto change, int code) {
    lapi_xfer_t command = command_of(&lapi_xfer_t::Dgsp, LAPI_DGSP_XFER, right());
    command.Dgsp.hdr_hdl = kProgramIndex;
    command.Dgsp.uhdr = outbox;
    command.Dgsp.uhdr_len = 8;
    command.Dgsp.udata = outbox;
    command.Dgsp.udata_len = 100;
    command.Dgsp.shdlr = sent;
    command.Dgsp.dgsp = gather_program;
    change(command.Dgsp);
    RETURNS(LAPI_Xfer(handle, &command), code);
  };
  const auto no_program = [](std::vector<int> code) {
    return register_program(std::move(code), LAPI_DGSM_SPARSE, 8, 8, 0, 8, 8);
  };
  const lapi_dgsm_control_t control = {LAPI_DGSM_CONTROL, 4, 3};
  const lapi_dg_handle_t controls = no_program(code_of_copy(8, 0, &control));
  std::vector<int> code = code_of_copy(8, 0);
  code[0] = 6;
  const lapi_dg_handle_t no_opcode = no_program(code);
  code = code_of_copy(8, 0);
  code.back() = 1000;
  const lapi_dg_handle_t outside = no_program(code);
  lapi_dgsp_descr_t stranger{};
  refused_with([](lapi_amdgsp_t& d) { d.udata_len = static_cast<ulong>(LAPI_MAX_MSG_SZ) + 1; }, LAPI_ERR_DATA_LEN);
  refused_with([](lapi_amdgsp_t& d) { d.dgsp = nullptr; }, LAPI_ERR_DGSP);
  refused_with([&](lapi_amdgsp_t& d) { d.dgsp = &stranger; }, LAPI_ERR_DGSP);
  refused_with([&](lapi_amdgsp_t& d) { d.dgsp = controls; }, LAPI_ERR_DGSP_CTL);
  refused_with([&](lapi_amdgsp_t& d) { d.dgsp = no_opcode; }, LAPI_ERR_DGSP_OPC);
  refused_with([&](lapi_amdgsp_t& d) { d.dgsp = outside; }, LAPI_ERR_DGSP_BRANCH);
  refused_with([](lapi_amdgsp_t& d) { d.hdr_hdl = 0; }, LAPI_ERR_HDR_HNDLR_NULL);
  refused_with([](lapi_amdgsp_t& d) { d.tgt = static_cast<uint>(tasks); }, LAPI_ERR_TGT);
  refused_with([](lapi_amdgsp_t& d) { d.uhdr_len = 1u << 20; }, LAPI_ERR_UHDR_LEN);
  refused_with([](lapi_amdgsp_t& d) { d.uhdr_len = 6; }, LAPI_ERR_HDR_LEN);
  refused_with([](lapi_amdgsp_t& d) { d.uhdr = nullptr; }, LAPI_ERR_UHDR_NULL);
  lapi_xfer_t command = command_of(&lapi_xfer_t::Putv, LAPI_PUTV_XFER, right());
  Blocks blocks(reinterpret_cast<ulong>(outbox), kStride, 4);
  command.Putv.org_vec = &blocks.vector;
  RETURNS(LAPI_Xfer(handle, &command), LAPI_ERR_TGT_VEC_NULL);
  command.Putv.tgt_vec = &blocks.wide_vector;
  command.Putv.org_vec = nullptr;
  RETURNS(LAPI_Xfer(handle, &command), LAPI_ERR_ORG_VEC_NULL);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(told.load() + counter_value(origin) + counter_value(window->arrived), 0);
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = hear_of_mistake;
  begin(count, arguments, info);
  window = new Window();
  windows.resize(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, reinterpret_cast<ulong>(window), windows.data()));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&answer_with_program), static_cast<int>(kProgramIndex)));
  gather_program = blocks_program(kBlock + 8);
  atoms_program = blocks_program(kBlock + 8, 24);
  scatter_program = blocks_program(kStride);
  run("LAPI_PUTV_XFER with either target vector", 60, put_vectors);
  run("LAPI_GETV_XFER with either target vector", 60, get_vectors);
  run("LAPI_AMV_XFER", 60, vector_messages);
  run("LAPI_DGSP_XFER gathers and scatters", 60, programs_on_both_sides);
  run("LAPI_DGSP_XFER at absolute addresses", 30, absolute_addresses);
  run("BUFFER_BOTH_CONTIGUOUS", 30, both_contiguous);
  run("LAPI_DGSP_XFER delivers part of a message", 30, some_bytes);
  run("LAPI_DGSP_XFER accumulates", 60, accumulated);
  run("wrong programs of header handlers are reported", 30, wrong_answers);
  run("LAPI_DGSP_XFER refuses wrong arguments", 30, refused);
  return finish();
}
