/* The lock of a context and its favourite (api/lock/context_lock.h): one thread that takes it with plain stores and loads,
 * and others that end that and give it back. Every shared access is a step of its own, in the order of the code; names
 * are its own. Spin tries every order of all steps (check_models.py).
 *
 * What must hold, in every order:
 *   - one thread at a time has the lock (assert in acquired());
 *   - everybody gets it in the end, asleep or not (spin's own check of end states);
 *   - a guest is admitted in the end, although who announces it does not wait (assert in init).
 *
 * Plain stores become visible late, in the order in which a thread made them; it sees its own at once. An atomic
 * exchange and a system call make the thread's own stores visible, a heavy fence those of all threads. Loads are made in
 * the program's order. Each BREAK_ leaves one step out or does it in another place, and must be found.
 *
 * Left out: hand_over(), a second guest while one waits, and the number of turns until a thread is the favourite: it may
 * become so after each.
 */

#define FAVOURITE 0 /* the only one, and from the start */
#define THREADS 3

#define FREE 0
#define HELD 1
#define FAVOURED 2
#define REVOKED 3

#define WORD 0
#define INSIDE 1

byte word = FAVOURED, inside, sleepers;
byte holders;
bool guest_waits; /* counted once in sleepers */
bool asleep_at_word[THREADS], asleep_inside[THREADS];

/* Stores on their way, of each thread; and the word as the thread itself sees it while it has stores to it there. */
chan stores[THREADS] = [3] of { byte, byte };
byte own_word[THREADS], own_words[THREADS];

#define MINE_ARE_SEEN (empty(stores[me]))
#define ALL_ARE_SEEN (empty(stores[0]) && empty(stores[1]) && empty(stores[2]))
#define SEEN_WORD (own_words[me] != 0 -> own_word[me] : word)

proctype memory() {
    byte value;
end_idle:
    do
    :: atomic { stores[0] ? WORD, value -> word = value; own_words[0]--; value = 0 }
    :: atomic { stores[1] ? WORD, value -> word = value; own_words[1]--; value = 0 }
    :: atomic { stores[2] ? WORD, value -> word = value; own_words[2]--; value = 0 }
    :: atomic { stores[0] ? INSIDE, value -> inside = value; value = 0 }
    :: atomic { stores[1] ? INSIDE, value -> inside = value; value = 0 }
    :: atomic { stores[2] ? INSIDE, value -> inside = value; value = 0 }
    od
}

inline store_word(value) { atomic { stores[me] ! WORD, value; own_word[me] = value; own_words[me]++ } }
inline store_inside(value) { stores[me] ! INSIDE, value }
inline heavy_fence() { ALL_ARE_SEEN }
inline add_to_sleepers(number) { atomic { MINE_ARE_SEEN -> sleepers = sleepers + number } }
inline acquired() { atomic { assert(holders == 0); holders++ } }

/* taken: whether it was free. */
inline take_free() {
    atomic {
        MINE_ARE_SEEN ->
        if
        :: word == FREE -> word = HELD; taken = true
        :: else -> taken = false
        fi
    }
}

inline wait_at_word(expected) {
    atomic { MINE_ARE_SEEN -> asleep_at_word[me] = (word == expected) };
    !asleep_at_word[me]
}
inline wait_inside() {
    atomic { MINE_ARE_SEEN -> asleep_inside[me] = (inside == 1) };
    !asleep_inside[me]
}
inline wake_at_word() {
    atomic {
        MINE_ARE_SEEN ->
        if
        :: asleep_at_word[0] -> asleep_at_word[0] = false
        :: asleep_at_word[1] -> asleep_at_word[1] = false
        :: asleep_at_word[2] -> asleep_at_word[2] = false
        :: !asleep_at_word[0] && !asleep_at_word[1] && !asleep_at_word[2]
        fi
    }
}
inline wake_inside() {
    atomic { MINE_ARE_SEEN -> asleep_inside[1] = false; asleep_inside[2] = false; asleep_inside[0] = false }
}

inline enter() {
#ifdef BREAK_LOOKS_BEFORE_IT_ENTERS
    seen = SEEN_WORD;
    store_inside(1);
#else
    store_inside(1);
    seen = SEEN_WORD;
#endif
    if
    :: seen == FAVOURED -> taken = true
    :: else -> /* step_back() */
        store_inside(0);
#ifndef BREAK_WHO_STEPS_BACK_WAKES_NOBODY
        if
        :: sleepers != 0 -> wake_inside()
        :: else
        fi;
#endif
        take_free()
    fi
}

inline await_favourite() {
#ifndef BREAK_REVOKER_SLEEPS_UNCOUNTED
    add_to_sleepers(1);
#endif
#ifndef BREAK_NO_FENCE_BEFORE_THE_FAVOURITE_IS_AWAITED
    heavy_fence();
#endif
    do
    :: inside == 0 -> break
    :: inside != 0 -> wait_inside()
    od;
#ifndef BREAK_REVOKER_SLEEPS_UNCOUNTED
    add_to_sleepers(-1)
#endif
}

