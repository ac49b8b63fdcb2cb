// An AdapterEvent as libpmix carries it, for tasks and for the launcher's server.
#pragma once

#include <pmix.h>

#include <array>
#include <optional>
#include <vector>

#include "control/base/adapter_event.h"

namespace openlapi {

class AdapterEventInfo {
 public:
  explicit AdapterEventInfo(const AdapterEvent& event) {
    std::vector<std::uint8_t> bytes = encode(event);
    const pmix_byte_object_t object{reinterpret_cast<char*>(bytes.data()), bytes.size()};
    const bool yes = true;
    for (pmix_info_t& info : infos_) PMIX_INFO_CONSTRUCT(&info);
    PMIx_Info_load(&infos_[0], AdapterEvent::kKey, &object, PMIX_BYTE_OBJECT);
    // MPI libraries end the job for what comes to their default handlers.
    PMIx_Info_load(&infos_[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    // What is kept would be told, late, to tasks that register later.
    PMIx_Info_load(&infos_[2], PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
  }
  ~AdapterEventInfo() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  AdapterEventInfo(const AdapterEventInfo&) = delete;
  AdapterEventInfo& operator=(const AdapterEventInfo&) = delete;

  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  std::array<pmix_info_t, 3> infos_{};
};

// Nothing: it is another event, or not well formed.
inline std::optional<AdapterEvent> adapter_event_of(const pmix_info_t* infos, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    if (!PMIX_CHECK_KEY(&infos[n], AdapterEvent::kKey) || infos[n].value.type != PMIX_BYTE_OBJECT) continue;
    const pmix_byte_object_t& object = infos[n].value.data.bo;
    if (object.bytes == nullptr) return std::nullopt;
    return decode_adapter_event({reinterpret_cast<const std::uint8_t*>(object.bytes), object.size});
  }
  return std::nullopt;
}

}  // namespace openlapi
