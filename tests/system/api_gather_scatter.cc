// Data gather/scatter programs (chapters 6, 18): every error of table 35 about them, register, reserve and unreserve,
// packing and unpacking, the data distribution function.
#include <climits>

#include "tests/system/gather_scatter_case.h"

using namespace api_case;

namespace {

int reserve(lapi_dg_handle_t which) {
  lapi_util_t command{};
  command.ResvDgsp.Util_type = LAPI_RESERVE_DGSP;
  command.ResvDgsp.dgsp_handle = which;
  return LAPI_Util(0, &command);
}

int unreserve(lapi_dg_handle_t which) {
  lapi_util_t command{};
  command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
  command.DrefDgsp.dgsp_handle = which;
  return LAPI_Util(handle + 1, &command);
}

struct Buffer {
  void* address;
  ulong size;
};

int pack(lapi_dg_handle_t which, void* from, ulong bytes, Buffer into, ulong& position, lapi_handle_t on = handle) {
  lapi_util_t command{};
  command.PackDgsp.Util_type = LAPI_DGSP_PACK;
  command.PackDgsp.dgsp_handle = which;
  command.PackDgsp.in_buf = from;
  command.PackDgsp.bytes = bytes;
  command.PackDgsp.out_buf = into.address;
  command.PackDgsp.out_size = into.size;
  command.PackDgsp.position = position;
  const int code = LAPI_Util(on, &command);
  position = command.PackDgsp.position;
  return code;
}

int unpack(lapi_dg_handle_t which, Buffer from, ulong bytes, Buffer into, ulong& position, lapi_handle_t on = handle) {
  lapi_util_t command{};
  command.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
  command.UnpackDgsp.dgsp_handle = which;
  command.UnpackDgsp.buf = from.address;
  command.UnpackDgsp.in_size = from.size;
  command.UnpackDgsp.out_buf = into.address;
  command.UnpackDgsp.out_size = into.size;
  command.UnpackDgsp.bytes = bytes;
  command.UnpackDgsp.position = position;
  const int code = LAPI_Util(on, &command);
  position = command.UnpackDgsp.position;
  return code;
}

int set_function(ddm_func_t* function, lapi_handle_t on = handle) {
  lapi_util_t command{};
  command.DdmFunc.Util_type = LAPI_REG_DDM_FUNC;
  command.DdmFunc.ddm_func = function;
  return LAPI_Util(on, &command);
}

void verify(bool on) { EXPECT(setenv("LAPI_VERIFY_DGSP", on ? "yes" : "no", 1) == 0); }

void registration() {
  lapi_dg_handle_t which = nullptr;
  {
    Program program = structures();
    CALL(register_as(program, &which));
    program.code[0] = 0;
  }
  EXPECT(which->size == 5 && which->extent == 8 && which->rext == 5 && which->code[0] == LAPI_DGSM_COPY);
  CALL(reserve(which));
  CALL(unreserve(which));
  CALL(unreserve(which));
  RETURNS(unreserve(which), LAPI_ERR_DGSP_FREE);
  RETURNS(reserve(which), LAPI_ERR_DGSP);
  Program never = structures();
  for (lapi_dg_handle_t wrong : {lapi_dg_handle_t{nullptr}, &never.description}) {
    RETURNS(reserve(wrong), LAPI_ERR_DGSP);
    RETURNS(unreserve(wrong), LAPI_ERR_DGSP);
    ulong position = 0;
    char bytes[5];
    RETURNS(pack(wrong, bytes, 5, {bytes, 5}, position), LAPI_ERR_DGSP);
    RETURNS(unpack(wrong, {bytes, 5}, 5, {bytes, 5}, position), LAPI_ERR_DGSP);
  }
  lapi_util_t command{};
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_DGSP);
  command.Util_type = static_cast<lapi_util_type_t>(99);
  RETURNS(LAPI_Util(handle, &command), LAPI_ERR_UTIL_CMD);
  RETURNS(LAPI_Util(handle, nullptr), LAPI_ERR_UTIL_CMD);
}

