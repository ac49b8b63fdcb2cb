#!/usr/bin/env python3
"""Deliberate mistakes: each is a small change to a copy of one source file of the engine.

    mutants.py --write NAME SOURCE OUTPUT     writes the changed copy of SOURCE
    mutants.py --list                         names and files, as meson.build has them

A change whose text is not found exactly once in the source is an error: mutants must follow the product.
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
    "counter_early": (
        "dataplane/endpoint/endpoint_deliver.cc", "counters move before the completion handler has returned",
        [("  const bool now = style ==", "  move_counters(run);\n  const bool now = style =="),
         ("  if (returned) move_counters(run);\n", "  (void)returned;\n"),
         ("void EndpointCore::completion_returned(const CompletionRun& run) { move_counters(run); }",
          "void EndpointCore::completion_returned(const CompletionRun&) {}")]),
    "fence_too_soon": (
        "dataplane/endpoint/endpoint_fence.cc", "the target answers although messages are still on their way",
        [("  if (unfinished == 0) return post_record(from, RecordKind::fence_reply, body);\n",
          "  if (unfinished <= 1) return post_record(from, RecordKind::fence_reply, body);\n")]),
    "fence_asked_too_soon": (
        "dataplane/endpoint/endpoint_fence.cc", "the fence request overtakes messages that wait for room",
        [("    if (!not_before(first_waiting, fence.next_message_id)) return false;\n", "")]),
    "stale_epoch": (
        "dataplane/reliability/reliable_channel.cc", "packets of a former life of the sender are taken",
        [("  if (known && before(header.source_epoch, peer_epoch_)) {\n", "  if (false) {\n")]),
    "wrong_life": (
        "dataplane/reliability/reliable_channel.cc", "packets for a former life of the receiver are taken",
        [("  if (header.destination_epoch != own_epoch_) {\n",
          "  if (header.destination_epoch == 0 || header.destination_epoch > own_epoch_) {\n")]),
    "short_stale_epoch": (
        "dataplane/reliability/reliable_channel.cc", "packets with a short header of a former life are taken",
        [("  if (peer_epoch_ != 0 && header.association == received_association_) return true;\n",
          "  if (peer_epoch_ != 0) return true;\n")]),
    "damage_unseen": (
        "dataplane/reliability/packet_filter.cc", "the checksum is not looked at",
        [("  if (context.checksum && !wire::checksum_matches(packet, header)) return count(counters.damaged);\n", "")]),
    "wrong_receiver": (
        "dataplane/reliability/packet_filter.cc", "packets for another context of the task are taken",
        [("header.destination != context.self || header.instance != context.instance",
          "header.destination != context.self")]),
    "late_read_of_small_message": (
        "dataplane/endpoint/endpoint_submit.cc", "a message that waits for room is not copied",
        [("    keep_copy(stored, std::move(room));\n", "    ++copies_waiting_;\n")]),
    "late_read_of_vector": (
        "dataplane/endpoint/endpoint_layout_send.cc", "the list of a put that waits for room is not copied",
        [("    message.destination = message.destination->detached();\n",
          "    message.destination = message.destination->clone();\n")]),
    "origin_counter_early": (
        "dataplane/endpoint/endpoint_send.cc", "the origin's data is called free while packets still point into it",
        [("  if (message.unacknowledged != 0) return;\n", "")]),
    "send_handler_early": (
        "dataplane/endpoint/endpoint_send.cc", "the origin is told that its data is free while packets point into it",
        [("  if (message.unacknowledged != 0) return;\n",
          "  if (message.unacknowledged != 0) {\n"
          "    origin_is_free(message.peer, {0, message.free_handler});\n    message.free_handler = {};\n    return;\n  }\n")]),
    "send_handler_lost": (
        "dataplane/endpoint/endpoint_submit.cc", "of a message that was copied the send completion handler never runs",
        [("  origin_is_free(peer.index, {message.free_counter, message.free_handler});\n",
          "  origin_is_free(peer.index, {message.free_counter, {}});\n")]),
    "get_counter_early": (
        "dataplane/endpoint/endpoint_receive.cc", "a get is complete before its last fragment",
        [("  if (request->received == request->length) request_complete(body.request_id, &from);\n",
          "  if (request->received * 2 >= request->length) request_complete(body.request_id, &from);\n")]),
    "refused_message_twice": (
        "dataplane/endpoint/endpoint_deliver.cc", "a message that was refused and then accepted is offered again",
        [("      waiting_[i].source = kUnknownPeer;\n      ++delivered;\n",
          "      if (!waiting.user_header.empty()) waiting_[i] = std::move(waiting);\n"
          "      else waiting_[i].source = kUnknownPeer;\n      ++delivered;\n")]),
    "barrier_round_missing": (
        "dataplane/operation/collective.cc", "the last round of a barrier is left out",
        [("    if (tasks_ == 1 || distance() >= tasks_) return finish();\n",
          "    if (tasks_ == 1 || (exchange_ ? distance() : 2 * distance()) >= tasks_) return finish();\n")]),
    "first_packets_lost": (
        "dataplane/reliability/reliable_channel.cc", "what was turned away on first contact is not sent again",
        [("    send_.resend_all();  // what has been sent did not name this incarnation and was turned away\n",
          "    send_.abandon();\n")]),
    "exchanged_epoch_unused": (
        "dataplane/endpoint/channel_path.cc", "what the address exchange says of the peer's life is not used",
        [("channel_(context, peer, 0, epochs, ", "channel_(context, peer, 0, {epochs.own, 0}, ")]),
    "strided_boundary": (
        "dataplane/layout/vector_cursor.cc", "a packet that begins with a block's last byte goes to the next block",
        [("  std::byte* block = pointer_to(layout_.base + position_ / layout_.block * layout_.stride);\n",
          "  std::byte* block = pointer_to(layout_.base + (position_ + 1) / layout_.block * layout_.stride);\n")]),
    "program_position_lost": (
        "dataplane/layout/program_cursor.cc", "a program goes back to the beginning of a block, not to where it was",
        [("  frames_[depth_].inside = rest;\n", "")]),
    "function_not_asked": (
        "dataplane/endpoint/endpoint_layout_reads.cc", "data that a program combines is read over what is there",
        [("described && (message.layout == nullptr || message.layout->only_copies());\n", "described;\n")]),
    "late_packet_of_purged_era": (
        "dataplane/endpoint/endpoint_open.cc", "two tasks that begin anew take what was sent before",
        [("    epochs = {former->second.epoch, 0};", "    epochs = {0, 0};")]),
    "purge_keeps_queue": (
        "dataplane/endpoint/endpoint_recovery.cc", "a purge does not give back the place in the queue of those who wait",
        [("    give_up(*peer, Fault::purged);\n",
          "    const std::uint32_t kept = backlogged_peers_;\n    give_up(*peer, Fault::purged);\n"
          "    backlogged_peers_ = kept;\n")]),
    "purge_keeps_quiet": (
        "dataplane/endpoint/endpoint_recovery.cc", "of what a purge gives up the send completion handlers run later",
        [("  if (!send_completions_.empty() && inline_depth_ == 0) run_send_handlers();\n", "")]),
    "purge_called_a_loss": (
        "dataplane/endpoint/endpoint_recovery.cc", "those who wait for a purged task are told that it was lost",
        [("    give_up(*peer, Fault::purged);\n", "    give_up(*peer, Fault::no_connectivity);\n")]),
    "bulk_exposed_for_ever": (
        "dataplane/endpoint/endpoint_bulk.cc", "memory that the peer has read stays exposed",
        [("message.data, static_cast<std::size_t>(message.total))) return true;\n",
          "message.data, static_cast<std::size_t>(message.total))) {\n    MemoryKey again;\n"
          "    return peer.bulk_memory->expose(message.data, static_cast<std::size_t>(message.total), again);\n  }\n")]),
    "bulk_failure_called_success": (
        "dataplane/endpoint/endpoint_bulk.cc", "the origin is told that its data was read when it was not",
        [("pull.failed ? wire::AttachAnswer::not_read : wire::AttachAnswer::read;", "wire::AttachAnswer::read;")]),
    "bulk_failure_unseen": (
        "dataplane/endpoint/endpoint_bulk.cc", "a read that failed counts as done",
        [("  if (!ending.done) pull.failed = true;\n", "")]),
    "bulk_packets_too_soon": (
        "dataplane/endpoint/endpoint_bulk.cc", "packets replace a failed read while others still write",
        [("  if (pull.reads != 0) return false;\n", "  if (pull.reads != 0 && !pull.failed) return false;\n")]),
    "bulk_piece_misplaced": (
        "dataplane/endpoint/endpoint_bulk.cc", "every piece is read to the beginning of the buffer",
        [("pull.key, pull.local + pull.begun,", "pull.key, pull.local,")]),
    "bulk_reads_of_purged_peer": (
        "dataplane/endpoint/endpoint_bulk.cc", "a purge does not stop the reads that write to the user's memory",
        [("  if (under_way) peer.bulk_memory->stop_reads(peer.index);\n", "  (void)under_way;\n")]),
    "silence_unnoticed": (
        "dataplane/endpoint/endpoint_faults.cc", "a peer that died owing an answer is waited for without end",
        [("      peer->channel->probe();\n", "")]),
}


def write(name, source, output):
    text = pathlib.Path(source).read_text(encoding="utf-8")
    for old, new in MUTANTS[name][2]:
        found = text.count(old)
        if found != 1:
            sys.exit(f"mutants.py: {name}: this text is {found} times in {source}, not once:\n{old}"
                     "Change the mutant with the product.")
        text = text.replace(old, new)
    pathlib.Path(output).write_text(text, encoding="utf-8")


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (source, what, _) in MUTANTS.items():
            print(f"{name:28} {source}: {what}")
        return 0
    if len(sys.argv) == 5 and sys.argv[1] == "--write" and sys.argv[2] in MUTANTS:
        write(*sys.argv[2:])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
