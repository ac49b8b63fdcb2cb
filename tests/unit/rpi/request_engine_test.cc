#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rpi/quiet_engine.h"

namespace openlapi::rpi {
namespace {

using RequestEngineTest = QuietEngine;

TEST_F(RequestEngineTest, AShortMessageLandsWhereItsReceiveIs) {
  _req& request = receive(1, 5, memory_, sizeof memory_);
  const Landing landing = arrive(message(0, 5), 64);
  EXPECT_EQ(landing.buffer, memory_);
  EXPECT_EQ(request.rq_state, LAM_RQSACTIVE);
  complete(landing);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_EQ(active_, 0);
}

TEST_F(RequestEngineTest, ALongMessageIsReadFromItsSenderToWhereItsReceiveIs) {
  _req& request = receive(MPI_ANY_SOURCE, MPI_ANY_TAG, memory_, 100);
  Envelope envelope = message(0, 5);
  envelope.kind = EnvelopeKind::long_message;
  envelope.request = 9;
  envelope.address = 4096;
  envelope.length = 200;
  complete(arrive(envelope, 0));
  EXPECT_EQ(world_.read_from, 4096U);
  EXPECT_EQ(static_cast<void*>(world_.read_to.data()), memory_);
  EXPECT_EQ(world_.read_to.size(), 100U);
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
  EXPECT_NE(request.rq_flags & LAM_RQFTRUNC, 0);
  EXPECT_EQ(request.rq_status.st_length, 100);
  ASSERT_EQ(world_.headers.size(), 1U);
  EXPECT_EQ(world_.headers[0].kind, EnvelopeKind::fetched);
  EXPECT_EQ(world_.headers[0].request, 9U);
}

TEST_F(RequestEngineTest, DebuggersFindWhatNobodyHasAskedFor) {
  const Landing landing = arrive(message(0, 5), 3);
  ASSERT_NE(landing.buffer, nullptr);
  lam_ssi_rpi_envl wanted{0, 5, 0, 1, 0, 0};
  lam_ssi_rpi_cbuf_msg* shown = lam_ssi_rpi_cbuf_find(&wanted);
  ASSERT_NE(shown, nullptr);
  EXPECT_EQ(shown->cm_proc, members_[1]);
  EXPECT_EQ(shown->cm_env.ce_len, 3);
  std::memcpy(landing.buffer, "abc", 3);
  complete(landing);
  EXPECT_EQ(receive(1, 5, memory_, 3).rq_state, LAM_RQSDONE);
  EXPECT_EQ(std::string(memory_, 3), "abc");
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&wanted), nullptr);
}

TEST_F(RequestEngineTest, WithoutADebuggerOnlyTheOldestAreShown) {
  constexpr int kFew = ShownMessages::kFew, kMany = kFew + 3;
  for (int n = 0; n < kMany; ++n) complete(arrive(message(static_cast<std::uint32_t>(n), n), 1));
  const auto is_shown = [](int tag) {
    lam_ssi_rpi_envl wanted{0, tag, 0, 1, 0, 0};
    return lam_ssi_rpi_cbuf_find(&wanted) != nullptr;
  };
  EXPECT_TRUE(is_shown(0));
  EXPECT_TRUE(is_shown(kFew - 1));
  EXPECT_FALSE(is_shown(kFew));
  receive(1, kFew, memory_, 1);  // the first of those that are not shown
  receive(1, 3, memory_, 1);
  EXPECT_TRUE(is_shown(kFew + 1)) << "the next one, in the place of one that was received";
  EXPECT_FALSE(is_shown(kFew + 2));
  debugger_ = world_.idle = true;
  EXPECT_EQ(engine_.advance(nullptr, true), 0);
  EXPECT_TRUE(is_shown(kFew + 2)) << "a debugger is there, as was seen while nothing else was to do";
  complete(arrive(message(kMany, kMany), 1));
  EXPECT_TRUE(is_shown(kMany));
  debugger_ = false;
  EXPECT_EQ(engine_.advance(nullptr, true), 0);
  complete(arrive(message(kMany + 1, kMany + 1), 1));
  EXPECT_FALSE(is_shown(kMany + 1)) << "it has gone, and as many as without it are shown";
}

