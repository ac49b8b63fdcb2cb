#!/usr/bin/env python3
"""Deliberate mistakes: each is a small change to a copy of one source file of the engine.

    mutants.py --write NAME SOURCE OUTPUT     writes the changed copy of SOURCE
    mutants.py --list                         names and files, as meson.build has them

MUTANTS are found by the seeds of the simulation (those of paths by its trial of them, path_trial.h), BOUNDS by the unit
test endpoint/lying_peer, SHARES by simulation/striping, WORDS by simulation/crossing and the unit test
daemon/adapter_table, UPKEEP by simulation/two_handles, PATHS by the unit test paths/several_paths, READS by
endpoint/bulk_many_paths, LIFECYCLES by the seeds of rpi/lifecycle, ENGINES by the unit test rpi/engine, NEIGHBOURS by
the unit test shm/direct/transport. A change whose text is not found exactly once in the source is an error: mutants must
follow the product.
"""
import pathlib
import sys

# name: (file, what is wrong, [(text, replacement), ...])
MUTANTS = {
    "duplicate_accepted": (
        "dataplane/reliability/reliable_channel.cc", "a packet that came again is handed to the engine",
        [("      ++counters.duplicates;\n", "      ++counters.duplicates;\n      outcome.deliver = true;\n")]),
    "window_off_by_one": (
        "dataplane/reliability/receive_window.cc", "a packet one beyond the ring takes the next one's place",
        [("  if (steps < capacity_) return true;\n", "  if (steps <= capacity_) return true;\n")]),
    "moved_adapter_untold": (
        "dataplane/paths/channel_set_addresses.cc", "peers are not told that an adapter has another address",
        [("  exchange_with(channel).tell(now());\n  for (unsigned number", "  for (unsigned number")]),
    "moved_adapter_unheard": (
        "dataplane/paths/channel_set.cc", "what tells of a new address is taken from the former one only",
        [(" || header.tells_addresses()) return true;", ") return true;")]),
    "counter_early": (
        "dataplane/operation/completions.cc", "counters move before the completion handler has returned",
        [("  const bool now = style ==", "  move_counters(run);\n  const bool now = style =="),
         ("  if (returned) move_counters(run);\n", "  (void)returned;\n"),
         ("  const MovedMessage moved(&run);\n  move_counters(run);\n", "  (void)run;\n")]),
    "fence_too_soon": (
        "dataplane/sync/fence_answers.cc", "the target answers although messages are still on their way",
        [("  if (unfinished == 0) return outbox_.answer(from, RecordKind::fence_reply, body);\n",
          "  if (unfinished <= 1) return outbox_.post_record(from, RecordKind::fence_reply, body);\n")]),
    "fence_asked_too_soon": (
        "dataplane/sync/fences.cc", "the fence request overtakes messages that wait for room",
        [("    if (first_waiting < fence.next_message) return false;\n", "")]),
    "stale_epoch": (
        "dataplane/reliability/reliable_channel.cc", "packets of a former incarnation of the sender are taken",
        [("  if (is_too_early(header.source_epoch)) {\n", "  if (false) {\n")]),
    "wrong_incarnation": (
        "dataplane/reliability/reliable_channel.cc", "packets for a former incarnation of the receiver are taken",
        [("  if (header.destination_epoch != own && header.destination_epoch != own_epoch_) {\n",
          "  if (header.destination_epoch == 0 || header.destination_epoch > own_epoch_) {\n")]),
    "short_stale_epoch": (
        "dataplane/wire/association.cc", "packets with a short header of a former incarnation are taken",
        [("header.source_epoch, header.destination_epoch};", "0, 0};")]),
    "damage_unseen": (
        "dataplane/reliability/packet_filter.cc", "the checksum is not looked at",
        [("  if (context.checksum && !wire::checksum_matches(packet, header)) return count(counters.damaged);\n", "")]),
    "wrong_receiver": (
        "dataplane/reliability/packet_filter.cc", "packets for another context of the task are taken",
        [("  if (header.instance != context.instance) return count(counters.wrong_destination);\n", "")]),
    "late_read_of_small_message": (
        "dataplane/transfer/message_submission.cc", "a message that waits for room is not copied",
        [("    means_.sender.keep_copy(stored, std::move(room));\n", "    means_.admission.take_copy(peer);\n")]),
    "late_read_of_vector": (
        "dataplane/transfer/message_copies.cc", "the list of a put that waits for room is not copied",
        [("    message.destination = message.destination->detached();\n",
          "    message.destination = message.destination->clone();\n")]),
    "origin_counter_early": (
        "dataplane/transfer/message_sender.cc", "the origin's data is called free while packets still point into it",
        [("  if (message.unacknowledged != 0) return;\n", "")]),
    "send_handler_early": (
        "dataplane/transfer/message_sender.cc", "the origin is told that its data is free while packets point into it",
        [("  if (message.unacknowledged != 0) return;\n",
          "  if (message.unacknowledged != 0) {\n"
          "    means_.origins.origin_is_free(message.peer, {0, message.free_handler});\n    message.free_handler = {};\n    return;\n  }\n")]),
    "send_handler_lost": (
        "dataplane/transfer/message_submission.cc", "of a message that was copied the send completion handler never runs",
        [("  means_.origins.origin_is_free(peer.index, {message.free_counter, message.free_handler});\n",
          "  means_.origins.origin_is_free(peer.index, {message.free_counter, {}});\n")]),
    "get_counter_early": (
        "dataplane/operation/gets.cc", "a get is complete before its last fragment",
        [("  if (request->received == request->length) means_.requests.complete(body.request_id, from);\n",
          "  if (request->received * 2 >= request->length) means_.requests.complete(body.request_id, from);\n")]),
    "refused_message_twice": (
        "dataplane/operation/refused_active_messages.cc", "a message that was refused and then accepted is offered again",
        [("      ++delivered;\n",
          "      ++delivered;\n      if (!waiting.user_header.empty()) refused.put_back(std::move(waiting));\n")]),
    "barrier_round_missing": (
        "dataplane/sync/collective.cc", "the last round of a barrier is left out",
        [("    if (round_ == all_rounds()) {\n",
          "    if (round_ + (exchange_ ? 0 : 1) >= all_rounds()) {\n")]),
    "first_packets_lost": (
        "dataplane/reliability/reliable_channel.cc", "what was turned away on first contact is not sent again",
        [("    send_.resend_all();  // what has been sent did not name this incarnation and was turned away\n",
          "    send_.abandon();\n")]),
    "exchanged_epoch_unused": (
        "dataplane/paths/peer_channel.cc", "what the address exchange says of the peer's incarnation is not used",
        [("reliable_(context, peer, epochs, ", "reliable_(context, peer, {epochs.own, 0}, ")]),
    "numbers_of_each_path": (
        "dataplane/reliability/reliable_channel.cc", "each path numbers its packets in its own way",
        [("  header.sequence = packet.sequence + sent_number_;\n",
          "  header.sequence = packet.sequence + sent_number_ + path_;\n")]),
    "silent_path_keeps_its_packets": (
        "dataplane/reliability/reliable_channel_timing.cc",
        "what a silent path has in flight is not sent again over another one",
        [("  send_.give_up_path(path);\n", "")]),
    "data_before_its_message": (
        "dataplane/endpoint/record_dispatch.cc", "data of a message that has not begun is taken out of turn",
        [("  return IncomingMessages::awaits_data(from, body_of<wire::DataBody>(record).message_id);\n",
          "  return true;\n")]),
    "placed_data_again": (
        "dataplane/reliability/receive_window.cc", "data that was taken out of turn is not known to be here",
        [("  keep(sequence, {.buffer = &placed, .length = 0});\n", "")]),
    "window_of_dead_path": (
        "dataplane/reliability/send_window.cc", "what was in flight over a path that is given up is counted for ever",
        [("  if (entry.state == State::in_flight) over.bytes -= entry.length();\n  over.longest_lost", "  over.longest_lost")]),
    "duplicate_after_failover": (
        "dataplane/paths/channel_set.cc", "a packet that came over two paths is handed to the engine twice",
        [("  const ReceiveOutcome outcome = reliable.receive(header, payload, now);\n",
          "  const auto duplicates = context_.counters.duplicates;\n"
          "  const ReceiveOutcome outcome = reliable.receive(header, payload, now);\n"
          "  if (context_.counters.duplicates != duplicates && reliable.paths() > 1 && !payload.empty())\n"
          "    listener_.channel_delivered(channel.peer_, payload);\n")]),
    "read_modify_write_twice": (
        "dataplane/paths/channel_set.cc", "a read-modify-write that came over two paths is carried out twice",
        [("  const ReceiveOutcome outcome = reliable.receive(header, payload, now);\n",
          "  const auto duplicates = context_.counters.duplicates;\n"
          "  const ReceiveOutcome outcome = reliable.receive(header, payload, now);\n"
          "  if (context_.counters.duplicates != duplicates && reliable.paths() > 1 && !payload.empty() &&\n"
          "      payload[0] == std::byte{6})  // RecordKind::rmw_request\n"
          "    listener_.channel_delivered(channel.peer_, payload);\n")]),
    "acknowledged_over_dead_path": (
        "dataplane/paths/peer_channel.cc", "acknowledgements leave over the path that short messages take, and no other",
        [("  if (reliable.saw_duplicate()) return (1u << reliable.paths()) - 1;\n"
          "  const unsigned arrived = several->arrived_over;\n"
          "  return 1u << arrived | (several->watch.is_silent(arrived) ? 1u << several->watch.best() : 0);\n",
          "  return 1u << several->watch.best();\n")]),
    "path_never_probed": (
        "dataplane/paths/path_watch.cc", "a path that went silent is not asked again",
        [("    probing.at = now + probing.pause;\n    find_next_probe();\n", "")]),
    "path_up_by_any_packet": (
        "dataplane/paths/peer_channel.cc", "whatever comes over a silent path, however old, ends its silence",
        [("  bool any = outcome.path_answered && watch.answered(over);\n", "  bool any = watch.answered(over);\n")]),
    "word_believed_for_ever": (
        "dataplane/paths/path_watch.cc", "a path whose link is said to be down is not used, although it answers",
        [("  if ((links_down_ & ~asked_) >> path & 1) return false;\n", "  if (links_down_ >> path & 1) return false;\n")]),
    "old_row_believed_anew": (
        "dataplane/paths/path_watch.cc", "what the matrix says of an adapter counts again with each change of another one",
        [("  if ((words & ~before) != 0) {\n", "  if (words != 0) {\n")]),
    "round_trip_of_sent_again": (
        "dataplane/reliability/send_window.cc", "a packet that was sent again over another path measures that one",
        [("  over.news.round_trip = again ? 0 : std::max<Nanoseconds>(age, 1);\n",
          "  over.news.round_trip = std::max<Nanoseconds>(age, 1);\n")]),
    "word_found_out_late": (
        "dataplane/paths/path_watch.cc", "a path that is left on word is probed as late as when it was last silent",
        [("  if (!is_silent(path)) paths_[path].pause = 0;\n", "")]),
    "other_ends_untried": (
        "dataplane/paths/several_paths.cc", "where different adapters are dead at the two ends no others are tried",
        [("  if (!watch.all_silent()) return probed;\n", "  return probed;\n")]),
    "adapters_without_pair_unheard": (
        "dataplane/paths/several_paths.cc", "what comes over an adapter that has no pair there is nobody's",
        [("return of.lead_over(transport); });\n",
          "return of.at(PathEnds::kHome).transport == &transport; });\n")]),
    "probes_answered_at_home": (
        "dataplane/paths/peer_channel_probes.cc", "a probe from another end is answered to where the path leads else",
        [("several_->ends[number].at(end) : best_;", "several_->ends[number].at(PathEnds::kHome) : best_;")]),
    "unknown_probes_unanswered": (
        "dataplane/reliability/reliable_channel.cc", "who does not know the peer's epoch and can only probe is told nothing",
        [("  return (header.flags & (wire::kPacketHasData | wire::kPacketPathProbe)) != 0;\n",
          "  return (header.flags & wire::kPacketHasData) != 0;\n")]),
    "strided_boundary": (
        "dataplane/layout/vector_cursor.cc", "a packet that begins with a block's last byte goes to the next block",
        [("  std::byte* block = pointer_to(layout_.base + position_ / layout_.block * layout_.stride);\n",
          "  std::byte* block = pointer_to(layout_.base + (position_ + 1) / layout_.block * layout_.stride);\n")]),
    "program_position_lost": (
        "dataplane/layout/program_cursor.cc", "a program goes back to the beginning of a block, not to where it was",
        [("  frames_[depth_].inside = rest;\n", "")]),
    "function_not_asked": (
        "dataplane/transfer/attach_reads_of_layouts.cc", "data that a program combines is read over what is there",
        [("described && (message.layout == nullptr || message.layout->only_copies());\n", "described;\n")]),
    "late_packet_of_purged_era": (
        "dataplane/peers/peer_table.cc", "two tasks that begin anew take what was sent before",
        [("    epochs = {former->second.epoch, 0};", "    epochs = {0, 0};")]),
    "purge_keeps_queue": (
        "dataplane/transfer/message_sender.cc", "a peer that is purged stays in the queue of those who wait for room",
        [("  }\n  means_.outbox.look_whether_pending(peer);\n}\n\nvoid MessageSender::go_on", "  }\n}\n\nvoid MessageSender::go_on")]),
    "purge_keeps_quiet": (
        "dataplane/endpoint/endpoint.cc", "of what a purge gives up the send completion handlers run later",
        [("  if (parts_->losses.purge(peer)) parts_->origins.call_ends();\n", "  parts_->losses.purge(peer);\n")]),
    "purge_called_a_loss": (
        "dataplane/peers/losses.cc", "those who wait for a purged task are told that it was lost",
        [("  part_from(index, Fault::purged);\n", "  part_from(index, Fault::no_connectivity);\n")]),
    "bulk_exposed_for_ever": (
        "dataplane/transfer/memory_offers.cc", "memory that the peer has read stays exposed",
        [("      --most_keys;\n", "      --most_keys;\n      MemoryKey again;\n"
          "      path.memory->expose(message.data, static_cast<std::size_t>(message.total), again);\n")]),
    "bulk_failure_called_success": (
        "dataplane/transfer/bulk_pulls.cc", "the origin is told that its data was read when it was not",
        [("pull.failed ? wire::AttachAnswer::not_read : wire::AttachAnswer::read;", "wire::AttachAnswer::read;")]),
    "bulk_failure_unseen": (
        "dataplane/transfer/bulk_pulls.cc", "a read that failed counts as done",
        [("  if (!ending.done) pull.again.push_back(chunk);\n", ""),
         ("  if (!ending.done) path_failed(path, from, true);\n", "")]),
    "bulk_late_read": (
        "dataplane/transfer/bulk_pulls.cc", "what a path does not bring is read over another one while it may still come",
        [("    path.memory->stop_reads(pull.peer);\n",
          "    for (BulkPull::Read& read : pull.under_way) {\n"
          "      if (read.chunk.length == 0 || &pull.all_paths[read.path] != &path) continue;\n"
          "      pull.again.push_back(std::exchange(read.chunk, {}));\n"
          "      --bulk_reads_, --pull.reads, --path.reads;\n    }\n    path.under_way = 0;\n")]),
    "bulk_packets_too_soon": (
        "dataplane/transfer/bulk_pulls.cc", "packets replace a failed read while others still write",
        [("  if (pull.reads != 0) return false;\n", "  if (pull.reads != 0 && !pull.failed) return false;\n")]),
    "bulk_piece_misplaced": (
        "dataplane/transfer/bulk_pulls.cc", "every piece is read to the beginning of the buffer",
        [("path.key, pull.local + chunk.offset,", "path.key, pull.local,")]),
    "bulk_reads_of_purged_peer": (
        "dataplane/transfer/bulk_pulls.cc", "a purge does not stop the reads that write to the user's memory",
        [("      if (path.reads != 0 && !path.stopped) path.memory->stop_reads(peer.index);\n", "      (void)path;\n")]),
    "answer_beyond_the_buffer": (
        "dataplane/operation/gets.cc", "an answer writes where it says, not where its get does",
        [("  if (body.offset > request->length || length > request->length - body.offset) return means_.statistics.ghost();\n",
          "")]),
    "requests_unbounded": (
        "dataplane/transfer/admission.cc", "any number of requests may wait for one peer",
        [(" || peer.requests_full ||\n"
          "         !may_take(peer.requests_waiting, requests_.size(), tuning::kMostRequests);\n", ";\n")]),
    "stopped_task_given_up": (
        "dataplane/paths/channel_set.cc", "a task that is stopped for a part of the time-out is called lost",
        [("now - since >= timeout;", "now - since >= timeout * 3 / 4;")]),
    "purge_keeps_era": (
        "dataplane/peers/losses.cc", "over shared memory what was sent before a purge arrives after it",
        [("  for (const DirectTransport& direct : means_.transports.direct) direct.has.peer_eras->purge_peer(index);\n",
          "")]),
    "silence_unnoticed": (
        "dataplane/peers/peer_watch.cc", "a peer that died owing an answer is waited for without end",
        [("    peer.channel->probe();\n", "")]),
}

