/* What troubles have led to, as toll.h says. */
#include "tests/engine/toll.h"

#include <stdio.h>

#include "shim/base/stats.h"
#include "tests/engine/hand_gpu.h"

enum { REFUSED, ORDERED, EXPIRED, REVOKED, GIVEN_UP, PEERS, RUINED };

static const char *const names[TOLL_COUNTS] = {
    [REFUSED] = "messages that receivers refused to copy",
    [ORDERED] = "messages ordered of kernels that stand",
    [EXPIRED] = "receives that took too long",
    [REVOKED] = "sends that were revoked",
    [GIVEN_UP] = "waits that kernels gave up",
    [PEERS] = "peers that were given up",
    [RUINED] = "streams that were given up"};

/* What each must have led to: a bit each. */
static const struct {
    const char *name;
    unsigned to;
} rows[] = {[PROGRAM_UNREADABLE] = {"UNREADABLE", 1u << REFUSED},
            [PROGRAM_FORBIDDEN] = {"FORBIDDEN", 1u << REFUSED | 1u << GIVEN_UP},
            [PROGRAM_CUT] = {"CUT", 1u << GIVEN_UP},
            [PROGRAM_DIES] = {"DIES", 1u << GIVEN_UP},
            [PROGRAM_WORDLESS] = {"WORDLESS", 1u << RUINED},
            [PROGRAM_TIMED] = {"TIMED", 1u << EXPIRED | 1u << REVOKED |
                                            1u << GIVEN_UP | 1u << PEERS},
            [PROGRAM_DEAF] = {"DEAF", 1u << ORDERED},
            [PROGRAM_STALLED] = {"STALLED", 1u << ORDERED}};

void toll_add(struct toll *toll, enum program_trouble trouble,
              unsigned given_up)
{
    unsigned long *count = toll->count[trouble];

    count[REFUSED] += mgds_stats_value(MGDS_STAT_pull_refused);
    count[ORDERED] += mgds_stats_value(MGDS_STAT_pull_orders);
    count[EXPIRED] += mgds_stats_value(MGDS_STAT_receives_expired);
    count[REVOKED] += mgds_stats_value(MGDS_STAT_sends_revoked);
    count[GIVEN_UP] += hand_given_up();
    count[PEERS] += given_up;
    count[RUINED] += hand_ruined();
}

bool toll_check(const struct toll *toll)
{
    bool well = true;

    for (unsigned i = PROGRAM_WELL + 1; i <= PROGRAM_STALLED; i++)
        for (unsigned k = 0; k < TOLL_COUNTS; k++) {
            if (toll->count[i][k] > 0)
                printf("%-10s %10lu %s\n", rows[i].name, toll->count[i][k],
                       names[k]);
            if (toll->count[i][k] > 0 || !(rows[i].to & 1u << k))
                continue;
            well = false;
            fprintf(stderr, "%s has led to no %s\n", rows[i].name, names[k]);
        }
    return well;
}
