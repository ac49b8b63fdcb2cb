// Who is about to be gone leaves nobody behind that waits for its acknowledgement.
#include <gtest/gtest.h>

#include "dataplane/peers/farewell.h"
#include "dataplane/tuning.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"

namespace openlapi {
namespace {

class Farewell : public testing::Test {
 protected:
  Farewell() {
    for (PeerIndex i = 0; i < 2; ++i) job_.task(i).transport.make_lossy(0, 1 + i);
    job_.start();
  }
  void put(PeerIndex from) {
    ASSERT_EQ(job_[from].put({1 - from, 0, nullptr, 0, address(&arrived_), 0, 0}), Submit::accepted);
  }
  std::size_t farewells_of(PeerIndex task) {
    MemoryTransport& other = job_.task(1 - task).transport;
    const std::size_t before = other.waiting();
    say_farewell(job_[task].peers(), job_.clock.now());
    return other.waiting() - before;
  }

  Job job_{2};
  int arrived_ = 0;
};

TEST_F(Farewell, AcknowledgesOnceMoreWhatWasAcknowledged) {
  put(0);
  while (arrived_ == 0) {
    for (PeerIndex i = 0; i < 2; ++i) job_[i].progress();
  }
  EXPECT_TRUE(job_[1].drained());
  job_.task(0).transport.forget_waiting();
  job_[0].progress();
  EXPECT_FALSE(job_[0].drained());
  EXPECT_EQ(farewells_of(1), tuning::kLastAcknowledgements);
  job_[0].progress();
  EXPECT_TRUE(job_[0].drained());
}

TEST_F(Farewell, IsSaidToThoseWhoWereJustHeard) {
  EXPECT_EQ(farewells_of(1), 0u) << "nobody was";
  put(0);
  job_.settle();
  job_.clock.advance(tuning::kLongestRetransmitTimeout);
  EXPECT_EQ(farewells_of(1), tuning::kLastAcknowledgements);
  job_.clock.advance(1);
  EXPECT_EQ(farewells_of(1), 0u);
}

}  // namespace
}  // namespace openlapi
