// Opens everything that carries a context's packets, for any face: shared memory with the task's neighbours, networks
// to the other tasks of its job, and the exchange in which they tell each other their addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "api/wiring/info_level.h"
#include "api/wiring/joined_job.h"
#include "api/wiring/networks.h"
#include "api/wiring/routes.h"
#include "control/client/bootstrap.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// What a face asks for.
struct TransportsRequest {
  JoinedJob& job;                      // has been joined
  std::uint32_t instance;              // of the context in its task, 1 to 16
  const char* adapter_name = nullptr;  // the one that the program names; null: it names none
  AddressSource* addresses = nullptr;  // what the program knows about where the tasks are; null: nothing
  const char* how_to_give_addresses;   // for the error message if the program gives none
  TellNotice tell = nullptr;
  // Called when modules, or libraries that their devices need, were loaded, before a device is opened; null: nobody
  // wants to know.
  void (*when_loaded)() = nullptr;
};

// What carries a context's packets.
struct OpenTransports {
  std::shared_ptr<Bootstrap> bootstrap;
  std::vector<std::unique_ptr<Transport>> transports;
  ContextRoutes::SharedMemory shared_memory;
  std::vector<int> shm_numbers;  // by task: its number among the tasks that share memory here, or -1; empty: none
  std::vector<ContextRoutes::Network> networks;
  std::string network;       // the name of the first one's transport; empty: shared memory serves everybody
  std::uint64_t epoch = 0;   // EndpointConfig::epoch
  bool packet_tags = false;  // EndpointConfig::packet_tags
};

// Held while a face joins a job and opens a context.
std::mutex& opening_turn();

// `settings`: the result of read_settings(); defaults are filled in. False: see `failure`.
bool open_transports(const TransportsRequest& request, Settings& settings, OpenTransports& result,
                     OpenFailure& failure);

}  // namespace openlapi
