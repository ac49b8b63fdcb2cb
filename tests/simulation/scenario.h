// What one seed is: all choices that are made before the run. Everything follows from the options, so that the options
// alone replay it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/clock.h"
#include "tests/support/simulated_bulk_memory.h"
#include "tests/support/simulated_network.h"

namespace openlapi::simulation {

struct Options {
  std::uint64_t seed = 1;
  std::uint32_t tasks = 8;
  std::uint32_t contexts = 2;
  std::uint32_t operations = 2000;
  std::uint32_t networks = 0;  // 0: as many as the seed says
  bool trace = false;

  // The command that runs this seed again.
  std::string replay_command() const;
};

enum class Flavour : std::uint8_t {
  network,        // every packet may be lost; tasks die and come back
  shared_memory,  // reliable transports; tasks die for good
  mixed,          // some tasks share a node, the others are alone on theirs
};

struct Scenario {
  explicit Scenario(const Options& options);

  Options options;
  Flavour flavour;
  std::vector<std::uint32_t> node_of;  // by task

  // Transports.
  TransportLimits network_limits;
  TransportLimits memory_limits;
  std::uint32_t network_queue;
  std::uint32_t memory_queue;
  bool memory_readable;
  double read_refusal;

  // Tasks learn each other's epochs with the addresses; else the first packet to a peer asks for it.
  bool address_exchange;

  // Engines.
  std::uint32_t copy_limit;
  std::uint32_t copy_buffers;
  std::uint32_t ack_threshold;
  std::uint32_t idle_loops;
  Nanoseconds timeout;
  // In half of the seeds these wrap during the run.
  std::uint64_t first_number;                 // of messages, fences, ...
  std::optional<std::uint32_t> first_packet;  // on the wire
  std::uint64_t first_epoch;                  // before the first one

  // Load: ns between two bursts of operations of one engine, and the mean size of the random ones.
  Nanoseconds issue_gap;
  std::uint64_t long_message;
  double long_share;
  std::size_t memory_bytes;  // of one task; enough for its share of some 4,000 operations

  // Networks that connect all tasks, each with an adapter in every one. Adapters are cut off now and then, in one
  // direction or in both.
  std::uint32_t networks;
  std::uint32_t cuts;
  Nanoseconds longest_cut;
  // The networks are one, so that each adapter reaches all, also those of other numbers. Then some tasks may have an
  // adapter that dies, for the whole run. Where none does, one may lose all packets that are longer than others.
  bool one_switch;
  bool adapters_die;
  // Or tasks have fewer adapters than there are networks: so many of the first ones each.
  bool uneven;
  std::vector<std::uint32_t> adapters;
  std::uint32_t pairs(PeerIndex a, PeerIndex b) const { return std::min(adapters[a], adapters[b]); }
  bool one_is_narrow;
  bool links_told;        // tasks are told of most cuts of their own adapters (link_words.h),
  bool links_told_wrong;  // sometimes late, and of some that are none
  bool has_matrix;        // and in a matrix of most cuts of all adapters, some of it old

  // Faults.
  double roughness;  // 0: a calm network, 1: the worst
  std::uint32_t deaths;
  std::uint32_t partitions;
  Nanoseconds longest_partition;
  double noise;  // strangers' packets per phase

  // The users recover by themselves (recovery.h). Then nobody exchanges addresses for those who come back, whose ports
  // may be others in every incarnation.
  bool recovery;
  std::uint32_t separations;
  bool new_ports;

  // Adapters that read the memory of other tasks.
  bool bulk_adapters;
  bool bulk_on;
  std::uint64_t bulk_minimum;
  std::uint64_t bulk_shared_minimum;
  bool bulk_on_all_networks;
  std::uint64_t bulk_longest_read;
  std::size_t bulk_room;
  double bulk_wakes;
  BulkFaults bulk_faults;

  // One task more than those whose work is checked, which knows the job's key and lies (lying_task.h). Nobody can
  // finish a collective with it, so there are none; to the contexts of the last number others send what they do not
  // expect to end.
  bool lying_task;
  PeerIndex liar() const { return options.tasks; }
  std::uint32_t all_tasks() const { return options.tasks + (lying_task ? 1 : 0); }
  bool is_liar(PeerIndex task) const { return task == options.tasks; }

  // Tasks that take no step for a while (SIGSTOP), in turns: shorter than the time-out, at once or again and again, so
  // that all that they do is slow; and, at the end, longer: then it dies, or it goes on after it was given up.
  std::uint32_t pauses;
  bool long_stop;
  bool stop_ends_in_death;

  bool share_node(PeerIndex a, PeerIndex b) const { return node_of[a] == node_of[b]; }
  bool can_come_back(PeerIndex task) const;
  NetworkFaults next_faults(SeededRandom& random) const;
  void choose_bulk();
  void choose_networks();
  void choose_adapters();
  void choose_numbers();
  void choose_disturbers();
  std::string describe() const;
};

}  // namespace openlapi::simulation
