/* The queue of shm/: several senders, one owner who receives and sleeps, and death of a sender between any two steps.
 * Every shared access is a step of its own, in the order of shm/send_queue.h, receive_queue.h, receive_queue.cc and
 * shm_doorbell.cc; names are theirs. (An atomic block has one such access, and what the process does by itself besides.)
 * Spin tries every order of all steps (check_models.py).
 *
 * What must hold, in every order:
 *   - the owner takes each packet once, whole, and those of one sender in their order (assert in take());
 *   - when nobody can move any more, every living sender has sent all it had, and all of that was taken (the watcher):
 *     a dead one blocks nobody, no wake-up is lost.
 *
 * Spin's memory has one order for all. What a missing fence would allow is tried as the two accesses in the other
 * order: each BREAK_ below does one such thing, or leaves one step out, and must be found.
 *
 * Left out: lengths, sources and eras that cannot be (the owner passes over them), packets in their lines (they differ
 * from those in far rooms in nothing but the address), the wrap of tickets.
 */

#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef FIRST_HAS
#define FIRST_HAS 2 /* packets of the first sender; the others have one each */
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define SLOTS 2 /* of the queue */
#define BURST 2 /* packets of one call at most */

/* SegmentHeader and what lies behind it. A packet is a word: its sender and its number. */
byte tail, head;
bit armed;                 /* odd; each odd number is another one: same[] */
byte intent_first[SENDERS], intent_count[SENDERS];
byte control[SLOTS];       /* sequence: ticket + 1 */
byte control_source[SLOTS];
bit control_near[SLOTS];
byte near_room;            /* kNearRooms is 1 here */
byte far_room[SLOTS];
bool bell;                 /* the owner's socket is readable */

/* Seen from outside. */
bool dead[SENDERS];        /* as the kernel tells of a process */
bool finished[SENDERS];
byte deaths;
byte taken[SENDERS];       /* packets that the owner has */
bool same[SENDERS];        /* `armed` still is the number that this sender saw */
bool changed;              /* a polling owner would see something new: it polls again */

#define MESSAGES(source) ((source) == 0 -> FIRST_HAS : 1)
#define WORD(source, number) ((source) * 16 + (number) + 1)
#define COVERS(source, ticket) \
    (intent_count[source] != 0 && (ticket) >= intent_first[source] && (ticket) < intent_first[source] + intent_count[source])

#define STORE_INTENT(first, count) \
    atomic { intent_first[me] = first; intent_count[me] = count; changed = true }

inline claim() { /* compare and exchange */
    atomic {
        if
        :: tail == ticket -> tail = ticket + count
        :: else -> ticket = tail; goto again
        fi
    }
}

/* SendQueue::send() for packet `sent + i`. */
inline choose_room() {
    atomic {
        if
        :: ticket + i - cached_head >= 1 -> cached_head = head
        :: else
        fi;
        near = (ticket + i - cached_head < 1 -> 1 : 0)
#ifdef BREAK_NEAR_ROOM_TAKEN_TWICE
        ; near = 1
#endif
    }
}
inline write_room() {
    atomic {
        if
        :: near -> near_room = WORD(me, sent + i)
        :: else -> far_room[(ticket + i) % SLOTS] = WORD(me, sent + i)
        fi
    }
}
inline publish() {
    atomic {
        control[(ticket + i) % SLOTS] = ticket + i + 1;
        control_source[(ticket + i) % SLOTS] = me;
        control_near[(ticket + i) % SLOTS] = near;
        changed = true
    }
}

/* The owner counts on with each sleep; a sender may change only the number that it saw. */
inline store_armed(odd) {
    atomic {
        armed = odd;
        do
        :: i < SENDERS -> same[i] = false; i++
        :: else -> i = 0; break
        od
    }
}
#ifdef BREAK_A_LATE_RING_DISARMS_THE_NEXT_SLEEP
#define MAKE_EVEN store_armed(0)
#else
#define MAKE_EVEN atomic { if :: same[me] -> store_armed(0) :: else fi }
#endif
#ifdef BREAK_DISARMED_BEFORE_THE_RING
#define RING_BELL MAKE_EVEN; bell = true
#else
#define RING_BELL bell = true; MAKE_EVEN
#endif
/* ShmDoorbell::published(), ring() */
#define LOOK_AT_ARMED atomic { seen = armed; same[me] = true }
#define RING_IF_SEEN \
    if \
    :: seen -> RING_BELL; seen = 0 \
    :: else \
    fi
#define RING LOOK_AT_ARMED; RING_IF_SEEN

