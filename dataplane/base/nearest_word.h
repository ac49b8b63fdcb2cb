// Finds the intended word, for error messages about mistyped ones.
#pragma once

#include <span>
#include <string_view>

namespace openlapi {

// The least number of letters to change, insert, delete or swap with the next one to turn `first` into `second`.
unsigned edit_distance(std::string_view first, std::string_view second);

// The known word with the smallest distance, if that is at most `most`; the first of several. Empty: none is so near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known, unsigned most);

}  // namespace openlapi
