/* Lists of what is given up; see quits.h. */
#include "shim/gds/stream/quits.h"

#include <stddef.h>

static void store_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static uint64_t load_word(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static struct mgds_quit *next_of(const struct mgds_quit *quit)
{
    return (struct mgds_quit *)(uintptr_t)load_word(&quit->next);
}

static bool is_idle(const struct mgds_quit *quit)
{
    return load_word(&quit->serial) == 0;
}

void mgds_quits_init(struct mgds_quits *quits, uint64_t *abort)
{
    *quits = (struct mgds_quits){.abort = abort};
}

void mgds_quits_fini(struct mgds_quits *quits, struct mgds_syncwords *words)
{
    struct mgds_quit *quit = quits->first;

    while (quit) {
        struct mgds_quit *next = next_of(quit);

        mgds_syncwords_give(words, (uint64_t *)(void *)quit);
        quit = next;
    }
}

static struct mgds_quit *append_quit(struct mgds_quits *quits,
                                     struct mgds_syncwords *words)
{
    uint64_t *line = mgds_syncwords_take_idle(words);
    struct mgds_quit *quit = (struct mgds_quit *)(void *)line;

    if (!quit)
        return NULL;
    /* an idle one, by the line's zeros */
    if (quits->last)
        store_word(&quits->last->next, (uintptr_t)quit);
    else
        quits->first = quit;
    quits->last = quit;
    return quit;
}

static struct mgds_quit *find_idle(const struct mgds_quits *quits)
{
    struct mgds_quit *quit = quits->first;

    while (quit && !is_idle(quit))
        quit = next_of(quit);
    return quit;
}

struct mgds_quit *mgds_quits_name(struct mgds_quits *quits,
                                  struct mgds_syncwords *words, uint64_t at,
                                  uint64_t serial)
{
    struct mgds_quit *quit = find_idle(quits);

    if (!quit)
        quit = append_quit(quits, words);
    if (!quit)
        return NULL;
    store_word(&quit->gone, 0);
    store_word(&quit->at, at);
    /* whoever finds the serial has the word, too */
    store_word(&quit->serial, serial);
    quits->named++;
    if (load_word(quits->abort) == 0)
        store_word(quits->abort, (uintptr_t)quits->first);
    return quit;
}

void mgds_quits_forget(struct mgds_quits *quits, struct mgds_quit *quit)
{
    store_word(&quit->serial, 0);
    if (--quits->named == 0 && load_word(quits->abort) != MGDS_ABORT_ALL)
        store_word(quits->abort, 0);
}

void mgds_quits_all(struct mgds_quits *quits)
{
    store_word(quits->abort, MGDS_ABORT_ALL);
}

bool mgds_quits_are_all(const struct mgds_quits *quits)
{
    return load_word(quits->abort) == MGDS_ABORT_ALL;
}

bool mgds_quit_is_gone(const struct mgds_quit *quit)
{
    return __atomic_load_n(&quit->gone, __ATOMIC_ACQUIRE) != 0;
}
