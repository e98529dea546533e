/* What a seal costs at each end, and a name, in ns: figures for
 * docs/security.md; asserts nothing. The least of many short runs, for machines
 * that are shared. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/base/clock.h"
#include "shim/gds/msg/request_ids.h"
#include "shim/gds/msg/envelope.h"
#include "shim/gds/wire/seal.h"

enum { TURNS = 1000, RUNS = 400 };

struct ends {
    struct mgds_wire_identity here, there;
    struct mgds_siphash begun;
    struct mgds_senders senders;
    uint64_t number;
};

static void seal(struct ends *ends, struct mgds_wire_frame *frame, size_t bytes)
{
    frame->number = ++ends->number;
    frame->tag = mgds_seal_tag(&ends->begun, frame, bytes);
    __asm__ volatile("" : : "m"(*frame) : "memory");
}

/* Of a turn; heard: with what the receiver does. */
static double cost(struct ends *ends, size_t head_bytes, bool heard)
{
    struct mgds_wire_frame frame = {.from = ends->there.process};
    struct mgds_wire_frame out;
    size_t bytes = mgds_wire_frame_bytes(head_bytes);
    uint64_t least = UINT64_MAX;

    for (unsigned run = 0; run < RUNS; run++) {
        uint64_t begin = mgds_clock_ns();
        uint64_t took;

        for (unsigned i = 0; i < TURNS; i++) {
            seal(ends, &frame, bytes);
            if (heard && mgds_senders_admit(&ends->senders, &ends->here, &out,
                                            &frame, bytes, 0) != 0)
                abort();
        }
        took = mgds_clock_ns() - begin;
        least = took < least ? took : least;
    }
    return (double)least / TURNS;
}

static double cost_of_name(void)
{
    struct mgds_request_ids request_ids = {.serial = 0};
    uint64_t least = UINT64_MAX;

    for (unsigned run = 0; run < RUNS; run++) {
        uint64_t begin = mgds_clock_ns();
        uint64_t request_id, took;

        for (unsigned i = 0; i < TURNS; i++) {
            if (mgds_request_ids_put(&request_ids, &request_ids, &request_id) <
                    0 ||
                !mgds_request_ids_find(&request_ids, request_id))
                abort();
            mgds_request_ids_remove(&request_ids, request_id, &request_ids);
        }
        took = mgds_clock_ns() - begin;
        least = took < least ? took : least;
    }
    mgds_request_ids_fini(&request_ids);
    return (double)least / TURNS;
}

int main(void)
{
    static const struct {
        const char *name;
        size_t bytes;
    } heads[] = {{"DATA", sizeof(struct mgds_data)},
                 {"PULL", sizeof(struct mgds_pull)},
                 {"RTS", offsetof(struct mgds_rts, address)},
                 {"RTS of a message that is copied", sizeof(struct mgds_rts)},
                 {"TAKEN of 16", sizeof(struct mgds_taken)}};
    static struct ends ends;

    if (mgds_wire_identity_draw(&ends.here) < 0 ||
        mgds_wire_identity_draw(&ends.there) < 0)
        return 1;
    ends.begun =
        mgds_seal_begin(&ends.here.key, ends.there.process, ends.here.process);
    for (unsigned i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        double alone = cost(&ends, heads[i].bytes, false);

        printf("%s (%zu bytes): sealed in %.1f ns, looked at in %.1f ns\n",
               heads[i].name, heads[i].bytes, alone,
               cost(&ends, heads[i].bytes, true) - alone);
    }
    printf("a name, drawn, found and gone: %.1f ns\n", cost_of_name());
    mgds_senders_fini(&ends.senders);
    return 0;
}
