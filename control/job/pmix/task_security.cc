#include "control/job/pmix/task_security.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

// What is needed of munge.h: libmunge comes with libpmix, or not at all.
struct MungeContext;
using CreateContext = MungeContext* (*)();
using GetOption = int (*)(MungeContext*, int option, ...);
using DestroyContext = void (*)(MungeContext*);
constexpr int kSocketOption = 8;  // MUNGE_OPT_SOCKET

template <typename Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// Empty: this libpmix has no MUNGE.
std::string munge_socket() {
  const auto create = loaded<CreateContext>("munge_ctx_create");
  const auto get = loaded<GetOption>("munge_ctx_get");
  const auto destroy = loaded<DestroyContext>("munge_ctx_destroy");
  if (loaded<void*>("pmix_mca_psec_munge_component") == nullptr || create == nullptr || get == nullptr ||
      destroy == nullptr)
    return "";
  MungeContext* context = create();
  const char* path = nullptr;
  std::string result;
  if (context != nullptr && get(context, kSocketOption, &path) == 0 && path != nullptr) result = path;
  destroy(context);
  return result;
}

}  // namespace

bool answers(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || socket_path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // EAGAIN: somebody is there, and busy.
  return socket.is_open() &&
         (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN);
}

void choose_task_security() {
  if (answers(munge_socket())) setenv("PMIX_MCA_psec", "munge", 0);
}

}  // namespace openlapi
