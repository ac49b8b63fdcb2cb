// LAPI_Putv, LAPI_Getv and LAPI_Amsendv: every type, from nothing to thousands of pieces and to megabytes, to another
// task and to oneself, with every byte of the memory between the pieces looked at.
#include <algorithm>
#include <atomic>
#include <memory>

#include "tests/system/vector_case.h"

using namespace api_case;

namespace {

constexpr std::size_t kMemory = 12u << 20;
constexpr int kHandler = 20;

unsigned char* memory = nullptr;  // what others write to and read from
unsigned char* own = nullptr;
std::vector<unsigned char*> memories;
struct Counters {
  lapi_cntr_t moved{};
};
Counters counters;
std::vector<Counters*> counters_of;

// A vector over a memory: pieces of these lengths, `gap` bytes behind each.
struct Vector {
  std::vector<void*> info;
  std::vector<ulong> len;
  lapi_vec_t vector;

  Vector(unsigned char* base, const std::vector<ulong>& lengths, std::size_t gap, lapi_vectype_t type) : len(lengths) {
    std::size_t at = gap;
    for (const ulong length : lengths) {
      info.push_back(length == 0 ? nullptr : base + at);
      at += length + gap;
    }
    EXPECT(at <= kMemory);
    vector = {type, static_cast<uint>(len.size()), info.data(), len.data()};
  }
  Vector(unsigned char* base, ulong block, ulong stride, uint blocks) {
    info = {base, reinterpret_cast<void*>(block), reinterpret_cast<void*>(stride)};
    vector = {LAPI_GEN_STRIDED_XFER, blocks, info.data(), nullptr};
    EXPECT(stride * blocks <= kMemory);
  }
  Vector(const Vector&) = delete;

  // The program uses the lists for something else.
  void refill() {
    std::fill(info.begin(), info.end(), reinterpret_cast<void*>(8));
    std::fill(len.begin(), len.end(), 1ul << 30);
  }

