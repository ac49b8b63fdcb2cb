#include "api/rpi/host/host_request.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {
namespace {

[[noreturn]] void refuse(const char* what, std::int64_t value, const std::string& allowed) {
  throw ssi::SsiError(std::string("the ") + what + " of a request is " + std::to_string(value) +
                      "; allowed: " + allowed);
}

}  // namespace

void check(const Operation& operation, int largest_tag) {
  const auto [type, buffer, layout, peer, tag, comm, marks] = operation;
  const bool sends = type < LAM_RQIRECV;
  if (type < LAM_RQISEND || type > LAM_RQIPROBE) refuse("type", type, "0 to 5");
  if (comm == nullptr) throw ssi::SsiError("the communicator of a request is NULL; allowed: one of this host's");
  const std::int64_t size = std::int64_t{layout.block} * layout.blocks;
  const bool is_negative = layout.block < 0 || layout.blocks < 0;
  if (is_negative || size > INT32_MAX) {
    refuse("size", is_negative ? std::min(layout.block, layout.blocks) : size, "0 to " + std::to_string(INT32_MAX));
  }
  if (layout.stride < layout.block) refuse("stride", layout.stride, "the block's size and more");
  if (size > 0 && buffer == nullptr) throw ssi::SsiError("the buffer of a request is NULL");
  // Negative tags are those of the MPI layer itself.
  if (tag > largest_tag) refuse("tag", tag, std::to_string(largest_tag) + " at most");
  if (sends && tag == MPI_ANY_TAG) refuse("tag", tag, "no wildcard in a send");
  const int ranks = comm->c_group->g_nprocs;
  const bool any = peer == MPI_PROC_NULL || (peer == MPI_ANY_SOURCE && !sends);
  if (!any && (peer < 0 || peer >= ranks)) refuse("rank", peer, "0 to " + std::to_string(ranks - 1));
}

HostRequest::HostRequest(const Operation& operation, int largest_tag) : _req{}, layout(operation.layout) {
  check(operation, largest_tag);
  rq_type = operation.type;
  rq_state = LAM_RQSINIT;
  rq_marks = operation.marks | (rq_type < LAM_RQIRECV ? LAM_RQFSOURCE : LAM_RQFDEST);
  rq_buf = operation.buffer;
  rq_count = rq_packsize = layout.size();
  rq_packbuf = static_cast<char*>(operation.buffer);
  rq_rank = operation.peer;
  rq_tag = operation.tag;
  rq_comm = operation.comm;
  rq_cid = rq_comm->c_contextid;
  if (rq_rank >= 0) rq_proc = rq_comm->c_group->g_procs[rq_rank];
  if (!layout.is_contiguous()) {
    rq_packbuf = static_cast<char*>(std::malloc(static_cast<std::size_t>(layout.size()) + 1));
    if (rq_packbuf == nullptr) throw std::bad_alloc();
    rq_marks |= LAM_RQFDYNBUF;
  }
}

HostRequest::HostRequest(HostRequest& whole) : _req(whole), layout(whole.layout) {
  rq_marks &= ~(LAM_RQFDYNBUF | LAM_RQFPERSIST);
  rq_name = nullptr;
  rq_next = nullptr;
  rq_rpi = nullptr;
}

HostRequest::~HostRequest() {
  std::free(rq_name);
  if ((rq_marks & LAM_RQFDYNBUF) != 0) std::free(rq_packbuf);
}

void HostRequest::pack() {
  if (layout.is_contiguous()) return;
  const auto block = static_cast<std::size_t>(layout.block);
  for (int n = 0; n < layout.blocks; ++n) {
    std::memcpy(rq_packbuf + n * layout.block, static_cast<const char*>(rq_buf) + n * std::ptrdiff_t{layout.stride},
                block);
  }
}

void HostRequest::unpack() {
  if (layout.is_contiguous()) return;
  int left = std::min(rq_status.st_length, rq_packsize);
  for (int n = 0; left > 0; ++n, left -= layout.block) {
    std::memcpy(static_cast<char*>(rq_buf) + n * std::ptrdiff_t{layout.stride}, rq_packbuf + n * layout.block,
                static_cast<std::size_t>(std::min(left, layout.block)));
  }
}

void HostRequest::take_over(const HostRequest& part) {
  rq_state = part.rq_state;
  rq_flags |= part.rq_flags & LAM_RQFTRUNC;
  rq_status = part.rq_status;
  rq_seq = part.rq_seq;
  rq_proc = part.rq_proc;
}

void DrivenModule::add(HostRequest& request) {
  request.before = bottom;
  request.rq_next = nullptr;
  if (bottom != nullptr) {
    bottom->rq_next = &request;
  } else {
    top = &request;
  }
  bottom = &request;
}

void DrivenModule::remove(HostRequest& request) {
  auto* next = static_cast<HostRequest*>(request.rq_next);
  if (request.before != nullptr) {
    request.before->rq_next = next;
  } else {
    top = next;
  }
  (next != nullptr ? next->before : bottom) = request.before;
  request.before = nullptr;
  request.rq_next = nullptr;
}

}  // namespace openlapi::rpi
