#include "control/boot/tree/tree_messages.h"

#include <arpa/inet.h>

#include <algorithm>

#include "dataplane/base/byte_codec.h"

namespace openlapi::boot {
namespace {

constexpr int kMostChildrenSent = 1 << 20;

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

void append_tree_node(StartupBytes& bytes, const lamnode& node) {
  append_number(bytes, node.lnd_nodeid);
  append_number(bytes, node.lnd_type);
  append_number(bytes, node.lnd_ncpus);
  append_number(bytes, ntohl(node.lnd_addr.sin_addr.s_addr));
  append_text(bytes, text_of(node.lnd_hname));
  append_text(bytes, text_of(node.lnd_uname));
  std::uint32_t pairs = 0;
  for (void* at = al_top(node.lnd_keyval); at != nullptr; at = al_next(node.lnd_keyval, at)) ++pairs;
  append_number(bytes, pairs);
  for (void* at = al_top(node.lnd_keyval); at != nullptr; at = al_next(node.lnd_keyval, at)) {
    append_text(bytes, static_cast<const ELEM*>(at)->key);
    append_text(bytes, static_cast<const ELEM*>(at)->value);
  }
}

bool has_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

bool read_tree_node(ByteReader& reader, lamnode& node) {
  const int id = reader.integer(), type = reader.integer(), cpus = reader.integer();
  const std::uint32_t address = reader.number();
  HostEntry host;
  host.name = reader.text();
  host.user = reader.text();
  host.cpus = cpus;
  for (std::uint32_t left = reader.count(8); left > 0 && !reader.failed(); --left) {
    std::string key = reader.text(), value = reader.text();
    if (has_zero(key) || has_zero(value)) return false;
    host.pairs.emplace_back(std::move(key), std::move(value));
  }
  if (reader.failed() || id < 0 || has_zero(host.name) || has_zero(host.user)) return false;
  describe_node(node, id, host);
  node.lnd_type = type;
  node.lnd_addr.sin_family = AF_INET;
  node.lnd_addr.sin_addr.s_addr = htonl(address);
  return true;
}

void append_lines(StartupBytes& bytes, const ErrorLines& lines) {
  append_number(bytes, static_cast<std::uint32_t>(lines.size()));
  for (const std::string& line : lines) append_text(bytes, line);
}

void read_lines(ByteReader& reader, ErrorLines& lines) {
  lines.clear();
  for (std::uint32_t left = reader.count(4); left > 0 && !reader.failed(); --left) {
    std::string line = reader.text();
    for (char& letter : line) letter = static_cast<unsigned char>(letter) < ' ' ? '?' : letter;
    lines.push_back(std::move(line));
  }
}

bool is_over(const ByteReader& reader) { return !reader.failed() && reader.left() == 0; }

// It becomes a word of a command.
bool is_host(const std::string& host) {
  return std::ranges::all_of(host, [](char letter) { return static_cast<unsigned char>(letter) > ' '; });
}

bool is_port_or_none(int port) { return port >= 0 && port <= 65535; }

}  // namespace

StartupBytes encode_job(const TreeJob& job, const std::vector<const lamnode*>& nodes) {
  StartupBytes bytes;
  append_number(bytes, job.origin.node_id);
  append_text(bytes, job.origin.host);
  append_number(bytes, static_cast<int>(job.which));
  append_number(bytes, job.startup_protocol ? 1 : 0);
  append_number(bytes, job.shape.degree);
  append_number(bytes, job.shape.at_once);
  append_number(bytes, static_cast<std::uint32_t>(nodes.size()));
  for (const lamnode* node : nodes) append_tree_node(bytes, *node);
  return bytes;
}

std::optional<TreeJobWithNodes> decode_job(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  TreeJob job;
  job.origin.node_id = reader.integer();
  job.origin.host = reader.text();
  const int which = reader.integer(), protocol = reader.integer();
  job.shape.degree = reader.integer();
  job.shape.at_once = reader.integer();
  const auto in_range = [](int value) { return value >= 1 && value <= kMostChildrenSent; };
  if (which < 0 || which >= LAM_SSI_BOOT_PROC_MAX || protocol < 0 || protocol > 1 || job.origin.node_id < 0 ||
      !is_host(job.origin.host)) {
    return std::nullopt;
  }
  if (!in_range(job.shape.degree) || !in_range(job.shape.at_once)) return std::nullopt;
  job.which = static_cast<lam_ssi_boot_proc_t>(which);
  job.startup_protocol = protocol == 1;
  TreeJobWithNodes all{job, NodeArray(reader.count(28))};
  for (int n = 0; n < all.nodes.count(); ++n) {
    if (!read_tree_node(reader, all.nodes[static_cast<std::size_t>(n)])) return std::nullopt;
  }
  if (!is_over(reader) || all.nodes.count() == 0) return std::nullopt;
  return all;
}

StartupBytes encode_reports(const std::vector<NodeReport>& reports, const ErrorLines& lines) {
  StartupBytes bytes;
  append_number(bytes, static_cast<std::uint32_t>(reports.size()));
  for (const NodeReport& report : reports) {
    for (const int value : {report.node_id, report.started ? 1 : 0, report.boot_port, report.udp_port, report.cpus}) {
      append_number(bytes, value);
    }
  }
  append_lines(bytes, lines);
  return bytes;
}

std::optional<std::vector<NodeReport>> decode_reports(std::span<const std::uint8_t> bytes, ErrorLines& lines) {
  ByteReader reader(bytes);
  std::vector<NodeReport> reports(reader.count(20));
  for (NodeReport& report : reports) {
    report.node_id = reader.integer();
    report.started = reader.integer() == 1;
    report.boot_port = reader.integer();
    report.udp_port = reader.integer();
    report.cpus = reader.integer();
    if (!is_port_or_none(report.boot_port) || !is_port_or_none(report.udp_port)) return std::nullopt;
  }
  read_lines(reader, lines);
  return is_over(reader) ? std::optional(std::move(reports)) : std::nullopt;
}

StartupBytes encode_told(const std::vector<int>& ids, const ErrorLines& lines) {
  StartupBytes bytes;
  append_number(bytes, static_cast<std::uint32_t>(ids.size()));
  for (const int id : ids) append_number(bytes, id);
  append_lines(bytes, lines);
  return bytes;
}

std::optional<std::vector<int>> decode_told(std::span<const std::uint8_t> bytes, ErrorLines& lines) {
  ByteReader reader(bytes);
  std::vector<int> ids(reader.count(4));
  for (int& id : ids) id = reader.integer();
  read_lines(reader, lines);
  return is_over(reader) ? std::optional(std::move(ids)) : std::nullopt;
}

}  // namespace openlapi::boot
