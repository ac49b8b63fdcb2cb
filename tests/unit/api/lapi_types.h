/* The types of lapi.h's functions, handlers and fields, as the guide's syntax sections print them. C11 and C++17. */
#ifndef OPENLAPI_TESTS_UNIT_API_LAPI_TYPES_H
#define OPENLAPI_TESTS_UNIT_API_LAPI_TYPES_H

#include "api/include/lapi.h"

/* SAME_TYPE(expression, wanted): the expression is not evaluated. */
#ifdef __cplusplus
#include <type_traits>
#define SAME_TYPE(expression, wanted) \
  static_assert(std::is_same<std::decay<decltype(expression)>::type, wanted>::value, #expression)
#define OBJECT(type) (*static_cast<type*>(nullptr))
#else
#define SAME_TYPE(expression, wanted) _Static_assert(_Generic((expression), wanted : 1, default : 0), #expression)
#define OBJECT(type) (*(type*)0)
#endif

#define CHECK_FUNCTION(name, ...)              \
  SAME_TYPE(&LAPI_##name, int (*)(__VA_ARGS__)); \
  SAME_TYPE(&PLAPI_##name, int (*)(__VA_ARGS__))

CHECK_FUNCTION(Init, lapi_handle_t*, lapi_info_t*);
SAME_TYPE(&plapi_init, int (*)(lapi_handle_t*, lapi_info_t*, int*));
CHECK_FUNCTION(Term, lapi_handle_t);
CHECK_FUNCTION(Qenv, lapi_handle_t, lapi_query_t, int*);
CHECK_FUNCTION(Senv, lapi_handle_t, lapi_query_t, int);
CHECK_FUNCTION(Addr_set, lapi_handle_t, void*, int);
CHECK_FUNCTION(Addr_get, lapi_handle_t, void**, int);
CHECK_FUNCTION(Address, void*, ulong*);
CHECK_FUNCTION(Address_init, lapi_handle_t, void*, void**);
CHECK_FUNCTION(Address_init64, lapi_handle_t, lapi_long_t, lapi_long_t*);
CHECK_FUNCTION(Put, lapi_handle_t, uint, ulong, void*, void*, lapi_cntr_t*, lapi_cntr_t*, lapi_cntr_t*);
CHECK_FUNCTION(Get, lapi_handle_t, uint, ulong, void*, void*, lapi_cntr_t*, lapi_cntr_t*);
CHECK_FUNCTION(Amsend, lapi_handle_t, uint, void*, void*, uint, void*, ulong, lapi_cntr_t*, lapi_cntr_t*,
               lapi_cntr_t*);
CHECK_FUNCTION(Putv, lapi_handle_t, uint, lapi_vec_t*, lapi_vec_t*, lapi_cntr_t*, lapi_cntr_t*, lapi_cntr_t*);
CHECK_FUNCTION(Getv, lapi_handle_t, uint, lapi_vec_t*, lapi_vec_t*, lapi_cntr_t*, lapi_cntr_t*);
CHECK_FUNCTION(Amsendv, lapi_handle_t, uint, void*, void*, uint, lapi_vec_t*, lapi_cntr_t*, lapi_cntr_t*, lapi_cntr_t*);
CHECK_FUNCTION(Rmw, lapi_handle_t, RMW_ops_t, uint, int*, int*, int*, lapi_cntr_t*);
CHECK_FUNCTION(Rmw64, lapi_handle_t, Rmw_ops_t, uint, long long*, long long*, long long*, lapi_cntr_t*);
CHECK_FUNCTION(Setcntr, lapi_handle_t, lapi_cntr_t*, int);
CHECK_FUNCTION(Getcntr, lapi_handle_t, lapi_cntr_t*, int*);
CHECK_FUNCTION(Waitcntr, lapi_handle_t, lapi_cntr_t*, int, int*);
CHECK_FUNCTION(Nopoll_wait, lapi_handle_t, lapi_cntr_t*, int, int*);
CHECK_FUNCTION(Setcntr_wstatus, lapi_handle_t, lapi_cntr_t*, int, uint*, int*);
CHECK_FUNCTION(Purge_totask, lapi_handle_t, uint);
CHECK_FUNCTION(Resume_totask, lapi_handle_t, uint);
CHECK_FUNCTION(Util, lapi_handle_t, lapi_util_t*);
CHECK_FUNCTION(Probe, lapi_handle_t);
CHECK_FUNCTION(Msgpoll, lapi_handle_t, uint, lapi_msg_info_t*);
CHECK_FUNCTION(Fence, lapi_handle_t);
CHECK_FUNCTION(Gfence, lapi_handle_t);
CHECK_FUNCTION(Msg_string, int, void*);

/* Basic types. */
SAME_TYPE(OBJECT(uint), unsigned int);
SAME_TYPE(OBJECT(ulong), unsigned long);
SAME_TYPE(OBJECT(lapi_handle_t), unsigned int);
SAME_TYPE(OBJECT(lapi_long_t), unsigned long long);
SAME_TYPE(OBJECT(lapi_msglen_t), unsigned long);
SAME_TYPE(OBJECT(lapi_cntr_t).cntr, int);

/* Handlers, both spellings. */
#define HEADER_HANDLER(type) \
  SAME_TYPE((type*)0, void* (*)(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**))
#define VECTOR_HEADER_HANDLER(type) \
  SAME_TYPE((type*)0, lapi_vec_t* (*)(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**))
HEADER_HANDLER(hdr_hndlr_t);
HEADER_HANDLER(hdr_hdlr_t);
VECTOR_HEADER_HANDLER(vhdr_hndlr_t);
VECTOR_HEADER_HANDLER(vhdr_hdlr_t);
SAME_TYPE((compl_hndlr_t*)0, void (*)(lapi_handle_t*, void*));
SAME_TYPE((compl_hdlr_t*)0, void (*)(lapi_handle_t*, void*));
SAME_TYPE((scompl_hndlr_t*)0, void (*)(lapi_handle_t*, void*, lapi_sh_info_t*));
SAME_TYPE((scompl_hdlr_t*)0, void (*)(lapi_handle_t*, void*, lapi_sh_info_t*));
SAME_TYPE(OBJECT(LAPI_err_hndlr), void (*)(lapi_handle_t*, int*, lapi_err_t*, int*, int*));
SAME_TYPE(OBJECT(LAPI_err_hdlr), void (*)(lapi_handle_t*, int*, lapi_err_t*, int*, int*));
SAME_TYPE((udp_init_hndlr*)0, int (*)(lapi_handle_t*, lapi_udp_t*, lapi_udp_t*, lapi_udpinfo_t*));
SAME_TYPE((udp_init_hdlr*)0, int (*)(lapi_handle_t*, lapi_udp_t*, lapi_udp_t*, lapi_udpinfo_t*));
SAME_TYPE((ddm_func_t*)0, long (*)(void*, void*, long, int, int));

/* Fields. */
SAME_TYPE(OBJECT(lapi_info_t).err_hndlr, LAPI_err_hndlr);
SAME_TYPE(OBJECT(lapi_info_t).err_hdlr, LAPI_err_hdlr);
SAME_TYPE(OBJECT(lapi_info_t).epoch_num, uint);
SAME_TYPE(OBJECT(lapi_info_t).num_compl_hndlr_thr, int);
SAME_TYPE(OBJECT(lapi_info_t).instance_no, uint);
SAME_TYPE(OBJECT(lapi_info_t).info6, int);
SAME_TYPE(OBJECT(lapi_info_t).lapi_thread_attr, com_thread_info_t*);
SAME_TYPE(OBJECT(lapi_info_t).adapter_name, void*);
SAME_TYPE(OBJECT(lapi_info_t).add_info, lapi_extend_t*);
SAME_TYPE(OBJECT(lapi_extend_t).udp_hndlr, udp_init_hndlr*);
SAME_TYPE(OBJECT(lapi_extend_t).add_udp_addrs, lapi_udp_t*);
SAME_TYPE(OBJECT(lapi_udp_t).ip_addr, unsigned);
SAME_TYPE(OBJECT(lapi_udp_t).port_no, unsigned);
SAME_TYPE(OBJECT(lapi_return_info_t).msg_len, ulong);
SAME_TYPE(OBJECT(lapi_return_info_t).MAGIC, int);
SAME_TYPE(OBJECT(lapi_return_info_t).dgsp_handle, lapi_dg_handle_t);
SAME_TYPE(OBJECT(lapi_return_info_t).bytes, ulong);
SAME_TYPE(OBJECT(lapi_return_info_t).src, int);
SAME_TYPE(OBJECT(lapi_return_info_t).udata_one_pkt_ptr, void*);
SAME_TYPE((lapi_return_info*)0, lapi_return_info_t*);
SAME_TYPE(OBJECT(lapi_vec_t).num_vecs, uint);
SAME_TYPE(OBJECT(lapi_vec_t).info, void**);
SAME_TYPE(OBJECT(lapi_vec_t).len, ulong*);
SAME_TYPE(OBJECT(lapi_lvec_t).info, lapi_long_t*);
SAME_TYPE(OBJECT(lapi_lvec_t).len, lapi_long_t*);
SAME_TYPE(OBJECT(lapi_dgsp_descr_t).code, int*);
SAME_TYPE(OBJECT(lapi_dgsp_descr_t).size, long);
SAME_TYPE(OBJECT(lapi_sh_info_t).src, uint);
SAME_TYPE(OBJECT(lapi_sh_info_t).reason, uint);
SAME_TYPE(OBJECT(lapi_am_t).hdr_hdl, lapi_long_t);
SAME_TYPE(OBJECT(lapi_am_t).shdlr, scompl_hndlr_t*);
SAME_TYPE(OBJECT(lapi_am_t).udata_len, ulong);
SAME_TYPE(OBJECT(lapi_am_t).tgt_cntr, lapi_long_t);
SAME_TYPE(OBJECT(lapi_am_t).org_cntr, lapi_cntr_t*);
SAME_TYPE(OBJECT(lapi_amdgsp_t).dgsp, lapi_dg_handle_t);
SAME_TYPE(OBJECT(lapi_get_t).tgt_addr, lapi_long_t);
SAME_TYPE(OBJECT(lapi_get_t).chndlr, compl_hndlr_t*);
SAME_TYPE(OBJECT(lapi_getv_t).tgt_vec, void*);
SAME_TYPE(OBJECT(lapi_putv_t).org_vec, lapi_vec_t*);
SAME_TYPE(OBJECT(lapi_rmw_t).op, Rmw_ops_t);
SAME_TYPE(OBJECT(lapi_rmw_t).size, uint);
SAME_TYPE(OBJECT(lapi_reg_dgsp_t).idgsp, lapi_dgsp_descr_t*);
SAME_TYPE(OBJECT(lapi_add_udp_port_t).udp_port, lapi_udp_t*);

/* The members of the two unions. */
SAME_TYPE(OBJECT(lapi_xfer_t).Xfer_type, lapi_xfer_type_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Get, lapi_get_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Am, lapi_am_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Rmw, lapi_rmw_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Put, lapi_put_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Getv, lapi_getv_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Putv, lapi_putv_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Amv, lapi_amv_t);
SAME_TYPE(OBJECT(lapi_xfer_t).Dgsp, lapi_am_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).Util_type, lapi_util_type_t);
SAME_TYPE(OBJECT(lapi_util_t).RegDgsp, lapi_reg_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).DrefDgsp, lapi_dref_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).ResvDgsp, lapi_resv_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).DdmFunc, lapi_reg_ddm_t);
SAME_TYPE(OBJECT(lapi_util_t).Udp, lapi_add_udp_port_t);
SAME_TYPE(OBJECT(lapi_util_t).PackDgsp, lapi_pack_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).UnpackDgsp, lapi_unpack_dgsp_t);
SAME_TYPE(OBJECT(lapi_util_t).ThreadFunc, lapi_thread_func_t);
SAME_TYPE((lapi_dgsp_handle_t*)0, lapi_dg_handle_t*);

#endif
