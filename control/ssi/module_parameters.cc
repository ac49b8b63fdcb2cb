// lam_ssi_base_param_*: what modules register and look up.
#include "control/ssi/module_parameters.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "control/boot/include/lam-ssi.h"
#include "control/ssi/ssi_error.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::ssi {
namespace {

struct Parameter {
  std::string name{};
  bool has_variable = true;
  int number = 0;                     // default of an integer
  std::optional<std::string> text{};  // default of a string
};

struct ParameterNames {
  const char *type, *module, *parameter, *whole;
};

std::vector<Parameter>& parameters() {
  static std::vector<Parameter> all;
  return all;
}

std::string name_of(const ParameterNames& names) {
  if (names.type == nullptr)
    throw SsiError("a parameter of a module was registered without a type; allowed: boot, rpi");
  if (names.whole != nullptr && names.whole != LAM_SSI_BASE_PARAM_INFO) return names.whole;
  std::string name = names.type;
  for (const char* part : {names.module, names.parameter}) {
    if (part != nullptr) name += std::string("_") + part;
  }
  return name;
}

int index_of(const std::string& name) {
  const auto found = std::ranges::find(parameters(), name, &Parameter::name);
  return found == parameters().end() ? LAMERROR : static_cast<int>(found - parameters().begin());
}

int add(const ParameterNames& names, int number, std::optional<std::string> text) {
  Parameter parameter{name_of(names), names.whole != LAM_SSI_BASE_PARAM_INFO, number, std::move(text)};
  const int known = index_of(parameter.name);
  if (known >= 0) {
    parameters()[static_cast<std::size_t>(known)] = std::move(parameter);
    return known;
  }
  parameters().push_back(std::move(parameter));
  return static_cast<int>(parameters().size()) - 1;
}

const Parameter* at(int index) {
  const bool is_there = index >= 0 && index < static_cast<int>(parameters().size());
  return is_there ? &parameters()[static_cast<std::size_t>(index)] : nullptr;
}

std::string variable_of(const Parameter& parameter) { return "LAM_MPI_SSI_" + parameter.name; }

}  // namespace

std::optional<int> integer_variable(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return {};
  const auto number = whole_number<int>(value);
  if (!number) throw SsiError(variable + " is " + shown(value) + "; allowed: an integer");
  return number;
}

}  // namespace openlapi::ssi

using namespace openlapi::ssi;

int lam_ssi_base_param_register_int(const char* type, const char* module, const char* param, const char* ssi_param_name,
                                    int default_value) {
  return catch_errors(LAMERROR, [&] { return add({type, module, param, ssi_param_name}, default_value, {}); });
}

int lam_ssi_base_param_register_string(const char* type, const char* module, const char* param,
                                       const char* ssi_param_name, const char* default_value) {
  return catch_errors(LAMERROR, [&] {
    std::optional<std::string> text;
    if (default_value != nullptr) text = default_value;
    return add({type, module, param, ssi_param_name}, 0, std::move(text));
  });
}

int lam_ssi_base_param_lookup_int(int index) {
  const Parameter* parameter = at(index);
  if (parameter == nullptr) return LAMERROR;
  if (!parameter->has_variable) return parameter->number;
  return catch_errors(parameter->number,
                      [&] { return integer_variable(variable_of(*parameter)).value_or(parameter->number); });
}

char* lam_ssi_base_param_lookup_string(int index) {
  const Parameter* parameter = at(index);
  if (parameter == nullptr) return nullptr;
  return catch_errors(static_cast<char*>(nullptr), [&]() -> char* {
    const char* value = parameter->has_variable ? std::getenv(variable_of(*parameter).c_str()) : nullptr;
    if (value != nullptr) return c_copy(value);
    return parameter->text ? c_copy(*parameter->text) : nullptr;
  });
}

int lam_ssi_base_param_find(const char* type, const char* module, const char* param) {
  return catch_errors(LAMERROR, [&] { return index_of(name_of({type, module, param, nullptr})); });
}
