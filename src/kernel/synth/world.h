/** @file
 *  The machine as a trace shows it so far: which thread runs where and what came before, who
 *  is ready, blocked or new, which instances of the domains are alive, and what the fields
 *  last held. Training and generating walk through the same world, so a table learned in one
 *  means the same in the other. Pinned by tests/unit/test_synth_world.c.
 *
 *  Histories hold dense types, newest first. A thread has its own, of the events that it had
 *  outside handlers, put away at a switch and taken up again, in which repetitions stand once
 *  and are counted; a CPU has one of all its events and one of the handlers that are open or
 *  just closed. The rank of a CPU is how many others had an event since its last one: 0 is the
 *  CPU of the event before. */
#ifndef STN_KERNEL_SYNTH_WORLD_H
#define STN_KERNEL_SYNTH_WORLD_H

#include "core/base/rng.h"
#include "kernel/synth/domain.h"
#include "kernel/synth/wakes.h"

enum {
    STN_HISTORY = 8,         /**< events kept of each history */
    STN_HANDLER_DEPTH = 16,  /**< handlers that can be open on one CPU */
    STN_OPEN_DEPTH = 4,      /**< entries without their exit that a thread can have */
    STN_INSTANCE_FIELDS = 6, /**< values that an instance remembers */
    STN_CPU_MAX = 1024,
    STN_DEAD_KEPT = 64,  /**< exited threads remembered for a late free or wait */
    STN_TOUCHED_MAX = 8, /**< CPUs that one event changes from afar, and are told */
    STN_LOADS = 2,       /**< spans over which events are counted */
};

#define STN_SYMBOL_NONE   0xffffu /**< before the first event */
#define STN_SYMBOL_IN     0xfffeu /**< in a thread's history: it was switched in */
#define STN_SYMBOL_FORKED 0xfffdu /**< in a child's history: it was made here */
#define STN_WORLD_NONE    UINT32_MAX

/** An event in the vocabulary's terms. */
typedef struct stn_draft {
    uint64_t time_ns;
    uint32_t type; /**< dense */
    uint16_t cpu;
    int32_t tid;
    uint32_t comm; /**< text id */
    uint16_t val_count;
    stn_val vals[STN_VFIELD_MAX]; /**< by index of the type's fields; kind NONE if missing */
} stn_draft;

typedef enum stn_thread_state {
    STN_THREAD_RUNNING = 0,
    STN_THREAD_WOKEN, /**< running, and being woken: it was about to sleep */
    STN_THREAD_READY,
    STN_THREAD_WAKING,
    STN_THREAD_BLOCKED,
    STN_THREAD_NEW,
    STN_THREAD_DEAD,
    STN_THREAD_UNSEEN, /**< there from the start, not heard of yet */
    STN_THREAD_STATES,
} stn_thread_state;

/** An instance that may be gone. */
typedef struct stn_named {
    uint32_t index;
    uint64_t serial; /**< its hash */
} stn_named;

/** Linked through older and newer. */
typedef struct stn_list {
    uint32_t newest, oldest, count;
} stn_list;

typedef struct stn_thread {
    int32_t tid;
    uint32_t comm;    /**< text id */
    uint8_t state;    /**< stn_thread_state */
    bool pending;     /**< woken since it was switched in */
    uint8_t returned; /**< stn_returned: by its last call */
    bool waked;       /**< its wake-up has begun and not ended */
    bool exiting;     /**< had its exit event */
    bool quits;       /**< is in a call that it does not come back from */
    bool born;        /**< was made in this trace */
    bool used;
    uint16_t cpu;      /**< where it runs, ran, or is to run */
    uint32_t kin;      /**< number that it is counted under while blocked, or STN_KIN_NONE */
    uint32_t run;      /**< events in a row of the last one's type */
    uint32_t child;    /**< index of the thread it made last */
    uint64_t since_ns; /**< of the state */
    uint64_t alarm_ns; /**< blocked: when it has slept for too long; the generator's */
    uint32_t older, newer;
    stn_list own;                      /**< instances of its scope */
    stn_named entered[STN_OPEN_DEPTH]; /**< what each of them named */
    uint8_t depth;
    uint16_t open[STN_OPEN_DEPTH]; /**< entries without their exit, the outermost first */
    uint16_t history[STN_HISTORY];
} stn_thread;

/** What a call came to. */
typedef enum stn_returned {
    STN_RETURNED_NOTHING, /**< not known */
    STN_RETURNED_ZERO,
    STN_RETURNED_MORE,  /**< a count, a descriptor, an address */
    STN_RETURNED_AGAIN, /**< -EAGAIN: would have had to wait */
    STN_RETURNED_ERROR,
    STN_RETURNED_COUNT,
} stn_returned;