  std::size_t total() const {
    if (vector.vec_type == LAPI_GEN_STRIDED_XFER) return reinterpret_cast<std::size_t>(info[1]) * vector.num_vecs;
    std::size_t sum = 0;
    for (const ulong length : len) sum += length;
    return sum;
  }
  template <class Each>
  void for_each_piece(Each each) const {
    for (uint i = 0; i < vector.num_vecs; ++i) {
      if (vector.vec_type == LAPI_GEN_STRIDED_XFER) {
        each(static_cast<unsigned char*>(info[0]) + i * reinterpret_cast<std::size_t>(info[2]),
             reinterpret_cast<std::size_t>(info[1]));
      } else if (len[i] != 0) {
        each(static_cast<unsigned char*>(info[i]), len[i]);
      }
    }
  }
  void fill_pieces(unsigned long seed) const {
    std::vector<unsigned char> bytes(total());
    fill(bytes.data(), bytes.size(), seed);
    std::size_t at = 0;
    for_each_piece([&](unsigned char* piece, std::size_t length) {
      std::memcpy(piece, bytes.data() + at, length);
      at += length;
    });
  }
};

// The first `moved` bytes of the pattern lie in the pieces, and everything else in the memory is 0xee.
bool holds_only(const Vector& vector, const unsigned char* base, unsigned long seed, std::size_t moved) {
  std::vector<unsigned char> data(moved), expected(kMemory, 0xee);
  fill(data.data(), moved, seed);
  std::size_t at = 0;
  vector.for_each_piece([&](const unsigned char* piece, std::size_t length) {
    const std::size_t part = std::min(length, moved - at);
    std::copy_n(data.data() + at, part, expected.data() + (piece - base));
    at += part;
  });
  return std::memcmp(base, expected.data(), kMemory) == 0;
}

std::vector<std::vector<ulong>> shapes() {
  std::vector<ulong> mixed;
  for (ulong i = 0; i < 5000; ++i) mixed.push_back(i % 7 == 0 ? 0 : i * 37 % 150);
  return {{},
          {0, 0},
          {1},
          {5, 0, 10, 5},
          std::vector<ulong>(300, 3),
          std::vector<ulong>(1000, 64),
          std::vector<ulong>(20000, 8),
          mixed,
          {100'000, 0, 1, 70'000},
          {300'000, 0, 200'001, 70'000},
          std::vector<ulong>(20, 100'000),
          std::vector<ulong>(400, 8192),
          std::vector<ulong>(1500, 4099)};
}

// Calls `move` in all tasks at the same time, each towards the next one, then each towards itself.
template <class Move>
void to_neighbour_and_self(Move move) {
  for (const unsigned target : {right(), static_cast<unsigned>(task)}) {
    std::memset(memory, 0xee, kMemory);
    std::memset(own, 0xee, kMemory);
    CALL(LAPI_Gfence(handle));
    move(target);
    CALL(LAPI_Gfence(handle));
  }
}

// `make` makes the vector over a memory. Puts it, then gets it back into another place.
template <class Make>
void put_and_get(Make make, unsigned long seed) {
  to_neighbour_and_self([&](unsigned target) {
    const auto from = static_cast<unsigned>(target == right() ? left() : task);
    const std::unique_ptr<Vector> origin = make(own, 9), there = make(memories[target], 17), here = make(memory, 17);
    origin->fill_pieces(seed + static_cast<unsigned>(task));
    lapi_cntr_t free{}, done{};
    CALL(LAPI_Putv(handle, target, &there->vector, &origin->vector, &counters_of[target]->moved, &free, &done));
    there->refill();
    origin->refill();
    CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &counters.moved, 1, nullptr));
    EXPECT(holds_only(*here, memory, seed + from, here->total()));

    std::memset(own, 0xee, kMemory);
    const std::unique_ptr<Vector> back = make(own, 5), lists = make(own, 5), from_there = make(memories[target], 17);
    CALL(LAPI_Getv(handle, target, &from_there->vector, &lists->vector, &counters_of[target]->moved, &free));
    from_there->refill();
    lists->refill();
    CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
    EXPECT(holds_only(*back, own, seed + static_cast<unsigned>(task), back->total()));
    CALL(LAPI_Waitcntr(handle, &counters.moved, 1, nullptr));
    EXPECT(counter_value(free) == 0 && counter_value(done) == 0 && counter_value(counters.moved) == 0);
  });
}

void iovectors() {
  unsigned long seed = 1;
  for (const std::vector<ulong>& lengths : shapes()) {
    put_and_get([&](unsigned char* base,
                    std::size_t gap) { return std::make_unique<Vector>(base, lengths, gap, LAPI_GEN_IOVECTOR); },
                seed += 100);
  }
}

void strided() {
  const struct {
    ulong block, blocks;
  } cases[] = {{5, 3}, {1, 2000}, {64, 1000}, {8192, 300}, {4, 20000}, {3'000'000, 1}, {0, 10}, {7, 0}};
  unsigned long seed = 5000;
  for (const auto& how : cases) {
    put_and_get(
        [&](unsigned char* base, std::size_t gap) {
          return std::make_unique<Vector>(base + gap, how.block, how.block + gap, static_cast<uint>(how.blocks));
        },
        seed += 100);
  }
}

void blocks_without_gaps() {
  put_and_get(
      [](unsigned char* base, std::size_t gap) { return std::make_unique<Vector>(base + gap, 4096, 4096, 500); }, 9000);
}

// ---- messages ----

std::unique_ptr<Vector> answer;
std::atomic<int> completions{0};
std::atomic<ulong> told_length{0};
std::atomic<int> asked{0};
int drops = 0;

void completed(lapi_handle_t*, void* info) {
  if (info == &completions) ++completions;
}

lapi_vec_t* take_vector(lapi_handle_t*, void* header, uint* header_length, ulong* length, compl_hndlr_t** completion,
                        void** info) {
  ++asked;
  const auto* returned = reinterpret_cast<lapi_return_info_t*>(length);
  told_length = returned->msg_len;
  if (*header_length != 8 || std::memcmp(header, "vectors", 8) != 0) told_length = 12345;
  if (drops != 0) {
    --drops;
    reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_DROP_PKT;
  }
  *completion = completed;
  *info = &completions;
  return answer != nullptr ? &answer->vector : nullptr;
}

void send(unsigned target, Vector& origin, Vector& answered_here, unsigned long seed, int refusals) {
  const auto from = static_cast<unsigned>(target == right() ? left() : task);
  char header[8] = "vectors";
  lapi_cntr_t free{}, done{};
  completions = asked = 0;
  drops = refusals;
  CALL(LAPI_Gfence(handle));
  origin.fill_pieces(seed + static_cast<unsigned>(task));
  const std::size_t total = origin.total();
  CALL(LAPI_Amsendv(handle, target, reinterpret_cast<void*>(kHandler), header, sizeof header, &origin.vector,
                    &counters_of[target]->moved, &free, &done));
  origin.refill();
  CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
  std::memset(own, 0, kMemory);
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &counters.moved, 1, nullptr));
  EXPECT_EQUAL(completions.load(), 1);
  EXPECT_EQUAL(asked.load(), 1 + refusals);
  EXPECT_EQUAL(told_length.load(), total);
  EXPECT(holds_only(answered_here, memory, seed + from, std::min(total, answered_here.total())));
}

void messages() {
  unsigned long seed = 20000;
  for (const std::vector<ulong>& lengths : shapes()) {
    to_neighbour_and_self([&](unsigned target) {
      Vector origin(own, lengths, 3, LAPI_GEN_IOVECTOR);
      answer = std::make_unique<Vector>(memory, lengths, 11, LAPI_GEN_IOVECTOR);
      send(target, origin, *answer, seed += 100, 0);
    });
  }
}

