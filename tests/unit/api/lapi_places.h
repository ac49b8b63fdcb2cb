/* Where the fields of lapi.h's structures lie, and how large the structures are, in tasks of 64 bits (LP64) and of
 * 32 bits (ILP32): Fortran's derived types, and programs that were compiled before, have them there. The holes are the
 * paddings of the guide's tables 24-31. C11 and C++17. */
#ifndef OPENLAPI_TESTS_UNIT_API_LAPI_PLACES_H
#define OPENLAPI_TESTS_UNIT_API_LAPI_PLACES_H

#include "tests/unit/api/lapi_layout.h"

#define OF_THIS_TASK(lp64, ilp32) (sizeof(void*) == 8 ? (lp64) : (ilp32))
#define CHECK_SIZE(type, lp64, ilp32) CHECK_TRUE(sizeof(type) == OF_THIS_TASK(lp64, ilp32))
#define CHECK_PLACE(type, field, lp64, ilp32) CHECK_TRUE(offsetof(type, field) == OF_THIS_TASK(lp64, ilp32))

CHECK_SIZE(lapi_cntr_t, 32, 32);
CHECK_PLACE(lapi_cntr_t, cntr, 0, 0);
CHECK_PLACE(lapi_cntr_t, num_dest, 4, 4);
CHECK_PLACE(lapi_cntr_t, dest_list, 8, 8);
CHECK_PLACE(lapi_cntr_t, dest_status, 16, 16);

CHECK_SIZE(lapi_vec_t, 24, 16);
CHECK_PLACE(lapi_vec_t, vec_type, 0, 0);
CHECK_PLACE(lapi_vec_t, num_vecs, 4, 4);
CHECK_PLACE(lapi_vec_t, info, 8, 8);
CHECK_PLACE(lapi_vec_t, len, 16, 12);

CHECK_SIZE(lapi_lvec_t, 24, 16);
CHECK_PLACE(lapi_lvec_t, vec_type, 0, 0);
CHECK_PLACE(lapi_lvec_t, num_vecs, 4, 4);
CHECK_PLACE(lapi_lvec_t, info, 8, 8);
CHECK_PLACE(lapi_lvec_t, len, 16, 12);

CHECK_SIZE(lapi_get_t, 72, 56);
CHECK_PLACE(lapi_get_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_get_t, flags, 4, 4);
CHECK_PLACE(lapi_get_t, tgt, 8, 8);
CHECK_PLACE(lapi_get_t, tgt_addr, 16, 16);
CHECK_PLACE(lapi_get_t, org_addr, 24, 24);
CHECK_PLACE(lapi_get_t, len, 32, 28);
CHECK_PLACE(lapi_get_t, tgt_cntr, 40, 32);
CHECK_PLACE(lapi_get_t, org_cntr, 48, 40);
CHECK_PLACE(lapi_get_t, chndlr, 56, 44);
CHECK_PLACE(lapi_get_t, cinfo, 64, 48);

CHECK_SIZE(lapi_getv_t, 64, 48);
CHECK_PLACE(lapi_getv_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_getv_t, flags, 4, 4);
CHECK_PLACE(lapi_getv_t, tgt, 8, 8);
CHECK_PLACE(lapi_getv_t, org_vec, 16, 12);
CHECK_PLACE(lapi_getv_t, tgt_vec, 24, 16);
CHECK_PLACE(lapi_getv_t, tgt_cntr, 32, 24);
CHECK_PLACE(lapi_getv_t, org_cntr, 40, 32);
CHECK_PLACE(lapi_getv_t, chndlr, 48, 36);
CHECK_PLACE(lapi_getv_t, cinfo, 56, 40);

CHECK_SIZE(lapi_put_t, 80, 56);
CHECK_PLACE(lapi_put_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_put_t, flags, 4, 4);
CHECK_PLACE(lapi_put_t, tgt, 8, 8);
CHECK_PLACE(lapi_put_t, tgt_addr, 16, 16);
CHECK_PLACE(lapi_put_t, org_addr, 24, 24);
CHECK_PLACE(lapi_put_t, len, 32, 28);
CHECK_PLACE(lapi_put_t, shdlr, 40, 32);
CHECK_PLACE(lapi_put_t, sinfo, 48, 36);
CHECK_PLACE(lapi_put_t, tgt_cntr, 56, 40);
CHECK_PLACE(lapi_put_t, org_cntr, 64, 48);
CHECK_PLACE(lapi_put_t, cmpl_cntr, 72, 52);

CHECK_SIZE(lapi_putv_t, 72, 48);
CHECK_PLACE(lapi_putv_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_putv_t, flags, 4, 4);
CHECK_PLACE(lapi_putv_t, tgt, 8, 8);
CHECK_PLACE(lapi_putv_t, shdlr, 16, 12);
CHECK_PLACE(lapi_putv_t, sinfo, 24, 16);
CHECK_PLACE(lapi_putv_t, org_vec, 32, 20);
CHECK_PLACE(lapi_putv_t, tgt_vec, 40, 24);
CHECK_PLACE(lapi_putv_t, tgt_cntr, 48, 32);
CHECK_PLACE(lapi_putv_t, org_cntr, 56, 40);
CHECK_PLACE(lapi_putv_t, cmpl_cntr, 64, 44);

