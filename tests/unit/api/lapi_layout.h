/* The fields of lapi.h's structures: their order, as the guide prints it, and second spellings. C11 and C++17. */
#ifndef OPENLAPI_TESTS_UNIT_API_LAPI_LAYOUT_H
#define OPENLAPI_TESTS_UNIT_API_LAPI_LAYOUT_H

#include <stddef.h>

#include "api/include/lapi.h"

#ifdef __cplusplus
#define CHECK_TRUE(condition) static_assert(condition, #condition)
#else
#define CHECK_TRUE(condition) _Static_assert(condition, #condition)
#endif
#define CHECK_FIRST(type, field) CHECK_TRUE(offsetof(type, field) == 0)
#define CHECK_ORDER(type, field, next) CHECK_TRUE(offsetof(type, field) < offsetof(type, next))
#define CHECK_SAME_PLACE(type, field, other) CHECK_TRUE(offsetof(type, field) == offsetof(type, other))

CHECK_FIRST(lapi_info_t, protocol);
CHECK_ORDER(lapi_info_t, protocol, lib_vers);
CHECK_ORDER(lapi_info_t, lib_vers, epoch_num);
CHECK_ORDER(lapi_info_t, epoch_num, num_compl_hdlr_thr);
CHECK_ORDER(lapi_info_t, num_compl_hdlr_thr, instance_no);
CHECK_ORDER(lapi_info_t, instance_no, info6);
CHECK_ORDER(lapi_info_t, info6, err_hdlr);
CHECK_ORDER(lapi_info_t, err_hdlr, lapi_thread_attr);
CHECK_ORDER(lapi_info_t, lapi_thread_attr, adapter_name);
CHECK_ORDER(lapi_info_t, adapter_name, add_info);
CHECK_SAME_PLACE(lapi_info_t, num_compl_hdlr_thr, num_compl_hndlr_thr);
CHECK_SAME_PLACE(lapi_info_t, err_hdlr, err_hndlr);

CHECK_FIRST(lapi_return_info_t, msg_len);
CHECK_ORDER(lapi_return_info_t, msg_len, MAGIC);
CHECK_ORDER(lapi_return_info_t, MAGIC, ret_flags);
CHECK_ORDER(lapi_return_info_t, ret_flags, ctl_flags);
CHECK_ORDER(lapi_return_info_t, ctl_flags, dgsp_handle);
CHECK_ORDER(lapi_return_info_t, dgsp_handle, bytes);
CHECK_ORDER(lapi_return_info_t, bytes, src);
CHECK_ORDER(lapi_return_info_t, src, udata_one_pkt_ptr);

CHECK_FIRST(lapi_vec_t, vec_type);
CHECK_ORDER(lapi_vec_t, vec_type, num_vecs);
CHECK_ORDER(lapi_vec_t, num_vecs, info);
CHECK_ORDER(lapi_vec_t, info, len);

CHECK_FIRST(lapi_lvec_t, vec_type);
CHECK_ORDER(lapi_lvec_t, vec_type, num_vecs);
CHECK_ORDER(lapi_lvec_t, num_vecs, info);
CHECK_ORDER(lapi_lvec_t, info, len);

CHECK_FIRST(lapi_dgsp_descr_t, code);
CHECK_ORDER(lapi_dgsp_descr_t, code, code_size);
CHECK_ORDER(lapi_dgsp_descr_t, code_size, depth);
CHECK_ORDER(lapi_dgsp_descr_t, depth, density);
CHECK_ORDER(lapi_dgsp_descr_t, density, size);
CHECK_ORDER(lapi_dgsp_descr_t, size, extent);
CHECK_ORDER(lapi_dgsp_descr_t, extent, lext);
CHECK_ORDER(lapi_dgsp_descr_t, lext, rext);
CHECK_ORDER(lapi_dgsp_descr_t, rext, atom_size);
CHECK_SAME_PLACE(lapi_dgsp_descr_t, lext, ltext);
CHECK_SAME_PLACE(lapi_dgsp_descr_t, rext, rtext);

