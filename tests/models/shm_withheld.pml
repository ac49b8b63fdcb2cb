/* The slots of shm/ that are withheld: sender 0 may stop between any two steps, for ever or for a while, and is purged
 * or given up by the owner at any moment; the others live. Every shared access is a step of its own, in the order of
 * shm/send_queue.h, receive_queue.h and receive_queue.cc; names are theirs. (An atomic block has one such access, and
 * what the process does by itself besides.) Spin tries every order of all steps (check_models.py).
 *
 * What must hold, in every order:
 *   - the owner takes each packet once, whole, and those of one sender in their order; nobody writes to it until its
 *     slot is given back; nothing of an era of sender 0 that has ended is taken (assert in take() and release());
 *   - when nobody can move any more, every sender that has not stopped has sent all that it had, and all of that was
 *     taken (the watcher): nobody waits for one who has stopped, but where half of the slots are withheld already.
 *
 * Spin's memory has one order for all. What a missing fence would allow is tried as the two accesses in the other
 * order: each BREAK_ below does one such thing, or leaves one step out, and must be found.
 *
 * Sequences come round after two turns of the queue (in shm/: 2^32 tickets): an announcement that is never overwritten
 * is taken for a later one's.
 *
 * Left out: death, and sleep (shm_queue.pml); that tags of eras come round (shm_eras.pml); how often the owner looks
 * before it withholds a slot: as often as it likes; that a call to receive() takes several packets.
 */

#ifndef SENDERS
#define SENDERS 3
#endif
#ifndef FIRST_HAS
#define FIRST_HAS 1 /* packets of sender 0 in each era */
#endif
#ifndef SECOND_HAS
#define SECOND_HAS 1 /* packets of sender 1; further ones have one each */
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef BURST
#define BURST 1 /* packets of one call at most, 2 at most */
#endif
#ifndef ERAS
#define ERAS 1 /* of sender 0 that the owner ends without need */
#endif

/* SegmentHeader and what lies behind it. A packet is a word: its sender, era and number. */
byte tail, head;
byte withheld;             /* how many slots are */
bool withheld_bits[SLOTS];
byte era;                  /* eras[0], and whether it is closed */
bool closed;
byte begun;                /* the era that sender 0 has begun last */
byte intent_first[SENDERS], intent_count[SENDERS];
byte control[SLOTS];       /* sequence: of ticket + 1; 0: none yet */
byte control_source[SLOTS], control_era[SLOTS];
bool control_near[SLOTS];
byte near_room;            /* kNearRooms is 1 here */
byte far_room[SLOTS];

/* Seen from outside. */
bool stopped;              /* sender 0, for ever */
bool purged;               /* its era stays closed */
bool finished[SENDERS];
byte finished_era;         /* of sender 0 */
byte taken[SENDERS];       /* packets that the owner has; of sender 0: of its present era */

#define MESSAGES(source) ((source) == 0 -> FIRST_HAS : ((source) == 1 -> SECOND_HAS : 1))
#define WORD(source, of_era, number) ((source) * 64 + (of_era) * 8 + (number) + 1)
#define COVERS(source, ticket) \
    (intent_count[source] != 0 && (ticket) >= intent_first[source] && \
     (ticket) < intent_first[source] + intent_count[source])
#define SEQUENCE(ticket) ((ticket) % (2 * SLOTS) + 1)
#define SINCE_HEAD(ticket) (((ticket) - cached_head) & 255) /* unsigned: of a ticket below head, large */

#define STORE_INTENT(first, count) intent_first[me] = first; intent_count[me] = count
#define ASKS_FOR_HEAD (SINCE_HEAD(ticket) + wanted > SLOTS)

