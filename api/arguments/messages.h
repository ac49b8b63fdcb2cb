// Texts and names of return codes and attention messages. Not for hot paths; safe in any thread.
#pragma once

namespace openlapi {

// The longest text without its final zero, as LAPI_Msg_string promises.
inline constexpr int kMaxMessageLength = 99;

// The text of a return code, an attention message's number or an errno value. Null: there is no such code. The text is
// static.
const char* message_text(int code);

// The constant's name in lapi.h or errno.h, such as "LAPI_ERR_TGT". Null: there is no such code. The name is static.
const char* error_name(int code);

// The level (wiring/info_level.h) at which an attention message is printed, or -1 when `number` is none.
//   error        500 time-out between tasks
//   warning      485, 487-491 failover, 502, 503, 505-508 shared memory
//   information  486 failover without a network availability matrix, 499 bulk transfer, 501 version, 504 one task, 509
//   initial port
int attention_level(int number);

// Prints an attention message to stderr when `info_level` (MP_INFOLEVEL) allows: one line, one write,
//   ATTENTION: 0031-502 Shared memory could not be set up. <detail>
// `format` and its arguments form the detail; null: none. A line is cut at 1,000 characters. Does nothing if the number
// is not an attention message's.
void print_attention(int number, int info_level, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace openlapi
