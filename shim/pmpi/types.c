/*
 * The table of layouts by datatype.
 *
 * Concurrency. The table is under types_lock (LEAF), which is not held across
 * MPI. An entry of a derived type goes when MPI deletes the attribute that its
 * maker set; until then the handle means the same type. Those of types that are
 * built in stay for ever, and are found without the lock. Two threads may take
 * one type apart at the same time: the first to insert sets the attribute.
 */
#include "shim/pmpi/types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/gds/mem/layout.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/decode.h"
#include "shim/pmpi/self.h"

/* What was found out later, and holds for as long as the type lives. */
struct facts {
    bool committed; /* seen to be; no type goes back */
    uint32_t sizes; /* of basic types; 0: not looked at */
};

struct entry {
    MPI_Datatype type;
    struct mgds_layout *layout;
    struct entry *next;
    struct facts facts;
};

enum { BUCKETS = 256, BASIC = 256 }; /* powers of two */

static struct mgds_lock types_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static struct entry *buckets[BUCKETS] MGDS_GUARDED_BY(types_lock);
static int keyval MGDS_GUARDED_BY(types_lock) = MPI_KEYVAL_INVALID;

/* Of types that are built in, by the end of the handle: atomic. */
static struct entry *basic[BASIC];

static unsigned bucket_of(MPI_Datatype type)
{
    uint32_t mixed = (uint32_t)type * 2654435761u;

    return mixed >> 24;
}

static struct entry **place_of(MPI_Datatype type)
{
    struct entry **place = &buckets[bucket_of(type)];

    while (*place && (*place)->type != type)
        place = &(*place)->next;
    return place;
}

static struct entry **basic_place(MPI_Datatype type)
{
    return &basic[(uint32_t)type % BASIC];
}

static struct mgds_layout *find_basic(MPI_Datatype type)
{
    const struct entry *entry =
        __atomic_load_n(basic_place(type), __ATOMIC_ACQUIRE);

    return entry && entry->type == type ? entry->layout : NULL;
}

static struct mgds_layout *find(MPI_Datatype type)
{
    struct mgds_layout *layout =
        mgds_type_is_basic(type) ? find_basic(type) : NULL;
    struct entry *entry;

    if (layout)
        return layout;
    mgds_lock_acquire(&types_lock);
    entry = *place_of(type);
    if (entry)
        layout = mgds_layout_get(entry->layout);
    mgds_lock_release(&types_lock);
    return layout;
}

static void put_in(struct entry **place, struct entry *entry)
{
    *place = entry;
    if (!mgds_type_is_basic(entry->type))
        return;
    entry->layout->kept = true;
    /* release: the entry, and that its layout is kept */
    __atomic_store_n(basic_place(entry->type), entry, __ATOMIC_RELEASE);
}

/* Takes a reference. False if the type is there already, or memory is short:
 * then the caller's layout serves this once. */
static bool insert(MPI_Datatype type, struct mgds_layout *layout,
                   bool predefined)
{
    struct entry *entry = mgds_malloc(sizeof(*entry));
    struct entry **place;
    bool fresh;

    if (!entry)
        return false;
    mgds_lock_acquire(&types_lock);
    place = place_of(type);
    fresh = !*place;
    if (fresh) {
        *entry = (struct entry){
            type, mgds_layout_get(layout), NULL, {predefined, 0}};
        put_in(place, entry);
    }
    mgds_lock_release(&types_lock);
    if (!fresh)
        free(entry);
    return fresh;
}

static void forget(MPI_Datatype type)
{
    struct entry **place;
    struct entry *entry;

    mgds_lock_acquire(&types_lock);
    place = place_of(type);
    entry = *place;
    if (entry)
        *place = entry->next;
    mgds_lock_release(&types_lock);
    if (!entry)
        return;
    mgds_layout_put(entry->layout);
    free(entry);
}

/* MPI deletes the attribute when the last use of the type is over. */
static int type_goes(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    forget(type);
    return MPI_SUCCESS;
}

/* The keyval, made at first need; two threads may both make one, then one of
 * the two is given back. */
