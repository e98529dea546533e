/* Error codes that have a text of ours; see errtext.h. */
#include "shim/pmpi/errtext.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/lock.h"
#include "shim/pmpi/below.h"
#include "shim/pmpi/frame.h"
#include "shim/pmpi/own.h"

struct text {
    int class, code;
    uint64_t turn; /* when it was last given out */
    char text[MPI_MAX_ERROR_STRING];
};

MGDS_TLS const char *mgds_errtext_function;

static struct mgds_lock texts_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static struct text texts[MGDS_ERRTEXT_MOST];
static unsigned count;
static uint64_t turns;

static const char *function(void)
{
    if (mgds_errtext_function)
        return mgds_errtext_function;
    return mgds_inside.stack ? mgds_call_rows[mgds_inside.call].name : NULL;
}

void mgds_errtext_format(char text[MPI_MAX_ERROR_STRING], const char *format,
                         va_list args)
{
    const char *name = function();
    int n = name ? snprintf(text, MPI_MAX_ERROR_STRING, "%s: ", name) : 0;

    vsnprintf(text + n, MPI_MAX_ERROR_STRING - (size_t)n, format, args);
}

/* Under the lock. */
static struct text *find(int class, const char *text)
{
    for (unsigned i = 0; i < count; i++)
        if (texts[i].class == class && strcmp(texts[i].text, text) == 0)
            return &texts[i];
    return NULL;
}

/* Likewise: of the class the one that has its text for longest, and how many
 * there are. */
static struct text *oldest(int class, unsigned *of_class)
{
    struct text *first = NULL;

    *of_class = 0;
    for (unsigned i = 0; i < count; i++) {
        if (texts[i].class != class)
            continue;
        ++*of_class;
        if (!first || texts[i].turn < first->turn)
            first = &texts[i];
    }
    return first;
}

static void give(struct text *to, const char *text)
{
    to->turn = ++turns;
    snprintf(to->text, sizeof(to->text), "%s", text);
}

/* Likewise: the code that says the text from now on, MPI_SUCCESS: there is room
 * for a new one, or MPI_ERR_LASTCODE: nor that. */
static int take(int class, const char *text)
{
    struct text *same = find(class, text);
    unsigned of_class;

    if (same) {
        same->turn = ++turns;
        return same->code;
    }
    same = oldest(class, &of_class);
    if (of_class < MGDS_ERRTEXT_EACH && count < MGDS_ERRTEXT_MOST)
        return MPI_SUCCESS;
    if (!same)
        return MPI_ERR_LASTCODE;
    give(same, text);
    return same->code;
}

/* Other threads may have been faster: then one code more is the class's. */
static bool add(int class, int code, const char *text)
{
    struct text *fresh;

    mgds_lock_acquire(&texts_lock);
    fresh = count < MGDS_ERRTEXT_MOST ? &texts[count++] : NULL;
    if (fresh) {
        fresh->class = class;
        fresh->code = code;
        give(fresh, text);
    }
    mgds_lock_release(&texts_lock);
    return fresh;
}

int mgds_errtext_code(int class, const char *text)
{
    int code;

    mgds_lock_acquire(&texts_lock);
    code = take(class, text);
    mgds_lock_release(&texts_lock);
    if (code != MPI_SUCCESS)
        return code == MPI_ERR_LASTCODE ? class : code;
    if (mgds_below()->Add_error_code(class, &code) != MPI_SUCCESS)
        return class;
    return add(class, code, text) ? code : class;
}

bool mgds_errtext_of(int code, char text[MPI_MAX_ERROR_STRING])
{
    bool ours = false;

    mgds_lock_acquire(&texts_lock);
    for (unsigned i = 0; i < count && !ours; i++) {
        ours = texts[i].code == code;
        if (ours)
            snprintf(text, MPI_MAX_ERROR_STRING, "%s", texts[i].text);
    }
    mgds_lock_release(&texts_lock);
    return ours;
}

void mgds_errtext_fini(void)
{
    mgds_lock_acquire(&texts_lock);
    count = 0;
    mgds_lock_release(&texts_lock);
}

mgds_word mgds_own_Error_string(MGDS_PARAMS_3)
{
    char text[MPI_MAX_ERROR_STRING];

    if (!b || !c || !mgds_errtext_of((int)a, text))
        return MGDS_FORWARD(3)(MGDS_ARGS_3);
    *(int *)c = (int)strlen(text);
    memcpy((char *)b, text, strlen(text) + 1);
    return MPI_SUCCESS;
}