# How paths share what is long.
SHARES = {
    "shares_by_decree": (
        "dataplane/reliability/path_state.cc", "every path gets as much as the others, whatever it brings",
        [("    const Nanoseconds arrival = arrival_over(number, window);\n",
          "    const Nanoseconds arrival = window.in_flight_bytes(number);\n")]),
    "longer_way_unseen": (
        "dataplane/reliability/path_state.cc", "the shortest round trip of a path counts for ever",
        [("  if (news.round_trip != 0) changed =", "  if (news.round_trip == UINT64_MAX) changed =")]),
    "answers_taken_one_by_one": (
        "dataplane/reliability/path_state.cc", "how much is acknowledged together is no reason to send more",
        [(" + path.gathered.most(), least);", ", least);")]),
    "overtaken_on_another_path": (
        "dataplane/reliability/send_window.cc", "a packet counts as lost by what overtook it on any path",
        [("    if (entry.state == State::selectively_acknowledged) ++arrived[entry.path];\n"
          "    if (entry.state != State::in_flight || !before(entry.order, over.newest_order)) continue;\n",
          "    if (entry.state == State::selectively_acknowledged) {\n"
          "      for (std::uint16_t& each : arrived) ++each;\n    }\n"
          "    if (entry.state != State::in_flight) continue;\n"),
         ("  return arrived_behind >= tuning::kReorderPackets &&\n"
          "         not_after(entry.order + tuning::kReorderPackets, over.newest_order);\n",
          "  return arrived_behind >= tuning::kReorderPackets;\n")]),
}