inline revoke() {
    atomic {
        MINE_ARE_SEEN ->
        if
        :: word == FAVOURED -> word = REVOKED; taken = true
        :: else -> taken = false
        fi
    };
    if
    :: !taken
    :: taken ->
#ifndef BREAK_NO_FENCE_AFTER_REVOKING
        heavy_fence();
#endif
        if
        :: inside == 0
#ifdef BREAK_REVOKER_DOES_NOT_WAIT
        :: inside != 0 && waits
#else
        :: inside != 0 && waits -> await_favourite()
#endif
        :: inside != 0 && !waits ->
            store_word(FAVOURED);
#ifndef BREAK_NO_FENCE_WHEN_GIVING_BACK
            heavy_fence();
#endif
            taken = false
        fi;
        if
        :: taken -> borrowed = !waits; store_word(HELD)
        :: else
        fi
    fi
}

inline take() {
    seen = SEEN_WORD;
    if
    :: seen == FREE -> take_free()
    :: seen == FAVOURED && me == FAVOURITE -> enter()
    :: seen == FAVOURED && me != FAVOURITE -> revoke()
    :: else -> taken = false
    fi
}

inline try_lock() {
    do
    :: take();
        if
        :: taken -> break
#ifndef BREAK_BOTH_KEEP_EACH_OTHER_OUT
        :: !taken -> seen = SEEN_WORD;
            if
            :: seen == FREE
            :: seen == FAVOURED ->
                if
                :: me == FAVOURITE || inside == 0
                :: else -> break
                fi
            :: else -> break
            fi
#else
        :: !taken -> break
#endif
        fi
    od
}

inline sleep_until_taken() {
    add_to_sleepers(1);
#ifndef BREAK_NO_FENCE_BEFORE_SLEEP
    heavy_fence();
#endif
    do
    :: seen_before = SEEN_WORD;
        take();
        if
        :: taken -> break
        :: !taken && (seen_before == HELD || seen_before == REVOKED) -> wait_at_word(seen_before)
        :: !taken && seen_before != HELD && seen_before != REVOKED
        fi
    od;
    add_to_sleepers(-1)
}

inline lock() {
    if
    :: me == FAVOURITE -> enter()
    :: me != FAVOURITE -> take_free()
    :: me != FAVOURITE -> take() /* lock_contended(), before it sleeps */
    fi;
    if
    :: taken
    :: !taken -> sleep_until_taken()
    fi;
    acquired()
}

inline set_free() {
    holders--;
    seen = SEEN_WORD;
    if
    :: seen != HELD -> store_inside(0)
    :: seen == HELD -> store_word(FREE)
    :: seen == HELD && (me == FAVOURITE || borrowed) -> store_word(FAVOURED)
    fi;
    borrowed = false
}

inline admit_guests_if_free() {
    waited = waits; waits = false;
    do
    :: !guest_waits -> break
    :: guest_waits ->
        try_lock();
        if
        :: !taken -> break
        :: taken ->
            acquired();
            /* guests_admitted() */
            atomic {
                MINE_ARE_SEEN ->
                if
                :: guest_waits -> guest_waits = false; sleepers--
                :: else
                fi
            };
            set_free()
        fi
    od;
    waits = waited
}

inline wake_one() {
    seen = SEEN_WORD;
    if
#ifdef BREAK_WHOEVER_REVOKES_IS_NOT_WOKEN
    :: seen == REVOKED -> wake_at_word()
#else
    :: seen == REVOKED -> wake_inside()
#endif
    :: else -> wake_at_word()
    fi
}

inline let_others_in() {
    admit_guests_if_free();
    if
    :: sleepers == 0
    :: sleepers != 0 -> wake_one()
    fi
}

inline unlock() {
    set_free();
    if
    :: sleepers == 0
    :: sleepers != 0 -> let_others_in()
    fi;
    seen = 0; seen_before = 0; taken = false
}

inline announce_guest() {
    atomic { MINE_ARE_SEEN -> guest_waits = true };
    add_to_sleepers(1);
#ifndef BREAK_NO_FENCE_AFTER_ANNOUNCING
    heavy_fence();
#endif
    let_others_in()
}

proctype thread(byte me; byte turns) {
    byte seen, seen_before;
    bool taken, waited, borrowed, waits = true;
    do
    :: turns == 0 -> break
    :: turns != 0 -> turns--; lock(); unlock()
    od
}

/* Who does not wait, once, and may have it. */
proctype asker(byte me) {
    byte seen, seen_before;
    bool taken, waited, borrowed, waits = false;
    try_lock();
    if
    :: taken -> acquired(); unlock()
    :: else
    fi
}

proctype announcer(byte me) {
    byte seen, seen_before;
    bool taken, waited, borrowed, waits = false;
    announce_guest();
    seen = 0; taken = false
}

init {
    atomic {
        run memory();
        if
        :: run thread(FAVOURITE, 2); run asker(1); run announcer(2)
        :: run thread(FAVOURITE, 2); run asker(1); run announcer(2)
        :: run thread(FAVOURITE, 2); run thread(1, 2); run thread(2, 1)
        :: run thread(FAVOURITE, 3); run thread(1, 1); run asker(2)
        fi
    };
    /* All but the memory and this one have ended. */
    _nr_pr == 2;
    assert(!guest_waits)
}
