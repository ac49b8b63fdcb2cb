// The library that was built without PMIx (library_only): its tasks start with the standalone environment.
#include "control/client/bootstrap.h"

namespace openlapi {

std::shared_ptr<Bootstrap> open_pmix_bootstrap(std::string& error) {
  error = "this library was built without PMIx: start its tasks with lapirun --standalone";
  return nullptr;
}

}  // namespace openlapi