CHECK_FIRST(lapi_statistics_t, Tot_dup_pkt_cnt);
CHECK_ORDER(lapi_statistics_t, Tot_dup_pkt_cnt, Tot_retrans_pkt_cnt);
CHECK_ORDER(lapi_statistics_t, Tot_retrans_pkt_cnt, Tot_gho_pkt_cnt);
CHECK_ORDER(lapi_statistics_t, Tot_gho_pkt_cnt, Tot_pkt_sent_cnt);
CHECK_ORDER(lapi_statistics_t, Tot_pkt_sent_cnt, Tot_pkt_rcv_cnt);
CHECK_ORDER(lapi_statistics_t, Tot_pkt_rcv_cnt, Tot_data_sent);
CHECK_ORDER(lapi_statistics_t, Tot_data_sent, Tot_data_rcv);
CHECK_SAME_PLACE(lapi_statistics_t, Tot_pkt_rcv_cnt, Tot_pkt_recv_cnt);
CHECK_SAME_PLACE(lapi_statistics_t, Tot_data_rcv, Tot_data_recv);

CHECK_FIRST(lapi_msg_info_t, status);
CHECK_ORDER(lapi_msg_info_t, status, reserve);

CHECK_FIRST(lapi_sh_info_t, src);
CHECK_ORDER(lapi_sh_info_t, src, reason);
CHECK_ORDER(lapi_sh_info_t, reason, reserve);

CHECK_FIRST(lapi_udp_t, ip_addr);
CHECK_ORDER(lapi_udp_t, ip_addr, port_no);

CHECK_FIRST(lapi_udpinfo_t, task_id);
CHECK_ORDER(lapi_udpinfo_t, task_id, num_tasks);
CHECK_ORDER(lapi_udpinfo_t, num_tasks, instance_no);

CHECK_FIRST(lapi_extend_t, udp_hndlr);
CHECK_ORDER(lapi_extend_t, udp_hndlr, add_udp_addrs);
CHECK_ORDER(lapi_extend_t, add_udp_addrs, num_udp_addr);
CHECK_SAME_PLACE(lapi_extend_t, udp_hndlr, udp_hdlr);

CHECK_FIRST(com_thread_info_t, attr);
CHECK_ORDER(com_thread_info_t, attr, init_func);
CHECK_ORDER(com_thread_info_t, init_func, init_arg);

CHECK_FIRST(lapi_am_t, Xfer_type);
CHECK_ORDER(lapi_am_t, Xfer_type, flags);
CHECK_ORDER(lapi_am_t, flags, tgt);
CHECK_ORDER(lapi_am_t, tgt, hdr_hdl);
CHECK_ORDER(lapi_am_t, hdr_hdl, uhdr_len);
CHECK_ORDER(lapi_am_t, uhdr_len, uhdr);
CHECK_ORDER(lapi_am_t, uhdr, udata);
CHECK_ORDER(lapi_am_t, udata, udata_len);
CHECK_ORDER(lapi_am_t, udata_len, shdlr);
CHECK_ORDER(lapi_am_t, shdlr, sinfo);
CHECK_ORDER(lapi_am_t, sinfo, tgt_cntr);
CHECK_ORDER(lapi_am_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_am_t, org_cntr, cmpl_cntr);

CHECK_FIRST(lapi_amv_t, Xfer_type);
CHECK_ORDER(lapi_amv_t, Xfer_type, flags);
CHECK_ORDER(lapi_amv_t, flags, tgt);
CHECK_ORDER(lapi_amv_t, tgt, hdr_hdl);
CHECK_ORDER(lapi_amv_t, hdr_hdl, uhdr_len);
CHECK_ORDER(lapi_amv_t, uhdr_len, uhdr);
CHECK_ORDER(lapi_amv_t, uhdr, shdlr);
CHECK_ORDER(lapi_amv_t, shdlr, sinfo);
CHECK_ORDER(lapi_amv_t, sinfo, org_vec);
CHECK_ORDER(lapi_amv_t, org_vec, tgt_cntr);
CHECK_ORDER(lapi_amv_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_amv_t, org_cntr, cmpl_cntr);

