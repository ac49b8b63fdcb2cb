// A listener of channels, for tests of what these deliver and over which paths.
#pragma once

#include <cstdint>

#include "dataplane/paths/channel_set.h"

namespace openlapi {

class QuietListener : public ChannelListener {
 protected:
  ~QuietListener() = default;

 private:
  void channel_acknowledged(PeerIndex, std::uint64_t) override {}
  void channel_restarted(PeerIndex, bool, bool) override {}
  void channel_timed_out(PeerIndex) override {}
};

}  // namespace openlapi
