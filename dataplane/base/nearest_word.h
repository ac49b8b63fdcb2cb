// For messages about mistyped words.
#pragma once

#include <span>
#include <string_view>

namespace openlapi {

// How many letters have to be changed, put in, left out or swapped with the next one to make `first` of `second`.
unsigned edit_distance(std::string_view first, std::string_view second);

// The word that is fewest such changes away, at most `most`; of equally near ones the first. Empty: none is so near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known, unsigned most);

}  // namespace openlapi
