// A part of a context: what a Context is made of, each with a task of its own. It finds the whole by its place in the
// table of contexts, which is there before anything runs; compilers cannot make such a table of objects with pointers
// to themselves.
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
