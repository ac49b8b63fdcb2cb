// Every call that sends something to a task or fetches something from it, each LAPI_Xfer of its own, and the collective
// calls that need it: for tests in which all of them are refused, or all of them work again.
#pragma once

#include <functional>

#include "tests/system/gather_scatter_case.h"

namespace api_case {

// What the calls read and write in the target. The memory here is the same, so it may be the target's as well.
struct CallWindow {
  int word = 0;
  long long wide_word = 0;
  unsigned char bytes[512] = {};
  unsigned char vector_bytes[512] = {};
};

struct EveryCall {
  const char* name;
  std::function<int()> make;
};

// Which counters the calls move; null: none.
struct CallCounters {
  lapi_cntr_t* origin = nullptr;
  lapi_cntr_t* completion = nullptr;
};

class EveryCallMaker {
 public:
  // `handler`: the address or index of a header handler that buries its messages. `there`: a CallWindow in the target.
  EveryCallMaker(unsigned target, CallWindow* there, void* handler, CallCounters counters)
      : target_(target), there_(there), handler_(handler), counters_(counters) {
    static Program source = structures();
    static lapi_dg_handle_t registered = nullptr;
    if (registered == nullptr) CALL(register_as(source, &registered, handle));
    program_ = registered;
  }

  // Made and called in this order. They refer to this object.
  std::vector<EveryCall> calls() {
    std::vector<EveryCall> all = {
        {"LAPI_Put",
         [this] {
           return LAPI_Put(handle, target_, sizeof here_.bytes, there_->bytes, here_.bytes, nullptr, counters_.origin,
                           counters_.completion);
         }},
        {"LAPI_Get",
         [this] {
           return LAPI_Get(handle, target_, sizeof here_.bytes, there_->bytes, here_.bytes, nullptr, counters_.origin);
         }},
        {"LAPI_Amsend",
         [this] {
           return LAPI_Amsend(handle, target_, handler_, header_, sizeof header_, here_.bytes, sizeof here_.bytes,
                              nullptr, counters_.origin, counters_.completion);
         }},
        {"LAPI_Rmw",
         [this] {
           return LAPI_Rmw(handle, FETCH_AND_ADD, target_, &there_->word, operands_, &previous_, counters_.origin);
         }},
        {"LAPI_Rmw64",
         [this] {
           return LAPI_Rmw64(handle, FETCH_AND_ADD, target_, &there_->wide_word, wide_operands_, &wide_previous_,
                             counters_.origin);
         }},
    };
    add_vector_calls(all);
    add_transfers(all);
    return all;
  }

  // How many of the calls move the origin counter, and how many the completion counter.
  static constexpr int kMoveOrigin = 16, kMoveCompletion = 9;

 private:
  void add_vector_calls(std::vector<EveryCall>& all) {
    all.push_back({"LAPI_Putv", [this] {
                     return LAPI_Putv(handle, target_, &far_.vector, &near_.vector, nullptr, counters_.origin,
                                      counters_.completion);
                   }});
    all.push_back({"LAPI_Getv", [this] {
                     return LAPI_Getv(handle, target_, &far_.vector, &near_.vector, nullptr, counters_.origin);
                   }});
    all.push_back({"LAPI_Amsendv", [this] {
                     return LAPI_Amsendv(handle, target_, handler_, header_, sizeof header_, &near_.vector, nullptr,
                                         counters_.origin, counters_.completion);
                   }});
  }

  // Fills in what the command of this type has besides, and transfers.
  template <class Part, class Fill>
  std::function<int()> transfer(lapi_xfer_type_t type, Part lapi_xfer_t::*part, Fill fill) {
    return [this, type, part, fill] {
      lapi_xfer_t command;
      std::memset(&command, 0, sizeof command);
      command.Xfer_type = type;
      Part& fields = command.*part;
      fields.tgt = target_;
      fields.org_cntr = counters_.origin;
      fill(fields);
      return LAPI_Xfer(handle, &command);
    };
  }

  template <class Message>
  void fill_message(Message& message) {
    message.hdr_hdl = number(handler_);
    message.uhdr = header_;
    message.uhdr_len = sizeof header_;
    message.cmpl_cntr = counters_.completion;
  }