# What is said of adapters: of one that a path has led to, of one over which nothing comes back, and in rows of the matrix
# that a newer one has followed.
WORDS = {
    "one_way_believed": (
        "dataplane/paths/peer_channel.cc", "a path that has failed serves again when what was sent over it has arrived",
        [("    if (several_->teller.has_failed(carrier) && carrier != several_->arrived_over) continue;\n", "")]),
    "word_of_another_end": (
        "dataplane/paths/several_paths.cc", "what was said of an adapter stays when its path leads to another one",
        [("  watch.leads_over(path, paths[path].words_against());\n", "")]),
    "older_row_believed": (
        "control/daemon/adapters/adapter_table.cc", "a row that comes late takes the place of a newer one",
        [("known.generation >= row.generation", "known.generation == row.generation")]),
    "row_of_former_daemon": (
        "control/daemon/adapters/adapter_table.cc", "a row of a daemon that is no more is believed",
        [("  if (row.stamp != universe_.nodes()[row.node].stamp || row.generation == 0) return false;\n",
          "  if (row.generation == 0) return false;\n")]),
}

# What polling tasks are looked after for while they make no calls.
UPKEEP = {
    "given_away_waits": (
        "dataplane/endpoint/endpoint.cc", "what was copied and found no room waits for the task's next call",
        [("    parts.sender.serve_pending(MessageSender::Served::copied);\n", "")]),
    "kept_back_forgotten": (
        "dataplane/endpoint/endpoint.cc", "what upkeep has found is never taken",
        [("  parts.signs.set(StepSigns::kept_back, parts.channels->keeps_back_any());\n", "")]),
    "upkeep_hears_nothing": (
        "dataplane/paths/channel_set.cc", "what comes again while a task makes no calls is not acknowledged again",
        [("bursts != tuning::kUpkeepBursts && receive() != 0;", "bursts != tuning::kUpkeepBursts && false;")]),
    "upkeep_sends_nothing_again": (
        "dataplane/paths/channel_set.cc", "what was lost is not sent again while a task makes no calls",
        [("  for (PeerChannel* channel : active_) run_timers_of(*channel, now);\n", "")]),
    "upkeep_takes_news": (
        "dataplane/paths/channel_set.cc", "handlers run although a task in polling mode makes no calls",
        [("  if (keeping_back_ && channel.reliable_.is_news(header))", "  if (keeping_back_ && false)")]),
}

