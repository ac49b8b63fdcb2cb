/* A data gather/scatter program (DGSP): it takes two of the four fields of each record of an array. LAPI_Xfer sends
 * what it gathers as an active message, and the data arrives in one piece. Then the same program packs records into a
 * buffer and unpacks them again. */
#include "sample.h"

#define RECORDS 500

struct record {
  int number;
  char name[20];
  double weight;
  double price;
};

/* What the program takes of a record: number and price. */
struct taken {
  int number;
  double price;
} __attribute__((packed));

static struct record records[RECORDS];
static struct taken inbox[RECORDS];
static int completed_records;

static lapi_dg_handle_t register_program(void) {
  int code[LAPI_DGSM_MCOPY_SIZE + LAPI_DGSM_MCOPY_BLOCK_SIZE + LAPI_DGSM_ITERATE_SIZE];
  lapi_dgsm_mcopy_t* copy = (lapi_dgsm_mcopy_t*)code;
  lapi_dgsm_block_t* blocks = copy->block;
  lapi_dgsm_iterate_t* end = (lapi_dgsm_iterate_t*)(code + LAPI_DGSM_MCOPY_SIZE + LAPI_DGSM_MCOPY_BLOCK_SIZE);
  lapi_dgsp_descr_t description;
  lapi_util_t command;

  copy->opcode = LAPI_DGSM_MCOPY;
  copy->count = 2;
  blocks[0].block_disp = offsetof(struct record, number);
  blocks[0].block_len = sizeof(int);
  blocks[1].block_disp = offsetof(struct record, price);
  blocks[1].block_len = sizeof(double);
  end->opcode = LAPI_DGSM_ITERATE;
  end->iter_loc = -(LAPI_DGSM_MCOPY_SIZE + LAPI_DGSM_MCOPY_BLOCK_SIZE); /* back to the beginning */

  bzero(&description, sizeof description);
  description.code = code;
  description.code_size = (int)(sizeof code / sizeof code[0]);
  description.depth = 1;
  description.density = LAPI_DGSM_SPARSE;
  description.size = sizeof(struct taken);    /* what one application stands for */
  description.extent = sizeof(struct record); /* from one application to the next */
  description.lext = offsetof(struct record, number);
  description.rext = offsetof(struct record, price) + sizeof(double);

  bzero(&command, sizeof command);
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &description;
  CALL(LAPI_Util(handle, &command));
  return command.RegDgsp.dgsp_handle; /* the library has a copy of code and description */
}

static void completion_handler(lapi_handle_t* context, void* parameter) {
  const struct taken* arrived = parameter;
  int i;
  (void)context;
  for (i = 0; i < RECORDS; ++i) {
    if (arrived[i].number == i && arrived[i].price == 0.5 * i) ++completed_records;
  }
}

static void* header_handler(lapi_handle_t* context, void* header, uint* header_length, ulong* length,
                            compl_hndlr_t** completion, void** parameter) {
  (void)context, (void)header, (void)header_length;
  if (((const lapi_return_info_t*)length)->msg_len != sizeof inbox) return NULL;
  *completion = completion_handler;
  *parameter = inbox;
  return inbox;
}

static void send_gathered(lapi_dg_handle_t program, void* handler_of_buddy) {
  lapi_xfer_t transfer;
  lapi_cntr_t completed;
  bzero(&completed, sizeof completed);
  bzero(&transfer, sizeof transfer);
  transfer.Dgsp.Xfer_type = LAPI_DGSP_XFER;
  transfer.Dgsp.tgt = buddy;
  transfer.Dgsp.hdr_hdl = (lapi_long_t)(ulong)handler_of_buddy;
  transfer.Dgsp.udata = records;
  transfer.Dgsp.udata_len = RECORDS * sizeof(struct taken);
  transfer.Dgsp.cmpl_cntr = &completed;
  transfer.Dgsp.dgsp = program;
  CALL(LAPI_Xfer(handle, &transfer));
  wait_for(&completed);
}

/* The first ten records, packed and unpacked: only the two fields come out again. */
static void pack_and_unpack(lapi_dg_handle_t program) {
  struct taken packed[10];
  struct record unpacked[10];
  lapi_util_t command;
  int i;
  bzero(unpacked, sizeof unpacked);
  bzero(&command, sizeof command);
  command.PackDgsp.Util_type = LAPI_DGSP_PACK;
  command.PackDgsp.dgsp_handle = program;
  command.PackDgsp.in_buf = records;
  command.PackDgsp.bytes = sizeof packed;
  command.PackDgsp.out_buf = packed;
  command.PackDgsp.out_size = sizeof packed;
  CALL(LAPI_Util(handle, &command));
  CHECK(command.PackDgsp.position == sizeof packed);

  bzero(&command, sizeof command);
  command.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
  command.UnpackDgsp.dgsp_handle = program;
  command.UnpackDgsp.buf = packed;
  command.UnpackDgsp.in_size = sizeof packed;
  command.UnpackDgsp.out_buf = unpacked;
  command.UnpackDgsp.bytes = sizeof packed;
  command.UnpackDgsp.out_size = sizeof unpacked;
  CALL(LAPI_Util(handle, &command));
  for (i = 0; i < 10; ++i) {
    CHECK(unpacked[i].number == i && unpacked[i].price == 0.5 * i);
    CHECK(unpacked[i].name[0] == 0 && unpacked[i].weight == 0);
  }
}

int main(void) {
  lapi_dg_handle_t program;
  lapi_util_t command;
  void* handler_of_buddy;
  int i;

  start();
  for (i = 0; i < RECORDS; ++i) {
    records[i].number = i;
    records[i].name[0] = 'x';
    records[i].weight = 70;
    records[i].price = 0.5 * i;
  }
  program = register_program();
  handler_of_buddy = address_in_buddy((void*)header_handler);
  if (driver) send_gathered(program, handler_of_buddy);
  CALL(LAPI_Gfence(handle));
  CHECK(completed_records == (driver ? 0 : RECORDS));
  pack_and_unpack(program);

  bzero(&command, sizeof command);
  command.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
  command.DrefDgsp.dgsp_handle = program;
  CALL(LAPI_Util(handle, &command));
  finish("a gather/scatter program");
  return 0;
}
