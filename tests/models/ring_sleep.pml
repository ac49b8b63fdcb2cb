/* How the receiver of a ring in memory (nic/verbs/arrival_rings.h, ring_control.h) goes to sleep. A sender writes packets
 * into the ring by RDMA WRITE, which wakes nobody, or sends them, which makes an event. Before it sleeps the receiver
 * writes `closed` into the sender's memory and reads the sender's count, by RDMA as well. Spin tries every order of all
 * steps (check_models.py).
 *
 * What must hold: nothing stands still while a packet waits: a receiver that sleeps is woken by each packet that comes
 * after its last look (spin's own check of end states: the sleeper's is none, unless all packets were taken); no packet
 * is lost or taken twice, and the count agrees in the end (assert).
 *
 * The adapter executes what the receiver posts in the order in which it was posted, each whenever it likes; a packet is
 * under way as long as it likes. The sender looks at nothing but its own memory, and after its last packet at nothing at
 * all. Stores of the sender are visible late: its count stays in a buffer until the fence.
 */

#define PACKETS 4
#define OPENS_AFTER 1 /* sends, until a closed ring is opened again */

/* The sender's words (RingControl). */
bool says_closed;
byte written, buffered = 255; /* 255: nothing in the store buffer */

/* Under way, and arrived. */
byte writes_under_way, sends_under_way, in_ring, in_queue;
bool armed, event;
byte taken;

/* What the receiver has posted: in this order. */
chan posted = [3] of { byte };
#define SAY_CLOSED 1
#define SAY_OPEN 2
#define READ 3
bool read_done, finished;
byte read_value;

active proctype adapter() {
end_idle:
    do
    :: atomic { posted?SAY_CLOSED -> says_closed = true }
    :: atomic { posted?SAY_OPEN -> says_closed = false }
    :: atomic { posted?READ -> read_value = written; read_done = true }
    :: atomic { buffered != 255 -> written = buffered; buffered = 255 }
    :: atomic { writes_under_way > 0 -> writes_under_way--; in_ring++ }
    :: atomic { sends_under_way > 0 ->
            sends_under_way--;
            in_queue++;
            if
            :: armed -> armed = false; event = true
            :: else
            fi
        }
    od
}

active proctype sender() {
    byte count, number;
    do
    :: number == PACKETS -> break
    :: number < PACKETS ->
        if
        :: says_closed -> sends_under_way++
        :: else -> /* RingToPeer::compose() */
            buffered = count + 1;
#ifndef BREAK_NO_FENCE
            buffered == 255;
#endif
#ifdef BREAK_STATE_IS_NOT_ASKED_AGAIN
            atomic { count++; writes_under_way++ }
#else
            if
            :: says_closed ->
#ifndef BREAK_COUNT_IS_NOT_TAKEN_BACK
                atomic { buffered == 255 -> written = count };
#else
                count++;
#endif
                sends_under_way++
            :: else -> atomic { count++; writes_under_way++ }
            fi
#endif
        fi;
        number++
    od;
    finished = true
}

active proctype receiver() {
    byte from_ring, sends;
    bool closed, closing;
    do
    :: taken == PACKETS -> break
    :: else ->
        if
        :: atomic { in_ring > 0 -> in_ring--; from_ring++; taken++ } /* a poll */
        :: atomic { in_queue > 0 -> in_queue--; taken++;
                if
                :: closed -> sends++
                :: else
                fi
            }
        :: atomic { closed && sends >= OPENS_AFTER -> closed = false; sends = 0 };
            posted!SAY_OPEN
        :: in_ring == 0 && in_queue == 0 -> /* arm() */
            if
            :: !closed && !closing ->
#ifdef BREAK_READ_BEFORE_THE_WRITE
                posted!READ; posted!SAY_CLOSED;
#else
                posted!SAY_CLOSED; posted!READ;
#endif
                closing = true
            :: closing ->
#ifdef BREAK_READ_IS_NOT_AWAITED
                if
                :: true -> closing = false; closed = true; read_done = false
                fi
#else
                read_done;
                read_done = false;
                if
#ifdef BREAK_COUNT_IS_NOT_COMPARED
                :: true -> closing = false; closed = true
#else
                :: read_value == from_ring -> closing = false; closed = true
                :: else -> posted!READ
#endif
                fi
#endif
            :: closed ->
#ifdef BREAK_LOOKS_BEFORE_IT_ARMS
                if
                :: in_queue == 0 -> armed = true; event; event = false
                :: else
                fi
#else
                armed = true; /* asks for an event, and looks once more */
                if
                :: in_queue == 0 -> event; event = false
                :: else -> armed = false; event = false
                fi
#endif
            fi
        fi
    od;
    assert(taken == PACKETS && in_ring == 0 && in_queue == 0);
    finished && buffered == 255;
    assert(written == from_ring) /* or it could never sleep again */
}