# What few seeds show: who has left a path, probes that found no room, a task that was away.
PATHS = {
    "change_of_path_not_followed": (
        "dataplane/paths/peer_channel.cc", "that the peer has left a path is no reason to doubt it",
        [("  if (now - several_->heard_over_best > silence) reliable_.doubt_path(best, now);\n", "  (void)silence;\n")]),
    "refused_probe_forgotten": (
        "dataplane/paths/several_paths.cc", "a probe that a full transport has refused counts as sent",
        [("  watch.probe_again(path, now);\n", "")]),
    "absence_called_silence": (
        "dataplane/paths/channel_set.cc", "who was away takes peers for lost that it has not listened to",
        [(" && !absence_.is_excused(now)", "")]),
}

# What adapters read over several paths.
READS = {
    "reads_no_sign_of_life": (
        "dataplane/transfer/bulk_pulls.cc", "a path whose packets wait behind what is read over it rests",
        [("  if (ending.done) brought(path, from);\n", "")]),
}

# What a peer may make a task keep: of each place that takes something, the bound removed, and its share not counted.
BOUNDS = {
    "answers_unbounded": (
        "dataplane/transfer/outbox.cc", "answers that nobody takes wait without end",
        [("  if (!dropped_.may_keep(peer, length)) return;\n", "")]),
    "answers_uncounted": (
        "dataplane/transfer/outbox.cc", "answers that wait are not counted",
        [("  peer.backlog.back().kept = {peer.kept, length};\n", "")]),
    "long_answers_unbounded": (
        "dataplane/transfer/message_sender.cc", "any number of long answers is begun for a peer that takes none",
        [("  if (!means_.dropped.may_keep(peer, message.description.size())) return nullptr;\n", "")]),
    "descriptions_uncounted": (
        "dataplane/transfer/message_sender.cc", "of a long answer the description is not counted",
        [("  message.kept = {peer.kept, message.description.size()};\n", "  message.kept = {peer.kept, 0};\n")]),
    "unfinished_unbounded": (
        "dataplane/transfer/incoming_messages.cc", "any number of messages may be begun and not ended",
        [("  if (!dropped_.may_keep(from, 0)) return nullptr;\n", "")]),
    "rounds_uncounted": (
        "dataplane/sync/collectives.cc", "of a long round the bytes are not counted",
        [(".kept = {from.kept, total}}", ".kept = {from.kept, 0}}")]),
    "rounds_of_any_length": (
        "dataplane/sync/collectives.cc", "a round of a collective is as long as it says",
        [("  if (total > std::uint64_t{means_.config.tasks} * sizeof(std::uint64_t)) return means_.statistics.ghost();\n",
          "")]),
    "early_rounds_unbounded": (
        "dataplane/sync/collective.cc", "rounds of collectives that come too early are kept without end",
        [("  if (early >= tuning::kMostEarlyRounds) return false;\n", "")]),
    "early_rounds_forgiven": (
        "dataplane/sync/collectives.cc", "who sends too many early rounds is not dropped",
        [("    means_.dropped.drop(from, Fault::too_much_kept);\n", "")]),
    "refused_long_unbounded": (
        "dataplane/operation/active_messages.cc", "a refused message may be longer than all that a peer may have",
        [("    if (!means_.dropped.may_keep(from, incoming.total)) return false;\n", "")]),
    "refused_long_uncounted": (
        "dataplane/operation/active_messages.cc", "of a refused long message the bytes are not counted",
        [("    incoming.kept = {from.kept, incoming.total};\n", "    incoming.kept = {from.kept, 0};\n")]),
    "refused_unbounded": (
        "dataplane/operation/refused_active_messages.cc", "any number of refused messages waits",
        [("  if (from != nullptr && !means_.dropped.may_keep(*from, bytes)) return false;\n", "")]),
    "refused_uncounted": (
        "dataplane/operation/refused_active_messages.cc", "of a refused message the bytes are not counted",
        [("  if (from != nullptr) waiting.kept = {from->kept, bytes};\n", "  if (from != nullptr) waiting.kept = {from->kept, 0};\n")]),
    "fences_unbounded": (
        "dataplane/sync/fence_answers.cc", "any number of fences waits for a message that does not end",
        [("  if (!dropped_.may_keep(from, 0)) return;\n", "")]),
    "fences_uncounted": (
        "dataplane/sync/fence_answers.cc", "fences that wait are not counted",
        [("unfinished, {from.kept, 0}});", "unfinished, {}});")]),
    "incarnations_unbounded": (
        "dataplane/peers/losses.cc", "who begins anew again and again leaves lost counters without end",
        [("  if (peer.given_up_unfinished > tuning::kMostThingsOfPeer) means_.dropped.drop(peer, Fault::too_much_kept);\n", "")]),
    "descriptions_unbounded": (
        "dataplane/operation/gets.cc", "a description may be longer than all that a peer may have",
        [("  if (!from.kept.has_room(total)) return means_.refusals.no_memory(from, body.request_id);\n",
          "")]),
}

