// Every limit and interval of the data path, with unit and reason. Change numbers here, nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi::tuning {

// ---- reliability: windows ----

// Packets towards one peer that may be unacknowledged. 1 MiB in flight needs 713 packets of an ordinary Ethernet MTU.
inline constexpr std::uint32_t kMostPacketsInFlight = 1024;
// Packets in a row that a sender may have given up before one arrives: a window for each time-out, of which 64 in a row
// without one acknowledgement are more than a living path can have. A larger gap in the numbers is refused.
inline constexpr std::uint32_t kMostPacketsGivenUp = 64 * kMostPacketsInFlight;
// First size of a channel's rings, in packets: state of a peer that only exchanges small messages stays small.
inline constexpr std::uint32_t kFirstRingSize = 16;
// Bytes towards one peer that may be unacknowledged: bare UDP over this kernel reaches its bandwidth at 256 KiB to
// 1 MiB, and several senders at once must fit the receiver's socket buffer.
inline constexpr std::uint64_t kMostBytesInFlight = 1024 * 1024;
// Bytes in flight before anything is known of the path: about a default socket buffer's half.
inline constexpr std::uint64_t kFirstBytesInFlight = 128 * 1024;
// What a cut leaves: packets enough that a loss shows in the acknowledgements also when every fifth packet is lost, but
// not more bytes than these (or one packet), since 100 senders may have been cut because of one receiver.
inline constexpr std::uint32_t kFewestPacketsInFlight = 16;
inline constexpr std::uint64_t kFewestBytesInFlight = 64 * 1024;
// What that is of the most that may be in flight; of less, it is that part of it.
inline constexpr std::uint64_t kFewestPartOfMost = kMostBytesInFlight / kFewestBytesInFlight;
// Packets that arrived early and are held for one peer; those beyond are dropped and come again. All that can be: over
// several paths many are early.
inline constexpr std::uint32_t kMostHeldPackets = kMostPacketsInFlight;
// Bytes in front of a piece of user memory that the window keeps itself: the longest record without user header.
inline constexpr std::size_t kSmallHeadBytes = 64;

// ---- reliability: acknowledgements ----

// Packets that arrive before they are acknowledged together (MP_ACK_THRESH).
inline constexpr std::uint32_t kAckThreshold = 30;
// Longest wait of an acknowledgement for a packet that carries it. Far below the shortest retransmission time-out, and
// long enough that replies of a handler (5-50 us) carry it.
inline constexpr std::uint64_t kAckDelay = 50'000;  // ns

// How often a task that is about to be gone repeats its last acknowledgements: where every fifth packet is lost, all
// three are lost once in 125 times, and then the peer waits for nobody.
inline constexpr unsigned kLastAcknowledgements = 2;

// ---- reliability: retransmission ----

// Later packets that must have arrived before a missing one counts as lost: networks swap neighbours.
inline constexpr std::uint32_t kReorderPackets = 3;
// Bounds of the retransmission time-out, ns. Shortest: a task that shares its core sleeps a slice of 3-4 ms, and its
// peer must rarely retransmit for that. First: nothing is measured yet, and set-up of a peer may be slow. Longest: the
// interval of the guide's timer pops; a peer that computes without a call costs 2.5 packets a second.
inline constexpr std::uint64_t kShortestRetransmitTimeout = 5'000'000;
inline constexpr std::uint64_t kFirstRetransmitTimeout = 20'000'000;
inline constexpr std::uint64_t kLongestRetransmitTimeout = 400'000'000;
// A packet sent this much (ns) before one that arrived, or overtaken and missing this much longer than a round trip, is
// lost even if fewer than kReorderPackets followed it.
inline constexpr std::uint64_t kShortestReorderTime = 1'000'000;

// A task that has not looked for this long, ns, was away: longer than whoever waits for an acknowledgement ever sleeps.
// For as long afterwards it listens before it takes anybody for lost.
inline constexpr std::uint64_t kAbsence = 2 * kLongestRetransmitTimeout;

// ---- upkeep ----

// In polling mode, between two looks whether a task still makes steps, and between two steps of upkeep while something
// is unacknowledged, ns: as rare as a tick of the slowest kernels, and less than users notice.
inline constexpr std::uint64_t kUpkeepPause = 50'000'000;
// The longest pause, when nothing is: each is twice as long as the one before, ns. Who waits for an acknowledgement
// sends no more often in the end.
inline constexpr std::uint64_t kLongestUpkeepPause = kLongestRetransmitTimeout;
// Bursts that each transport is asked for in one step of upkeep.
inline constexpr unsigned kUpkeepBursts = 64;
// New packets that it finds are kept for the task's next step: so many, which are searched for each that comes, and so
// many bytes. What finds no room comes again, as if a socket's buffer had been full.
inline constexpr std::size_t kMostPacketsKeptBack = 512;
inline constexpr std::size_t kMostBytesKeptBack = 1024 * 1024;

