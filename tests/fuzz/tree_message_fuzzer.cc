// Arbitrary bytes to everything that helpers of the tree algorithm and those who started them read: what is accepted
// has possible values only, and is the same when it has gone over the wire again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "control/boot/tree/tree_messages.h"
#include "dataplane/base/check.h"

using namespace openlapi::boot;

namespace {

void take_job(const StartupBytes& bytes) {
  auto job = decode_job(bytes);
  if (!job) return;
  std::vector<const lamnode*> nodes;
  for (int n = 0; n < job->nodes.count(); ++n) nodes.push_back(&job->nodes[static_cast<std::size_t>(n)]);
  OPENLAPI_CHECK(!nodes.empty() && job->job.shape.degree >= 1 && job->job.shape.at_once >= 1);
  OPENLAPI_CHECK(encode_job(job->job, nodes) == bytes);
}

void check_lines(const ErrorLines& lines) {
  for (const std::string& line : lines) {
    OPENLAPI_CHECK(std::ranges::none_of(line, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }));
  }
}

void take_reports(const StartupBytes& bytes) {
  ErrorLines lines, again;
  const auto reports = decode_reports(bytes, lines);
  if (!reports) return;
  check_lines(lines);
  const StartupBytes encoded = encode_reports(*reports, lines);
  const auto second = decode_reports(encoded, again);
  OPENLAPI_CHECK(second.has_value() && encode_reports(*second, again) == encoded && encoded.size() == bytes.size());
}

void take_told(const StartupBytes& bytes) {
  ErrorLines lines, again;
  const auto told = decode_told(bytes, lines);
  if (!told) return;
  check_lines(lines);
  const StartupBytes encoded = encode_told(*told, lines);
  OPENLAPI_CHECK(decode_told(encoded, again) == told && again == lines && encoded.size() == bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const StartupBytes bytes(data, data + size);
  take_job(bytes);
  take_reports(bytes);
  take_told(bytes);
  return 0;
}