CHECK_FIRST(lapi_amdgsp_t, Xfer_type);
CHECK_ORDER(lapi_amdgsp_t, Xfer_type, flags);
CHECK_ORDER(lapi_amdgsp_t, flags, tgt);
CHECK_ORDER(lapi_amdgsp_t, tgt, hdr_hdl);
CHECK_ORDER(lapi_amdgsp_t, hdr_hdl, uhdr_len);
CHECK_ORDER(lapi_amdgsp_t, uhdr_len, uhdr);
CHECK_ORDER(lapi_amdgsp_t, uhdr, udata);
CHECK_ORDER(lapi_amdgsp_t, udata, udata_len);
CHECK_ORDER(lapi_amdgsp_t, udata_len, shdlr);
CHECK_ORDER(lapi_amdgsp_t, shdlr, sinfo);
CHECK_ORDER(lapi_amdgsp_t, sinfo, tgt_cntr);
CHECK_ORDER(lapi_amdgsp_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_amdgsp_t, org_cntr, cmpl_cntr);
CHECK_ORDER(lapi_amdgsp_t, cmpl_cntr, dgsp);
CHECK_ORDER(lapi_amdgsp_t, dgsp, status);

CHECK_FIRST(lapi_get_t, Xfer_type);
CHECK_ORDER(lapi_get_t, Xfer_type, flags);
CHECK_ORDER(lapi_get_t, flags, tgt);
CHECK_ORDER(lapi_get_t, tgt, tgt_addr);
CHECK_ORDER(lapi_get_t, tgt_addr, org_addr);
CHECK_ORDER(lapi_get_t, org_addr, len);
CHECK_ORDER(lapi_get_t, len, tgt_cntr);
CHECK_ORDER(lapi_get_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_get_t, org_cntr, chndlr);
CHECK_ORDER(lapi_get_t, chndlr, cinfo);

CHECK_FIRST(lapi_getv_t, Xfer_type);
CHECK_ORDER(lapi_getv_t, Xfer_type, flags);
CHECK_ORDER(lapi_getv_t, flags, tgt);
CHECK_ORDER(lapi_getv_t, tgt, org_vec);
CHECK_ORDER(lapi_getv_t, org_vec, tgt_vec);
CHECK_ORDER(lapi_getv_t, tgt_vec, tgt_cntr);
CHECK_ORDER(lapi_getv_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_getv_t, org_cntr, chndlr);
CHECK_ORDER(lapi_getv_t, chndlr, cinfo);

CHECK_FIRST(lapi_put_t, Xfer_type);
CHECK_ORDER(lapi_put_t, Xfer_type, flags);
CHECK_ORDER(lapi_put_t, flags, tgt);
CHECK_ORDER(lapi_put_t, tgt, tgt_addr);
CHECK_ORDER(lapi_put_t, tgt_addr, org_addr);
CHECK_ORDER(lapi_put_t, org_addr, len);
CHECK_ORDER(lapi_put_t, len, shdlr);
CHECK_ORDER(lapi_put_t, shdlr, sinfo);
CHECK_ORDER(lapi_put_t, sinfo, tgt_cntr);
CHECK_ORDER(lapi_put_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_put_t, org_cntr, cmpl_cntr);

CHECK_FIRST(lapi_putv_t, Xfer_type);
CHECK_ORDER(lapi_putv_t, Xfer_type, flags);
CHECK_ORDER(lapi_putv_t, flags, tgt);
CHECK_ORDER(lapi_putv_t, tgt, shdlr);
CHECK_ORDER(lapi_putv_t, shdlr, sinfo);
CHECK_ORDER(lapi_putv_t, sinfo, org_vec);
CHECK_ORDER(lapi_putv_t, org_vec, tgt_vec);
CHECK_ORDER(lapi_putv_t, tgt_vec, tgt_cntr);
CHECK_ORDER(lapi_putv_t, tgt_cntr, org_cntr);
CHECK_ORDER(lapi_putv_t, org_cntr, cmpl_cntr);

