// Parameters of the System Services Interface: variables of the environment.
#pragma once

#include <optional>
#include <string>

namespace openlapi::ssi {

// The variable's value; nothing: it is not set. Throws SsiError: no integer.
std::optional<int> integer_variable(const std::string& variable);

}  // namespace openlapi::ssi