void verification() {
  verify(true);
  Program good = columns(), plain = structures();
  CALL(register_as(good));
  CALL(register_as(plain));
  for (const Mistake& mistake : mistakes()) {
    Program program = with_mistake(mistake);
    if (register_as(program) != mistake.code) fail(mistake.name);
  }
  verify(false);
}

// Without verification a program that cannot be run is found when it is to run, and touches nothing; one whose
// description is wrong does what its code says.
void without_verification() {
  std::vector<char> memory(64 * kRows, 1), packed(12 * kRows, 2), untouched = packed;
  for (const Mistake& mistake : mistakes()) {
    Program program = with_mistake(mistake);
    lapi_dg_handle_t which = nullptr;
    if (register_as(program, &which) != LAPI_SUCCESS) continue;  // what no copy can be made of
    ulong position = 0;
    const int code = pack(which, memory.data(), 4, {packed.data(), packed.size()}, position);
    if (code != (mistake.runs ? LAPI_SUCCESS : mistake.code)) fail(mistake.name);
    EXPECT_EQUAL(position, mistake.runs ? 4 : 0);
    EXPECT(mistake.runs ? packed[0] == 1 : packed == untouched);
    packed = untouched;
    CALL(unreserve(which));
  }
}

void packing() {
  Program program = columns();
  lapi_dg_handle_t which = nullptr;
  CALL(register_as(program, &which));
  std::vector<unsigned char> matrix(2 * 64 * kRows), packed(300, 0xee), back(matrix.size(), 0xdd);
  fill(matrix.data(), matrix.size(), 1);
  ulong position = 7;
  // Two and a half rows, then more than one application; every call begins at the beginning.
  const ulong parts[] = {30, 12 * kRows + 30};
  for (const ulong bytes : parts) CALL(pack(which, matrix.data(), bytes, {packed.data(), packed.size()}, position));
  EXPECT_EQUAL(position, 7 + 30 + 12 * kRows + 30);
  const auto at = [](ulong byte) {
    const long offsets[] = {4, 32, 16};
    const ulong row = byte / 12, inside = byte % 12;
    return row * 64 + static_cast<ulong>(offsets[inside / 4]) + inside % 4;
  };
  EXPECT(packed[6] == 0xee && packed[position] == 0xee);
  for (ulong byte = 0; byte < 30; ++byte) EXPECT(packed[7 + byte] == matrix[at(byte)]);
  for (ulong byte = 0; byte < parts[1]; ++byte) EXPECT(packed[37 + byte] == matrix[at(byte)]);
  position = 37;
  CALL(unpack(which, {packed.data(), packed.size()}, parts[1], {back.data(), back.size()}, position));
  EXPECT_EQUAL(position, 37 + parts[1]);
  std::vector<unsigned char> wanted(back.size(), 0xdd);
  for (ulong byte = 0; byte < parts[1]; ++byte) wanted[at(byte)] = matrix[at(byte)];
  EXPECT(back == wanted);
  position = 5;
  CALL(pack(which, nullptr, 0, {nullptr, 5}, position));
  EXPECT_EQUAL(position, 5);
  CALL(unreserve(which));
}

