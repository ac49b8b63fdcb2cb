// The library's version; all texts are static.
#pragma once

namespace openlapi {

const char* version_number();  // "0.2.0"
const char* version_text();    // "openlapi 0.2.0"
const char* build_stamp();     // build time, as told by the compiler (SOURCE_DATE_EPOCH makes it reproducible)

}  // namespace openlapi