// ---- paths ----

// Pauses between probes of a path that went silent, ns: the first is as long as the shortest retransmission time-out,
// and each is twice as long as the one before, up to the longest, so that a path which serves again is used within that
// time (a packet a second for each peer with a silent path).
inline constexpr std::uint64_t kFirstProbePause = 5'000'000;
inline constexpr std::uint64_t kLongestProbePause = 1'000'000'000;
// So often a peer that nothing waits for is told that an address here has changed, after such pauses: some 9 s.
inline constexpr unsigned kMostAddressTries = 16;
// Between two lines on the paths to one peer, ns, so that a path which comes and goes does not flood the user.
inline constexpr std::uint64_t kPathChangePause = 1'000'000'000;
// Between looks for what links tell of themselves, which may be a system call for each (0.2 us), while something is
// outstanding and there are several paths, ns.
inline constexpr std::uint64_t kLinkLookPause = 1'000'000;

// While several paths carry together, each has in flight what it brings to the peer in its shortest round trip and this
// time, ns: longer than a peer that shares its core is late with acknowledgements, or the path would seem to bring less
// and get less; and packets that leave together over different paths arrive within about that time of each other.
inline constexpr std::uint64_t kPathQueue = 8'000'000;
// The same, bytes, while nobody knows what the path brings: a slow one that got more would hold up all.
inline constexpr std::uint64_t kUnknownPathQueue = 8 * 1024;
// Bytes in flight over the best path before others carry as well: short messages stay together, and in order.
inline constexpr std::uint64_t kStripeFrom = 32 * 1024;
// What leaves over one path before the next one is chosen: as much as it brings in this time, ns.
inline constexpr std::uint64_t kStripeTime = 50'000;
// For how long, ns, samples of a path's rate count in full.
inline constexpr std::uint64_t kRateMemory = 50'000'000;

// For so long, ns, no round trip of a path has been as short as the shortest one before that is looked for anew.
inline constexpr std::uint64_t kShortestRoundTripAge = 1'000'000'000;

// For half of how long, ns, it counts how much of what a path brings was acknowledged together.
inline constexpr std::uint64_t kAnswersMemory = 500'000'000;

// A path that nobody uses, because others are quicker, is measured anew after this time, ns, and after so many times
// what the packets for it take: twice as many each time that it is found to be no quicker.
inline constexpr std::uint64_t kShortestRateAge = 10'000'000;
inline constexpr unsigned kFirstRateTrust = 4;
inline constexpr unsigned kMostRateTrust = 64;
// After so many packets, and so long, ns, probes of all paths to a peer leave, so that they take less than a hundredth
// of the packets; and so often before it is decided which path is the quickest. Not beside more than so many packets.
inline constexpr std::uint64_t kComparisonPackets = 256;
inline constexpr std::uint64_t kComparisonPause = 50'000'000;
inline constexpr unsigned kComparisonRounds = 4;
inline constexpr std::uint32_t kMostPacketsBesideComparison = 8;
// A peer that was not heard over a path for so long (ns), nor for four round trips, and is heard over another one, may
// have left it: whoever uses several is heard over each, and the shortest time-out is longer.
inline constexpr std::uint64_t kPathSilence = 2'000'000;

// ---- reliability: packet buffers ----

// Bytes of buffers taken from the heap at a time.
inline constexpr std::size_t kPoolSlabBytes = 256 * 1024;
// Bytes of buffers of one endpoint at most, and the part of them that only packets to be sent may use, so that
// early arrivals cannot stop the sending that would close their gaps.
inline constexpr std::size_t kPoolMostBytes = 4 * 1024 * 1024;
inline constexpr std::size_t kPoolSendReserve = 4;  // one part in this many

// ---- supplies that all peers draw from: packet buffers, copies of messages, requests ----

// A peer may hold one part in so many of what is still free, and always one piece. With 2, a single peer gets a third,
// more than it needs to keep its window full, and each peer that gives nothing back (a dead one, until the time-out)
// leaves two thirds of what it found to the others.
inline constexpr std::size_t kPeerPartOfFree = 2;

// ---- endpoint ----