void packing_errors() {
  Program program = structures();
  lapi_dg_handle_t which = nullptr;
  CALL(register_as(program, &which));
  char memory[64] = {}, buffer[16] = {};
  for (const int checks : {1, 0}) {
    CALL(LAPI_Senv(handle, ERROR_CHK, checks));
    ulong position = 0;
    RETURNS(pack(which, memory, 5, {buffer, 16}, position, handle + 1), LAPI_ERR_HNDL_INVALID);
    RETURNS(unpack(which, {buffer, 16}, 5, {memory, 64}, position, handle + 1), LAPI_ERR_HNDL_INVALID);
    RETURNS(pack(which, memory, 17, {buffer, 16}, position), LAPI_ERR_PACK_SZ);
    RETURNS(pack(which, memory, ULONG_MAX, {buffer, 16}, position), LAPI_ERR_PACK_SZ);
    RETURNS(unpack(which, {buffer, 16}, 17, {memory, 64}, position), LAPI_ERR_PACK_SZ);
    RETURNS(unpack(which, {buffer, 16}, 10, {memory, 9}, position), LAPI_ERR_PACK_SZ);
    RETURNS(pack(which, memory, 5, {nullptr, 16}, position), LAPI_ERR_TGT_ADDR_NULL);
    RETURNS(unpack(which, {nullptr, 16}, 5, {memory, 64}, position), LAPI_ERR_ORG_ADDR_NULL);
    EXPECT_EQUAL(position, 0);
    for (ulong wrong : {13ul, 17ul, ULONG_MAX}) {
      position = wrong;
      RETURNS(pack(which, memory, 5, {buffer, 16}, position), LAPI_ERR_PACK_SZ);
      RETURNS(unpack(which, {buffer, 16}, 5, {memory, 64}, position), LAPI_ERR_PACK_SZ);
      EXPECT(position == wrong);
    }
    RETURNS(set_function(nullptr, handle + 1), LAPI_ERR_HNDL_INVALID);
  }
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
  CALL(unreserve(which));
}

long add(void* in, void* inout, long bytes, int operand, int operation) {
  EXPECT(operand == 4 && bytes % 4 == 0);
  auto* from = static_cast<int*>(in);
  auto* to = static_cast<int*>(inout);
  for (long i = 0; i < bytes / 4; ++i) to[i] = operation == 0 ? to[i] + from[i] : to[i] * from[i];
  return bytes;
}

// Accumulates: the first and third integer of four are added to, the second is multiplied, the fourth replaced.
void distribution() {
  Program program;
  program.control(0, 4);
  program.copy(4, 0);
  program.control(1, 4);
  program.copy(4, 4);
  program.control(0, 4);
  program.copy(4, 8);
  program.control(LAPI_DGSM_NO_CTL, 0);
  program.copy(4, 12);
  program.iterate(-4 * LAPI_DGSM_COPY_SIZE - 4 * LAPI_DGSM_CONTROL_SIZE);
  program.describe(1, 16, 16, 0, 16);
  program.description.atom_size = 4;
  verify(true);
  lapi_dg_handle_t which = nullptr;
  CALL(register_as(program, &which));
  verify(false);
  int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, inbound[8] = {10, 10, 10, 10, 10, 10, 10, 10};
  ulong position = 0;
  RETURNS(unpack(which, {inbound, 32}, 32, {numbers, 32}, position), LAPI_ERR_DGSP_CTL);
  RETURNS(pack(which, numbers, 32, {inbound, 32}, position), LAPI_ERR_DGSP_CTL);
  CALL(set_function(add));
  CALL(unpack(which, {inbound, 32}, 32, {numbers, 32}, position));
  const int wanted[8] = {11, 20, 13, 10, 15, 60, 17, 10};
  EXPECT(std::memcmp(numbers, wanted, sizeof wanted) == 0);
  CALL(set_function(nullptr));
  position = 0;
  RETURNS(unpack(which, {inbound, 32}, 32, {numbers, 32}, position), LAPI_ERR_DGSP_CTL);
  CALL(unreserve(which));
}

}  // namespace

int main(int count, char** arguments) {
  Program early = structures();
  lapi_dg_handle_t kept = nullptr;
  CALL(register_as(early, &kept));  // before there is a context
  begin(count, arguments);
  run("programs are registered, reserved and unreserved", 20, registration);
  run("verification finds every mistake", 20, verification);
  run("without verification a mistake is found when the program is to run", 20, without_verification);
  run("packing and unpacking, from any position", 20, packing);
  run("packing refuses wrong arguments with ERROR_CHK on and off", 20, packing_errors);
  run("CONTROL sends data through the registered function", 20, distribution);
  const int code = finish();
  char memory[8] = "abcdefg";
  ulong position = 0;
  EXPECT(kept->size == 5);  // LAPI_Term discards no program
  RETURNS(pack(kept, memory, 5, {memory, 8}, position), LAPI_ERR_HNDL_INVALID);
  CALL(unreserve(kept));
  return code;
}
