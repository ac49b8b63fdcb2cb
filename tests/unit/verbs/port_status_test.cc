// What the driver tells of a port, and what a sleeper notices of it.
#include "nic/verbs/port_status.h"

#include <endian.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>

namespace {

// What these tests need of an adapter, in the place of libibverbs.
struct FakePort {
  int told[2] = {-1, -1};  // a pipe: the one end is the context's descriptor, a byte is an event
  std::deque<ibv_async_event> events;
  int unacknowledged = 0;
  ibv_port_state state = IBV_PORT_ACTIVE;
  std::uint16_t lid = 0;
  std::uint16_t keys[2] = {0xffff, 0};
  ibv_gid gid{};
  bool taken_away = false;
  bool closed = false;

  void tell(ibv_event_type type, int port = 1) {
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = port;
    events.push_back(event);
    EXPECT_EQ(write(told[1], "e", 1), 1);
  }
};

FakePort* fake = nullptr;

}  // namespace

extern "C" {

int ibv_close_device(ibv_context* context) {
  fake->closed = true;
  delete context;
  return 0;
}

#undef ibv_query_port
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* attributes) {
  ibv_port_attr all{};
  all.state = fake->state;
  all.lid = fake->lid;
  std::memcpy(static_cast<void*>(attributes), &all, offsetof(ibv_port_attr, port_cap_flags2));
  return 0;
}

int ibv_query_pkey(ibv_context*, std::uint8_t, int index, __be16* key) {
  *key = htobe16(fake->keys[index]);
  return 0;
}

int ibv_query_gid(ibv_context*, std::uint8_t, int index, ibv_gid* gid) {
  if (index != 3) return -1;
  *gid = fake->gid;
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (fake->taken_away) return errno = EIO, -1;
  if (fake->events.empty()) return errno = EAGAIN, -1;
  char byte = 0;
  EXPECT_EQ(read(context->async_fd, &byte, 1), 1);
  *event = fake->events.front();
  fake->events.pop_front();
  ++fake->unacknowledged;
  return 0;
}

void ibv_ack_async_event(ibv_async_event*) { --fake->unacknowledged; }

}  // extern "C"

namespace openlapi::verbs {
namespace {

class StatusOfPort : public testing::Test {
 protected:
  StatusOfPort() {
    fake = &port_;
    EXPECT_EQ(pipe(port_.told), 0);
    EXPECT_EQ(pipe(arrivals_), 0);
    port_.gid.raw[15] = 7;
  }
  ~StatusOfPort() override {
    status_.reset();
    EXPECT_TRUE(port_.closed);
    EXPECT_EQ(port_.unacknowledged, 0);
    for (const int descriptor : {port_.told[0], port_.told[1], arrivals_[0], arrivals_[1]}) close(descriptor);
  }
  PortStatus& open(Fabric fabric = Fabric::roce_v2) {
    auto context = std::make_unique<ibv_context>();
    context->async_fd = port_.told[0];
    Address address{.fabric = fabric, .lid = port_.lid};
    std::memcpy(address.gid.data(), port_.gid.raw, address.gid.size());
    status_ = std::make_unique<PortStatus>(
        DeviceContext(context.release()), PortStatus::Place{1, 3, address}, arrivals_[0],
        [this](PortStatus::Place& place) { return follows(place); }, [this] { ++given_up_; });
    EXPECT_TRUE(status_->valid());
    return *status_;
  }
  bool wakes() const {
    pollfd sleeper{status_->descriptor(), POLLIN, 0};
    return poll(&sleeper, 1, 0) == 1;
  }

  // To the GID that is there, if any is.
  bool follows(PortStatus::Place& place) {
    ++asked_;
    const ibv_gid none{};
    if (!may_follow_ || std::memcmp(&port_.gid, &none, sizeof none) == 0) return false;
    std::memcpy(place.address.gid.data(), port_.gid.raw, place.address.gid.size());
    if (port_.keys[0] != place.address.partition_key) place.partition_index = 1;
    return true;
  }

  bool may_follow_ = false;
  int asked_ = 0;
  int given_up_ = 0;
  FakePort port_;
  int arrivals_[2] = {-1, -1};
  std::unique_ptr<PortStatus> status_;
};

TEST_F(StatusOfPort, APortGoesDownAndUp) {
  PortStatus& status = open();
  EXPECT_TRUE(status.reaches(0));
  EXPECT_FALSE(status.look_for_news());
  port_.state = IBV_PORT_DOWN;
  EXPECT_TRUE(status.reaches(0)) << "nobody has told";
  port_.tell(IBV_EVENT_PORT_ERR);
  EXPECT_TRUE(wakes());
  const std::uint32_t before = status.changes();
  EXPECT_TRUE(status.look_for_news());
  EXPECT_NE(status.changes(), before);
  EXPECT_FALSE(status.reaches(0));
  EXPECT_FALSE(wakes());
  port_.state = IBV_PORT_ACTIVE;
  port_.tell(IBV_EVENT_PORT_ACTIVE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
}

TEST_F(StatusOfPort, AGidThatIsGoneAndComesBack) {
  PortStatus& status = open();
  const ibv_gid before = port_.gid;
  port_.gid = {};
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0));
  port_.gid = before;
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
}

TEST_F(StatusOfPort, AnotherGidIsFollowed) {
  PortStatus& status = open();
  may_follow_ = true;
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_FALSE(status.look_for_news());
  EXPECT_EQ(asked_, 0) << "ours is there";
  port_.gid = {};
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0));
  port_.gid.raw[15] = 8;
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
  port_.gid.raw[15] = 9;
  port_.tell(IBV_EVENT_GID_CHANGE);
  const std::uint32_t before = status.changes();
  EXPECT_TRUE(status.look_for_news()) << "it was up, and is";
  EXPECT_NE(status.changes(), before);
  EXPECT_EQ(asked_, 3);
}