proctype sender(byte me) {
    byte sent, ticket, count, wanted, cached_head, mine;
    bit near, withholds;
    {
        skip;
end_call:
        if
        :: atomic { /* begin_era(), and a new SendQueue */
                me == 0 && mine != era && !closed ->
                mine = era; sent = 0; cached_head = 0; withholds = 0; finished[me] = false
            };
#ifndef BREAK_WHAT_IS_BEGUN_IS_NOT_SAID
            begun = mine;
#endif
            goto end_call
        :: atomic { !finished[me] && sent == MESSAGES(me) ->
                finished[me] = true;
                cached_head = 0; withholds = 0;
                if
                :: me == 0 -> finished_era = mine; goto end_call
                :: else -> sent = 0; goto end
                fi
            }
        :: atomic { sent < MESSAGES(me) ->
                if
                :: wanted = 1
                :: BURST > 1 && sent + BURST <= MESSAGES(me) -> wanted = BURST
                fi;
                ticket = tail;
                if
                :: ASKS_FOR_HEAD
                :: else -> goto say
                fi
            }
        fi;
look: /* look_at_head() */
#ifdef BREAK_WITHHELD_IS_READ_BEFORE_HEAD
        withholds = withheld != 0;
        cached_head = head;
#else
        cached_head = head;
        withholds = withheld != 0;
#endif
say:
        atomic {
            count = wanted;
            if
            :: SINCE_HEAD(ticket) >= SLOTS -> STORE_INTENT(0, 0); wanted = 0; count = 0; goto end_no_room
            :: SINCE_HEAD(ticket) < SLOTS && ASKS_FOR_HEAD -> count = SLOTS - SINCE_HEAD(ticket)
            :: else
            fi;
            STORE_INTENT(ticket, count)
        };
        atomic { /* compare and exchange */
            if
            :: tail == ticket -> tail = ticket + count; wanted = 0
            :: else ->
                ticket = tail;
                if
                :: ASKS_FOR_HEAD -> goto look
                :: else -> goto say
                fi
            fi
        };
use_ticket:
#ifndef BREAK_SENDERS_USE_WITHHELD_SLOTS
        atomic {
            if
            :: withholds && withheld_bits[ticket % SLOTS] -> goto used
            :: else
            fi
        };
#endif
        if /* near_room_is_free() */
        :: SINCE_HEAD(ticket) >= 1 ->
            cached_head = head;
            withholds = withheld != 0
        :: else
        fi;
        atomic { /* fill_room() */
#ifdef BREAK_NEAR_ROOMS_IN_SPITE_OF_WITHHELD_ONES
            near = SINCE_HEAD(ticket) < 1;
#else
            near = (SINCE_HEAD(ticket) < 1 && !withholds);
#endif
            if
            :: near -> near_room = WORD(me, mine, sent)
            :: else -> far_room[ticket % SLOTS] = WORD(me, mine, sent)
            fi
        };
        atomic { /* the announcement */
            control[ticket % SLOTS] = SEQUENCE(ticket);
            control_source[ticket % SLOTS] = me;
            control_era[ticket % SLOTS] = mine;
            control_near[ticket % SLOTS] = near;
            sent++;
            near = 0;
used:
            ticket++;
            count--;
            if
            :: count != 0 -> goto use_ticket
            :: else -> ticket = 0
            fi
        };
        atomic { STORE_INTENT(0, 0); goto end_call };
end_no_room:
        /* The caller tries again, in vain until something has changed. */
        atomic { head != cached_head || tail != ticket || (me == 0 && mine != era) -> ticket = 0; goto end_call };
end:
        false
    } unless {
        atomic {
            me == 0 && stopped ->
            sent = 0; ticket = 0; count = 0; wanted = 0; cached_head = 0; mine = 0; near = 0; withholds = 0
        }
    }
}

/* Stops sender 0 for ever, where that is something to others. That it stops for a while needs nobody: they take steps
 * meanwhile.
 */
proctype stopper() {
end_idle:
    atomic { intent_count[0] != 0 -> stopped = true }
}

#define ANNOUNCED (control[next % SLOTS] == SEQUENCE(next))
#define IS_WITHHELD withheld_bits[next % SLOTS]
#define WAITING (ANNOUNCED && !IS_WITHHELD)
#ifdef BREAK_OLD_ANNOUNCEMENTS_COUNT
#define PASSES_WITHHELD (IS_WITHHELD && !ANNOUNCED)
#define RECEIVES ANNOUNCED
#else
#define PASSES_WITHHELD IS_WITHHELD
#define RECEIVES WAITING
#endif
#define CLAIMED (tail != next)
#define PACKET_OF(ticket) (control_near[(ticket) % SLOTS] -> near_room : far_room[(ticket) % SLOTS])

#ifdef BREAK_CLAIMS_OF_THE_NEW_ERA_ARE_PASSED_OVER
#define GIVEN_UP (era != 0)
#elif defined(BREAK_LATER_CLAIMS_OF_THE_OLD_ERA_ARE_WAITED_FOR)
byte void_below; /* tail, when the owner ended an era last */
#define GIVEN_UP (next < void_below)
#else
#define GIVEN_UP (begun != era) /* !has_begun() */
#endif
#define HALF ((SLOTS - 1) / 2)

