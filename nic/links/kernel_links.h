// What the kernel tells of the links of this network namespace while it happens, over one netlink socket: carriers that
// are lost, interfaces that are switched off or vanish, addresses that come and go. Needs no privilege. One thread at a
// time.
//
// How soon: at once for an interface that is switched off or removed. Of a lost carrier Linux tells within a second,
// and mostly at once (its own rule, for devices that change often).
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "dataplane/base/file_descriptor.h"
#include "nic/links/link_table.h"

namespace openlapi {

class KernelLinks {
 public:
  // Also reads what there is. Blocks for nothing but the kernel's answers, which need no other task. False: `error`
  // says why.
  bool open(std::string& error);

  // Readable (POLLIN) until look() has read everything. Constant.
  int descriptor() const { return socket_.get(); }

  // Takes in what is new; one system call if there is nothing. True: the table has changed.
  bool look();

  const LinkTable& table() const { return table_; }

 private:
  enum class Read : unsigned char { nothing, messages, overrun };
  Read read(LinkTable::Taken& taken);
  bool ask(unsigned short kind);
  void forget_waiting();
  bool list_anew();

  FileDescriptor socket_;
  LinkTable table_;
  bool complete_ = false;                          // the table has missed nothing
  alignas(8) std::array<std::byte, 32768> bytes_;  // the kernel makes no longer messages for lists
};

}  // namespace openlapi
