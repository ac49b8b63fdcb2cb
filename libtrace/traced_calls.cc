// Levels 1 and 2: the user's calls. These LAPI_x take the place of the library's weak ones, so only the user's own
// calls are written down; a user's profiling LAPI_x still comes first.
#include "api/arguments/messages.h"
#include "api/include/lapi.h"
#include "libtrace/trace_log.h"

namespace openlapi {

namespace {

// Writes a call down after it has returned: at level 2, and at level 1 if it failed.
bool is_shown(int result) { return traces(result == LAPI_SUCCESS ? TraceLevel::calls : TraceLevel::contexts); }

const char* result_text(int result) {
  const char* name = error_name(result);
  return name != nullptr ? name : "an errno value";
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

#define TRACED_RETURN(result, format, ...)                                                                         \
  do {                                                                                                             \
    const int traced_result = (result);                                                                            \
    if (is_shown(traced_result)) trace(format " = %d %s", __VA_ARGS__, traced_result, result_text(traced_result)); \
    return traced_result;                                                                                          \
  } while (false)

int LAPI_Init(lapi_handle_t* hndl, lapi_info_t* lapi_info) {
  const int result = PLAPI_Init(hndl, lapi_info);
  if (traces(TraceLevel::contexts)) {
    trace("LAPI_Init(%p, %p) = %d %s, handle %u", static_cast<void*>(hndl), static_cast<void*>(lapi_info), result,
          result_text(result), result == LAPI_SUCCESS ? *hndl : 0);
  }
  return result;
}

int LAPI_Term(lapi_handle_t hndl) {
  const int result = PLAPI_Term(hndl);
  if (traces(TraceLevel::contexts)) trace("LAPI_Term(%u) = %d %s", hndl, result, result_text(result));
  return result;
}

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
             lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  TRACED_RETURN(PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr),
                "LAPI_Put(%u, %u, %lu, %p, %p, %p, %p, %p)", hndl, tgt, len, tgt_addr, org_addr,
                static_cast<void*>(tgt_cntr), static_cast<void*>(org_cntr), static_cast<void*>(cmpl_cntr));
}

int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
             lapi_cntr_t* org_cntr) {
  TRACED_RETURN(PLAPI_Get(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr),
                "LAPI_Get(%u, %u, %lu, %p, %p, %p, %p)", hndl, tgt, len, tgt_addr, org_addr,
                static_cast<void*>(tgt_cntr), static_cast<void*>(org_cntr));
}

int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hndl, void* uhdr, uint uhdr_len, void* udata, ulong udata_len,
                lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  TRACED_RETURN(PLAPI_Amsend(hndl, tgt, hdr_hndl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr),
                "LAPI_Amsend(%u, %u, %p, %p, %u, %p, %lu, %p, %p, %p)", hndl, tgt, hdr_hndl, uhdr, uhdr_len, udata,
                udata_len, static_cast<void*>(tgt_cntr), static_cast<void*>(org_cntr), static_cast<void*>(cmpl_cntr));
}

int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  TRACED_RETURN(PLAPI_Putv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr),
                "LAPI_Putv(%u, %u, %p, %p, %p, %p, %p)", hndl, tgt, static_cast<void*>(tgt_vec),
                static_cast<void*>(org_vec), static_cast<void*>(tgt_cntr), static_cast<void*>(org_cntr),
                static_cast<void*>(cmpl_cntr));
}

int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr) {
  TRACED_RETURN(PLAPI_Getv(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr), "LAPI_Getv(%u, %u, %p, %p, %p, %p)", hndl,
                tgt, static_cast<void*>(tgt_vec), static_cast<void*>(org_vec), static_cast<void*>(tgt_cntr),
                static_cast<void*>(org_cntr));
}

int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, lapi_vec_t* org_vec,
                 lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  TRACED_RETURN(PLAPI_Amsendv(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr),
                "LAPI_Amsendv(%u, %u, %p, %p, %u, %p, %p, %p, %p)", hndl, tgt, hdr_hdl, uhdr, uhdr_len,
                static_cast<void*>(org_vec), static_cast<void*>(tgt_cntr), static_cast<void*>(org_cntr),
                static_cast<void*>(cmpl_cntr));
}

int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val, int* prev_tgt_val,
             lapi_cntr_t* org_cntr) {
  TRACED_RETURN(PLAPI_Rmw(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr),
                "LAPI_Rmw(%u, %d, %u, %p, %p, %p, %p)", hndl, static_cast<int>(op), tgt, static_cast<void*>(tgt_var),
                static_cast<void*>(in_val), static_cast<void*>(prev_tgt_val), static_cast<void*>(org_cntr));
}

int LAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long* tgt_var, long long* in_val,
               long long* prev_tgt_val, lapi_cntr_t* org_cntr) {
  TRACED_RETURN(PLAPI_Rmw64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr),
                "LAPI_Rmw64(%u, %d, %u, %p, %p, %p, %p)", hndl, static_cast<int>(op), tgt, static_cast<void*>(tgt_var),
                static_cast<void*>(in_val), static_cast<void*>(prev_tgt_val), static_cast<void*>(org_cntr));
}

