// Counts what is allocated with `new` in a program that links allocation_count.cc: to show that a path allocates
// nothing; and refuses allocations of some sizes, to show what happens then.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi::test {

std::uint64_t allocation_count();
std::size_t allocated_bytes();  // and not given back

// From now on allocations of `from` to `below` - 1 bytes fail.
void refuse_allocations(std::size_t from, std::size_t below = SIZE_MAX);
void allow_allocations();

}  // namespace openlapi::test
