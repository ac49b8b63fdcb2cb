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
  // For poll(): always to read, and to write as long as something waits to be written.
  short events() const;
  // Reads what has come and writes what the socket takes. False: the connection is over, or what came makes no sense.
  bool serve();
  void send(const DaemonMessage& message) { stream_->send(encode(message)); }
  bool has_outgoing() const { return !stream_->outgoing().empty(); }
  MessageStream& stream() { return *stream_; }
  // Writes what the socket takes. False: the connection is broken.
  bool flush();
  // Its descriptor is free at once.
  void close() { socket_.reset(); }

 private:
  bool fill();

  FileDescriptor socket_;
  std::unique_ptr<MessageStream> stream_;
};

}  // namespace openlapi::daemon
