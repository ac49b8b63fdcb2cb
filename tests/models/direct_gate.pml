/* The gate of direct access (shm/direct/): an owner whose memory a neighbour reads and writes, and who takes it back,
 * unmaps it and gives it again at any moment. Every shared access is a step of its own, in the order of
 * shm/direct/gate.h, gate.cc, address_table.cc and windows.cc; names are theirs. Spin tries every order of all steps
 * (check_models.py).
 *
 * What must hold, in every order:
 *   - nothing is stored into memory once the owner has taken it back (assert in arrive());
 *   - an operation that begins after munmap() has returned does not go where the unmapped memory was (assert in access);
 *   - what is stored late goes to the mapping that it was meant for, or to nobody's bytes (assert in arrive());
 *   - who sees a counter sees its data (assert in the owner);
 *   - the owner waits for nobody who has died: nothing stands still (spin's own check of end states);
 *   - where it does not wait for one who has stopped in an operation, its memory is elsewhere then (give_up_file(): a
 *     purge, the end; a fork waits), and what is stored late goes to nobody's bytes. In a later operation the same
 *     accessor is waited for.
 *
 * Stores of the accessor become visible late and in any order, as on processors with weak memory, but for what a release
 * says: that is what store_buffer() does. A barrier makes visible what was stored before it. Loads are made in the
 * program's order, as acquire has it. Each BREAK_ leaves one step out or does it in another place, and must be found.
 *
 * The owner's barrier in all processes is membarrier(2), or else each access has a fence of its own: both are tried.
 *
 * Left out: that the accessor's table of addresses has places for some only (a miss goes by message); that entries are
 * torn while they are read (the generation has changed then, and is never the known one again).
 */

#define FILES 2 /* places in the owner's file, each given out once: before the memory is taken back, and after it */
#define OPERATIONS 3
#define NONE 7
#define ENTERING 255

#define CLOSED(number) ((number) & 1)

byte generation = 2; /* bit 0: closed; never 0 */
bool listed;     /* the table has an entry for the address, */
byte entry;      /* at this place of the file */
byte busy; /* 0, ENTERING, or the generation that the accessor is in */
byte behind; /* of such a generation: the operation that is not waited for */
byte data[FILES], counter[FILES];

/* Stores on their way. */
bool busy_begins, busy_ends, data_comes, counter_comes;
byte busy_says; /* 0: nothing */
byte data_place, data_life, counter_place;

/* Seen from outside. */
bool dead;
bool fences;             /* membarrier is refused */
bool taken_back[FILES];  /* close() has returned, the owner uses the bytes as private ones */
bool unmapped[FILES];    /* munmap() has returned */
byte life[FILES];        /* which mapping has the place */

#define DATA_MAY_COME data_comes
#ifdef BREAK_COUNTER_BEFORE_ITS_DATA
#define COUNTER_MAY_COME counter_comes
#else
#define COUNTER_MAY_COME (counter_comes && !data_comes && !busy_begins)
#endif
#ifdef BREAK_BUSY_ENDS_BEFORE_ITS_DATA
#define BUSY_MAY_END (busy_ends && !busy_begins && !busy_says)
#else
#define BUSY_MAY_END (busy_ends && !busy_begins && !busy_says && !data_comes && !counter_comes)
#endif

inline arrive() {
    assert(!taken_back[data_place]);
    assert(data_life == life[data_place]);
    data[data_place]++;
    data_comes = false; data_place = 0; data_life = 0
}

/* One after another, in every order, whenever it likes. */
proctype store_buffer() {
end_idle:
    do
    :: atomic { busy_begins -> busy = ENTERING; busy_begins = false }
    :: atomic { busy_says && !busy_begins -> busy = busy_says; busy_says = 0 }
    :: atomic { DATA_MAY_COME -> arrive() }
    :: atomic { COUNTER_MAY_COME -> counter[counter_place]++; counter_comes = false; counter_place = 0 }
    :: atomic { BUSY_MAY_END -> busy = 0; busy_ends = false }
    od
}

#define NOTHING_ON_THE_WAY (!busy_begins && !busy_says && !data_comes && !counter_comes && !busy_ends)

#if defined(BREAK_OLD_WINDOWS_ARE_KEPT)
#define FORGETS (window == NONE)
#else
#define FORGETS (window == NONE || seen != known)
#endif