static int our_keyval(void)
{
    int mine = MPI_KEYVAL_INVALID;
    int known;

    mgds_lock_acquire(&types_lock);
    known = keyval;
    mgds_lock_release(&types_lock);
    if (known != MPI_KEYVAL_INVALID)
        return known;
    if (mgds_below()->Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_goes,
                                         &mine, NULL) != MPI_SUCCESS)
        return MPI_KEYVAL_INVALID;
    mgds_lock_acquire(&types_lock);
    if (keyval == MPI_KEYVAL_INVALID) {
        keyval = mine;
        mine = MPI_KEYVAL_INVALID;
    }
    known = keyval;
    mgds_lock_release(&types_lock);
    if (mine != MPI_KEYVAL_INVALID)
        mgds_below()->Type_free_keyval(&mine);
    return known;
}

/* Without the attribute nobody would say when the handle means another type:
 * no entry then. */
static void keep(MPI_Datatype type, struct mgds_layout *layout, bool derived)
{
    int key = derived ? our_keyval() : MPI_KEYVAL_INVALID;

    if (derived && key == MPI_KEYVAL_INVALID)
        return;
    if (!insert(type, layout, !derived) || !derived)
        return;
    if (mgds_below()->Type_set_attr(type, key, NULL) != MPI_SUCCESS)
        forget(type);
}

/* MPICH's handles say what they are of: so no error handler hears of a bad
 * one before the call that it was given to. */
static bool looks_like_type(MPI_Datatype type)
{
    uint32_t handle = (uint32_t)type;

    return handle >> 30 && (handle >> 26 & 0xf) == 3;
}

int mgds_type_layout(struct mgds_layout **out, MPI_Datatype type)
{
    struct mgds_layout *layout = find(type);
    bool derived;
    int rc;

    if (!layout) {
        if (!looks_like_type(type))
            return -EINVAL;
        rc = mgds_decode_type(&layout, &derived, type);
        if (rc < 0)
            return rc;
        keep(type, layout, derived);
    }
    *out = layout;
    return 0;
}

static bool is_packed(MPI_Datatype type, MPI_Comm comm)
{
    int bytes;

    return mgds_below()->Pack_size(1, type, comm, &bytes) == MPI_SUCCESS;
}

/* What cannot be asked counts as committed. */
static bool ask_below(MPI_Datatype type)
{
    MPI_Comm kept = mgds_self_kept();
    struct mgds_self self;
    bool committed;

    if (kept != MPI_COMM_NULL)
        return is_packed(type, kept);
    if (mgds_self_open(&self) < 0)
        return true;
    committed = is_packed(type, self.comm);
    mgds_self_close(&self);
    return committed;
}

static struct facts facts_of(MPI_Datatype type)
{
    struct facts facts = {false, 0};
    struct entry *entry;

    mgds_lock_acquire(&types_lock);
    entry = *place_of(type);
    if (entry)
        facts = entry->facts;
    mgds_lock_release(&types_lock);
    return facts;
}

/* Adds to what is known, if the type is in the table. */
static void add_facts(MPI_Datatype type, struct facts facts)
{
    struct entry *entry;

    mgds_lock_acquire(&types_lock);
    entry = *place_of(type);
    if (entry) {
        entry->facts.committed |= facts.committed;
        entry->facts.sizes |= facts.sizes;
    }
    mgds_lock_release(&types_lock);
}

bool mgds_type_committed(MPI_Datatype type)
{
    struct facts facts = facts_of(type);

    if (!facts.committed) {
        facts.committed = ask_below(type);
        add_facts(type, facts);
    }
    return facts.committed;
}

bool mgds_type_is_mixed(MPI_Datatype type)
{
    struct facts facts = facts_of(type);

    if (facts.sizes == 0) {
        facts.sizes = mgds_decode_sizes(type);
        add_facts(type, facts);
    }
    return (facts.sizes & (facts.sizes - 1)) != 0;
}

/* But for those that are built in. Nobody else is there. */
static void forget_bucket(unsigned i)
{
    struct entry *entry = buckets[i];

    while (entry) {
        struct entry *next = entry->next;

        if (!mgds_type_is_basic(entry->type))
            forget(entry->type);
        entry = next;
    }
}

void mgds_types_fini(void)
{
    int key;

    for (unsigned i = 0; i < BUCKETS; i++)
        forget_bucket(i);
    mgds_lock_acquire(&types_lock);
    key = keyval;
    keyval = MPI_KEYVAL_INVALID;
    mgds_lock_release(&types_lock);
    if (key != MPI_KEYVAL_INVALID)
        mgds_below()->Type_free_keyval(&key);
}
