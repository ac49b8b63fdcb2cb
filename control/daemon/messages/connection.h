// A socket with a stream of messages over it. Never blocks.
#pragma once

#include <memory>
#include <utility>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/message_stream.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

class Connection {
 public:
  Connection(FileDescriptor socket, std::unique_ptr<MessageStream> stream)
      : socket_(std::move(socket)), stream_(std::move(stream)) {}

  bool is_open() const { return stream_ != nullptr; }  // not moved away
  int fd() const { return socket_.get(); }
  // What poll() is to wait for: to write as long as something waits for it; to read always.
  short events() const;
  // Reads what is there and writes what goes. False: the connection is over, or what came makes no sense.
  bool serve();
  void send(const DaemonMessage& message) { stream_->send(encode(message)); }
  bool has_outgoing() const { return !stream_->outgoing().empty(); }
  MessageStream& stream() { return *stream_; }
  // Writes what goes. False: the connection is broken.
  bool flush();
  // Its descriptor is free at once.
  void close() { socket_.reset(); }

 private:
  bool fill();

  FileDescriptor socket_;
  std::unique_ptr<MessageStream> stream_;
};

}  // namespace openlapi::daemon
