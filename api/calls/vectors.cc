// LAPI_Putv, LAPI_Getv, LAPI_Amsendv.
#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/calls/vector_operations.h"
#include "api/include/lapi.h"

using namespace openlapi;

int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
               lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_put_vector(
      *context, hndl, VectorView(org_vec), VectorView(tgt_vec),
      {tgt, nullptr, nullptr, address_bits(tgt_cntr), address_bits(org_cntr), address_bits(cmpl_cntr)});
}

int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
               lapi_cntr_t* org_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_get_vector(*context, hndl, VectorView(org_vec), VectorView(tgt_vec),
                          {tgt, nullptr, nullptr, address_bits(tgt_cntr), address_bits(org_cntr)});
}

int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, lapi_vec_t* org_vec,
                  lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_vector_message(*context, hndl, VectorView(org_vec),
                              {tgt, address_bits(hdr_hdl), uhdr, uhdr_len, nullptr, true, address_bits(tgt_cntr),
                               address_bits(org_cntr), address_bits(cmpl_cntr)});
}

OPENLAPI_PROFILED(LAPI_Putv);
OPENLAPI_PROFILED(LAPI_Getv);
OPENLAPI_PROFILED(LAPI_Amsendv);
