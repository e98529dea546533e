/* Where wire tests run: this process with an open wire, and other processes
 * that echo. Everything waits on events; nothing here makes progress itself. */
#ifndef MGDS_TEST_WIRE_PLACE_H
#define MGDS_TEST_WIRE_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cmocka.h>

#include "shim/gds/wire/wire.h"

#define CLAIM(x) assert_true(x)

enum {
    KIND_ECHO = 1, /* send it back as KIND_BACK */
    KIND_BACK = 2,
    KIND_NONE = 9, /* nobody takes it */
    WAIT_S = 40
};

/* Both kinds. */
struct place_head {
    uint64_t id;
    uint64_t bytes;
};

/* One message there and back. */
struct trip {
    size_t bytes;
    unsigned char *out;
    unsigned char *in;
    bool sent, back; /* with outcomes */
    int sent_rc, back_rc;
};

struct place_child {
    pid_t pid;
    int to; /* a pipe to it: closing it ends the child */
    int from;
    struct mgds_wire_peer *peer;
};

/* The wire of this process, and trips; and their end: a bounded one. */
void place_open(uint64_t close_ms);
void place_close(void);

/* Another process of this program, echoing. */
void place_child_start(struct place_child *child);
/* Both meet anew: this process has closed its wire, and opened it again. */
void place_child_again(struct place_child *child);
void place_child_end(struct place_child *child); /* and ended well */

/* Whether the children are on another host (WIRE_FAR is set): then messages go
 * over the network, else through memory. */
bool place_far(void);

/* Waits for one that is being killed. The peer stays the caller's. */
void place_child_reap(struct place_child *child);

/* Trips made ready, by number; ids are indices. */
void place_trips(unsigned count, size_t (*bytes_of)(unsigned i));
struct trip *place_trip(unsigned i);

/* Posts trip i; 0 or -errno. */
int place_go(struct mgds_wire_peer *peer, unsigned i);

/* Waits until all trips are back, and looks at every byte. */
void place_all_back(void);

/* Waits until trip i has the outcome of its post. */
int place_sent(unsigned i);

/* Waits for a peer that is lost; its error. */
int place_lost(struct mgds_wire_peer *peer);

/* Seconds, monotonic. */
double place_now(void);

/* What the child does: echo until the pipe to it ends, to who said last over
 * that where it is. */
int place_echo(void);

/* Path of this program. */
extern const char *place_program;

/* Called by the handler of KIND_BACK when a trip is over; may be NULL. */
extern void (*place_when_back)(unsigned i);

#endif