int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t* xfer_cmd) {
  TRACED_RETURN(PLAPI_Xfer(hndl, xfer_cmd), "LAPI_Xfer(%u, %p type %d)", hndl, static_cast<void*>(xfer_cmd),
                xfer_cmd != nullptr ? static_cast<int>(xfer_cmd->Xfer_type) : -1);
}

int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val) {
  TRACED_RETURN(PLAPI_Setcntr(hndl, cntr, val), "LAPI_Setcntr(%u, %p, %d)", hndl, static_cast<void*>(cntr), val);
}

int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val) {
  TRACED_RETURN(PLAPI_Getcntr(hndl, cntr, val), "LAPI_Getcntr(%u, %p, %p)", hndl, static_cast<void*>(cntr),
                static_cast<void*>(val));
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val) {
  TRACED_RETURN(PLAPI_Waitcntr(hndl, cntr, val, cur_cntr_val), "LAPI_Waitcntr(%u, %p, %d, %p)", hndl,
                static_cast<void*>(cntr), val, static_cast<void*>(cur_cntr_val));
}

int LAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t* cntr_ptr, int val, int* cur_cntr_val) {
  TRACED_RETURN(PLAPI_Nopoll_wait(hndl, cntr_ptr, val, cur_cntr_val), "LAPI_Nopoll_wait(%u, %p, %d, %p)", hndl,
                static_cast<void*>(cntr_ptr), val, static_cast<void*>(cur_cntr_val));
}

int LAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t* cntr, int num_dest, uint* dest_list, int* dest_status) {
  TRACED_RETURN(PLAPI_Setcntr_wstatus(hndl, cntr, num_dest, dest_list, dest_status),
                "LAPI_Setcntr_wstatus(%u, %p, %d, %p, %p)", hndl, static_cast<void*>(cntr), num_dest,
                static_cast<void*>(dest_list), static_cast<void*>(dest_status));
}

int LAPI_Purge_totask(lapi_handle_t hndl, uint dest) {
  TRACED_RETURN(PLAPI_Purge_totask(hndl, dest), "LAPI_Purge_totask(%u, %u)", hndl, dest);
}

int LAPI_Resume_totask(lapi_handle_t hndl, uint dest) {
  TRACED_RETURN(PLAPI_Resume_totask(hndl, dest), "LAPI_Resume_totask(%u, %u)", hndl, dest);
}

int LAPI_Util(lapi_handle_t hndl, lapi_util_t* util_cmd) {
  TRACED_RETURN(PLAPI_Util(hndl, util_cmd), "LAPI_Util(%u, %p)", hndl, static_cast<void*>(util_cmd));
}

int LAPI_Probe(lapi_handle_t hndl) { TRACED_RETURN(PLAPI_Probe(hndl), "LAPI_Probe(%u)", hndl); }

int LAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t* info) {
  TRACED_RETURN(PLAPI_Msgpoll(hndl, cnt, info), "LAPI_Msgpoll(%u, %u, %p)", hndl, cnt, static_cast<void*>(info));
}

int LAPI_Fence(lapi_handle_t hndl) { TRACED_RETURN(PLAPI_Fence(hndl), "LAPI_Fence(%u)", hndl); }

int LAPI_Gfence(lapi_handle_t hndl) { TRACED_RETURN(PLAPI_Gfence(hndl), "LAPI_Gfence(%u)", hndl); }

int LAPI_Address(void* my_addr, ulong* ret_addr) {
  TRACED_RETURN(PLAPI_Address(my_addr, ret_addr), "LAPI_Address(%p, %p)", my_addr, static_cast<void*>(ret_addr));
}

int LAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]) {
  TRACED_RETURN(PLAPI_Address_init(hndl, my_addr, add_tab), "LAPI_Address_init(%u, %p, %p)", hndl, my_addr,
                static_cast<void*>(add_tab));
}

int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab) {
  TRACED_RETURN(PLAPI_Address_init64(hndl, my_addr, add_tab), "LAPI_Address_init64(%u, %#llx, %p)", hndl, my_addr,
                static_cast<void*>(add_tab));
}

int LAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl) {
  TRACED_RETURN(PLAPI_Addr_set(hndl, addr, addr_hndl), "LAPI_Addr_set(%u, %p, %d)", hndl, addr, addr_hndl);
}

int LAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl) {
  TRACED_RETURN(PLAPI_Addr_get(hndl, addr, addr_hndl), "LAPI_Addr_get(%u, %p, %d)", hndl, static_cast<void*>(addr),
                addr_hndl);
}

int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val) {
  TRACED_RETURN(PLAPI_Qenv(hndl, query, ret_val), "LAPI_Qenv(%u, %d, %p)", hndl, static_cast<int>(query),
                static_cast<void*>(ret_val));
}

int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val) {
  TRACED_RETURN(PLAPI_Senv(hndl, query, set_val), "LAPI_Senv(%u, %d, %d)", hndl, static_cast<int>(query), set_val);
}

int LAPI_Msg_string(int error_code, void* buf) {
  TRACED_RETURN(PLAPI_Msg_string(error_code, buf), "LAPI_Msg_string(%d, %p)", error_code, buf);
}