// Paths to one peer that the engine can keep (instances of one context).
inline constexpr std::size_t kMaxPathsPerPeer = 16;
// A transport whose packets hold less cannot carry a record with its fixed part and a useful piece of data.
inline constexpr std::uint32_t kSmallestRecord = 512;
// Bytes of a copy that find memory when the heap gives nothing. A longer one is asked for before its message begins to
// leave, so that the call can still be refused.
inline constexpr std::uint64_t kSurelyFindsMemory = 64 * 1024;
// Bytes of a put that leaves as a short put record: 4 to 20 bytes less count there, and it can be one record
// everywhere. The data of longer ones is aligned in the packet.
inline constexpr std::uint32_t kLongestShortPut = 256;
// Longest user header: the whole of it travels in the first packet of every transport (MAX_UHDR_SZ, at least 912).
inline constexpr std::uint32_t kMaxUserHeader = 920;
// Packets that leave at once towards a peer; while as many are unacknowledged, further records wait for company.
inline constexpr std::uint32_t kPacketsBeforePacking = 2;
// Packets handed to a transport per call: a kernel's segmentation takes 64.
inline constexpr std::size_t kSendBurst = 64;
// Looks at where the next packet will show, with a pause in between, before who waits polls again: an arrival during a
// poll, which takes several looks' time, is noticed at its end. Few enough (100 to 300 ns) to keep all else going.
inline constexpr unsigned kLooksBetweenPolls = 8;
// Packets taken from a transport per step: enough to spread the cost of giving them back, few enough for the stack.
inline constexpr std::size_t kReceiveBurst = 16;
// Packets that one datagram can have: the shortest, with a header of 24 bytes and a frame's 8, fill 64 KiB.
inline constexpr std::size_t kMostPacketsOfDatagram = 2048;
// Packets of another secret's that come from where a peer is, which was never heard: how long until the user is told,
// and after which pause they count as new. A peer repeats its first packet more often.
inline constexpr std::uint64_t kOtherSecretSaid = 3'000'000'000;
inline constexpr std::uint64_t kOtherSecretPause = 10'000'000'000;
// Between two questions to a peer that has said that it has another wire version and has not proved it. Two who have
// different keys as well never can, and each takes the other's question for such a packet.
inline constexpr std::uint64_t kVersionQuestionPause = 100'000'000;
// Peers for whom something waits that are looked at per step: one without room costs some ten nanoseconds.
inline constexpr std::size_t kPeersPerStep = 64;
// Fragments of one long message per step: others get their turn after at most half a megabyte.
inline constexpr unsigned kFragmentsPerTurn = 64;
// Bytes read from a peer's memory per step: a tenth of a millisecond, against half a microsecond for the call.
inline constexpr std::uint64_t kAttachPiece = 1024 * 1024;
// Shortest pieces, on average, that are read from a peer's memory: the kernel takes 0.3 us for each besides the copy,
// in which packets, filled and emptied at the same time, carry 8 KiB.
inline constexpr std::uint64_t kSmallestAttachPiece = 64 * 1024;
// Bytes of a layout's description that a peer is asked to read: 64 Ki pieces. Longer ones go in packets.
inline constexpr std::size_t kLongestDescription = 1024 * 1024;
// Bytes that a peer is believed when it names a description: a source and a destination, each with a header.
inline constexpr std::size_t kLongestDescriptions = 2 * kLongestDescription + 256;
// Bytes that the adapter reads from a peer's memory at a time (guide, chapter 13), and reads of one message that are
// under way together: the next one begins to arrive while the former one's end is noticed.
inline constexpr std::uint64_t kBulkPiece = 32 * 1024 * 1024;
inline constexpr std::uint32_t kBulkReadsPerMessage = 4;
// When several adapters share a message: reads that each has under way, and bytes of one read. Short ones until it is
// known how fast the path is, and towards the end, so that none is waited for long; long ones cost less.
inline constexpr std::uint32_t kBulkReadsPerPath = 2;
inline constexpr std::uint64_t kSmallestBulkChunk = 128 * 1024;
inline constexpr std::uint64_t kLongestBulkChunk = 1024 * 1024;
// ns. Time over which the speed of such a path is measured, at least; and for which it may bring nothing while the
// others have nothing to do, before what it should bring is read over these: longer when packets come through, since
// adapters are slow now and then.
inline constexpr std::uint64_t kShortestBulkInterval = 100'000;
inline constexpr std::uint64_t kBulkPatience = 200'000'000;
inline constexpr std::uint64_t kBulkPatienceInSilence = 20'000'000;
// The most that is added to either for what a path has under way and was measured to bring in that time, ns: what waits
// in a slow link comes late, and the packets of the path behind it.
inline constexpr std::uint64_t kLongestBulkWait = 1'000'000'000;
// Ends of such reads that are taken per step.
inline constexpr std::size_t kEndingsBurst = 16;
// After so many failures in a row 63 messages to that peer go in packets before bulk is tried again.
inline constexpr std::uint32_t kMostBulkFailures = 6;
// ns. Between looks for ends of reads when nothing else wakes the task.
inline constexpr std::uint64_t kLookForEndings = 50'000;
// Gets and read-modify-writes that may wait for answers before calls answer `busy`: of all peers, and of one, which
// keeps as many answers for us as we are slow to take: a round trip of 100 us at ten million a second.
inline constexpr std::size_t kMostRequests = 65536;
inline constexpr std::uint32_t kMostRequestsPerPeer = 1024;
// Once calls to a peer answer `busy` for that, so many must be answered before the next one begins: requests that leave
// one by one take a packet each, and together they share a few.
inline constexpr std::uint32_t kRequestsThatLeaveTogether = 64;
// Bytes of memory that long messages keep whose data stays with the user until they are done, and lists of the vectors
// of gets, before calls answer `busy`; peers share (fair_share.h). A message is some 500 bytes: one peer's are 2,700.
inline constexpr std::uint64_t kMostKeptBytes = 4 * 1024 * 1024;
// Completion counters that a peer owes before calls that want another one answer `busy`: it keeps a record for each
// that finds no room here.
inline constexpr std::size_t kMostOwedCounters = 8192;
// Handlers cannot wait for room, and many programs do not expect that a call finds none: they may take more than calls,
// until they are answered `busy` too. Of all peers: requests and copies of messages. Of one peer: requests and
// completion counters, of which it keeps less than kMostThingsOfPeer together with ours of calls.
inline constexpr std::size_t kMostRequestsOfHandlers = 8 * kMostRequests;
inline constexpr std::uint32_t kMostRequestsOfHandlersPerPeer = 16 * kMostRequestsPerPeer;
inline constexpr std::size_t kMostOwedToHandlers = 2 * kMostOwedCounters;
inline constexpr std::size_t kMostCopiesOfHandlers = 65536;
inline constexpr std::uint64_t kMostKeptBytesOfHandlers = 8 * kMostKeptBytes;
// What a peer can make a task keep: messages that are not complete or that a header handler has refused, answers that
// find no room, fences to answer. Beyond it the peer is dropped. One that does what it should has 1,024 requests, 8,192
// completion counters and some 3,000 long messages, so only refused messages come near: 64 Ki of them, or 256 MiB.
inline constexpr std::size_t kMostThingsOfPeer = 65536;
inline constexpr std::uint64_t kMostBytesOfPeer = 256 * 1024 * 1024;
// Rounds of collectives that a peer may be ahead. One is usual; a task whose collectives fail goes on to the next.
inline constexpr std::size_t kMostEarlyRounds = 4096;
// Packets towards one peer over a reliable transport: the slots of its queue (MAX_SLOTS_PER_TASK).
inline constexpr std::uint32_t kDirectPacketsOut = 128;
// Idle steps between looks at the clock when no channel needs it: a step is tens of nanoseconds, so some hundred us.
inline constexpr std::uint32_t kIdleLoopsBetweenTimers = 8192;
// The same while a channel times something, between steps that follow each other at once: a few microseconds, which
// add nothing to what is timed (kAckDelay and more).
inline constexpr std::uint32_t kStepsBetweenTimers = 16;
// A transport that has brought nothing in so many steps, while another one of the endpoint brings packets, is looked at
// once in so many of the steps that follow each other at once: each look makes the way of all packets longer.
inline constexpr std::uint32_t kStepsUntilSilent = 256;
inline constexpr std::uint32_t kStepsBetweenLooks = 16;
// ns. Between looks whether the processes of silent peers still live; a system call each.
inline constexpr std::uint64_t kWatchPeers = 100'000'000;
// ns. Between looks whether a transport has found out if it can serve a peer.
inline constexpr std::uint64_t kLookForPeer = 1'000'000;
// ns. A peer that owes an answer and was not heard for this long is asked whether it lives: a packet per second.
inline constexpr std::uint64_t kProbeSilentPeer = 1'000'000'000;
// ns. A message that its header handler dropped comes again at least this often.
inline constexpr std::uint64_t kRetryRefused = 100'000;
// Of such messages, header handlers that are asked again per step.
inline constexpr std::size_t kRetriesPerStep = 64;
// ns. Between looks for room in a full queue whose owner cannot tell when it made some.
inline constexpr std::uint64_t kLookForRoom = 50'000;

}  // namespace openlapi::tuning