proctype accessor() {
    byte known = NONE, window = NONE, window_life, seen, place, done;
    bool was_unmapped[FILES];
    {
        skip;
        do
        :: done == OPERATIONS -> break
        :: done < OPERATIONS ->
            done++;
begin:
            atomic {
                !data_comes && !counter_comes -> /* operations at one address are in order */
                was_unmapped[0] = unmapped[0]; was_unmapped[1] = unmapped[1];
#ifndef BREAK_BUSY_BEGINS_AFTER_THE_LOOK
                busy_ends = false; busy_says = 0; busy_begins = true
#endif
            };
#ifndef BREAK_NO_FENCE
            !fences || !busy_begins;
#endif
            seen = generation;
            busy_says = seen;
#ifdef BREAK_BUSY_BEGINS_AFTER_THE_LOOK
            atomic { busy_ends = false; busy_says = seen; busy_begins = true };
            !fences || !busy_begins;
#endif
            if
            :: atomic { seen == known && window != NONE ->
                    assert(!was_unmapped[window]);
                    data_comes = true; data_place = window; data_life = window_life;
                    counter_comes = true; counter_place = window
                };
                atomic { busy_ends = true; seen = 0 }
            :: else ->
                busy_ends = true;
                /* learn() */
#ifdef BREAK_TABLE_IS_READ_BEFORE_THE_GENERATION
                place = (listed -> entry : NONE);
                seen = generation;
#else
                seen = generation;
                place = (listed -> entry : NONE);
#endif
                if
                :: atomic { CLOSED(seen) -> seen = 0; place = 0 } /* by message */
                :: atomic { !CLOSED(seen) ->
                        if
                        :: FORGETS -> window = place; window_life = (place == NONE -> 0 : life[place])
                        :: else
                        fi;
                        known = seen; seen = 0; place = 0
                    };
                    if
                    :: window != NONE -> goto begin
                    :: else
                    fi
                fi
            fi
        od
    } unless { dead }
}

/* SIGKILL, between any two steps; the pidfd tells once the processor runs something else. */
bool ended;
proctype killer() {
end_idle:
    atomic { busy || busy_begins -> dead = true };
    !busy_begins && !busy_says && !data_comes && !counter_comes;
    ended = true
}

#ifdef BREAK_LEFT_BEHIND_FOR_EVER
#define IS_LEFT_BEHIND (behind)
#else
#define IS_LEFT_BEHIND (busy == behind)
#endif
#ifdef BREAK_THE_DEAD_ARE_WAITED_FOR
#define OUTSIDE (!busy)
#else
#define OUTSIDE (!busy || IS_LEFT_BEHIND || ended)
#endif

/* Gate::close(), as far as it does not wait. */
inline begin_closing() {
    generation = generation | 1;
#ifndef BREAK_NO_BARRIER
    fences || NOTHING_ON_THE_WAY /* membarrier: all that was stored before it is visible */
#endif
}

#ifdef BREAK_ENTERING_IS_LEFT_BEHIND
#define LEAVE_BEHIND behind = busy
#else
#define LEAVE_BEHIND behind = (busy == ENTERING -> 0 : busy)
#endif

#define OPEN generation = (generation | 1) + 1

inline remove_entry() {
#ifdef BREAK_GATE_OPENS_BEFORE_THE_TABLE_CHANGES
    OPEN; listed = false
#else
    listed = false; OPEN
#endif
}

proctype owner() {
    byte next, counted, here = NONE;
end_idle:
    do
    :: here == NONE && next < FILES -> /* promotion: entries are only added while the gate is open */
#ifdef BREAK_PLACES_ARE_USED_TWICE
        here = 0; life[0]++; next++; taken_back[0] = false; unmapped[0] = false; data[0] = 0; counter[0] = 0;
#else
        here = next; life[here] = 1; next++;
#endif
        entry = here;
        listed = true
    :: here != NONE -> /* taken back: a fork, LAPI_Term */
        begin_closing();
        if
#ifdef BREAK_DEMOTION_DOES_NOT_WAIT
        :: taken_back[here] = true
#else
        :: OUTSIDE -> taken_back[here] = true
#endif
#ifndef BREAK_THE_DEAD_ARE_WAITED_FOR
        :: !OUTSIDE -> /* give_up_file(): the bytes are copied, and the place is nobody's */
#ifdef BREAK_BYTES_STAY_IN_THE_FILE
            taken_back[here] = true;
#else
            unmapped[here] = true;
#endif
#ifndef BREAK_LEFT_BEHIND_AFTER_THE_GATE_OPENS
            LEAVE_BEHIND
#endif
#endif
        fi;
        here = NONE;
        remove_entry();
#ifdef BREAK_LEFT_BEHIND_AFTER_THE_GATE_OPENS
        LEAVE_BEHIND
#endif
    :: here != NONE -> /* the monitor: munmap() goes on once its event is read */
#ifdef BREAK_EVENT_IS_READ_BEFORE_THE_GATE_CLOSES
        unmapped[here] = true;
        generation = generation | 1;
#else
        generation = generation | 1;
        unmapped[here] = true;
#endif
        here = NONE;
        remove_entry()
    :: here != NONE && counter[here] != 0 -> /* a call that waits for the counter */
        counted = counter[here];
        assert(data[here] >= counted);
        counted = 0
    od
}

init {
    atomic {
        if
        :: fences = true
        :: fences = false
        fi;
        run store_buffer(); run accessor(); run owner(); run killer()
    }
}