# What the host of rpi modules does to requests: rpi/lifecycle finds each of these.
LIFECYCLES = {
    "later_receive_first": (
        "api/rpi/host/self_matching.cc", "of several receives the one has a message that was started last",
        [("each->order < first->order)", "each->order > first->order)")]),
    "truncation_unsaid": (
        "api/rpi/host/self_matching.cc", "nobody is told that a message was longer than the room for it",
        [("  if (length < envelope.ce_len) receive->rq_flags |= LAM_RQFTRUNC;\n", "")]),
    "whole_length_of_a_part": (
        "api/rpi/host/self_matching.cc", "a truncated message has its whole length in the status",
        [("envelope.ce_rank, envelope.ce_tag, length);", "envelope.ce_rank, envelope.ce_tag, envelope.ce_len);")]),
    "cancelled_send_received": (
        "api/rpi/host/self_matching.cc", "a message is received although its send was cancelled",
        [("message == nullptr || !is_cancelled(*message)) return", "message == nullptr || message != nullptr) return"),
         ("bool is_cancelled(", "[[maybe_unused]] bool is_cancelled(")]),
    "cancelled_receive_fed": (
        "api/rpi/host/self_matching.cc", "a receive that was cancelled has a message",
        [("each != nullptr && !each->is_open()) {", "each != nullptr && false) {")]),
    "synchronous_send_early": (
        "api/rpi/host/self_matching.cc", "a synchronous send does not wait until it is received",
        [("request.rq_type != LAM_RQISSEND && ", "")]),
    "probe_unanswered": (
        "api/rpi/host/self_matching.cc", "a probe that waits does not see a message that comes",
        [("  keep(send);\n  answer_probes();\n", "  keep(send);\n")]),
    "message_outlives_its_send": (
        "api/rpi/host/self_matching.cc", "the message of a send that was cancelled stays when its request is gone",
        [("  if (request.message != nullptr) delete_message(request.message);\n", "")]),
    "match_not_withdrawn": (
        "api/rpi/host/host_progress.cc", "a request that one module has matched stays with the others",
        [("  std::erase(whole.parts, nullptr);\n  end_parts(whole);\n",
          "  static std::vector<std::unique_ptr<HostRequest>> others;\n  std::erase(whole.parts, nullptr);\n"
          "  for (auto& part : whole.parts) others.push_back(std::move(part));\n  whole.parts.clear();\n")]),
    "others_queue_searched": (
        "api/rpi/host/host_progress.cc", "a module takes what another one's peer has sent",
        [("while (lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&wanted)) {",
          "while (lam_ssi_rpi_cbuf_msg* message = wanted.ce_len == 0 ? nullptr : lam_ssi_rpi_cbuf_find(&wanted)) {")]),
    "cancelled_in_one_place": (
        "api/rpi/host/host.cc", "a request for anybody that was cancelled stays with the modules",
        [("  request.rq_state = LAM_RQSDONE;\n  end_parts(request);\n", "  request.rq_state = LAM_RQSDONE;\n")]),
    "flags_of_former_start": (
        "api/rpi/host/host.cc", "a persistent request keeps its flags from start to start",
        [("  request.rq_flags = 0;\n", "")]),
    "orphan_not_unpacked": (
        "api/rpi/host/host.cc", "the data of an orphan are not put into its buffer",
        [("    if (!orphan->is_send()) orphan->unpack();\n", "")]),
    "block_filled_up": (
        "api/rpi/host/host_request.cc", "behind the end of a message its last block is overwritten",
        [("static_cast<std::size_t>(std::min(left, layout.block)));", "static_cast<std::size_t>(layout.block));")]),
    "truncation_of_part_lost": (
        "api/rpi/host/host_request.cc", "a request for anybody does not say that its message was longer",
        [("  rq_flags |= part.rq_flags & LAM_RQFTRUNC;\n", "")]),
    "contexts_mixed": (
        "api/rpi/services/unexpected_messages.cc", "a receive with both wildcards has messages of other contexts",
        [("  const auto ways = ways_to_ask_for(exact);\n",
          "  auto ways = ways_to_ask_for(exact);\n  ways[kWaysToAsk - 1].context = 0;\n")]),
}