typedef struct stn_instance {
    uint8_t domain, part_count;
    bool used;
    bool open;      /**< an entry named it, and no exit since */
    uint16_t last;  /**< dense type that touched it last */
    uint16_t cpu;   /**< where */
    int32_t owner;  /**< thread that touched it last outside handlers */
    uint32_t scope; /**< CPU or thread index */
    uint32_t older, newer;
    uint32_t like_older, like_newer; /**< scope ALL: among those that the same type touched last */
    uint32_t chain;                  /**< next in the hash bucket */
    uint64_t hash;
    uint64_t due_ns;   /**< armed: when it is due; 0: it is not */
    uint64_t alarm_ns; /**< when the handler comes for it; the generator's */
    stn_val parts[STN_KEY_FIELDS];
    uint32_t names[STN_INSTANCE_FIELDS]; /**< text ids of the fields remembered */
    stn_val vals[STN_INSTANCE_FIELDS];
    uint8_t val_count;
} stn_instance;

typedef struct stn_cpu {
    uint32_t thread; /**< index of the running thread, STN_WORLD_NONE: not known */
    uint16_t depth;
    uint16_t stack[STN_HANDLER_DEPTH];
    uint16_t handler_count; /**< events of handler_history that belong to this burst */
    uint16_t handler_history[STN_HISTORY];
    uint16_t history[STN_HISTORY];
    uint64_t last_ns;    /**< of its last event */
    uint64_t raised;     /**< hashes of its instances that were raised and not entered, xored */
    uint32_t due_timer;  /**< instance that the handler comes for; the generator's */
    uint64_t opened_ns;  /**< when its outermost handler was opened */
    uint64_t trigger_ns; /**< of that, or of a later change to who waits here */
    bool touched;        /**< it was such a change, made by another CPU */
    int32_t last_tid;    /**< thread named last */
    int32_t last_owner;  /**< owner of the instance touched last */
    uint32_t last_instance[STN_DOMAIN_MAX];
    uint64_t last_serial[STN_DOMAIN_MAX]; /**< hash of that instance: it may be gone */
    stn_named entered[STN_HANDLER_DEPTH]; /**< instance that each open handler's entry named */
} stn_cpu;

/** What a world remembers: where field memories lie, for the (type, field) that are remembered
 *  at all, and who is counted while asleep. */
typedef struct stn_slots {
    const stn_wakes *wakes; /**< borrowed; NULL: nobody */
    uint32_t count;
    uint16_t *of; /**< [type_count][STN_VFIELD_MAX] slot or STN_SLOT_NONE */
} stn_slots;
#define STN_SLOT_NONE 0xffffu

typedef struct stn_world {
    const stn_vocab *vocab;
    const stn_domains *domains;
    const stn_slots *slots;
    uint64_t events;                 /**< applied so far */
    uint8_t *family_seen;            /**< [type_count] by family: came in this trace */
    uint8_t unheard[STN_DOMAIN_MAX]; /**< usual families of a domain that did not come yet */
    bool wakes_in_two;               /**< wake-ups begin with an event of their own */
    uint32_t due_name;               /**< text id of the field that says when a timer is due */
    uint32_t ret_name;               /**< likewise of what calls return */
    uint64_t now_ns;
    double loads[STN_LOADS]; /**< events so far, those long ago counting less: by exp(-age / span),
                                  the spans being 10 ms and 300 ms */
    double haste;            /**< time runs so much faster than in training, for the loads */
    uint16_t cpu_count;
    stn_cpu *cpus;
    uint16_t acting;                   /**< CPU of the event that is being applied */
    uint16_t touched[STN_TOUCHED_MAX]; /**< other CPUs where it changed who waits */
    uint8_t touched_count;
    uint16_t *ranks;     /**< [cpu_count] CPUs, the latest first */
    stn_thread *threads; /**< the first cpu_count are the idle threads */
    size_t thread_count, thread_capacity;
    uint32_t thread_free; /**< list through newer */
    uint32_t live_threads;
    uint32_t fallen;    /**< thread that the event put to sleep, or STN_WORLD_NONE */
    uint32_t forgotten; /**< thread that is to be woken now, or STN_WORLD_NONE */
    uint32_t *asleep;   /**< [wakes kin_count] blocked threads */
    stn_map by_tid;     /**< tid -> index + 1; 0: gone */
    size_t tombstones;  /**< tids in the map that are gone */
    stn_list *lists;    /**< [cpu_count][STN_THREAD_STATES] */
    int32_t next_tid;
    stn_val *thread_memory; /**< [thread_capacity][slots] */
    stn_val *cpu_memory;    /**< [cpu_count][slots] */
    stn_instance *instances;
    size_t instance_count, instance_capacity;
    uint32_t instance_free;
    uint32_t *buckets; /**< [bucket_count] */
    uint32_t bucket_count;
    stn_list *like_lists;     /**< [type_count] instances of scope ALL by the type touched last */
    stn_list *instance_lists; /**< [domain] for scope ALL, then [domain][cpu] */
} stn_world;

/** @p vocab, @p domains, @p slots are borrowed. @return STN_OK, STN_ENOMEM */
stn_status stn_world_init(stn_world *world, const stn_vocab *vocab, const stn_domains *domains,
                          const stn_slots *slots, uint16_t cpu_count) STN_MUST_USE;