CHECK_SIZE(lapi_am_t, 96, 64);
CHECK_PLACE(lapi_am_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_am_t, flags, 4, 4);
CHECK_PLACE(lapi_am_t, tgt, 8, 8);
CHECK_PLACE(lapi_am_t, hdr_hdl, 16, 16);
CHECK_PLACE(lapi_am_t, uhdr_len, 24, 24);
CHECK_PLACE(lapi_am_t, uhdr, 32, 28);
CHECK_PLACE(lapi_am_t, udata, 40, 32);
CHECK_PLACE(lapi_am_t, udata_len, 48, 36);
CHECK_PLACE(lapi_am_t, shdlr, 56, 40);
CHECK_PLACE(lapi_am_t, sinfo, 64, 44);
CHECK_PLACE(lapi_am_t, tgt_cntr, 72, 48);
CHECK_PLACE(lapi_am_t, org_cntr, 80, 56);
CHECK_PLACE(lapi_am_t, cmpl_cntr, 88, 60);

CHECK_SIZE(lapi_amv_t, 88, 64);
CHECK_PLACE(lapi_amv_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_amv_t, flags, 4, 4);
CHECK_PLACE(lapi_amv_t, tgt, 8, 8);
CHECK_PLACE(lapi_amv_t, hdr_hdl, 16, 16);
CHECK_PLACE(lapi_amv_t, uhdr_len, 24, 24);
CHECK_PLACE(lapi_amv_t, uhdr, 32, 28);
CHECK_PLACE(lapi_amv_t, shdlr, 40, 32);
CHECK_PLACE(lapi_amv_t, sinfo, 48, 36);
CHECK_PLACE(lapi_amv_t, org_vec, 56, 40);
CHECK_PLACE(lapi_amv_t, tgt_cntr, 64, 48);
CHECK_PLACE(lapi_amv_t, org_cntr, 72, 56);
CHECK_PLACE(lapi_amv_t, cmpl_cntr, 80, 60);

CHECK_SIZE(lapi_amdgsp_t, 112, 72);
CHECK_PLACE(lapi_amdgsp_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_amdgsp_t, flags, 4, 4);
CHECK_PLACE(lapi_amdgsp_t, tgt, 8, 8);
CHECK_PLACE(lapi_amdgsp_t, hdr_hdl, 16, 16);
CHECK_PLACE(lapi_amdgsp_t, uhdr_len, 24, 24);
CHECK_PLACE(lapi_amdgsp_t, uhdr, 32, 28);
CHECK_PLACE(lapi_amdgsp_t, udata, 40, 32);
CHECK_PLACE(lapi_amdgsp_t, udata_len, 48, 36);
CHECK_PLACE(lapi_amdgsp_t, shdlr, 56, 40);
CHECK_PLACE(lapi_amdgsp_t, sinfo, 64, 44);
CHECK_PLACE(lapi_amdgsp_t, tgt_cntr, 72, 48);
CHECK_PLACE(lapi_amdgsp_t, org_cntr, 80, 56);
CHECK_PLACE(lapi_amdgsp_t, cmpl_cntr, 88, 60);
CHECK_PLACE(lapi_amdgsp_t, dgsp, 96, 64);
CHECK_PLACE(lapi_amdgsp_t, status, 104, 68);

CHECK_SIZE(lapi_rmw_t, 64, 48);
CHECK_PLACE(lapi_rmw_t, Xfer_type, 0, 0);
CHECK_PLACE(lapi_rmw_t, op, 4, 4);
CHECK_PLACE(lapi_rmw_t, tgt, 8, 8);
CHECK_PLACE(lapi_rmw_t, size, 12, 12);
CHECK_PLACE(lapi_rmw_t, tgt_var, 16, 16);
CHECK_PLACE(lapi_rmw_t, in_val, 24, 24);
CHECK_PLACE(lapi_rmw_t, prev_tgt_val, 32, 28);
CHECK_PLACE(lapi_rmw_t, org_cntr, 40, 32);
CHECK_PLACE(lapi_rmw_t, shdlr, 48, 36);
CHECK_PLACE(lapi_rmw_t, sinfo, 56, 40);

CHECK_SIZE(lapi_xfer_t, 112, 72);
CHECK_PLACE(lapi_xfer_t, Xfer_type, 0, 0);

CHECK_SIZE(lapi_sh_info_t, 56, 32);
CHECK_PLACE(lapi_sh_info_t, src, 0, 0);
CHECK_PLACE(lapi_sh_info_t, reason, 4, 4);
CHECK_PLACE(lapi_sh_info_t, reserve, 8, 8);