  void add_transfers(std::vector<EveryCall>& all) {
    all.push_back({"LAPI_PUT_XFER", transfer(LAPI_PUT_XFER, &lapi_xfer_t::Put, [this](lapi_put_t& put) {
                     put.tgt_addr = number(there_->bytes);
                     put.org_addr = here_.bytes;
                     put.len = sizeof here_.bytes;
                     put.cmpl_cntr = counters_.completion;
                   })});
    all.push_back({"LAPI_GET_XFER", transfer(LAPI_GET_XFER, &lapi_xfer_t::Get, [this](lapi_get_t& get) {
                     get.tgt_addr = number(there_->bytes);
                     get.org_addr = here_.bytes;
                     get.len = sizeof here_.bytes;
                   })});
    for (const lapi_xfer_type_t type : {LAPI_AM_XFER, LAPI_AM_LW_XFER}) {
      all.push_back({type == LAPI_AM_XFER ? "LAPI_AM_XFER" : "LAPI_AM_LW_XFER",
                     transfer(type, &lapi_xfer_t::Am, [this](lapi_am_t& message) {
                       fill_message(message);
                       message.udata = here_.bytes;
                       message.udata_len = 64;
                     })});
    }
    all.push_back({"LAPI_RMW_XFER", transfer(LAPI_RMW_XFER, &lapi_xfer_t::Rmw, [this](lapi_rmw_t& rmw) {
                     rmw.op = FETCH_AND_ADD;
                     rmw.size = 64;
                     rmw.tgt_var = number(&there_->wide_word);
                     rmw.in_val = wide_operands_;
                     rmw.prev_tgt_val = &wide_previous_;
                   })});
    add_layout_transfers(all);
  }

  void add_layout_transfers(std::vector<EveryCall>& all) {
    all.push_back({"LAPI_PUTV_XFER", transfer(LAPI_PUTV_XFER, &lapi_xfer_t::Putv, [this](lapi_putv_t& put) {
                     put.flags = USE_TGT_VEC_TYPE;
                     put.org_vec = &near_.vector;
                     put.tgt_vec = &far_.vector;
                     put.cmpl_cntr = counters_.completion;
                   })});
    all.push_back({"LAPI_GETV_XFER", transfer(LAPI_GETV_XFER, &lapi_xfer_t::Getv, [this](lapi_getv_t& get) {
                     get.flags = USE_TGT_VEC_TYPE;
                     get.org_vec = &near_.vector;
                     get.tgt_vec = &far_.vector;
                   })});
    all.push_back({"LAPI_AMV_XFER", transfer(LAPI_AMV_XFER, &lapi_xfer_t::Amv, [this](lapi_amv_t& message) {
                     fill_message(message);
                     message.org_vec = &near_.vector;
                   })});
    all.push_back({"LAPI_DGSP_XFER", transfer(LAPI_DGSP_XFER, &lapi_xfer_t::Dgsp, [this](lapi_amdgsp_t& message) {
                     fill_message(message);
                     message.udata = here_.bytes;
                     message.udata_len = 100;
                     message.dgsp = program_;
                   })});
  }

  static lapi_long_t number(const void* place) { return reinterpret_cast<ulong>(place); }

  // Three pieces of 100 bytes each.
  struct Pieces {
    explicit Pieces(unsigned char* base) : info{base, base + 150, base + 300} {}
    void* info[3];
    ulong len[3] = {100, 100, 100};
    lapi_vec_t vector = {LAPI_GEN_IOVECTOR, 3, info, len};
  };

  unsigned target_;
  CallWindow* there_;
  void* handler_;
  CallCounters counters_;
  lapi_dg_handle_t program_ = nullptr;
  CallWindow here_;
  unsigned char header_[16] = {};
  int operands_[2] = {1, 0}, previous_ = 0;
  long long wide_operands_[2] = {1, 0}, wide_previous_ = 0;
  Pieces near_{here_.vector_bytes}, far_{there_->vector_bytes};
};

}  // namespace api_case
