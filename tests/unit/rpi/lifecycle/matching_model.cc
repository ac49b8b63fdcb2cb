#include "tests/unit/rpi/lifecycle/matching_model.h"

#include <algorithm>

namespace openlapi::rpi {
namespace {

void require(bool is_true, const std::string& otherwise) {
  if (!is_true) throw Failure(otherwise);
}

}  // namespace

std::string shown(const ModelMessage& message) {
  return "message " + std::to_string(message.number) + " of rank " + std::to_string(message.source) + " (context " +
         std::to_string(message.context) + ", tag " + std::to_string(message.tag) + ", " +
         std::to_string(message.length) + " bytes)";
}

std::string shown(const ModelRequest& request) {
  return std::string(request.is_probe ? "probe" : "receive") + " (context " + std::to_string(request.context) +
         ", rank " + std::to_string(request.source) + ", tag " + std::to_string(request.tag) + ", " +
         std::to_string(request.room) + " bytes)";
}

bool ModelRequest::matches(const ModelMessage& message) const {
  return context == message.context && (source == MPI_ANY_SOURCE || source == message.source) &&
         (tag == MPI_ANY_TAG || tag == message.tag);
}

std::size_t MatchingModel::add(const ModelMessage& message) {
  messages_.push_back(message);
  return messages_.size() - 1;
}

std::size_t MatchingModel::add(const ModelRequest& request) {
  requests_.push_back(request);
  return requests_.size() - 1;
}

void MatchingModel::withdraw(std::size_t message) {
  require(messages_[message].is_open(), "a send was cancelled that was received: " + shown(messages_[message]));
  messages_[message].is_withdrawn = true;
}

const ModelMessage* MatchingModel::find_message(int source, int number) const {
  const auto found = std::ranges::find_if(
      messages_, [&](const ModelMessage& each) { return each.source == source && each.number == number; });
  return found == messages_.end() ? nullptr : &*found;
}

ModelMessage& MatchingModel::find(const ModelRequest& request, int source, int number) {
  const ModelMessage* found = find_message(source, number);
  require(found != nullptr, shown(request) + " got message " + std::to_string(number) + " of rank " +
                                std::to_string(source) + ", which nobody has sent");
  return messages_[static_cast<std::size_t>(found - messages_.data())];
}

void MatchingModel::take(const std::vector<Match>& matches) {
  std::vector<std::pair<std::size_t, const ModelMessage*>> taken;
  for (const Match& match : matches) {
    ModelRequest& request = requests_[match.request];
    ModelMessage& message = find(request, match.status.MPI_SOURCE, match.number);
    judge_status(request, message, match);
    require(message.is_open(), shown(request) + " got what is received or cancelled already: " + shown(message));
    message.is_taken = true;
    request.is_active = false;
    taken.emplace_back(match.request, &message);
  }
  for (const auto& [index, message] : taken) {
    judge_order(requests_[index], *message);
    for (std::size_t other = 0; other < index; ++other) {
      const ModelRequest& earlier = requests_[other];
      if (!earlier.is_active || earlier.is_probe || !earlier.matches(*message)) continue;
      throw Failure(shown(requests_[index]) + " got what an earlier receive waits for: " + shown(*message));
    }
    for (const auto& [later, sooner] : taken) {
      const bool crossed = later > index && sooner->source == message->source && sooner < message;
      if (!crossed || !requests_[index].matches(*sooner) || !requests_[later].matches(*message)) continue;
      throw Failure("two receives got their messages in the wrong order: " + shown(*sooner) + ", " + shown(*message));
    }
  }
}

void MatchingModel::judge_order(const ModelRequest& request, const ModelMessage& message) const {
  for (const ModelMessage& each : messages_) {
    if (&each == &message) return;
    if (each.source != message.source || !each.is_open() || !request.matches(each)) continue;
    throw Failure(shown(message) + " overtook " + shown(each) + " to " + shown(request));
  }
}

void MatchingModel::judge_status(const ModelRequest& request, const ModelMessage& message, const Match& match) const {
  require(request.is_active, shown(request) + " ended twice");
  require(request.matches(message), shown(request) + " got what it does not ask for: " + shown(message));
  require(match.status.MPI_TAG == message.tag,
          shown(request) + " says tag " + std::to_string(match.status.MPI_TAG) + " of " + shown(message));
  const int length = std::min(request.room, message.length);
  require(match.status.st_length == length,
          shown(request) + " says " + std::to_string(match.status.st_length) + " bytes of " + shown(message));
  require(match.is_truncated == (message.length > request.room),
          shown(request) + (match.is_truncated ? " says truncated: " : " does not say truncated: ") + shown(message));
}

void MatchingModel::judge_probe(const ModelRequest& probe, const MPI_Status* found, bool all_arrived) const {
  for (const ModelMessage& each : messages_) {
    if (!each.is_open() || !probe.matches(each)) continue;
    if (found == nullptr) {
      require(!all_arrived, shown(probe) + " does not find " + shown(each));
    } else if (each.source == found->MPI_SOURCE) {
      require(found->MPI_TAG == each.tag && found->st_length == each.length,
              shown(probe) + " finds tag " + std::to_string(found->MPI_TAG) + ", " + std::to_string(found->st_length) +
                  " bytes, not the first one: " + shown(each));
      return;
    }
  }
  require(found == nullptr, shown(probe) + " finds what is not there");
}

void MatchingModel::judge_rest(int source, bool with_probes) const {
  for (const ModelMessage& message : messages_) {
    if (!message.is_open() || message.source != source) continue;
    for (const ModelRequest& request : requests_) {
      if (request.is_probe && !with_probes) continue;
      require(!request.is_active || !request.matches(message), shown(request) + " still waits for " + shown(message));
    }
  }
}

}  // namespace openlapi::rpi