CHECK_SIZE(lapi_return_info_t, 56, 32);
CHECK_PLACE(lapi_return_info_t, msg_len, 0, 0);
CHECK_PLACE(lapi_return_info_t, MAGIC, 8, 4);
CHECK_PLACE(lapi_return_info_t, ret_flags, 12, 8);
CHECK_PLACE(lapi_return_info_t, ctl_flags, 16, 12);
CHECK_PLACE(lapi_return_info_t, bytes, 32, 20);
CHECK_PLACE(lapi_return_info_t, src, 40, 24);
CHECK_PLACE(lapi_return_info_t, dgsp_handle, 24, 16);
CHECK_PLACE(lapi_return_info_t, udata_one_pkt_ptr, 48, 28);

CHECK_SIZE(lapi_dgsp_descr_t, 64, 36);
CHECK_PLACE(lapi_dgsp_descr_t, code, 0, 0);
CHECK_PLACE(lapi_dgsp_descr_t, code_size, 8, 4);
CHECK_PLACE(lapi_dgsp_descr_t, depth, 12, 8);
CHECK_PLACE(lapi_dgsp_descr_t, density, 16, 12);
CHECK_PLACE(lapi_dgsp_descr_t, size, 24, 16);
CHECK_PLACE(lapi_dgsp_descr_t, extent, 32, 20);
CHECK_PLACE(lapi_dgsp_descr_t, lext, 40, 24);
CHECK_PLACE(lapi_dgsp_descr_t, rext, 48, 28);
CHECK_PLACE(lapi_dgsp_descr_t, atom_size, 56, 32);

CHECK_SIZE(lapi_dgsm_copy_t, 20, 12);
CHECK_PLACE(lapi_dgsm_copy_t, opcode, 0, 0);
CHECK_PLACE(lapi_dgsm_copy_t, bytes, 4, 4);
CHECK_PLACE(lapi_dgsm_copy_t, offset, 12, 8);

CHECK_SIZE(lapi_dgsm_block_t, 16, 8);
CHECK_PLACE(lapi_dgsm_block_t, block_disp, 0, 0);
CHECK_PLACE(lapi_dgsm_block_t, block_len, 8, 4);

CHECK_SIZE(lapi_dgsm_mcopy_t, 24, 16);
CHECK_PLACE(lapi_dgsm_mcopy_t, opcode, 0, 0);
CHECK_PLACE(lapi_dgsm_mcopy_t, count, 4, 4);
CHECK_PLACE(lapi_dgsm_mcopy_t, block, 8, 8);

CHECK_SIZE(lapi_dgsm_gosub_t, 32, 24);
CHECK_PLACE(lapi_dgsm_gosub_t, opcode, 0, 0);
CHECK_PLACE(lapi_dgsm_gosub_t, reps, 4, 4);
CHECK_PLACE(lapi_dgsm_gosub_t, offset, 8, 8);
CHECK_PLACE(lapi_dgsm_gosub_t, stride, 16, 12);
CHECK_PLACE(lapi_dgsm_gosub_t, to_loc, 24, 16);
CHECK_PLACE(lapi_dgsm_gosub_t, ret_loc, 28, 20);

CHECK_SIZE(lapi_dgsm_iterate_t, 8, 8);
CHECK_PLACE(lapi_dgsm_iterate_t, opcode, 0, 0);
CHECK_PLACE(lapi_dgsm_iterate_t, iter_loc, 4, 4);

CHECK_SIZE(lapi_dgsm_control_t, 12, 12);
CHECK_PLACE(lapi_dgsm_control_t, opcode, 0, 0);
CHECK_PLACE(lapi_dgsm_control_t, operation, 4, 4);
CHECK_PLACE(lapi_dgsm_control_t, operand, 8, 8);

CHECK_SIZE(lapi_info_t, 56, 40);
CHECK_PLACE(lapi_info_t, protocol, 0, 0);
CHECK_PLACE(lapi_info_t, lib_vers, 4, 4);
CHECK_PLACE(lapi_info_t, epoch_num, 8, 8);
CHECK_PLACE(lapi_info_t, num_compl_hdlr_thr, 12, 12);
CHECK_PLACE(lapi_info_t, instance_no, 16, 16);
CHECK_PLACE(lapi_info_t, err_hdlr, 24, 24);
CHECK_PLACE(lapi_info_t, lapi_thread_attr, 32, 28);
CHECK_PLACE(lapi_info_t, adapter_name, 40, 32);
CHECK_PLACE(lapi_info_t, add_info, 48, 36);

CHECK_SIZE(lapi_extend_t, 24, 12);
CHECK_PLACE(lapi_extend_t, udp_hndlr, 0, 0);
CHECK_PLACE(lapi_extend_t, add_udp_addrs, 8, 4);
CHECK_PLACE(lapi_extend_t, num_udp_addr, 16, 8);

CHECK_SIZE(lapi_udp_t, 8, 8);
CHECK_PLACE(lapi_udp_t, ip_addr, 0, 0);
CHECK_PLACE(lapi_udp_t, port_no, 4, 4);

CHECK_SIZE(lapi_statistics_t, 56, 56);

CHECK_SIZE(lapi_cond_t, 64, 64);

#endif
