// Data that is not contiguous between tasks of 32 and 64 bits: LAPI_PUTV_XFER, LAPI_GETV_XFER and LAPI_AMV_XFER with
// lapi_lvec_t, LAPI_DGSP_XFER with a program of each side's own, the direct calls where a pointer can name the target,
// and what is refused. To the right neighbour (mixed_words.py).
//
//   api_mixed_layouts [interrupt|polling] same|mixed
#include <memory>

#include "tests/system/mixed_case.h"

using namespace mixed_case;

namespace {

constexpr std::size_t kRoom = 2'000'000;
constexpr lapi_long_t kAbove = lapi_long_t{1} << 32;

// Where the pieces lie from the buffer's begin on.
struct Piece {
  std::size_t offset, length;
};
using Layout = std::vector<Piece>;

unsigned char* buffer = nullptr;    // others write here
unsigned char* own_data = nullptr;  // and from here
std::vector<lapi_long_t> buffers, widened_buffers, counters, vector_handlers, program_handlers;
std::atomic<int> told{0}, wrong{0};

// Lists of few and many, short and long pieces; some are empty.
struct ListSize {
  std::size_t count, length;
};
constexpr ListSize kLists[] = {{5, 8}, {400, 100}, {61, 30'000}};

Layout list_of(const ListSize& size, bool backwards) {
  Layout layout;
  for (std::size_t i = 0; i < size.count; ++i) {
    const std::size_t place = backwards ? size.count - 1 - i : i;
    layout.push_back({place * (size.length + 16), i % 7 == 3 ? 0 : size.length + i % 5});
  }
  return layout;
}

Layout blocks_of(const ListSize& size, std::size_t gap) {
  Layout layout;
  for (std::size_t i = 0; i < size.count; ++i) layout.push_back({i * (size.length + gap), size.length});
  return layout;
}

// The vector as a user writes it: in this task's own words, and in 64 bits.
struct Vector {
  Vector(lapi_vectype_t type, const Layout& layout, lapi_long_t base) {
    const auto add = [this](lapi_long_t address) {
      wide_info.push_back(address);
      info.push_back(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
    };
    const bool strided = type == LAPI_GEN_STRIDED_XFER;
    for (const Piece& piece : layout) {
      if (!strided) add(base + piece.offset);
      wide_lengths.push_back(piece.length);
      lengths.push_back(piece.length);
    }
    if (strided) {
      add(base);
      add(layout[0].length);
      add(layout[1].offset - layout[0].offset);
    }
    const auto count = static_cast<uint>(layout.size());
    own = {type, count, info.data(), strided ? nullptr : lengths.data()};
    wide = {type, count, wide_info.data(), strided ? nullptr : wide_lengths.data()};
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  std::vector<void*> info;
  std::vector<ulong> lengths;
  std::vector<lapi_long_t> wide_info, wide_lengths;
  lapi_vec_t own;
  lapi_lvec_t wide;
};

// `bytes` holds what lay at `from` with this seed, at `to`, and is untouched elsewhere.
bool arrived(const unsigned char* bytes, const Layout& to, const Layout& from, unsigned long seed) {
  std::vector<unsigned char> wanted(kRoom, 0xcd);
  std::vector<std::size_t> sources;
  for (const Piece& piece : from) {
    for (std::size_t at = 0; at < piece.length; ++at) sources.push_back(piece.offset + at);
  }
  std::size_t next = 0;
  for (const Piece& piece : to) {
    for (std::size_t at = 0; at < piece.length && next < sources.size(); ++at) {
      wanted[piece.offset + at] = pattern(seed, sources[next++]);
    }
  }
  return std::memcmp(bytes, wanted.data(), kRoom) == 0;
}

void start() {
  told = wrong = 0;
  fill(own_data, kRoom, static_cast<unsigned long>(task));
  std::memset(buffer, 0xcd, kRoom);
  CALL(LAPI_Gfence(handle));
}

void sent(lapi_handle_t*, void* info, lapi_sh_info_t* what) {
  if (info != &told || what->src != right() || what->reason != LAPI_SUCCESS) ++wrong;
  ++told;
}

void fetched(lapi_handle_t*, void* info) {
  if (info != &told) ++wrong;
  ++told;
}

// After a put or message to the right, and that from the left.
void wait_for_all() {
  wait_for(origin_counter);
  wait_for(completion_counter);
  wait_for(target_counter);
  while (told == 0) CALL(LAPI_Probe(handle));
  EXPECT_EQUAL(told.load(), 1);
  EXPECT_EQUAL(wrong.load(), 0);
}

int put_vector(Vector& from, void* to, int flags = 0) {
  auto put = part_of<lapi_putv_t>(LAPI_PUTV_XFER, right());
  put.flags = flags;
  put.shdlr = sent;
  put.sinfo = &told;
  put.org_vec = &from.own;
  put.tgt_vec = to;
  put.tgt_cntr = counters[right()];
  put.cmpl_cntr = &completion_counter;
  return transfer(&lapi_xfer_t::Putv, put);
}

int get_vector(Vector& to, void* from, int flags = 0) {
  auto get = part_of<lapi_getv_t>(LAPI_GETV_XFER, right());
  get.flags = flags;
  get.org_vec = &to.own;
  get.tgt_vec = from;
  get.tgt_cntr = counters[right()];
  get.chndlr = fetched;
  get.cinfo = &told;
  return transfer(&lapi_xfer_t::Getv, get);
}

// Whether a pointer of this task can name the right one's memory.
bool right_is_nameable() { return !is_narrow() || right_is_narrow(); }

// All ways to say the same transfer: lapi_lvec_t, with an address whose sign was widened, lapi_vec_t where it can.
template <class Move>
void in_every_way(lapi_vectype_t type, const Layout& layout, Move move) {
  Vector plain(type, layout, buffers[right()]), signed_ones(type, layout, widened_buffers[right()]);
  move(&plain.wide, 0);
  move(&signed_ones.wide, 0);
  move(right_is_nameable() ? static_cast<void*>(&plain.own) : &plain.wide, right_is_nameable() ? USE_TGT_VEC_TYPE : 0);
}

void put_vectors() {
  for (const ListSize& size : kLists) {
    for (const lapi_vectype_t type : {LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER}) {
      const bool list = type == LAPI_GEN_IOVECTOR;
      const Layout from = list ? list_of(size, true) : blocks_of(size, 9);
      const Layout to = list ? list_of(size, false) : blocks_of(size, 24);
      in_every_way(type, to, [&](void* vector, int flags) {
        start();
        Vector source(type, from, address_of(own_data));
        CALL(put_vector(source, vector, flags));
        wait_for_all();
        EXPECT(arrived(buffer, to, from, static_cast<unsigned long>(left())));
        CALL(LAPI_Gfence(handle));
      });
    }
  }
}

void get_vectors() {
  for (const ListSize& size : kLists) {
    for (const lapi_vectype_t type : {LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER}) {
      const bool list = type == LAPI_GEN_IOVECTOR;
      const Layout from = list ? list_of(size, false) : blocks_of(size, 24);
      const Layout to = list ? list_of(size, true) : blocks_of(size, 9);
      in_every_way(type, from, [&](void* vector, int flags) {
        start();
        fill(buffer, kRoom, 50 + static_cast<unsigned long>(task));
        std::memset(own_data, 0xcd, kRoom);
        CALL(LAPI_Gfence(handle));
        Vector destination(type, to, address_of(own_data));
        CALL(get_vector(destination, vector, flags));
        wait_for(origin_counter);
        wait_for(target_counter);
        while (told == 0) CALL(LAPI_Probe(handle));
        EXPECT_EQUAL(wrong.load(), 0);
        EXPECT(arrived(own_data, to, from, 50 + right()));
        CALL(LAPI_Gfence(handle));
      });
    }
  }
}

// What a message says of itself in its user header, so that the target can choose its own layout for it.
struct Order {
  int type;
  unsigned size;
};

Layout message_source(const Order& order) {
  return order.type == LAPI_GEN_STRIDED_XFER ? blocks_of(kLists[order.size], 9) : list_of(kLists[order.size], true);
}

// A generic vector of the target has one piece for all.
Layout message_destination(const Order& order) {
  if (order.type == LAPI_GEN_GENERIC) return {{40, kRoom / 2}, {kRoom / 2 + 80, kRoom / 2 - 80}};
  return order.type == LAPI_GEN_STRIDED_XFER ? blocks_of(kLists[order.size], 24) : list_of(kLists[order.size], false);
}

void* answer_with_vector(lapi_handle_t*, void* header, uint* header_length, ulong*, compl_hndlr_t**, void**) {
  static std::vector<std::unique_ptr<Vector>> answers;  // valid until the messages are complete
  Order order;
  if (*header_length != sizeof order) ++wrong;
  std::memcpy(&order, header, sizeof order);
  const auto type = static_cast<lapi_vectype_t>(order.type);
  answers.push_back(std::make_unique<Vector>(type, message_destination(order), address_of(buffer)));
  return &answers.back()->own;
}

void vector_messages() {
  for (const lapi_vectype_t type : {LAPI_GEN_GENERIC, LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER}) {
    for (unsigned size = 0; size < std::size(kLists); ++size) {
      Order order = {static_cast<int>(type), size};
      const Layout from = message_source(order);
      Vector source(type, from, address_of(own_data));
      for (const bool direct : {false, true}) {
        start();
        auto* const handler = reinterpret_cast<void*>(static_cast<std::uintptr_t>(vector_handlers[right()]));
        if (direct && right_is_nameable()) {
          ++told;
          auto* const counter = reinterpret_cast<lapi_cntr_t*>(static_cast<std::uintptr_t>(counters[right()]));
          CALL(LAPI_Amsendv(handle, right(), handler, &order, sizeof order, &source.own, counter, &origin_counter,
                            &completion_counter));
        } else {
          auto message = part_of<lapi_amv_t>(LAPI_AMV_XFER, right());
          message.hdr_hdl = vector_handlers[right()];
          message.uhdr = &order;
          message.uhdr_len = sizeof order;
          message.shdlr = sent;
          message.sinfo = &told;
          message.org_vec = &source.own;
          message.tgt_cntr = counters[right()];
          message.cmpl_cntr = &completion_counter;
          CALL(transfer(&lapi_xfer_t::Amv, message));
        }
        wait_for_all();
        EXPECT(arrived(buffer, message_destination(order), from, static_cast<unsigned long>(left())));
        CALL(LAPI_Gfence(handle));
      }
    }
  }
}

// LAPI_Putv and LAPI_Getv.
void direct_calls() {
  const Layout from = list_of(kLists[1], true), to = list_of(kLists[1], false);
  start();
  if (right_is_nameable()) {
    auto* const counter = reinterpret_cast<lapi_cntr_t*>(static_cast<std::uintptr_t>(counters[right()]));
    Vector source(LAPI_GEN_IOVECTOR, from, address_of(own_data));
    Vector destination(LAPI_GEN_IOVECTOR, to, buffers[right()]);
    CALL(LAPI_Putv(handle, right(), &destination.own, &source.own, counter, &origin_counter, &completion_counter));
    wait_for(completion_counter);
    wait_for(origin_counter);
    std::memset(own_data, 0xcd, kRoom);
    CALL(LAPI_Getv(handle, right(), &destination.own, &source.own, counter, &origin_counter));
    wait_for(origin_counter);
    EXPECT(arrived(own_data, from, from, static_cast<unsigned long>(task)));
  }
  CALL(LAPI_Gfence(handle));
  const bool hit = !(words_of_tasks[static_cast<std::size_t>(left())] == 4 && !is_narrow());
  EXPECT_EQUAL(counter_value(target_counter), hit ? 2 : 0);
  if (hit) {
    wait_for(target_counter, 2);
    EXPECT(arrived(buffer, to, from, static_cast<unsigned long>(left())));
  }
}

// A program that copies the pieces one after the other. Its code has this task's words.
lapi_dg_handle_t register_pieces(const Layout& layout) {
  const auto count = static_cast<int>(layout.size());
  const int size = LAPI_DGSM_MCOPY_SIZE + (count - 1) * LAPI_DGSM_MCOPY_BLOCK_SIZE;
  std::vector<int> code(static_cast<std::size_t>(size + LAPI_DGSM_ITERATE_SIZE));
  auto* copies = reinterpret_cast<lapi_dgsm_mcopy_t*>(code.data());
  copies->opcode = LAPI_DGSM_MCOPY;
  copies->count = count;
  lapi_dgsm_block_t* block = copies->block;
  long bytes = 0;
  for (const Piece& piece : layout) {
    block->block_disp = static_cast<long>(piece.offset);
    block++->block_len = static_cast<long>(piece.length);
    bytes += static_cast<long>(piece.length);
  }
  auto* again = reinterpret_cast<lapi_dgsm_iterate_t*>(&code[static_cast<std::size_t>(size)]);
  *again = {LAPI_DGSM_ITERATE, -size};
  lapi_dgsp_descr_t description{};
  description.code = code.data();
  description.code_size = static_cast<int>(code.size());
  description.depth = 1;
  description.density = LAPI_DGSM_SPARSE;
  description.size = bytes;
  description.extent = description.rext = static_cast<long>(kRoom);
  lapi_util_t command{};
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &description;
  CALL(LAPI_Util(handle, &command));
  return command.RegDgsp.dgsp_handle;
}

lapi_dg_handle_t gathers[std::size(kLists)], scatters[std::size(kLists)];

void* answer_with_program(lapi_handle_t*, void* header, uint*, ulong* length, compl_hndlr_t**, void**) {
  Order order;
  std::memcpy(&order, header, sizeof order);
  auto* info = reinterpret_cast<lapi_return_info_t*>(length);
  info->dgsp_handle = scatters[order.size];
  return buffer;
}

// The side of 32 bits has other gaps than that of 64, so that neither can take the other's description for its own.
Layout program_source(unsigned size, lapi_long_t word) { return blocks_of(kLists[size], 3 * word); }

void programs() {
  for (unsigned size = 0; size < std::size(kLists); ++size) {
    gathers[size] = register_pieces(program_source(size, sizeof(void*)));
    scatters[size] = register_pieces(blocks_of(kLists[size], 5 + sizeof(void*)));
  }
  for (unsigned size = 0; size < std::size(kLists); ++size) {
    for (const bool absolute : {false, true}) {
      start();
      Order order = {0, size};
      Layout source = program_source(size, sizeof(void*));
      if (absolute) {
        for (Piece& piece : source) piece.offset += address_of(own_data);
      }
      auto message = part_of<lapi_amdgsp_t>(LAPI_DGSP_XFER, right());
      message.hdr_hdl = program_handlers[right()];
      message.uhdr = &order;
      message.uhdr_len = sizeof order;
      message.udata = absolute ? nullptr : own_data;
      message.udata_len = kLists[size].count * kLists[size].length;
      message.shdlr = sent;
      message.sinfo = &told;
      message.tgt_cntr = counters[right()];
      message.cmpl_cntr = &completion_counter;
      message.dgsp = absolute ? register_pieces(source) : gathers[size];
      CALL(transfer(&lapi_xfer_t::Dgsp, message));
      wait_for_all();
      EXPECT(arrived(buffer, blocks_of(kLists[size], 5 + sizeof(void*)),
                     program_source(size, words_of_tasks[static_cast<std::size_t>(left())]),
                     static_cast<unsigned long>(left())));
      CALL(LAPI_Gfence(handle));
    }
  }
}

// What the calls themselves refuse: numbers beyond what either side can have.
void refused_vectors() {
  start();
  const Layout pieces = list_of(kLists[0], false), blocks = blocks_of(kLists[0], 8);
  Vector source(LAPI_GEN_IOVECTOR, pieces, address_of(own_data)),
      strided(LAPI_GEN_STRIDED_XFER, blocks, address_of(own_data));
  Vector good(LAPI_GEN_IOVECTOR, pieces, buffers[right()]), strides(LAPI_GEN_STRIDED_XFER, blocks, buffers[right()]);
  const auto both = [&](Vector& own, void* there, int code) {
    RETURNS(put_vector(own, there), code);
    RETURNS(get_vector(own, there), code);
  };
  lapi_lvec_t generic = good.wide;
  generic.vec_type = LAPI_GEN_GENERIC;
  both(source, &generic, LAPI_ERR_TGT_VEC_TYPE);
  both(source, &strides.wide, LAPI_ERR_VEC_TYPE_DIFF);
  both(source, nullptr, LAPI_ERR_TGT_VEC_NULL);
  Vector beyond(LAPI_GEN_IOVECTOR, pieces, ~lapi_long_t{0} - 3);
  both(source, &beyond.wide, LAPI_ERR_TGT_VEC_ADDR);
  good.wide_lengths[0] = static_cast<lapi_long_t>(LAPI_MAX_MSG_SZ) + 1;  // of this task
  both(source, &good.wide, LAPI_ERR_TGT_VEC_LEN);
  good.wide_lengths[0] = good.lengths[0] + 1;
  both(source, &good.wide, LAPI_ERR_VEC_LEN_DIFF);
  strides.wide_info[2] = lapi_long_t{1} << 63;
  both(strided, &strides.wide, LAPI_ERR_TGT_EXTENT);
  strides.wide_info[2] = strides.wide_info[1] - 1;
  both(strided, &strides.wide, LAPI_ERR_TGT_STRIDE);
  strides.wide_info[0] = 0;
  both(strided, &strides.wide, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(told.load() + counter_value(origin_counter) + counter_value(target_counter), 0);
}

// Layouts with memory above the 4 GiB of a 32-bit task: puts are thrown away, gets given up, and it takes no harm.
void refused_memory() {
  start();
  constexpr int kEach = 3;
  if (right_is_narrow()) {
    for (const ListSize& size : kLists) {
      const Layout pieces = list_of(size, false);
      Vector own(LAPI_GEN_IOVECTOR, pieces, address_of(own_data)),
          there(LAPI_GEN_IOVECTOR, pieces, buffers[right()] + kAbove);
      CALL(put_vector(own, &there.wide));
      wait_for(completion_counter);
      wait_for(origin_counter);
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) there.wide_info[i] -= kAbove;  // the last one alone
      CALL(get_vector(own, &there.wide));
      RETURNS(LAPI_Waitcntr(handle, &origin_counter, 1, nullptr), EFAULT);
      const Layout blocks = blocks_of(size, 8);
      Vector mine(LAPI_GEN_STRIDED_XFER, blocks, address_of(own_data));
      Vector strides(LAPI_GEN_STRIDED_XFER, blocks, buffers[right()]);
      strides.wide_info[0] = kAbove - blocks[1].offset - 4;  // its second block reaches above
      CALL(get_vector(mine, &strides.wide));
      CALL(LAPI_Fence(handle));
      RETURNS(LAPI_Waitcntr(handle, &origin_counter, 1, nullptr), EFAULT);
    }
  }
  CALL(LAPI_Gfence(handle));
  const int gets = right_is_narrow() ? 2 * kEach : 0;
  expect_faults(gets + (is_narrow() ? 3 * kEach : 0));
  EXPECT_EQUAL(counter_value(target_counter) + counter_value(origin_counter), 0);
  EXPECT_EQUAL(told.load(), right_is_narrow() ? kEach : 0);
  EXPECT(arrived(buffer, {}, {}, 0));
  EXPECT(holds(own_data, kRoom, static_cast<unsigned long>(task)));
  CALL(LAPI_Gfence(handle));
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = heard;
  begin(count, arguments, info);
  buffer = map_room(kRoom);
  own_data = map_room(kRoom);
  buffers = exchange64(address_of(buffer));
  widened_buffers = exchange64(widened(buffer));
  counters = exchange64(address_of(&target_counter));
  vector_handlers = exchange64(address_of(reinterpret_cast<void*>(answer_with_vector)));
  program_handlers = exchange64(address_of(reinterpret_cast<void*>(answer_with_program)));
  words_of_tasks = exchange64(sizeof(void*));
  run("vector put", 60, put_vectors);
  run("vector get", 60, get_vectors);
  run("vector active message", 60, vector_messages);
  run("direct vector calls", 60, direct_calls);
  run("gather/scatter programs of two word sizes", 60, programs);
  run("refused vectors", 30, refused_vectors);
  run("vectors with memory above 4 GiB", 60, refused_memory);
  return finish();
}
