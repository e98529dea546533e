/* A wire that goes nowhere, for tests of what comes over it: posts are kept for
 * the test to look at, and the test says what comes. Stands in for all of
 * shim/gds/wire. The engine posts, and counts what it holds, by any thread; the
 * rest is for one. */
#ifndef MGDS_TEST_FAKE_WIRE_H
#define MGDS_TEST_FAKE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/msg/envelope.h"
#include "shim/gds/wire/wire.h"

enum { WIRE_PEERS = 24 };

/* A peer's address is its number, one byte. */
extern const unsigned char wire_address[WIRE_PEERS];

struct wire_post {
    struct wire_post *next;
    unsigned peer, kind;
    union mgds_envelope_head head;
    size_t head_bytes;
    void *body;         /* a copy */
    const void *source; /* of what */
    size_t body_bytes;
    mgds_wire_done *done;
    void *arg;
    unsigned serial; /* from 0 on since the wire was opened */
    /* for a test that has it come: the head came, the body was read, and lands
     * there */
    bool headed, read, lands;
    void *where, *landing;
};

/* All that were not given yet, in their order: the first of them; another one
 * behind it may come at any time. Takes one out: it is the caller's to free
 * (wire_forget). */
struct wire_post *wire_first(void);
struct wire_post *wire_next(struct wire_post *post);
void wire_take(struct wire_post *post);
void wire_forget(struct wire_post *post);

/* The earliest post of a kind that was not given yet, whose outcome is success;
 * or NULL. Its memory is the test's next call's. */
const struct wire_post *wire_posted(enum mgds_envelope kind);
/* How many there are. */
unsigned wire_posts(enum mgds_envelope kind);

/* Which process what comes is of: peer i is process i + 1. 0: of the rank that
 * the envelope names, which is peer rank. */
extern uint64_t wire_author;

/* A message comes: what head() returned. Its body lands if that is 0. */
int wire_come(enum mgds_envelope kind, const void *head, size_t head_bytes,
              const void *body, size_t body_bytes);

/* The same in two steps: what lands is given to wire_land. */
struct wire_landing {
    void *where, *arg;
};
int wire_head(enum mgds_envelope kind, const void *head, size_t head_bytes,
              size_t body_bytes, struct wire_landing *out);
/* It will not land. */
void wire_land_fails(const struct wire_landing *landing);
void wire_land(const struct wire_landing *landing, const void *body,
               size_t body_bytes);

/* What the wire's thread does: a round, and its chores; how often the engine
 * holds it awake; and what a call of the program's that waits for the wire
 * does (mgds_wire_progress), or NULL. */
void wire_round(void);
void wire_do_chores(void);
int wire_held(void);
extern void (*wire_on_progress)(void);

/* Posts fail with that from now on; 0: they go. And how many have failed since
 * the wire was opened. */
void wire_refuse(int error);
unsigned wire_refused(void);

/* The end of a peer. */
void wire_lose(unsigned peer);
/* Its first part: what is posted to it fails. */
void wire_break(unsigned peer);
bool wire_is_lost(unsigned peer);
bool wire_any_lost(void);
/* Whether the engine has given any up (mgds_wire_peer_give_up): the test has to
 * lose it, then. */
bool wire_any_given_up(void);

#endif
