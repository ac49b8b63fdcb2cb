// What this library is; the texts are static.
#pragma once

namespace openlapi {

const char* version_number();  // "0.2.0"
const char* version_text();    // "openlapi 0.2.0"
const char* build_stamp();     // when it was built, as the compiler says (SOURCE_DATE_EPOCH makes it reproducible)

}  // namespace openlapi
