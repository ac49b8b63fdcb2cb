// A task whose peers are all reached over one transport.
#pragma once

#include "dataplane/host/route_resolver.h"

namespace openlapi {

struct FixedRoute final : RouteResolver {
  Route resolve(PeerIndex) override {
    Route route;
    route.paths[0] = transport;
    route.count = 1;
    return route;
  }
  Transport* transport = nullptr;
};

}  // namespace openlapi
