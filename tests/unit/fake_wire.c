/* The wire of fake_wire.h. */
#include "tests/unit/fake_wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mgds_wire_peer {
    int error;
    bool given_up;
    bool posted;
};

const unsigned char wire_address[WIRE_PEERS] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                8,  9,  10, 11, 12, 13, 14, 15,
                                                16, 17, 18, 19, 20, 21, 22, 23};

uint64_t wire_author;

static struct mgds_wire_peer peers[WIRE_PEERS];
static struct mgds_wire_handler handlers[MGDS_WIRE_KINDS];
static pthread_mutex_t posts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wire_post *posts; /* under the lock, as its links */
static struct wire_post *given;
static mgds_wire_lost *on_lost;
static void *lost_ctx;
static mgds_wire_poll *polled;
static void *poll_arg;
static void (*chores)(void);
static int holds;        /* atomic */
static unsigned serial;  /* of the next post; under the lock */
static bool closed;      /* the same; tests may post before it is open */
static int refusal;      /* atomic */
static unsigned refused; /* the same */

void (*wire_on_progress)(void);

static void forget_given(void)
{
    if (given)
        free(given->body);
    free(given);
    given = NULL;
}

struct wire_post *wire_first(void)
{
    struct wire_post *first;

    pthread_mutex_lock(&posts_lock);
    first = posts;
    pthread_mutex_unlock(&posts_lock);
    return first;
}

struct wire_post *wire_next(struct wire_post *post)
{
    struct wire_post *next;

    pthread_mutex_lock(&posts_lock);
    next = post->next;
    pthread_mutex_unlock(&posts_lock);
    return next;
}

void wire_take(struct wire_post *post)
{
    struct wire_post **at = &posts;

    pthread_mutex_lock(&posts_lock);
    while (*at != post)
        at = &(*at)->next;
    *at = post->next;
    pthread_mutex_unlock(&posts_lock);
}

void wire_forget(struct wire_post *post)
{
    free(post->body);
    free(post);
}

static struct wire_post *take(struct wire_post **at)
{
    struct wire_post *post = *at;

    *at = post->next;
    return post;
}

static void end(const struct wire_post *post, int rc)
{
    if (post->done)
        post->done(post->arg, rc);
}

const struct wire_post *wire_posted(enum mgds_envelope kind)
{
    struct wire_post **at = &posts;

    forget_given();
    while (*at && (*at)->kind != kind)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    given = take(at);
    end(given, 0);
    return given;
}

unsigned wire_posts(enum mgds_envelope kind)
{
    unsigned count = 0;

    for (const struct wire_post *post = posts; post; post = post->next)
        count += post->kind == kind;
    return count;
}

static size_t rank_at(enum mgds_envelope kind)
{
    switch (kind) {
    case MGDS_ENVELOPE_RTS:
        return offsetof(struct mgds_rts, rank);
    case MGDS_ENVELOPE_PULL:
        return offsetof(struct mgds_pull, rank);
    case MGDS_ENVELOPE_DATA:
        return offsetof(struct mgds_data, rank);
    case MGDS_ENVELOPE_TAKEN:
        return offsetof(struct mgds_taken, rank);
    case MGDS_ENVELOPE_EXPORT:
        return offsetof(struct mgds_exported, rank);
    case MGDS_ENVELOPE_IMPORTED:
        return offsetof(struct mgds_imported, rank);
    case MGDS_ENVELOPE_ENDED:
        return offsetof(struct mgds_ended, rank);
    case MGDS_ENVELOPE_GRANT:
        return offsetof(struct mgds_grant, rank);
    default:
        return offsetof(struct mgds_tell, rank);
    }
}

static uint64_t author_of(enum mgds_envelope kind, const char *head,
                          size_t bytes)
{
    uint32_t rank = UINT32_MAX;

    if (wire_author)
        return wire_author;
    if (rank_at(kind) + sizeof(rank) <= bytes)
        memcpy(&rank, head + rank_at(kind), sizeof(rank));
    return (uint64_t)rank + 1;
}

int wire_head(enum mgds_envelope kind, const void *head, size_t head_bytes,
              size_t body_bytes, struct wire_landing *out)
{
    /* as over the wire: nothing that can be read lies behind the head */
    void *copy = malloc(head_bytes ? head_bytes : 1);
    struct mgds_wire_arrival arrival = {.from =
                                            author_of(kind, head, head_bytes),
                                        .head_bytes = head_bytes,
                                        .body_bytes = body_bytes};
    int rc;

    if (!copy)
        abort();
    if (head_bytes > 0)
        memcpy(copy, head, head_bytes);
    arrival.head = copy;
    rc = handlers[kind].head(handlers[kind].ctx, &arrival);
    out->where = arrival.where;
    out->arg = arrival.arg;
    free(copy);
    return rc;
}

void wire_land(const struct wire_landing *landing, const void *body,
               size_t body_bytes)
{
    memcpy(landing->where, body, body_bytes);
    handlers[MGDS_ENVELOPE_DATA].body(landing->arg, 0);
}

void wire_land_fails(const struct wire_landing *landing)
{
    handlers[MGDS_ENVELOPE_DATA].body(landing->arg, -ECONNRESET);
}

int wire_come(enum mgds_envelope kind, const void *head, size_t head_bytes,
              const void *body, size_t body_bytes)
{
    struct wire_landing landing = {NULL, NULL};
    int rc = wire_head(kind, head, head_bytes, body_bytes, &landing);

    if (rc == 0 && body_bytes > 0)
        wire_land(&landing, body, body_bytes);
    return rc;
}

void wire_refuse(int error)
{
    __atomic_store_n(&refusal, error, __ATOMIC_RELAXED);
}

