// Wrong vectors, each with its one mistake and the code that every call has for it, however the call is made.
#pragma once

#include <climits>
#include <functional>
#include <utility>

#include "tests/system/api_case.h"

namespace api_case {

struct Pieces {
  void* info[3];
  ulong len[3];
  lapi_vec_t vector;
  explicit Pieces(unsigned char* base) : info{base, base + 100, base + 200}, len{10, 20, 0} {
    vector = {LAPI_GEN_IOVECTOR, 3, info, len};
  }
};

struct Blocks {
  void* info[3];
  lapi_vec_t vector;
  explicit Blocks(unsigned char* base) : info{base, reinterpret_cast<void*>(8), reinterpret_cast<void*>(16)} {
    vector = {LAPI_GEN_STRIDED_XFER, 4, info, nullptr};
  }
};

inline void* bits(unsigned long value) { return reinterpret_cast<void*>(value); }

// The ways to move a vector: a return code. `there` is the vector in the target.
struct VectorCalls {
  std::function<int(lapi_vec_t*there, lapi_vec_t*origin)> put, get;
  std::function<int(lapi_vec_t* origin)> message;
};

class VectorMistakes {
 public:
  // `near` and `far`: some memory here and in the target.
  VectorMistakes(unsigned char* near, unsigned char* far, VectorCalls calls)
      : near_(near), far_(far), calls_(std::move(calls)) {}

  // Every call that takes the vector as its origin.
  void origin_is(int code, lapi_vec_t* origin) const {
    Pieces pieces(far_);
    Blocks blocks(far_);
    lapi_vec_t* there = is_strided(origin) ? &blocks.vector : &pieces.vector;
    RETURNS(calls_.put(there, origin), code);
    RETURNS(calls_.get(there, origin), code);
    RETURNS(calls_.message(origin), code);
  }

  void target_is(int code, lapi_vec_t* there) const {
    Pieces pieces(near_);
    Blocks blocks(near_);
    lapi_vec_t* origin = is_strided(there) ? &blocks.vector : &pieces.vector;
    RETURNS(calls_.put(there, origin), code);
    RETURNS(calls_.get(there, origin), code);
  }

  void check_all() const {
    extents_and_strides();
    addresses();
    lengths();
    types();
    differences();
  }

 private:
  static bool is_strided(const lapi_vec_t* vector) {
    return vector != nullptr && vector->vec_type == LAPI_GEN_STRIDED_XFER;
  }

  // One mistake at a time, which `change` makes in a good vector.
  template <class Good, class Change>
  void mistake(int origin_code, int target_code, Change change) const {
    Good origin(near_), there(far_);
    change(origin);
    origin_is(origin_code, &origin.vector);
    change(there);
    target_is(target_code, &there.vector);
  }

  void extents_and_strides() const {
    constexpr ulong kMost = static_cast<ulong>(LAPI_MAX_MSG_SZ);
    mistake<Blocks>(LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT, [](Blocks& b) { b.info[2] = bits(kMost / 2); });
    mistake<Blocks>(LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT, [](Blocks& b) { b.info[2] = bits(ULONG_MAX / 2 + 1); });
    mistake<Blocks>(LAPI_ERR_ORG_EXTENT, LAPI_ERR_TGT_EXTENT, [](Blocks& b) { b.info[0] = bits(ULONG_MAX - 20); });
    mistake<Blocks>(LAPI_ERR_ORG_STRIDE, LAPI_ERR_TGT_STRIDE, [](Blocks& b) { b.info[2] = bits(7); });
  }

  void addresses() const {
    mistake<Blocks>(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
                    [](Blocks& b) { b.info[0] = nullptr; });
    mistake<Blocks>(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL,
                    [](Blocks& b) { b.vector.info = nullptr; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR, [](Pieces& p) { p.info[1] = nullptr; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR, [](Pieces& p) { p.vector.info = nullptr; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR, [](Pieces& p) { p.info[1] = bits(ULONG_MAX - 5); });
  }

  void lengths() const {
    constexpr ulong kMost = static_cast<ulong>(LAPI_MAX_MSG_SZ);
    mistake<Pieces>(LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN, [](Pieces& p) { p.len[0] = kMost + 1; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN, [](Pieces& p) { p.len[0] = p.len[1] = kMost - 9; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN, [](Pieces& p) { p.len[1] = ULONG_MAX; });
    mistake<Pieces>(LAPI_ERR_ORG_VEC_LEN, LAPI_ERR_TGT_VEC_LEN, [](Pieces& p) { p.vector.len = nullptr; });
  }

  void types() const {
    mistake<Pieces>(LAPI_ERR_ORG_VEC_TYPE, LAPI_ERR_TGT_VEC_TYPE,
                    [](Pieces& p) { p.vector.vec_type = static_cast<lapi_vectype_t>(7); });
    origin_is(LAPI_ERR_ORG_VEC_NULL, nullptr);
    target_is(LAPI_ERR_TGT_VEC_NULL, nullptr);
    Pieces generic(near_), there(far_);
    generic.vector.vec_type = LAPI_GEN_GENERIC;
    target_is(LAPI_ERR_TGT_VEC_TYPE, &generic.vector);
    RETURNS(calls_.put(&there.vector, &generic.vector), LAPI_ERR_ORG_VEC_TYPE);
  }

  void differences() const {
    Pieces origin(near_), there(far_);
    Blocks blocks(near_), wide(far_);
    RETURNS(calls_.put(&wide.vector, &origin.vector), LAPI_ERR_VEC_TYPE_DIFF);
    RETURNS(calls_.get(&there.vector, &blocks.vector), LAPI_ERR_VEC_TYPE_DIFF);
    there.len[2] = 1;
    target_is(LAPI_ERR_VEC_LEN_DIFF, &there.vector);
    there.vector.num_vecs = 2;
    target_is(LAPI_ERR_VEC_NUM_DIFF, &there.vector);
    wide.info[1] = bits(9);
    target_is(LAPI_ERR_VEC_LEN_DIFF, &wide.vector);
    wide.info[1] = bits(8);
    wide.vector.num_vecs = 5;
    target_is(LAPI_ERR_VEC_NUM_DIFF, &wide.vector);
  }

  unsigned char* near_;
  unsigned char* far_;
  VectorCalls calls_;
};

}  // namespace api_case