void stn_world_fini(stn_world *world);

/** How a thread leaves a CPU. */
typedef enum stn_leaving {
    STN_LEAVES_READY = 0,
    STN_LEAVES_BLOCKED,
    STN_LEAVES_DISK, /**< blocked, uninterruptibly */
    STN_LEAVES_GONE,
} stn_leaving;
/** From the number or the letter that a tracer writes for the state of prev. */
stn_leaving stn_world_leaving(const stn_world *world, const stn_val *val);

/** Index of the thread called @p tid (on @p cpu, for the idle threads), or STN_WORLD_NONE. */
uint32_t stn_world_thread(const stn_world *world, int32_t tid, uint16_t cpu);
/** The same, making an unseen one if it is not there. STN_WORLD_NONE: out of memory */
uint32_t stn_world_meet(stn_world *world, int32_t tid, uint32_t comm, uint16_t cpu);
/** Put a thread into the list of @p state and @p cpu. */
void stn_world_move(stn_world *world, uint32_t thread, uint8_t state, uint16_t cpu);
/** Make @p thread the running one of @p cpu without an event. */
void stn_world_place(stn_world *world, uint16_t cpu, uint32_t thread);
/** Find the thread that @p draft runs in and make it the running one of its CPU, if a switch
 *  was not seen. @return STN_OK, STN_ENOMEM */
stn_status stn_world_seat(stn_world *world, const stn_draft *draft, uint32_t *current) STN_MUST_USE;
/** Let the event happen. @return STN_OK, STN_ENOMEM (the world may be half advanced) */
stn_status stn_world_apply(stn_world *world, const stn_draft *draft) STN_MUST_USE;
/** Rank of @p cpu. */
uint16_t stn_world_rank(const stn_world *world, uint16_t cpu);

static inline stn_list *stn_world_list(const stn_world *world, uint16_t cpu, uint32_t state) {
    return &world->lists[(size_t)cpu * STN_THREAD_STATES + state];
}
/** Threads of @p state on all CPUs. */
uint32_t stn_world_population(const stn_world *world, uint32_t state);

/** Hash of the kin of a thread: its name and the innermost call that it is in. */
uint64_t stn_world_kin(const stn_thread *thread);
/** Hash of the place on @p cpu that a thread would be woken from now. */
uint64_t stn_world_place_of(const stn_world *world, uint16_t cpu);
/** How many of those that are usually woken from there are blocked. */
uint32_t stn_world_asleep(const stn_world *world, uint16_t cpu);
/** Forget the thread that has slept for longest: it will not be woken any more. */
void stn_world_retire(stn_world *world);
/** Threads called @p comm that have not ended. */
uint32_t stn_world_named(const stn_world *world, uint32_t comm);

/** The event, in the vocabulary's terms. Fields that the type does not have are left out.
 *  @return STN_OK; STN_ENOTFOUND (type not in the vocabulary), STN_ENOMEM */
stn_status stn_draft_from(stn_draft *draft, stn_vocab *vocab, const stn_event *event) STN_MUST_USE;

/** The same without making texts known: those that are not are missing. @return STN_OK;
 *  STN_ENOTFOUND */
stn_status stn_draft_known(stn_draft *draft, const stn_vocab *vocab,
                           const stn_event *event) STN_MUST_USE;

/* ---- instances (instance.c) -------------------------------------------------- */

/** List that instances of @p domain are in for this CPU or thread. */
stn_list *stn_instance_list(stn_world *world, uint8_t domain, uint16_t cpu, uint32_t thread);
/** Instance that @p parts name, or STN_WORLD_NONE. */
uint32_t stn_instance_find(const stn_world *world, uint8_t domain, uint32_t scope,
                           const stn_val *parts, uint8_t count);
/** Instance whose hash is @p hash, or STN_WORLD_NONE. */
uint32_t stn_instance_hashed(const stn_world *world, uint64_t hash);
/** CPU or thread index as far as the domain's scope asks for it, else 0. */
uint32_t stn_instance_scope(const stn_world *world, uint8_t domain, uint16_t cpu, uint32_t thread);
/** Touch all instances that @p draft names, making those not there. @return STN_OK, STN_ENOMEM */
stn_status stn_instance_touch(stn_world *world, const stn_draft *draft,
                              uint32_t thread) STN_MUST_USE;
/** Add a copy of @p instance (scope already that of this world). @return STN_OK, STN_ENOMEM */
stn_status stn_instance_restore(stn_world *world, const stn_instance *instance) STN_MUST_USE;
/** Forget the instances of a thread that is gone. */
void stn_instance_drop_thread(stn_world *world, uint32_t thread);
/** Value of the field @p name that @p instance remembers; kind NONE if it does not. */
stn_val stn_instance_value(const stn_instance *instance, uint32_t name);
stn_status stn_instance_init(stn_world *world) STN_MUST_USE;
void stn_instance_fini(stn_world *world);

#endif
