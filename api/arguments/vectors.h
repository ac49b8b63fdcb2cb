// The user's vectors: lapi_vec_t, or lapi_lvec_t for a task of the other word size, in one form. Their checks, each in
// the order of the calls' man pages, and the cursor by which the engine walks along them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/include/lapi.h"
#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

struct VectorView {
  bool is_null = true;
  int type = 0;
  std::uint64_t count = 0;  // num_vecs
  const void* info = nullptr;
  const void* len = nullptr;
  std::uint8_t word_bytes = sizeof(void*);

  VectorView() = default;
  explicit VectorView(const lapi_vec_t* vector);
  explicit VectorView(const lapi_lvec_t* vector);

  bool is_strided() const { return type == LAPI_GEN_STRIDED_XFER; }
  PieceList pieces() const { return PieceList::of_arrays(info, len, word_bytes, count); }
  wire::StridedLayout blocks() const;
};

// Null vectors and types that do not exist are refused whether arguments are checked or not. LAPI_SUCCESS: nothing
// wrong.
int check_vector_message(std::uint32_t tasks, std::uint32_t max_user_header, uint target, std::uint64_t handler,
                         const void* user_header, uint user_header_length, const VectorView& origin);
int check_vector_transfer(std::uint32_t tasks, uint target, const VectorView& origin, const VectorView& there);
int check_vectors_usable(const VectorView& origin, const VectorView& there);
int check_vector_usable(const VectorView& origin);

// For a vector that a header handler returns. `length`: of the message; unless LAPI_GEN_GENERIC it must be as long.
int check_answered_vector(const VectorView& vector, std::uint64_t length, bool check_all);

// Lives on the stack of a call: no allocation.
class VectorCursor {
 public:
  explicit VectorCursor(const VectorView& vector);
  LayoutCursor& get() { return list_.has_value() ? static_cast<LayoutCursor&>(*list_) : *strided_; }

 private:
  std::optional<ListCursor> list_;
  std::optional<StridedCursor> strided_;
};

std::unique_ptr<LayoutCursor> cursor_of(const VectorView& vector);

}  // namespace openlapi