// It has come meanwhile, and the process was never idle.
TEST_F(RequestEngineTest, ADebuggerIsNoticedWhileMessagesCome) {
  constexpr std::uint32_t kMany = ShownMessages::kFew + ShownMessages::kBetweenLooks + 2;
  for (std::uint32_t n = 0; n < kMany; ++n) {
    if (n > ShownMessages::kFew) debugger_ = true;
    complete(arrive(message(n, static_cast<int>(n)), 1));
  }
  lam_ssi_rpi_envl wanted{0, static_cast<int>(kMany) - 1, 0, 1, 0, 0};
  EXPECT_NE(lam_ssi_rpi_cbuf_find(&wanted), nullptr);
}

TEST_F(RequestEngineTest, WhatNoPeerSendsIsRefused) {
  EXPECT_EQ(arrive(message(0, 5), std::uint64_t{INT32_MAX} + 1).when_done.function, nullptr);
  EXPECT_EQ(engine_.arriving({1, {}, 0}).when_done.function, nullptr);
  std::array<std::byte, kMostEnvelope> room;
  EXPECT_EQ(engine_.arriving({2, encode(message(0, 5), room), 0}).when_done.function, nullptr);
  arrive({.kind = EnvelopeKind::matched, .request = 77}, 0);
  EXPECT_EQ(engine_.refused(), 4U);
  complete(arrive(message(0, 5), 0));
  EXPECT_EQ(arrive(message(0, 5), 0).when_done.function, nullptr) << "again";
  const Landing early = arrive(message(2, 5), 0);
  EXPECT_EQ(arrive(message(2, 5), 0).when_done.function, nullptr) << "again, while it waits for another";
  complete(early);
  EXPECT_EQ(engine_.refused(), 6U);
  EXPECT_EQ(told_,
            std::vector<std::string>{"has sent something that is thrown away, because it is too long, comes twice or "
                                     "is far ahead of others"})
      << "once for a peer";
}

TEST_F(RequestEngineTest, NothingIsSentWithARankThatNoEnvelopeNames) {
  group_.g_myrank = kMostRank;
  EXPECT_TRUE(start(build(LAM_RQISEND, 1, 5, memory_, 1)));
  ASSERT_EQ(world_.headers.size(), 1U);
  EXPECT_EQ(world_.headers[0].rank, kMostRank);
  ++group_.g_myrank;
  EXPECT_FALSE(start(build(LAM_RQISEND, 1, 5, memory_, 1)));
  EXPECT_EQ(world_.headers.size(), 1U);
}

TEST_F(RequestEngineTest, SaysWhyAPeerIsLost) {
  engine_.lost(1, "it has ended");
  EXPECT_EQ(told_, std::vector<std::string>{"is lost: it has ended"});
}

TEST_F(RequestEngineTest, ACancelledPersistentReceiveIsStartedAgain) {
  _req& request = receive(1, 5, memory_, sizeof memory_);
  request.rq_flags |= LAM_RQFCANCEL;
  request.rq_state = LAM_RQSINIT;
  complete(arrive(message(0, 5), 1));
  EXPECT_EQ(request.rq_state, LAM_RQSINIT) << "the message is not for it";
  EXPECT_TRUE(start(request));
  EXPECT_EQ(request.rq_state, LAM_RQSDONE);
}