# What the engine of the rpi module lapi does: rpi/engine finds each of these.
ENGINES = {
    "order_of_a_pair_lost": (
        "api/rpi/lapi/receive_requests.cc", "a message that overtakes others is matched before them",
        [("ahead > 0 ? keep_overtaker(*made) : accept(*made)", "accept(*made)")]),
    "overtakers_forgotten": (
        "api/rpi/lapi/receive_requests.cc", "messages that wait for one before them wait on when it has come",
        [("    if (ahead == 0) follow(from);\n", "")]),
    "repeated_overtaker_taken": (
        "api/rpi/lapi/receive_requests.cc", "a message that comes again while it waits for others is taken",
        [(" || from.overtakers.contains(envelope.sequence)) return {};", ") return {};")]),
    "window_without_bound": (
        "api/rpi/lapi/receive_requests.cc", "a message that came before is taken for one far ahead",
        [("if (ahead > kMostAhead || from.overtakers", "if (from.overtakers")]),
    "cancelled_receive_matched": (
        "api/rpi/lapi/receive_requests.cc", "a receive that was cancelled has a message",
        [("    const bool is_waiting = waits(*state.request);\n", "    const bool is_waiting = true;\n")]),
    "truncation_flag_lost": (
        "api/rpi/lapi/surroundings.cc", "nobody is told that a message was longer than the room for it",
        [("  if (message.truncated) request->rq_flags |= LAM_RQFTRUNC;\n", "")]),
    "length_of_a_truncated_one": (
        "api/rpi/lapi/receive_requests.cc", "a truncated message has its whole length in the status",
        [("told_of(arrival, std::min(arrival.length, room_of(request)));", "told_of(arrival, arrival.length);")]),
    "probe_takes_the_message": (
        "api/rpi/lapi/receive_requests.cc", "what a probe has seen is gone",
        [("told_of(*arrival, arrival->length));\n      return around_.finish(&request);\n",
          "told_of(*arrival, arrival->length));\n      remove_unasked(*arrival);\n      return around_.finish(&request);\n")]),
    "receive_behind_a_probe": (
        "api/rpi/lapi/receive_requests.cc", "a message that answers a probe does not go to the receive behind it",
        [("    around_.finish(state.request);\n  }\n  return nullptr;\n",
          "    around_.finish(state.request);\n    return nullptr;\n  }\n  return nullptr;\n")]),
    "fetched_before_it_is_read": (
        "api/rpi/lapi/receive_requests.cc", "the sender of a long message is told too early that it has been read",
        [("  receive.arrival = &arrival;\n",
          "  receive.arrival = &arrival;\n  if (arrival.is_long()) answer(arrival, EnvelopeKind::fetched);\n")]),
    "answer_doubled": (
        "api/rpi/lapi/receive_requests.cc", "a long message is answered twice",
        [("    if (arrival.delivered && arrival.is_long()) answer(arrival, EnvelopeKind::fetched);\n",
          "    for (int n = 0; n < 2 && arrival.delivered && arrival.is_long(); ++n) answer(arrival, EnvelopeKind::fetched);\n")]),
    "synchronous_unanswered": (
        "api/rpi/lapi/receive_requests.cc", "the sender of a synchronous message is not told that it was received",
        [("    if (arrival.delivered && arrival.envelope.kind == EnvelopeKind::synchronous) answer(arrival, EnvelopeKind::matched);\n",
          "")]),
    "receive_from_the_dead": (
        "api/rpi/lapi/receive_requests.cc", "a receive from a process that has died waits on",
        [("    if (waits(*state.request)) around_.fail_dead(state.request);\n", "")]),
    "checkpoint_before_data_are_here": (
        "api/rpi/lapi/receive_requests.cc", "all is quiet although data are on their way",
        [("    ++moving_;\n    if (ahead == 0) follow(from);\n", "    if (ahead == 0) follow(from);\n"),
         ("  --moving_;\n  arrival.complete = true;\n", "  arrival.complete = true;\n")]),
    "number_of_the_sender_lost": (
        "api/rpi/lapi/surroundings.cc", "a received message has not its sender's number",
        [("  request->rq_seq = message.number;\n", "")]),
    "matched_before_what_waits": (
        "api/rpi/lapi/receive_requests.cc", "a message meets a receive before another one that waits for the program's call",
        [("  if (!noted_.empty()) return true;\n", "")]),
    "cancelled_in_vain": (
        "api/rpi/lapi/receive_requests.cc", "a receive that the program may cancel meets a message outside its calls",
        [("= !matches_outside_ || is_probe(*first)", "= is_probe(*first)")]),
    "cancelled_after_its_match": (
        "api/rpi/lapi/surroundings.cc", "a receive that has met its message while calls are held off can be cancelled after it",
        [("    if (holds_calls()) request->rq_state = LAM_RQSACTIVE;", "    ;")]),
    "cancelled_before_its_match": (
        "api/rpi/lapi/receive_requests.cc", "a receive that was cancelled has a message that comes while calls are held off",
        [("if (around_.is_outside() && !around_.holds_calls()) return", "if (around_.is_outside()) return")]),
    "held_off_for_good": (
        "api/rpi/lapi/surroundings.cc", "calls that were held off never begin",
        [("    layer_.release_calls();\n", "")]),
    "probe_answered_outside": (
        "api/rpi/lapi/receive_requests.cc", "a probe is taken for a receive outside the program's calls",
        [("!matches_outside_ || is_probe(*first) || is_one_sided(*first);",
          "!matches_outside_ || is_one_sided(*first);")]),
    "news_overtaken": (
        "api/rpi/lapi/surroundings.cc", "a request ends before it is told which message it has met",
        [("  if (!outside_ && !state.news.is_listed) return nullptr;\n", "  if (!outside_) return nullptr;\n")]),
    "request_touched_outside": (
        "api/rpi/lapi/surroundings.cc", "a request of the MPI layer changes outside the program's calls",
        [("  if (!outside_ && !state.news.is_listed) return nullptr;\n", "  if (!state.news.is_listed) return nullptr;\n")]),
    "loss_before_what_waits": (
        "api/rpi/lapi/request_engine.cc", "who is lost is told before what came from him",
        [("if (around_.is_outside() || is_unsettled()) return losses_", "if (losses_.size() == 1000) return losses_")]),
    "left_overs_of_a_process": (
        "api/rpi/lapi/receive_requests.cc", "messages of a process that is finalised stay",
        [("    if (arrival.from == &peer) ignore(arrival);\n",
          "    if (arrival.from == &peer && arrival.from == nullptr) ignore(arrival);\n")]),
    "synchronous_ends_when_sent": (
        "api/rpi/lapi/send_requests.cc", "a synchronous send does not wait until it is received",
        [("  if (send.with_world || send.name != 0) return;\n", "  if (send.with_world) return;\n")]),
    "send_to_the_dead": (
        "api/rpi/lapi/send_requests.cc", "a send to a process that has died waits on",
        [("    send->failed = true;\n    end_if_done(*send);\n", "    send->failed = true;\n")]),
    "sequence_stands_still": (
        "api/rpi/lapi/send_requests.cc", "two messages to a process have one number",
        [("  ++to.next_out;\n", "")]),
    "later_receive_preferred": (
        "api/rpi/lapi/matching.cc", "of several receives the one has a message that was posted last",
        [("candidate->order < first->order", "candidate->order > first->order")]),
    "wildcard_overlooked": (
        "api/rpi/lapi/matching.cc", "a receive with any tag is not looked for",
        [("(wanted.tag == MPI_ANY_TAG ? 1U : 0U)", "0U")]),
    "only_receive_takes_all": (
        "api/rpi/lapi/matching.cc", "where all receives ask for the same, they get what they did not ask for",
        [("recent_->first.takes(message) ? recent_->second.first() : nullptr", "recent_->second.first()")]),
    "new_behind_what_has_left": (
        "api/rpi/lapi/request_engine.cc", "what is new is looked for behind a persistent request that has left the list",
        [("  return has_hope(request) || (request.rq_state == LAM_RQSDONE && is_told);\n",
          "  return has_hope(request) || request.rq_state == LAM_RQSDONE || is_told;\n")]),
    "sleep_before_what_is_done": (
        "api/rpi/lapi/request_engine.cc", "a process sleeps although a request that is waited for has ended",
        [("      if (is_waited_for(*request)) may_sleep = false;\n",
          "      if (is_waited_for(*request)) may_sleep = may_sleep && true;\n")]),
    "answer_to_nobody_taken": (
        "api/rpi/lapi/request_engine.cc", "an answer that nobody waits for is not refused",
        [("message.length == 0 && is_due ?", "message.length == 0 && (is_due || !is_last) ?")]),
    "fast_tag_untold": (
        "api/rpi/lapi/fast_messages.cc", "a receive without a request does not tell the tag of its message",
        [("  tag = request_.rq_status.MPI_TAG;\n", "")]),
    "fast_truncation_unsaid": (
        "api/rpi/lapi/fast_messages.cc", "a receive without a request says nothing of a longer message",
        [("  if (error == MPI_SUCCESS && (request_.rq_flags & LAM_RQFTRUNC) != 0) error = layer_.error_of(MPI_ERR_TRUNCATE);\n",
          "")]),
    "fast_failure_tried_again": (
        "api/rpi/lapi/fast_messages.cc", "what has failed without a request is done again with one",
        [("  errno = 0;  // what is said next is not EBUSY\n", "")]),
}

