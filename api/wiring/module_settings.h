// What the table of settings has of the transports that are modules (nic/modules).
#pragma once

#include <string>
#include <vector>

#include "api/wiring/setting_row.h"

namespace openlapi {

// Their own variables.
std::vector<SettingRow> module_rows();

// Of adapters, as MP_EUIDEVICE names them.
std::string adapter_names();

// The networks over which OPENLAPI_PACKET_AUTH alone keeps others from seeing, or changing, packets.
std::string networks_with_tags();

// As OPENLAPI_MODULES has them.
std::string usual_modules_text();

}  // namespace openlapi