TEST_F(RequestEngineTest, SleepsOnlyWhileNothingIsDone) {
  _req& request = receive(1, 5, memory_, sizeof memory_);
  EXPECT_EQ(engine_.advance(&request, true), 0);
  EXPECT_TRUE(world_.blocked);
  complete(arrive(message(0, 5), 1));
  request.rq_flags |= LAM_RQFBLOCK;
  engine_.advance(&request, true);
  EXPECT_FALSE(world_.blocked);
  communicator_.c_flags |= LAM_CLDEAD;
  _req& late = build(LAM_RQIRECV, 1, 6, memory_, 1);
  world_.blocked = true;
  EXPECT_EQ(engine_.advance(&late, true), 1) << "started by advance, and ended";
  EXPECT_FALSE(world_.blocked);
  EXPECT_EQ(late.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
}

TEST_F(RequestEngineTest, WhenLamSaysThatANodeIsDeadRequestsThatAreActiveEndAsWell) {
  _req& here = build(LAM_RQISSEND, 1, 5, memory_, 1);
  EXPECT_TRUE(start(here));
  communicator_.c_flags |= LAM_CLDEAD;
  engine_.advance(&here, true);
  EXPECT_TRUE(world_.given_up.empty()) << "its receiver is on this node, which lives";
  processes_[1].p_gps.gps_node = 1;
  world_.blocked = true;
  engine_.advance(&here, true);
  EXPECT_EQ(world_.given_up, std::vector<Peer>{1});
  EXPECT_FALSE(world_.blocked);
  engine_.lost(1, "");
  EXPECT_EQ(here.rq_state, LAM_RQSDONE);
  EXPECT_EQ(here.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  communicator_.c_flags = 0;
}

// As of one-sided operations: the handler starts what comes next.
TEST_F(RequestEngineTest, DoesNotSleepBeforeAHandlerThatIsDue) {
  _req& request = receive(1, 5, memory_, sizeof memory_);
  request.rq_hdlr = [](MPI_Request) { return 0; };
  complete(arrive(message(0, 5), 1));
  world_.blocked = true;
  engine_.advance(&request, true);
  EXPECT_FALSE(world_.blocked);
  request.rq_flags |= LAM_RQFHDLDONE;
  engine_.advance(&request, true);
  EXPECT_TRUE(world_.blocked);
}

TEST_F(RequestEngineTest, AProcessThatIsFinalisedLeavesNothing) {
  complete(arrive(message(0, 5), 1));
  arrive(message(2, 5), 1);
  engine_.remove_process(processes_[1]);
  EXPECT_EQ(processes_[1].p_rpi, nullptr);
  lam_ssi_rpi_envl wanted{0, 5, 0, 1, 0, 0};
  EXPECT_EQ(lam_ssi_rpi_cbuf_find(&wanted), nullptr);
  EXPECT_EQ(arrive(message(3, 5), 0).when_done.function, nullptr);
}

TEST_F(RequestEngineTest, RequestsThatWaitForAProcessThatIsFinalisedFail) {
  _req& named = receive(1, 5, memory_, 1);
  _req& anybody = receive(MPI_ANY_SOURCE, 6, memory_, 1);
  anybody.rq_proc = &processes_[1];  // as of a persistent one that had a message of it before
  _req& synchronous = build(LAM_RQISSEND, 1, 5, memory_, 1);
  EXPECT_TRUE(start(synchronous));
  engine_.remove_process(processes_[1]);
  EXPECT_EQ(named.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(synchronous.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(anybody.rq_state, LAM_RQSSTART);
  anybody.rq_flags |= LAM_RQFBLOCK;
  EXPECT_EQ(engine_.advance(&anybody, true), 1);
  EXPECT_EQ(anybody.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD) << "nobody is there any more";
  EXPECT_EQ(active_, 0);
}

// LAM frees processes while requests that name them are still there.
TEST_F(RequestEngineTest, AReceiveFromNobodyIsPassedByWhenAnotherProcessDies) {
  _proc freed{};
  _req& request = build(LAM_RQIRECV, 1, 5, memory_, 1);
  request.rq_proc = &freed;
  freed.p_rpi = processes_[1].p_rpi;
  EXPECT_TRUE(start(request));
  freed.p_rpi = nullptr;
  engine_.lost(1, "it has ended");
  EXPECT_EQ(request.rq_state, LAM_RQSSTART);
}

TEST_F(RequestEngineTest, APeerThatHasLeftIsWaitedForNoLonger) {
  _req& anybody = receive(MPI_ANY_SOURCE, 5, memory_, sizeof memory_);
  _req& named = receive(1, 6, memory_, sizeof memory_);
  anybody.rq_next = &named;
  const Envelope last{.kind = EnvelopeKind::leaves, .sequence = 1};
  arrive(last, 0);
  EXPECT_TRUE(world_.left.empty()) << "what it sent before is not here";
  EXPECT_EQ(engine_.advance(&anybody, false), 0);
  complete(arrive(message(0, 7), 1));
  EXPECT_EQ(world_.left, std::vector<Peer>{1});
  EXPECT_EQ(engine_.advance(&anybody, false), 1);
  EXPECT_EQ(named.rq_state, LAM_RQSDONE);
  EXPECT_EQ(named.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(anybody.rq_state, LAM_RQSSTART) << "this process can still send to itself";
  EXPECT_EQ(receive(1, 7, memory_, sizeof memory_).rq_status.MPI_ERROR, MPI_SUCCESS) << "it was sent before";
  EXPECT_EQ(build(LAM_RQISEND, 1, 5, memory_, 1).rq_status.MPI_ERROR, 0);
  EXPECT_TRUE(start(requests_.back()));
  EXPECT_EQ(requests_.back().rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  anybody.rq_flags |= LAM_RQFBLOCK;
  EXPECT_EQ(engine_.advance(&anybody, true), 1);
  EXPECT_EQ(anybody.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD) << "nobody is there any more";
  EXPECT_EQ(engine_.refused(), 0U);
  arrive(last, 0);
  EXPECT_EQ(engine_.refused(), 1U) << "again";
}

// As in MPI_Waitany: this process may send to itself when the other one has ended the wait.
TEST_F(RequestEngineTest, AReceiveFromAnybodyFailsOnlyWhenNothingElseCouldEndTheWait) {
  _req& from_self = receive(MPI_ANY_SOURCE, 5, memory_, 1);
  _req& sent = build(LAM_RQISSEND, 1, 6, memory_, 1);
  EXPECT_TRUE(start(sent));
  from_self.rq_next = &sent;
  from_self.rq_flags = sent.rq_flags = LAM_RQFBLOCK;
  arrive({.kind = EnvelopeKind::leaves, .sequence = 0}, 0);
  EXPECT_EQ(engine_.advance(&from_self, true), 0);
  EXPECT_TRUE(world_.blocked);
  EXPECT_EQ(from_self.rq_state, LAM_RQSSTART);
  arrive({.kind = EnvelopeKind::matched, .request = world_.headers[0].request}, 0);
  EXPECT_EQ(sent.rq_state, LAM_RQSDONE);
  EXPECT_EQ(engine_.advance(&from_self, true), 1);
  EXPECT_EQ(from_self.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD) << "as MPI_Waitall waits on";
}

// It ends some time after it has left.
TEST_F(RequestEngineTest, APeerThatHasLeftAndIsLostIsNotDead) {
  _req& anybody = receive(MPI_ANY_SOURCE, 5, memory_, sizeof memory_);
  arrive({.kind = EnvelopeKind::leaves, .sequence = 0}, 0);
  engine_.lost(1, "it has called MPI_Finalize");
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(engine_.advance(&anybody, false), 0);
  EXPECT_EQ(anybody.rq_state, LAM_RQSSTART);
}

TEST_F(RequestEngineTest, ItsLastMessageIsToEachPeerThatIsThere) {
  engine_.leave();
  ASSERT_EQ(world_.headers.size(), 1U) << "not to itself";
  EXPECT_EQ(world_.headers[0], (Envelope{.kind = EnvelopeKind::leaves, .sequence = 0}));
  EXPECT_EQ(world_.unexpected, std::vector<Peer>{1});
  arrive({.kind = EnvelopeKind::leaves, .sequence = 0}, 0);
  engine_.leave();
  EXPECT_EQ(world_.headers.size(), 1U);
}

// Who has told it likewise is not told again by it, and ends.
TEST_F(RequestEngineTest, AfterItsLastMessageItIsNoNewsThatAPeerEnds) {
  engine_.leave();
  engine_.lost(1, "it has ended");
  EXPECT_TRUE(told_.empty());
}

TEST_F(RequestEngineTest, AProbeIsAskingNoLongerHoweverItEnds) {
  _req& probe = build(LAM_RQIPROBE, 1, 5, nullptr, 0);
  EXPECT_TRUE(start(probe));
  EXPECT_EQ(engine_.iprobe(&probe), 0);
  EXPECT_TRUE(start(probe));
  world_.progress_fails = true;
  EXPECT_THROW(engine_.iprobe(&probe), std::bad_alloc);
  EXPECT_EQ(active_, 0);
  world_.progress_fails = false;
  probe.rq_status.st_length = 77;
  complete(arrive(message(0, 5), 1));
  EXPECT_EQ(probe.rq_status.st_length, 77) << "it is not told of the message";
  EXPECT_TRUE(start(probe));
  EXPECT_EQ(engine_.iprobe(&probe), 1);
  EXPECT_EQ(probe.rq_status.st_length, 1);
}

TEST_F(RequestEngineTest, AProbeOfTheDeadSaysSoInItsStatus) {
  engine_.lost(1, "");
  _req& probe = build(LAM_RQIPROBE, 1, 5, nullptr, 0);
  EXPECT_TRUE(start(probe));
  EXPECT_EQ(engine_.iprobe(&probe), 1);
  EXPECT_EQ(probe.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD);
  EXPECT_EQ(probe.rq_status.MPI_SOURCE, 1);
  EXPECT_EQ(probe.rq_status.MPI_TAG, 5);
}

TEST_F(RequestEngineTest, IsQuietWhenAllThatHasBegunIsHere) {
  EXPECT_TRUE(engine_.quiet());
  const Landing first = arrive(message(0, 5), 1);
  EXPECT_FALSE(engine_.quiet()) << "its data are not here";
  complete(first);
  EXPECT_TRUE(engine_.quiet()) << "nobody has asked for it, but it is here";
  complete(arrive(message(2, 5), 1));
  EXPECT_FALSE(engine_.quiet()) << "the one before it is not here";
  complete(arrive(message(1, 5), 1));
  EXPECT_TRUE(engine_.quiet());
}

TEST_F(RequestEngineTest, ManyMessagesAndReceivesCostNoMoreEach) {
  constexpr std::uint32_t kMany = 10'000;
  for (std::uint32_t n = 0; n < kMany; ++n) complete(arrive(message(n, static_cast<int>(n)), 1));
  for (std::uint32_t n = kMany; n-- > 0;) {
    ASSERT_EQ(receive(1, static_cast<int>(n), memory_, 1).rq_state, LAM_RQSDONE);
  }
  for (std::uint32_t n = 0; n < kMany; ++n) receive(1, static_cast<int>(n), memory_, 1);
  for (std::uint32_t n = 0; n < kMany; ++n) {
    complete(arrive(message(kMany + n, static_cast<int>(kMany - 1 - n)), 1));
  }
  EXPECT_EQ(active_, 0);
  EXPECT_LE(engine_.matching_steps(), 4U * kMany);
}

// As MPI_Irecv does: LAM calls advance after each.
TEST_F(RequestEngineTest, PostingManyReceivesLooksAtEachOnce) {
  constexpr int kMany = 1000;
  _req* last = nullptr;
  for (int n = 0; n < kMany; ++n) {
    _req& request = receive(1, n, memory_, 1);
    if (last != nullptr) last->rq_next = &request;
    last = &request;
    EXPECT_EQ(engine_.advance(&requests_.front(), false), 0);
  }
  EXPECT_LE(engine_.looked_at(), 2U * kMany);
  _req& late = build(LAM_RQIRECV, 1, kMany, memory_, 1);
  last->rq_next = &late;
  EXPECT_EQ(engine_.advance(&requests_.front(), false), 0);
  EXPECT_EQ(late.rq_state, LAM_RQSSTART) << "what is new was started";
}

// As MPI_Isend does. Those that serve once leave the list when they are destroyed; others may before.
TEST_F(RequestEngineTest, MakingManySendsLooksAtEachOnce) {
  constexpr int kMany = 1000;
  _req* last = nullptr;
  for (int n = 0; n < kMany; ++n) {
    _req& request = build(LAM_RQISEND, 1, n, memory_, 1);
    request.rq_marks = LAM_RQFDYNREQ;
    EXPECT_TRUE(start(request));
    EXPECT_EQ(request.rq_state, LAM_RQSDONE);
    if (last != nullptr) last->rq_next = &request;
    last = &request;
    EXPECT_EQ(engine_.advance(&requests_.front(), false), 0);
  }
  EXPECT_LE(engine_.looked_at(), 2U * kMany);
  last->rq_marks |= LAM_RQFPERSIST;
  _req& only = build(LAM_RQIRECV, 1, kMany, memory_, 1);
  EXPECT_EQ(engine_.advance(&only, false), 0);
  EXPECT_EQ(only.rq_state, LAM_RQSSTART) << "the others are not in the list any more";
}

// LAM has neither built nor started them here, and frees them without destroying them here.
TEST_F(RequestEngineTest, RequestsOfNobodyAreNotReadAgain) {
  auto nobodys = std::make_unique<_req>();
  nobodys->rq_rank = MPI_PROC_NULL;
  nobodys->rq_marks = LAM_RQFDYNREQ;
  nobodys->rq_state = LAM_RQSDONE;
  _req& before = receive(1, 5, memory_, 1);
  before.rq_next = nobodys.get();
  EXPECT_EQ(engine_.advance(&before, false), 0);
  _req& behind = build(LAM_RQIRECV, 1, 6, memory_, 1);
  before.rq_next = &behind;
  EXPECT_EQ(engine_.advance(&before, false), 0);
  EXPECT_EQ(behind.rq_state, LAM_RQSSTART) << "found without the one that LAM may have freed";
}

TEST_F(RequestEngineTest, WhatHasChangedIsToldBeforeAllAreLookedAt) {
  _req& request = receive(1, 5, memory_, 1);
  request.rq_flags |= LAM_RQFBLOCK;
  world_.on_progress = [&] { complete(arrive(message(0, 5), 1)); };
  EXPECT_EQ(engine_.advance(&request, true), 1);
  EXPECT_EQ(engine_.looked_at(), 0U);
}

// Where a new request is to be found is known from one that was there: it may be gone, or one-sided, which begins anew
// in its place.
TEST_F(RequestEngineTest, AllAreLookedAtWhenItIsNotKnownWhatIsNew) {
  _req& gone = receive(1, 5, memory_, 1);
  engine_.advance(&gone, false);
  engine_.destroy(&gone);
  _req& first = build(LAM_RQIRECV, 1, 6, memory_, 1);
  EXPECT_EQ(engine_.advance(&first, false), 0);
  EXPECT_EQ(first.rq_state, LAM_RQSSTART) << "the one before it was destroyed";
  _req& handled = build(LAM_RQIRECV, 1, 7, memory_, 1);
  handled.rq_hdlr = [](MPI_Request) { return 0; };
  _req& last = build(LAM_RQIRECV, 1, 8, memory_, 1);
  first.rq_next = &handled;
  handled.rq_next = &last;
  engine_.advance(&first, false);
  complete(arrive(message(0, 7), 1));
  EXPECT_EQ(handled.rq_state, LAM_RQSDONE);
  handled.rq_state = LAM_RQSINIT;
  engine_.advance(&first, false);
  EXPECT_EQ(handled.rq_state, LAM_RQSSTART);
  communicator_.c_flags |= LAM_CLDEAD;
  for (unsigned n = 0; n < RequestEngine::kShortWalks && first.rq_state != LAM_RQSDONE; ++n) {
    engine_.advance(&first, false);
  }
  EXPECT_EQ(first.rq_status.MPI_ERROR, MPI_ERR_LOCALDEAD) << "in the end";
}

}  // namespace
}  // namespace openlapi::rpi
