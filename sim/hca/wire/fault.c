/* Faults on the way of packets. */
#include "sim/hca/wire/fault.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sim/hca/random.h"

enum { LATE = 100000, DIGITS = 15, DECIMALS = 4, RATE_PERCENT = 10000 };

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit times[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
static const struct unit rates[] = {{"%", RATE_PERCENT}, {NULL, 0}};
static const struct unit counts[] = {{"", 1}, {NULL, 0}};

/* A number and its unit: `text` is moved behind them. Decimals are those that
 * the unit can express. */
static bool read_number(const char **text, const struct unit *unit,
                        uint64_t *out)
{
    uint64_t number = 0, scale = 1;
    const char *at = *text;
    size_t length, begin = 0;
    bool decimals = false;

    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !decimals); at++) {
        begin++;
        decimals |= *at == '.';
        if (*at == '.')
            continue;
        number = number * 10 + (uint64_t)(*at - '0');
        scale *= decimals ? 10 : 1;
    }
    length = strcspn(at, ",");
    for (; unit->name; unit++) {
        if (strlen(unit->name) == length &&
            strncmp(unit->name, at, length) == 0 && begin > decimals &&
            begin <= DIGITS && number <= UINT64_MAX / unit->factor &&
            number * unit->factor % scale == 0) {
            *out = number * unit->factor / scale;
            *text = at + length;
            return true;
        }
    }
    return false;
}

struct key {
    const char *name;
    const struct unit *units;
    uint64_t least;
    uint64_t most;
};

enum {
    KEY_LATE = MGDS_WIRE_FAULTS,
    KEY_DIE,
    KEY_PLACE,
    KEY_OVERRUN,
    KEY_LINK,
    KEY_SEED,
    KEYS
};

/* Where a fault is drawn. */
enum place { WAY, TAKING };

static const enum place places[] = {
#define X(name, key, place) [MGDS_WIRE_FAULT_##name] = place,
#include "sim/hca/wire/faults.def"
#undef X
};

static const struct key keys[KEYS] = {
#define X(name_, key_, place)                                                  \
    [MGDS_WIRE_FAULT_##name_] = {key_, rates, 0, MGDS_HCA_RATE_ALL},
#include "sim/hca/wire/faults.def"
#undef X
    [KEY_LATE] = {"late", times, 1, 10000000000u},
    [KEY_DIE] = {"die", counts, 1, UINT64_MAX},
    [KEY_PLACE] = {"place", times, 1, 4000000000u},
    [KEY_OVERRUN] = {"overrun", counts, 1, UINT64_MAX},
    [KEY_LINK] = {"link", counts, 0, 1},
    [KEY_SEED] = {"seed", counts, 1, UINT64_MAX},
};

static bool read_setting(const char **text, uint64_t value[KEYS])
{
    size_t length = strcspn(*text, "=,");
    const char *at = *text + length;

    if (*at++ != '=')
        return false;
    for (unsigned i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) == length &&
            strncmp(keys[i].name, *text, length) == 0)
            return read_number(&at, keys[i].units, &value[i]) &&
                   value[i] >= keys[i].least && value[i] <= keys[i].most &&
                   (*text = at);
    }
    return false;
}

static int read_settings(const char **text, uint64_t value[KEYS])
{
    while (**text) {
        if (!read_setting(text, value))
            return -EINVAL;
        if (**text == ',' && *++*text == '\0')
            return -EINVAL;
    }
    return 0;
}

int mgds_hca_faults_parse(struct mgds_hca_faults *faults, const char *text,
                          const char **wrong)
{
    uint64_t value[KEYS] = {[KEY_LATE] = LATE, [KEY_LINK] = 1, [KEY_SEED] = 1},
             sum = 0;
    int rc;

    *wrong = text;
    rc = read_settings(wrong, value);
    *faults = (struct mgds_hca_faults){.late = value[KEY_LATE],
                                       .die = value[KEY_DIE],
                                       .place = value[KEY_PLACE],
                                       .overrun = value[KEY_OVERRUN],
                                       .cut = value[KEY_LINK] == 0,
                                       .seed = value[KEY_SEED]};
    for (unsigned i = 0; i < MGDS_WIRE_FAULTS; i++) {
        faults->rate[i] = (uint32_t)value[i];
        sum += value[i];
    }
    if (rc == 0 && sum > MGDS_HCA_RATE_ALL) {
        *wrong = text;
        rc = -EINVAL;
    }
    return rc;
}

uint32_t mgds_hca_faults_random(struct mgds_hca_faults *faults, uint32_t limit)
{
    if (faults->seed == 0) /* no text was read */
        faults->seed = 1;
    return mgds_hca_random(&faults->seed) % limit;
}

static enum mgds_hca_wire_fault draw_at(struct mgds_hca_faults *faults,
                                        enum place place)
{
    uint32_t drawn = mgds_hca_faults_random(faults, MGDS_HCA_RATE_ALL);

    for (unsigned i = 0; i < MGDS_WIRE_FAULTS; i++) {
        if (places[i] != place)
            continue;
        if (drawn < faults->rate[i]) {
            faults->count[i]++;
            return (enum mgds_hca_wire_fault)i;
        }
        drawn -= faults->rate[i];
    }
    return MGDS_WIRE_FAULT_NONE;
}

enum mgds_hca_wire_fault mgds_hca_faults_draw(struct mgds_hca_faults *faults)
{
    return draw_at(faults, WAY);
}

bool mgds_hca_faults_not_ready(struct mgds_hca_faults *faults)
{
    return faults->rate[MGDS_WIRE_FAULT_NOT_READY] &&
           draw_at(faults, TAKING) != MGDS_WIRE_FAULT_NONE;
}