proctype sender(byte me) {
    byte sent, ticket, count, wanted, cached_head, i;
    bit near, seen;
    {
        do
        :: atomic { sent == MESSAGES(me) -> finished[me] = true; break }
        :: atomic { sent < MESSAGES(me) ->
                if
                :: wanted = 1
                :: sent + BURST <= MESSAGES(me) -> wanted = BURST
                fi;
                ticket = tail
            }
again:
            atomic { /* the room that is left, by the last look at head, or by a new one */
                count = wanted;
                if
                :: ticket + wanted - cached_head > SLOTS ->
                    cached_head = head;
                    if
                    :: ticket - cached_head >= SLOTS -> count = 0
                    :: ticket - cached_head < SLOTS && count > SLOTS - (ticket - cached_head) ->
                        count = SLOTS - (ticket - cached_head)
                    :: else
                    fi
                :: else
                fi
            };
            if
            :: count == 0 ->
#ifndef BREAK_INTENT_OF_A_FULL_QUEUE_STAYS
                STORE_INTENT(0, 0);
#endif
#ifndef BREAK_A_FULL_QUEUE_IS_NOT_RUNG
                RING;
#endif
                atomic { head != cached_head -> ticket = 0 } /* the caller tries again, in vain until then */
            :: else ->
#ifdef BREAK_RING_LOOKS_BEFORE_THE_CLAIM
                LOOK_AT_ARMED;
#endif
#ifndef BREAK_INTENT_AFTER_THE_CLAIM
                STORE_INTENT(ticket, count);
#endif
                claim();
#ifdef BREAK_INTENT_AFTER_THE_CLAIM
                STORE_INTENT(ticket, count);
#endif
#ifdef BREAK_INTENT_CLEARED_BEFORE_PUBLICATION
                STORE_INTENT(0, 0);
#endif
                do
                :: atomic { i == count -> i = 0; break }
                :: i < count ->
                    choose_room();
#ifdef BREAK_CONTROL_BEFORE_THE_PACKET
                    publish();
                    write_room();
                    i++
#else
                    write_room();
                    atomic { publish(); i++ }
#endif
                od;
#ifndef BREAK_INTENT_CLEARED_BEFORE_PUBLICATION
                STORE_INTENT(0, 0);
#endif
                atomic { sent = sent + count; count = 0; ticket = 0; near = 0 };
#ifndef BREAK_RING_LOOKS_BEFORE_THE_CLAIM
                RING
#else
                RING_IF_SEEN
#endif
            fi
        od
    } unless { dead[me] }
}

/* Kills DEATHS senders, each between any two of its steps, or when it has ended. */
proctype killer() {
end_idle:
    do
    :: atomic {
            deaths < DEATHS ->
            if
            :: !dead[0] -> dead[0] = true
            :: !dead[1] -> dead[1] = true
#if SENDERS > 2
            :: !dead[2] -> dead[2] = true
#endif
            fi;
            deaths++;
            changed = true
        }
    od
}

#define WAITING (control[next % SLOTS] == next + 1)
#define CLAIMED (tail != next)

/* ReceiveQueue::receive() of one packet; release() gives the slots back in batches. */
inline take() {
#ifdef BREAK_HEAD_BEFORE_THE_PACKET_IS_READ
    head = next + 1;
#endif
    atomic {
        source = control_source[next % SLOTS];
        word = (control_near[next % SLOTS] -> near_room : far_room[next % SLOTS]);
        assert(word == WORD(source, taken[source]));
        taken[source]++;
        next++;
        source = 0;
        word = 0
    }
}

/* ReceiveQueue::skip_orphans(). */
inline skip_orphans() {
    do
    :: WAITING -> break
    :: else ->
        if
        :: CLAIMED
        :: else -> break
        fi;
        owner_dead = false;
        do
        :: atomic { source == SENDERS -> source = 0; break }
        :: atomic { source < SENDERS && !COVERS(source, next) -> source++ }
        :: source < SENDERS && COVERS(source, next) ->
            atomic {
                if
#ifdef BREAK_LIVING_OWNERS_ARE_SKIPPED
                :: owner_dead = true; source++
#else
                :: dead[source] -> owner_dead = true; source++
                :: else -> owner_dead = false; source = 0; break
#endif
                fi
            }
        od;
#ifdef BREAK_ORPHANS_ARE_WAITED_FOR
        owner_dead = false;
#endif
        if
        :: owner_dead
        :: else -> break
        fi;
        owner_dead = false;
#ifdef BREAK_NO_SECOND_LOOK_AT_THE_SLOT
        next++
#else
        atomic {
            if
            :: WAITING -> break
            :: else -> next++ /* pass_over() */
            fi
        }
#endif
    od;
    owner_dead = false
}

#define LOOK_BEFORE_SLEEP \
    if \
    :: WAITING \
    :: else -> \
        if \
        :: !CLAIMED -> may_sleep = true \
        :: else -> \
            skip_orphans(); \
            if \
            :: WAITING \
            :: else -> may_sleep = !CLAIMED \
            fi \
        fi \
    fi

proctype owner() {
    byte next, source, word, i;
    bool owner_dead, may_sleep;
end_awake:
    do
    :: atomic { changed || WAITING -> changed = false }; /* otherwise a poll finds what the last one found */
        do
        :: WAITING ->
            take();
            if
            :: head = next
            :: true
            fi
        :: else -> break
        od;
        head = next; /* note_empty() */
        if
        :: skip_orphans(); /* look_due() */
            head = next
        :: /* ShmDoorbell::arm() */
#ifndef BREAK_DRAINED_AFTER_ARMING
            bell = false;
#endif
#ifdef BREAK_ARMED_AFTER_THE_LOOK
            LOOK_BEFORE_SLEEP;
            store_armed(1);
#else
            store_armed(1);
            LOOK_BEFORE_SLEEP;
#endif
#ifdef BREAK_DRAINED_AFTER_ARMING
            bell = false;
#endif
#ifdef BREAK_SLEEPS_WITH_CLAIMED_SLOTS
            may_sleep = !WAITING;
#endif
            head = next; /* with what was passed over */
            if
            :: may_sleep ->
end_asleep:
                atomic { bell -> may_sleep = false; changed = true } /* what rang is still to be taken */
            :: else
            fi;
            store_armed(0)
        fi
    od
}

/* Runs when nothing else can. */
proctype watcher() {
    byte s;
    timeout;
    do
    :: s == SENDERS -> break
    :: s < SENDERS ->
        assert(dead[s] || finished[s]);
        assert(dead[s] || taken[s] == MESSAGES(s));
        s++
    od
}

init {
    byte s;
    atomic {
        do
        :: s == SENDERS -> break
        :: s < SENDERS -> run sender(s); s++
        od;
        run owner();
        run killer();
        run watcher()
    }
}