void strided_messages() {
  to_neighbour_and_self([&](unsigned target) {
    Vector origin(own, 64, 100, 1000);
    answer = std::make_unique<Vector>(memory, 64, 70, 1000);
    send(target, origin, *answer, 31000, 0);
  });
}

// The guide's examples, and larger ones: number and lengths differ, either side is longer.
void generic_messages() {
  const std::pair<std::vector<ulong>, std::vector<ulong>> cases[] = {
      {{5, 10, 5}, {12, 2, 4, 2}},
      {{20}, {5, 10}},
      {{5, 10}, {20, 7}},
      {{0, 3}, {}},
      {std::vector<ulong>(1000, 64), std::vector<ulong>(333, 193)},
      {std::vector<ulong>(200, 8192), std::vector<ulong>(3000, 500)},
      {std::vector<ulong>(100, 9000), std::vector<ulong>(30, 25'000)},
      {std::vector<ulong>(10, 90'000), std::vector<ulong>(70, 10'000)},
  };
  unsigned long seed = 40000;
  for (const auto& [from, to] : cases) {
    to_neighbour_and_self([&, &from = from, &to = to](unsigned target) {
      Vector origin(own, from, 3, LAPI_GEN_GENERIC);
      answer = std::make_unique<Vector>(memory, to, 11, LAPI_GEN_GENERIC);
      send(target, origin, *answer, seed += 100, 0);
    });
  }
}

void refused_and_buried() {
  for (const auto& lengths : {std::vector<ulong>(30, 20), std::vector<ulong>(100, 8192), std::vector<ulong>(900, 90)}) {
    to_neighbour_and_self([&](unsigned target) {
      Vector origin(own, lengths, 3, LAPI_GEN_IOVECTOR);
      answer = std::make_unique<Vector>(memory, lengths, 11, LAPI_GEN_IOVECTOR);
      send(target, origin, *answer, 50000, 2);
    });
    to_neighbour_and_self([&](unsigned target) {
      Vector origin(own, lengths, 3, LAPI_GEN_IOVECTOR);
      Vector nothing(memory, std::vector<ulong>(), 11, LAPI_GEN_IOVECTOR);
      answer.reset();
      send(target, origin, nothing, 51000, 0);
    });
  }
}

// ---- what the error handler hears ----

std::atomic<int> mistakes{0};
std::atomic<int> mistake_code{0};

void hear(lapi_handle_t*, int* code, lapi_err_t* type, int* own_task, int* source) {
  if (*type != LAPI_PROGRAM_ERROR || *own_task != task || *source != left()) _exit(4);
  mistake_code = *code;
  ++mistakes;
}

void wrong_answer(int code, lapi_vec_t wrong) {
  Vector origin(own, {100, 100}, 3, LAPI_GEN_IOVECTOR);
  answer = std::make_unique<Vector>(memory, std::vector<ulong>{100, 100}, 11, LAPI_GEN_IOVECTOR);
  answer->vector = wrong;
  char header[8] = "vectors";
  mistakes = 0;
  std::memset(memory, 0xee, kMemory);
  lapi_cntr_t done{};
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Amsendv(handle, right(), reinterpret_cast<void*>(kHandler), header, sizeof header, &origin.vector, nullptr,
                    nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  AWAIT((polling ? LAPI_Probe(handle) : 0, mistakes != 0), 20);
  EXPECT_EQUAL(mistakes.load(), 1);
  EXPECT_EQUAL(mistake_code.load(), code);
  EXPECT(std::all_of(memory, memory + kMemory, [](unsigned char byte) { return byte == 0xee; }));
}

void wrong_answers() {
  static void* info[] = {memory, memory + 300, nullptr};
  static ulong len[] = {100, 100, 100};
  static void* blocks[] = {memory, reinterpret_cast<void*>(100), reinterpret_cast<void*>(99)};
  static void* nowhere[] = {nullptr, reinterpret_cast<void*>(100), reinterpret_cast<void*>(100)};
  static ulong shorter[] = {100, 99};
  wrong_answer(LAPI_ERR_TGT_VEC_TYPE, {static_cast<lapi_vectype_t>(3), 2, info, len});
  wrong_answer(LAPI_ERR_TGT_VEC_ADDR, {LAPI_GEN_GENERIC, 3, info, len});
  wrong_answer(LAPI_ERR_TGT_STRIDE, {LAPI_GEN_STRIDED_XFER, 2, blocks, nullptr});
  wrong_answer(LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL, {LAPI_GEN_STRIDED_XFER, 2, nowhere, nullptr});
  wrong_answer(LAPI_ERR_VEC_LEN_DIFF, {LAPI_GEN_IOVECTOR, 2, info, shorter});
}

// ---- return codes ----

lapi_cntr_t untouched{};

VectorMistakes direct_mistakes() {
  return {own,
          memories[right()],
          {[](lapi_vec_t* there, lapi_vec_t* origin) {
             return LAPI_Putv(handle, right(), there, origin, nullptr, &untouched, &untouched);
           },
           [](lapi_vec_t* there, lapi_vec_t* origin) {
             return LAPI_Getv(handle, right(), there, origin, nullptr, &untouched);
           },
           [](lapi_vec_t* origin) {
             return LAPI_Amsendv(handle, right(), reinterpret_cast<void*>(kHandler), nullptr, 0, origin, nullptr,
                                 &untouched, &untouched);
           }}};
}

void errors() {
  direct_mistakes().check_all();
  Pieces origin(own), good(memories[right()]);
  const auto nobody = static_cast<unsigned>(tasks);
  RETURNS(LAPI_Putv(handle, nobody, &good.vector, &origin.vector, nullptr, nullptr, nullptr), LAPI_ERR_TGT);
  RETURNS(LAPI_Getv(handle, nobody, &good.vector, &origin.vector, nullptr, nullptr), LAPI_ERR_TGT);
  RETURNS(LAPI_Putv(handle + 1, right(), &good.vector, &origin.vector, nullptr, nullptr, nullptr),
          LAPI_ERR_HNDL_INVALID);
  auto* header_handler = reinterpret_cast<void*>(kHandler);
  const auto message = [&](unsigned to, void* which, void* header, uint length) {
    return LAPI_Amsendv(handle, to, which, header, length, &origin.vector, nullptr, &untouched, nullptr);
  };
  RETURNS(message(nobody, header_handler, nullptr, 0), LAPI_ERR_TGT);
  RETURNS(message(right(), nullptr, nullptr, 0), LAPI_ERR_HDR_HNDLR_NULL);
  RETURNS(message(right(), header_handler, nullptr, 8), LAPI_ERR_UHDR_NULL);
  RETURNS(message(right(), header_handler, own, 6), LAPI_ERR_HDR_LEN);
  RETURNS(message(right(), header_handler, own, static_cast<uint>(query(MAX_UHDR_SZ)) + 4), LAPI_ERR_UHDR_LEN);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(counter_value(untouched), 0);
}

// Without checks: what cannot be walked along is refused all the same, lengths that differ move what both sides have.
void without_checks() {
  std::memset(memory, 0xee, kMemory);
  asked = 0;
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Senv(handle, ERROR_CHK, 0));
  const VectorMistakes mistake = direct_mistakes();
  mistake.origin_is(LAPI_ERR_ORG_VEC_NULL, nullptr);
  mistake.target_is(LAPI_ERR_TGT_VEC_NULL, nullptr);
  Pieces wrong(own);
  wrong.vector.vec_type = static_cast<lapi_vectype_t>(9);
  mistake.origin_is(LAPI_ERR_ORG_VEC_TYPE, &wrong.vector);
  const std::vector<ulong> lengths = {50, 60, 70};
  Vector origin(own, lengths, 3, LAPI_GEN_IOVECTOR), there(memories[right()], {100, 20}, 11, LAPI_GEN_IOVECTOR);
  Vector here(memory, {100, 20}, 11, LAPI_GEN_IOVECTOR);
  origin.fill_pieces(77);
  lapi_cntr_t done{};
  CALL(LAPI_Putv(handle, right(), &there.vector, &origin.vector, nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT(holds_only(here, memory, 77, 120));
  EXPECT_EQUAL(asked.load(), 0);
  CALL(LAPI_Senv(handle, ERROR_CHK, 1));
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = hear;
  begin(count, arguments, info);
  memory = new unsigned char[kMemory];
  own = new unsigned char[kMemory];
  memories = exchange(memory);
  counters_of = exchange(&counters);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&take_vector), kHandler));
  CALL(LAPI_Gfence(handle));
  run("every mistake has its code", 30, errors);
  run("LAPI_Putv and LAPI_Getv move lists of pieces", 60, iovectors);
  run("LAPI_Putv and LAPI_Getv move blocks", 60, strided);
  run("blocks without gaps are contiguous", 30, blocks_without_gaps);
  run("LAPI_Amsendv moves lists of pieces", 60, messages);
  run("LAPI_Amsendv moves blocks", 30, strided_messages);
  run("LAPI_GEN_GENERIC moves what both sides have", 60, generic_messages);
  run("vector messages can be refused and buried", 60, refused_and_buried);
  run("wrong vectors of header handlers are reported", 60, wrong_answers);
  run("without checks nothing is written beside", 30, without_checks);
  return finish();
}