/* close(); open() comes later, or never. What waits is void by its era (shm_eras.pml). */
inline close() {
    atomic {
        era++;
        taken[0] = 0;
        closed = true;
        if
        :: purged = true
        :: true
        fi
    }
#ifdef BREAK_LATER_CLAIMS_OF_THE_OLD_ERA_ARE_WAITED_FOR
    ; void_below = tail
#endif
}

/* receive() of one packet, and release(). */
inline take() {
    atomic {
        source = control_source[next % SLOTS];
        if
#ifndef BREAK_OLD_ERAS_ARE_RECEIVED
        :: source == 0 && control_era[next % SLOTS] != era -> next++ /* no task's: passed over */
#endif
        :: else ->
            word = PACKET_OF(next);
            assert(word == WORD(source, (source == 0 -> era : 0), taken[source]))
        fi
    };
    if
    :: atomic { word != 0 -> /* its handler reads it until here */
            assert(word == PACKET_OF(next));
            taken[source]++;
            next++;
            word = 0
        }
    :: atomic { word == 0 }
    fi;
    source = 0
}

/* skip_orphans(): the claims of all, what is begun of sender 0's, then the slot once more; withhold(). */
inline skip_orphan() {
    source = SENDERS - 1;
    do
    :: atomic { source != 0 && COVERS(source, next) ->
#ifdef BREAK_OTHERS_WHO_MAY_OWN_THE_SLOT_ARE_NOT_ASKED
            source--
#else
            goto waited_for
#endif
        }
    :: atomic { source != 0 && !COVERS(source, next) -> source-- }
    :: atomic { source == 0 && !COVERS(0, next) -> goto waited_for }
    :: atomic { source == 0 && COVERS(0, next) -> break }
    od;
    given_up = GIVEN_UP;
#ifndef BREAK_NO_SECOND_LOOK_AT_THE_SLOT
    atomic {
        if
        :: WAITING -> given_up = false
        :: else
        fi
    };
#endif
    if
    :: given_up && withheld <= HALF -> /* overdue() */
#ifdef BREAK_WITHHELD_BEHIND_HEAD
        next++;
        head = next;
        withheld_bits[(next - 1) % SLOTS] = true;
        withheld++
#else
#ifndef BREAK_PASSED_OVER_AND_NOT_WITHHELD
        withheld_bits[next % SLOTS] = true;
        withheld++;
#endif
        next++ /* pass_over() */
#endif
    :: true
    fi;
waited_for:
    atomic { given_up = false; source = 0 }
}

/* One who has stopped, and is not given up: its turn lasts too long. */
#define STUCK (stopped && COVERS(0, next) && !GIVEN_UP && !closed)

/* What a poll would do nothing about is no step. `head` follows as late as it likes. */
proctype owner() {
    byte next, source, word;
    bool given_up;
end_idle:
    do
#ifndef BREAK_WITHHELD_SLOTS_ARE_WAITED_FOR
#ifdef BREAK_UNCLAIMED_SLOTS_ARE_PASSED_OVER
    :: atomic { PASSES_WITHHELD -> next++ }
#else
    :: atomic { PASSES_WITHHELD && CLAIMED -> next++ }
#endif
#endif
    :: RECEIVES -> take()
    :: head != next -> head = next
    :: CLAIMED && !WAITING && COVERS(0, next) && GIVEN_UP && withheld <= HALF -> skip_orphan()
    :: era < ERAS || STUCK -> close()
    :: closed && !purged -> closed = false /* open() */
    od
}

/* Sender 0 has stopped, and no more slots are withheld: then all wait for it. */
#define NOT_WITHHELD(i) (intent_count[0] > (i) && !withheld_bits[(intent_first[0] + (i)) % SLOTS])
#define ENOUGH (stopped && withheld > HALF && (NOT_WITHHELD(0) || NOT_WITHHELD(1)))

/* Runs when nothing else can. */
proctype watcher() {
    byte s;
    timeout;
    do
    :: s == SENDERS || ENOUGH -> break
    :: s < SENDERS && !ENOUGH ->
        if
        :: s == 0 && (stopped || finished_era != era)
        :: else ->
            assert(finished[s]);
            assert(taken[s] == MESSAGES(s))
        fi;
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
        run stopper();
        run watcher()
    }
}
