// Base of the parts that a Context consists of, each with a task of its own. A part finds its context by its place in
// the table of contexts, which is initialised before anything runs; compilers cannot build such a table at compile time
// if the objects contain pointers to themselves.
#pragma once

#include <cstdint>

namespace openlapi {

class Context;

class ContextPart {
 public:
  constexpr explicit ContextPart(unsigned index) : index_(static_cast<std::uint8_t>(index)) {}
  ContextPart(const ContextPart&) = delete;
  ContextPart& operator=(const ContextPart&) = delete;

 protected:
  ~ContextPart() = default;
  Context& context() const;

 private:
  const std::uint8_t index_;
};

}  // namespace openlapi
