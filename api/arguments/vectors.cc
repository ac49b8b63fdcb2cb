#include "api/arguments/vectors.h"

#include <algorithm>
#include <string>

#include "api/arguments/argument_checks.h"
#include "api/arguments/refusal.h"
#include "dataplane/base/memory_fault_guard.h"

namespace openlapi {

namespace {

constexpr auto kMostBytes = static_cast<std::uint64_t>(LAPI_MAX_MSG_SZ);

// The codes that name a mistake in the vector of one side.
struct Codes {
  const char* vector;
  int extent, stride, address, length, null, type, strided_null;
};
constexpr Codes kOrigin = {"org_vec",
                           LAPI_ERR_ORG_EXTENT,
                           LAPI_ERR_ORG_STRIDE,
                           LAPI_ERR_ORG_VEC_ADDR,
                           LAPI_ERR_ORG_VEC_LEN,
                           LAPI_ERR_ORG_VEC_NULL,
                           LAPI_ERR_ORG_VEC_TYPE,
                           LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL};
constexpr Codes kTarget = {"tgt_vec",
                           LAPI_ERR_TGT_EXTENT,
                           LAPI_ERR_TGT_STRIDE,
                           LAPI_ERR_TGT_VEC_ADDR,
                           LAPI_ERR_TGT_VEC_LEN,
                           LAPI_ERR_TGT_VEC_NULL,
                           LAPI_ERR_TGT_VEC_TYPE,
                           LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL};

bool type_exists(const VectorView& vector, bool generic) {
  return vector.is_strided() || vector.type == LAPI_GEN_IOVECTOR || (generic && vector.type == LAPI_GEN_GENERIC);
}

int check_usable(const VectorView& vector, const Codes& codes, bool generic) {
  if (vector.is_null) return refuse_null(codes.null, codes.vector);
  if (type_exists(vector, generic)) return LAPI_SUCCESS;
  return refuse(codes.type, "vec_type is %d; allowed are %d (LAPI_GEN_IOVECTOR), %d (LAPI_GEN_STRIDED_XFER)%s",
                static_cast<int>(vector.type), LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER,
                generic ? " and LAPI_GEN_GENERIC" : "");
}

// Extent and stride.
int check_blocks(const VectorView& vector, const Codes& codes) {
  if (vector.info == nullptr) return LAPI_SUCCESS;  // the null address is what is reported
  const wire::StridedLayout blocks = vector.blocks();
  std::uint64_t extent;
  const bool wraps = __builtin_mul_overflow(blocks.stride, blocks.count, &extent);
  const auto stride = static_cast<unsigned long long>(blocks.stride),
             block = static_cast<unsigned long long>(blocks.block);
  if (wraps || extent > kMostBytes || wire::total_of(blocks) == UINT64_MAX) {
    return refuse(codes.extent, "num_vecs is %llu and the stride %llu; their product may be %llu",
                  static_cast<unsigned long long>(blocks.count), stride, static_cast<unsigned long long>(kMostBytes));
  }
  if (blocks.stride >= blocks.block) return LAPI_SUCCESS;
  return refuse(codes.stride, "info[2], the stride, is %llu; allowed is %llu, the block's size, and more", stride,
                block);
}

int refuse_piece(const Codes& codes, std::uint64_t index, const LayoutPiece& piece) {
  const auto number = static_cast<unsigned long long>(index);
  return refuse(codes.address, "info[%llu] is %#llx and len[%llu] %llu; there is no such memory", number,
                static_cast<unsigned long long>(piece.address), number, static_cast<unsigned long long>(piece.length));
}

// Addresses, then lengths. A piece that reaches beyond the address space has a wrong address.
int check_pieces(const VectorView& vector, const Codes& codes) {
  if (vector.count == 0) return LAPI_SUCCESS;
  if (vector.len == nullptr) return refuse_null(codes.length, "len");
  const PieceList pieces = vector.pieces();
  if (vector.info == nullptr) {
    const PieceList lengths = PieceList::of_arrays(vector.len, vector.len, vector.word_bytes, vector.count);
    for (std::uint64_t i = 0; i < vector.count; ++i) {
      if (lengths[i].length != 0) return refuse_piece(codes, i, {0, lengths[i].length});
    }
    return LAPI_SUCCESS;
  }
  std::uint64_t total = 0;
  bool too_long = false;
  for (std::uint64_t i = 0; i < vector.count; ++i) {
    const LayoutPiece piece = pieces[i];
    if (piece.length == 0) continue;
    if (piece.length <= kMostBytes && (piece.address == 0 || !wire::is_range(piece.address, piece.length))) {
      return refuse_piece(codes, i, piece);
    }
    too_long |= __builtin_add_overflow(total, piece.length, &total) || total > kMostBytes;
  }
  if (!too_long) return LAPI_SUCCESS;
  return refuse(codes.length, "the lengths together are more than %llu", static_cast<unsigned long long>(kMostBytes));
}

// Reads the lists of a vector, which may lie anywhere.
template <class Check>
int check_lists(const Codes& codes, Check check) {
  int error = LAPI_SUCCESS;
  return survives([&] { error = check(); }) ? error : codes.address;
}

// EXTENT, STRIDE, VEC_ADDR, VEC_LEN, VEC_NULL, VEC_TYPE.
int check_vector(const VectorView& vector, const Codes& codes, bool generic) {
  if (const int error = check_usable(vector, codes, generic)) return error;
  return check_lists(codes,
                     [&] { return vector.is_strided() ? check_blocks(vector, codes) : check_pieces(vector, codes); });
}

int check_strided_address(const VectorView& vector, const Codes& codes) {
  if (vector.is_null || !vector.is_strided()) return LAPI_SUCCESS;
  if (vector.info == nullptr) return refuse_null(codes.strided_null, "info");
  return check_lists(codes, [&] {
    return vector.blocks().base == 0 ? refuse_null(codes.strided_null, "info[0], the base,") : LAPI_SUCCESS;
  });
}

int refuse_lengths(const char* which, std::uint64_t here, std::uint64_t there) {
  return refuse(LAPI_ERR_VEC_LEN_DIFF, "%s is %llu here and %llu there", which, static_cast<unsigned long long>(here),
                static_cast<unsigned long long>(there));
}

// VEC_LEN_DIFF, VEC_NUM_DIFF, VEC_TYPE_DIFF.
int check_difference(const VectorView& origin, const VectorView& there) {
  if (origin.type != there.type) {
    return refuse(LAPI_ERR_VEC_TYPE_DIFF, "vec_type is %d here and %d there", static_cast<int>(origin.type),
                  static_cast<int>(there.type));
  }
  if (origin.is_strided()) {
    const std::uint64_t here = origin.blocks().block, other = there.blocks().block;
    if (here != other) return refuse_lengths("the block's size", here, other);
  } else {
    const PieceList one = PieceList::of_arrays(origin.len, origin.len, origin.word_bytes, origin.count);
    const PieceList other = PieceList::of_arrays(there.len, there.len, there.word_bytes, there.count);
    for (std::uint64_t i = 0; i < std::min(origin.count, there.count); ++i) {
      if (one[i].length == other[i].length) continue;
      return refuse_lengths(("len[" + std::to_string(i) + "]").c_str(), one[i].length, other[i].length);
    }
  }
  if (origin.count == there.count) return LAPI_SUCCESS;
  return refuse(LAPI_ERR_VEC_NUM_DIFF, "num_vecs is %llu here and %llu there",
                static_cast<unsigned long long>(origin.count), static_cast<unsigned long long>(there.count));
}

}  // namespace

VectorView::VectorView(const lapi_vec_t* vector) : is_null(vector == nullptr) {
  if (vector == nullptr) return;
  type = static_cast<int>(vector->vec_type);
  count = vector->num_vecs;
  info = vector->info;
  len = vector->len;
}

VectorView::VectorView(const lapi_lvec_t* vector) : is_null(vector == nullptr), word_bytes(sizeof(lapi_long_t)) {
  if (vector == nullptr) return;
  type = static_cast<int>(vector->vec_type);
  count = vector->num_vecs;
  info = vector->info;
  len = vector->len;
}

wire::StridedLayout VectorView::blocks() const {
  const PieceList words = PieceList::of_arrays(info, info, word_bytes, 3);
  return {words[0].address, words[1].address, words[2].address, count};
}

int check_vector_message(std::uint32_t tasks, std::uint32_t max_user_header, uint target, std::uint64_t handler,
                         const void* user_header, uint user_header_length, const VectorView& origin) {
  if (handler == 0) return refuse_null(LAPI_ERR_HDR_HNDLR_NULL, "hdr_hdl");
  if (const int error = check_vector(origin, kOrigin, true)) return error;
  if (const int error = check_strided_address(origin, kOrigin)) return error;
  return check_target_and_header(tasks, max_user_header, target, user_header, user_header_length);
}

int check_vector_transfer(std::uint32_t tasks, uint target, const VectorView& origin, const VectorView& there) {
  if (const int error = check_vector(origin, kOrigin, false)) return error;
  if (const int error = check_strided_address(origin, kOrigin)) return error;
  if (const int error = check_strided_address(there, kTarget)) return error;
  if (target >= tasks) return refuse_target(target, tasks);
  if (const int error = check_vector(there, kTarget, false)) return error;
  return check_difference(origin, there);
}

int check_vector_usable(const VectorView& origin) { return check_usable(origin, kOrigin, true); }

int check_vectors_usable(const VectorView& origin, const VectorView& there) {
  if (const int error = check_usable(origin, kOrigin, false)) return error;
  return check_usable(there, kTarget, false);
}

int check_answered_vector(const VectorView& vector, std::uint64_t length, bool check_all) {
  if (const int error = check_usable(vector, kTarget, true)) return error;
  if (!check_all) return LAPI_SUCCESS;
  if (const int error = check_vector(vector, kTarget, true)) return error;
  if (const int error = check_strided_address(vector, kTarget)) return error;
  if (vector.type == LAPI_GEN_GENERIC) return LAPI_SUCCESS;
  return VectorCursor(vector).get().total_bytes() == length ? LAPI_SUCCESS : LAPI_ERR_VEC_LEN_DIFF;
}

VectorCursor::VectorCursor(const VectorView& vector) {
  if (vector.is_strided()) {
    strided_.emplace(vector.blocks());
  } else {
    list_.emplace(vector.pieces());
  }
}

std::unique_ptr<LayoutCursor> cursor_of(const VectorView& vector) {
  if (vector.is_strided()) return std::make_unique<StridedCursor>(vector.blocks());
  return std::make_unique<ListCursor>(vector.pieces());
}

}  // namespace openlapi