CHECK_FIRST(lapi_rmw_t, Xfer_type);
CHECK_ORDER(lapi_rmw_t, Xfer_type, op);
CHECK_ORDER(lapi_rmw_t, op, tgt);
CHECK_ORDER(lapi_rmw_t, tgt, size);
CHECK_ORDER(lapi_rmw_t, size, tgt_var);
CHECK_ORDER(lapi_rmw_t, tgt_var, in_val);
CHECK_ORDER(lapi_rmw_t, in_val, prev_tgt_val);
CHECK_ORDER(lapi_rmw_t, prev_tgt_val, org_cntr);
CHECK_ORDER(lapi_rmw_t, org_cntr, shdlr);
CHECK_ORDER(lapi_rmw_t, shdlr, sinfo);

CHECK_FIRST(lapi_reg_dgsp_t, Util_type);
CHECK_ORDER(lapi_reg_dgsp_t, Util_type, idgsp);
CHECK_ORDER(lapi_reg_dgsp_t, idgsp, dgsp_handle);
CHECK_ORDER(lapi_reg_dgsp_t, dgsp_handle, in_usr_func);
CHECK_ORDER(lapi_reg_dgsp_t, in_usr_func, status);

CHECK_FIRST(lapi_resv_dgsp_t, Util_type);
CHECK_ORDER(lapi_resv_dgsp_t, Util_type, dgsp_handle);
CHECK_ORDER(lapi_resv_dgsp_t, dgsp_handle, in_usr_func);
CHECK_ORDER(lapi_resv_dgsp_t, in_usr_func, status);

CHECK_FIRST(lapi_dref_dgsp_t, Util_type);
CHECK_ORDER(lapi_dref_dgsp_t, Util_type, dgsp_handle);
CHECK_ORDER(lapi_dref_dgsp_t, dgsp_handle, in_usr_func);
CHECK_ORDER(lapi_dref_dgsp_t, in_usr_func, status);

CHECK_FIRST(lapi_reg_ddm_t, Util_type);
CHECK_ORDER(lapi_reg_ddm_t, Util_type, ddm_func);
CHECK_ORDER(lapi_reg_ddm_t, ddm_func, in_usr_func);
CHECK_ORDER(lapi_reg_ddm_t, in_usr_func, status);

CHECK_FIRST(lapi_pack_dgsp_t, Util_type);
CHECK_ORDER(lapi_pack_dgsp_t, Util_type, dgsp_handle);
CHECK_ORDER(lapi_pack_dgsp_t, dgsp_handle, in_buf);
CHECK_ORDER(lapi_pack_dgsp_t, in_buf, bytes);
CHECK_ORDER(lapi_pack_dgsp_t, bytes, out_buf);
CHECK_ORDER(lapi_pack_dgsp_t, out_buf, out_size);
CHECK_ORDER(lapi_pack_dgsp_t, out_size, position);
CHECK_ORDER(lapi_pack_dgsp_t, position, in_usr_func);
CHECK_ORDER(lapi_pack_dgsp_t, in_usr_func, status);

CHECK_FIRST(lapi_unpack_dgsp_t, Util_type);
CHECK_ORDER(lapi_unpack_dgsp_t, Util_type, dgsp_handle);
CHECK_ORDER(lapi_unpack_dgsp_t, dgsp_handle, buf);
CHECK_ORDER(lapi_unpack_dgsp_t, buf, in_size);
CHECK_ORDER(lapi_unpack_dgsp_t, in_size, out_buf);
CHECK_ORDER(lapi_unpack_dgsp_t, out_buf, bytes);
CHECK_ORDER(lapi_unpack_dgsp_t, bytes, out_size);
CHECK_ORDER(lapi_unpack_dgsp_t, out_size, position);
CHECK_ORDER(lapi_unpack_dgsp_t, position, in_usr_func);
CHECK_ORDER(lapi_unpack_dgsp_t, in_usr_func, status);

CHECK_FIRST(lapi_add_udp_port_t, Util_type);
CHECK_ORDER(lapi_add_udp_port_t, Util_type, tgt);
CHECK_ORDER(lapi_add_udp_port_t, tgt, udp_port);
CHECK_ORDER(lapi_add_udp_port_t, udp_port, instance_no);
CHECK_ORDER(lapi_add_udp_port_t, instance_no, in_usr_func);
CHECK_ORDER(lapi_add_udp_port_t, in_usr_func, status);