TEST_F(StatusOfPort, OverInfiniBandTheLidCounts) {
  port_.lid = 5;
  PortStatus& status = open(Fabric::infiniband);
  port_.gid = {};
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_FALSE(status.look_for_news());
  port_.lid = 6;
  port_.tell(IBV_EVENT_LID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0));
}

// As when the subnet has another prefix: route headers have the GID in them.
TEST_F(StatusOfPort, OverInfiniBandAnotherGidIsFollowed) {
  port_.lid = 5;
  PortStatus& status = open(Fabric::infiniband);
  may_follow_ = true;
  port_.gid.raw[7] = 9;
  port_.tell(IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
  EXPECT_EQ(asked_, 1);
}

TEST_F(StatusOfPort, AnAdapterThatHasFailedStaysSo) {
  PortStatus& status = open();
  port_.tell(IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(status.look_for_news());
  port_.tell(IBV_EVENT_PORT_ACTIVE);
  EXPECT_FALSE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0));
  EXPECT_EQ(given_up_, 1) << "once";
  EXPECT_NE(std::string(status.told_by(0)).find("failed"), std::string::npos);
  EXPECT_FALSE(wakes()) << "nobody takes what lies there any more";
  EXPECT_EQ(write(arrivals_[1], "a", 1), 1);
  EXPECT_FALSE(wakes()) << "nor anything of its queues";
}

// Paths over it were down before, and would have been kept for when the port comes up.
TEST_F(StatusOfPort, AnAdapterThatFailsWhileItsPortIsDownIsTold) {
  PortStatus& status = open();
  port_.state = IBV_PORT_DOWN;
  port_.tell(IBV_EVENT_PORT_ERR);
  EXPECT_TRUE(status.look_for_news());
  const std::uint32_t before = status.changes();
  port_.tell(IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_NE(status.changes(), before);
  EXPECT_EQ(given_up_, 1);
  EXPECT_FALSE(status.look_for_news()) << "once";
}

// As when it was pulled out, or its driver unloaded.
TEST_F(StatusOfPort, ADeviceThatTheKernelHasTakenAwayHasFailed) {
  PortStatus& status = open();
  port_.taken_away = true;
  EXPECT_TRUE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0));
  EXPECT_EQ(given_up_, 1);
  EXPECT_FALSE(status.look_for_news());
}

TEST_F(StatusOfPort, APartitionIsFollowedToItsNewPlace) {
  port_.lid = 5;
  PortStatus& status = open(Fabric::infiniband);
  may_follow_ = true;
  port_.keys[0] = 0x8001;
  port_.keys[1] = 0xffff;
  EXPECT_TRUE(status.reaches(0)) << "nobody has told";
  port_.tell(IBV_EVENT_PKEY_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
  EXPECT_EQ(asked_, 1);
  port_.keys[1] = 0;
  may_follow_ = false;
  port_.tell(IBV_EVENT_PKEY_CHANGE);
  EXPECT_TRUE(status.look_for_news());
  EXPECT_FALSE(status.reaches(0)) << "the port is in this partition no more";
}

TEST_F(StatusOfPort, WhatIsToldOfOthersChangesNothing) {
  PortStatus& status = open();
  port_.state = IBV_PORT_DOWN;
  port_.tell(IBV_EVENT_PORT_ERR, 2);
  port_.tell(IBV_EVENT_SM_CHANGE);
  EXPECT_FALSE(status.look_for_news());
  EXPECT_TRUE(status.reaches(0));
  EXPECT_FALSE(wakes()) << "it is taken all the same";
}

TEST_F(StatusOfPort, APortThatIsDownAtTheBeginningIsKnownToBe) {
  port_.state = IBV_PORT_DOWN;
  EXPECT_FALSE(open().reaches(0));
}

TEST_F(StatusOfPort, ArrivalsWakeToo) {
  open();
  EXPECT_FALSE(wakes());
  EXPECT_EQ(write(arrivals_[1], "a", 1), 1);
  EXPECT_TRUE(wakes());
}

}  // namespace
}  // namespace openlapi::verbs
