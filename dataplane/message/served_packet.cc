#include "dataplane/message/served_packet.h"

namespace openlapi {

constinit thread_local ServedPacket* served_packet [[gnu::tls_model("initial-exec")]] = nullptr;
constinit thread_local const MovedMessage* moved_message [[gnu::tls_model("initial-exec")]] = nullptr;

MovedMessage::MovedMessage(Message message) : message(message), within(served_packet), outer_(moved_message) {
  moved_message = this;
}
MovedMessage::~MovedMessage() { moved_message = outer_; }

}  // namespace openlapi