CHECK_FIRST(lapi_thread_func_t, Util_type);
CHECK_ORDER(lapi_thread_func_t, Util_type, mutex_lock);
CHECK_ORDER(lapi_thread_func_t, mutex_lock, mutex_unlock);
CHECK_ORDER(lapi_thread_func_t, mutex_unlock, mutex_trylock);
CHECK_ORDER(lapi_thread_func_t, mutex_trylock, mutex_getowner);
CHECK_ORDER(lapi_thread_func_t, mutex_getowner, cond_wait);
CHECK_ORDER(lapi_thread_func_t, cond_wait, cond_timedwait);
CHECK_ORDER(lapi_thread_func_t, cond_timedwait, cond_signal);
CHECK_ORDER(lapi_thread_func_t, cond_signal, cond_init);
CHECK_ORDER(lapi_thread_func_t, cond_init, cond_destroy);

CHECK_FIRST(lapi_dgsm_copy_t, opcode);
CHECK_ORDER(lapi_dgsm_copy_t, opcode, bytes);
CHECK_ORDER(lapi_dgsm_copy_t, bytes, offset);

CHECK_FIRST(lapi_dgsm_mcopy_t, opcode);
CHECK_ORDER(lapi_dgsm_mcopy_t, opcode, count);
CHECK_ORDER(lapi_dgsm_mcopy_t, count, block);

CHECK_FIRST(lapi_dgsm_block_t, block_disp);
CHECK_ORDER(lapi_dgsm_block_t, block_disp, block_len);

CHECK_FIRST(lapi_dgsm_gosub_t, opcode);
CHECK_ORDER(lapi_dgsm_gosub_t, opcode, reps);
CHECK_ORDER(lapi_dgsm_gosub_t, reps, offset);
CHECK_ORDER(lapi_dgsm_gosub_t, offset, stride);
CHECK_ORDER(lapi_dgsm_gosub_t, stride, to_loc);
CHECK_ORDER(lapi_dgsm_gosub_t, to_loc, ret_loc);

CHECK_FIRST(lapi_dgsm_iterate_t, opcode);
CHECK_ORDER(lapi_dgsm_iterate_t, opcode, iter_loc);

CHECK_FIRST(lapi_dgsm_control_t, opcode);
CHECK_ORDER(lapi_dgsm_control_t, opcode, operation);
CHECK_ORDER(lapi_dgsm_control_t, operation, operand);

CHECK_FIRST(lapi_cntr_t, cntr);
CHECK_ORDER(lapi_cntr_t, cntr, num_dest);
CHECK_ORDER(lapi_cntr_t, num_dest, dest_list);
CHECK_ORDER(lapi_cntr_t, dest_list, dest_status);

/* 64-bit fields have one place in tasks of every word size; counters one size. */
CHECK_TRUE(sizeof(lapi_long_t) == 8);
CHECK_TRUE(sizeof(lapi_cntr_t) == 32);
CHECK_TRUE(offsetof(lapi_cntr_t, dest_list) == 8);
CHECK_TRUE(sizeof(lapi_cond_t) == 64);
CHECK_TRUE(sizeof(lapi_statistics_t) == 56);
CHECK_TRUE(offsetof(lapi_am_t, hdr_hdl) == 16);
CHECK_TRUE(offsetof(lapi_amv_t, hdr_hdl) == 16);
CHECK_TRUE(offsetof(lapi_amdgsp_t, hdr_hdl) == 16);
CHECK_TRUE(offsetof(lapi_get_t, tgt_addr) == 16);
CHECK_TRUE(offsetof(lapi_put_t, tgt_addr) == 16);
CHECK_TRUE(offsetof(lapi_rmw_t, tgt_var) == 16);
CHECK_TRUE(offsetof(lapi_am_t, tgt_cntr) % 8 == 0);
CHECK_TRUE(offsetof(lapi_getv_t, tgt_cntr) % 8 == 0);
CHECK_TRUE(offsetof(lapi_putv_t, tgt_cntr) % 8 == 0);

#endif