unsigned wire_refused(void)
{
    return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

void wire_break(unsigned peer)
{
    peers[peer].error = -ECONNRESET;
}

void wire_lose(unsigned peer)
{
    wire_break(peer);
    on_lost(lost_ctx, &peers[peer], -ECONNRESET);
}

bool wire_is_lost(unsigned peer)
{
    return peers[peer].error != 0;
}

bool wire_any_lost(void)
{
    for (unsigned i = 0; i < WIRE_PEERS; i++)
        if (wire_is_lost(i))
            return true;
    return false;
}

bool wire_any_given_up(void)
{
    for (unsigned i = 0; i < WIRE_PEERS; i++)
        if (peers[i].given_up)
            return true;
    return false;
}

/* What the engine calls. */

static void set_closed(bool is_closed)
{
    pthread_mutex_lock(&posts_lock);
    closed = is_closed;
    pthread_mutex_unlock(&posts_lock);
}

int mgds_wire_open(const struct mgds_config *config)
{
    (void)config;
    memset(peers, 0, sizeof(peers));
    serial = 0;
    __atomic_store_n(&refused, 0, __ATOMIC_RELAXED);
    set_closed(false);
    return 0;
}

int mgds_wire_open_network(void)
{
    return 0;
}

bool mgds_wire_near(const void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
    return true;
}

void mgds_wire_close(void)
{
    set_closed(true);
    forget_given();
    while (posts) {
        given = take(&posts);
        end(given, -ECANCELED);
        forget_given();
    }
}

int mgds_wire_address(const void **address, size_t *bytes)
{
    *address = &wire_address[0];
    *bytes = 1;
    return 0;
}

int mgds_wire_peer_get(struct mgds_wire_peer **out, const void *address,
                       size_t bytes)
{
    (void)bytes;
    *out = &peers[*(const unsigned char *)address];
    return 0;
}

void mgds_wire_peer_put(struct mgds_wire_peer *peer)
{
    (void)peer;
}

struct mgds_wire_peer *mgds_wire_peer_find(uint64_t process)
{
    return &peers[process - 1];
}

bool mgds_wire_peer_give_up(struct mgds_wire_peer *peer)
{
    bool first = !peer->given_up;

    peer->given_up = true;
    return first;
}

bool mgds_wire_peer_is_connected(const struct mgds_wire_peer *peer)
{
    return __atomic_load_n(&peer->posted, __ATOMIC_RELAXED);
}

uint64_t mgds_wire_peer_process(const struct mgds_wire_peer *peer)
{
    return (uint64_t)(peer - peers) + 1;
}

int mgds_wire_peer_error(const struct mgds_wire_peer *peer)
{
    return peer->error;
}

void mgds_wire_on_lost(mgds_wire_lost *lost, void *ctx)
{
    on_lost = lost;
    lost_ctx = ctx;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);

    if (!to)
        abort();
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static struct wire_post *make_post(const struct mgds_wire_peer *peer,
                                   const struct mgds_wire_message *message)
{
    struct wire_post *post = (struct wire_post *)calloc(1, sizeof(*post));

    if (!post || message->head_bytes > sizeof(post->head))
        abort();
    post->peer = (unsigned)(peer - peers);
    post->kind = message->kind;
    memcpy(&post->head, message->head, message->head_bytes);
    post->head_bytes = message->head_bytes;
    post->body = copy_of(message->body, message->body_bytes);
    post->source = message->body;
    post->body_bytes = message->body_bytes;
    post->done = message->done;
    post->arg = message->arg;
    return post;
}

/* False: the wire has ended. */
static bool append_post(struct wire_post *post)
{
    struct wire_post **last = &posts;
    bool open;

    pthread_mutex_lock(&posts_lock);
    open = !closed;
    while (*last)
        last = &(*last)->next;
    if (open) {
        post->serial = serial++;
        *last = post;
    }
    pthread_mutex_unlock(&posts_lock);
    return open;
}

int mgds_wire_post(struct mgds_wire_peer *peer,
                   const struct mgds_wire_message *message)
{
    struct wire_post *post = make_post(peer, message);
    int rc = __atomic_load_n(&refusal, __ATOMIC_RELAXED);

    if (rc < 0) {
        wire_forget(post);
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
        return rc;
    }
    if (!append_post(post)) {
        wire_forget(post);
        return -ENOTCONN;
    }
    __atomic_store_n(&peer->posted, true, __ATOMIC_RELAXED);
    return 0;
}

int mgds_wire_handle(unsigned kind, const struct mgds_wire_handler *handler)
{
    handlers[kind] = *handler;
    return 0;
}

void mgds_wire_hold(void)
{
    __atomic_fetch_add(&holds, 1, __ATOMIC_RELAXED);
}

void mgds_wire_release(void)
{
    __atomic_fetch_sub(&holds, 1, __ATOMIC_RELAXED);
}

int wire_held(void)
{
    return __atomic_load_n(&holds, __ATOMIC_RELAXED);
}

void wire_round(void)
{
    polled(poll_arg);
}

void wire_do_chores(void)
{
    chores();
}

void mgds_wire_kick(void)
{
}

int mgds_wire_poller(mgds_wire_poll *poll, void *arg)
{
    polled = poll;
    poll_arg = arg;
    return 0;
}

void mgds_wire_poller_end(mgds_wire_poll *poll, void *arg)
{
    (void)poll;
    (void)arg;
}

void mgds_wire_chore(void (*work)(void))
{
    chores = work;
}

int mgds_wire_progress(void)
{
    if (wire_on_progress)
        wire_on_progress();
    return 0;
}

int mgds_wire_wake_init(void)
{
    return 0;
}

bool mgds_wire_wake(void)
{
    return true;
}
