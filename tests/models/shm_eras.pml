/* Eras of shared memory: an owner who ends era after era, and a sender who begins anew when it likes, is slow between
 * any two steps, and knows nothing of the eras that it misses. Every shared access is a step of its own, in the order of
 * ReceiveQueue::close(), open(), receive() and begin_era(), SendQueue::send(); names are theirs. Spin tries every order
 * (check_models.py).
 *
 * What must hold, in every order: what the owner receives was sent for the era that it is in (assert in receive()).
 *
 * A control word has room for TAGS eras only, so that the owner's come round to the same tag again and again. Spin's
 * memory has one order for all: each BREAK_ leaves one step out, or does it in another place, and must be found.
 *
 * Left out: packets that others send, and how slots are claimed (shm_queue.pml). The queue has one slot: a sender finds
 * it full until the owner has received or passed over what is in it.
 */

#define TAGS 4 /* kSenderBits - kSourceBits: two bits */
#define ERAS 9 /* that the owner ends */

#define TAG(era) ((era) % TAGS)

byte era;            /* eras[]: without the bit that says whether it is closed */
bool closed;
byte begun;          /* begun[] */
bit announced;            /* the slot is announced */
byte control_tag;
byte packet;         /* the era that it was sent for */

#define SEES(number, is_closed) (era == (number) && closed == (is_closed))

proctype sender() {
    byte mine;
    bool shut;
end_idle:
    do
    :: true; /* begin_era() */
begin:
        atomic { mine = era; shut = closed };
#ifdef BREAK_LOOKS_BEFORE_IT_SAYS
        if
        :: SEES(mine, shut)
        :: else -> goto begin
        fi;
        begun = mine
#else
#ifndef BREAK_NOTHING_IS_SAID
        begun = mine;
#endif
#ifndef BREAK_NO_SECOND_LOOK
        if
        :: SEES(mine, shut)
        :: else -> goto begin
        fi
#endif
#endif
    :: !shut && !announced -> /* send(): the packet, then its announcement */
        packet = mine;
        atomic { control_tag = TAG(mine); announced = true }
    od
}

proctype owner() {
    byte next, admitted, said;
    bool admits = true; /* senders_: the tag of the present era, if it is open */
end_over:
    do
    :: era < ERAS -> /* close() */
        admits = false;
        next = era + 1;
        atomic { era = next; closed = true };
        said = begun;
#ifndef BREAK_THE_TAG_IS_GIVEN_AGAIN
        if
        :: TAG(next) == TAG(said) -> next++; era = next
        :: else
        fi;
#endif
#ifndef BREAK_WHAT_WAITS_IS_NOT_VOID
        if
        :: announced -> control_tag = TAGS /* void_packets_of() */
        :: else
        fi;
#endif
        /* open() */
        closed = false;
        admitted = TAG(era);
        admits = true;
        next = 0; said = 0
    :: announced -> /* receive() */
        if
        :: admits && control_tag == admitted -> assert(packet == era)
        :: else
        fi;
        announced = false
    od
}

init {
    atomic { run sender(); run owner() }
}
