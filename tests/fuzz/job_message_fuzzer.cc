// Arbitrary bytes to the decoder of what lapirun and the helpers of its nodes tell each other: what it accepts is
// encoded as it was, and each task of a job that it accepts has one place.
#include <cstddef>
#include <cstdint>

#include "control/job/messages/job_message.h"
#include "dataplane/base/check.h"

using namespace openlapi::jobs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MessageBytes bytes(data, data + size);
  const auto body = decode_body(bytes);
  if (!body) return 0;
  OPENLAPI_CHECK(encode(*body) == bytes);
  if (const auto* start = std::get_if<StartTasks>(&*body)) {
    OPENLAPI_CHECK(task_count(start->nodes) > 0);
    OPENLAPI_CHECK(!unpack_words(start->arguments).empty());
    unpack_words(start->environment);
  }
  return 0;
}