NEIGHBOURS = {
    "counter_before_its_data": (
        "shm/shm_direct_memory.cc", "a counter of a neighbour's moves before the data is in place",
        [("  act(memory.control().line(group_.self()));\n", ""),
         ("  return Visited::kDone;\n}\n",
          "  act(memory.control().line(group_.self()));\n  return Visited::kDone;\n}\n")]),
    "message_overtaken": (
        "shm/shm_direct_memory.cc", "a put is done before a packet that was sent earlier",
        [(" || !neighbour.queue->all_taken()", "")]),
    "purge_not_heeded": (
        "shm/shm_direct_memory.cc", "the memory of a task that has purged this one is changed",
        [("  if (is_shut(neighbour)) return Visited::kRefused;\n", "")]),
    "purge_does_not_wait": (
        "shm/shm_datapath.cc", "a purge returns while the purged neighbour is in the middle of a put",
        [("  queue_.close(index);\n  if (direct_memory_ != nullptr) direct_memory_->end_visits(index);\n",
          "  queue_.close(index);\n")]),
    "sleeper_not_rung": (
        "shm/shm_direct_memory.cc", "a counter moves, and its owner sleeps on",
        [("  doorbell_.published(*group_.segment(index).header, index);\n", "")]),
    "move_not_told": (
        "shm/shm_direct_memory.cc", "the owner of a counter is not told to look at it",
        [("  if (moved.load(std::memory_order_seq_cst) == 0) moved.store(1, std::memory_order_seq_cst);\n",
          "  static_cast<void>(moved);\n")]),
    "watched_counter_moved": (
        "shm/shm_direct_memory.cc", "a neighbour moves a counter whose owner has to be told of each move",
        [("(counter != 0 && header.counters_private.load(std::memory_order_relaxed) != 0)",
          "(counter != 0 && header.accessors == 0)")]),
    "read_only_memory_changed": (
        "shm/shm_direct_memory.cc", "memory that may only be read is changed",
        [(" || neighbour.memory->control().header().read_only != 0", "")]),
    "former_file_used": (
        "shm/shm_direct_memory.cc", "nobody takes the file that an owner begins with a fork",
        [("needs_file() || take_file(index)", "needs_file()")]),
    "dead_owner_served": (
        "shm/shm_direct_memory.cc", "puts into the memory of a process that has ended succeed for ever",
        [(" && group_.gone(index)", " && group_.closed(index)")]),
}

ALL = {**MUTANTS, **SHARES, **WORDS, **UPKEEP, **PATHS, **READS, **BOUNDS, **LIFECYCLES, **ENGINES, **NEIGHBOURS}


def write(name, source, output):
    text = pathlib.Path(source).read_text(encoding="utf-8")
    for old, new in ALL[name][2]:
        found = text.count(old)
        if found != 1:
            sys.exit(f"mutants.py: {name}: this text is {found} times in {source}, not once:\n{old}"
                     "Change the mutant with the product.")
        text = text.replace(old, new)
    pathlib.Path(output).write_text(text, encoding="utf-8")


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (source, what, _) in ALL.items():
            print(f"{name:28} {source}: {what}")
        return 0
    if len(sys.argv) == 5 and sys.argv[1] == "--write" and sys.argv[2] in ALL:
        write(*sys.argv[2:])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
