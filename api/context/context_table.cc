#include "api/context/context_resources.h"

namespace openlapi {

constexpr ContextTable::ContextTable()
    : contexts{Context{0}, Context{1}, Context{2},  Context{3},  Context{4},  Context{5},  Context{6},  Context{7},
               Context{8}, Context{9}, Context{10}, Context{11}, Context{12}, Context{13}, Context{14}, Context{15}} {}

constinit ContextTable context_table;

}  // namespace openlapi
