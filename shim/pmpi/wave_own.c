/* Requests of a completion call whose handles are our own; see wave_own.h. */
#include "shim/pmpi/wave_own.h"

#include "shim/pmpi/grequest.h"

/* The request at i if its handle is our own; NULL: the handle is another's, or
 * the request is nothing any more. */
static struct mgds_request *own_at(const struct mgds_wave *wave, int i)
{
    return wave->drops[i].own ? mgds_wave_generalized_at(wave, i) : NULL;
}

static void let_go_down(struct mgds_wave *wave, int i, MPI_Request handle)
{
    wave->requests[i] = wave->drops[i].down = handle;
}

int mgds_wave_own_begin(struct mgds_wave *wave, int i)
{
    struct mgds_drop *drop = &wave->drops[i];
    int rc = 0;

    drop->own = true;
    wave->owns++;
    if (wave->way == MGDS_WAVE_PICK)
        rc = mgds_grequest_show(drop->seen.request);
    let_go_down(wave, i, drop->seen.request->general);
    return rc;
}

/* The table lets go of a request that is completed or freed. */
bool mgds_wave_own_look(struct mgds_wave *wave, int i)
{
    const struct mgds_request *request = own_at(wave, i);
    bool there =
        request && __atomic_load_n(&request->serial, __ATOMIC_RELAXED) != 0;

    let_go_down(wave, i, there ? request->general : MPI_REQUEST_NULL);
    return there;
}

/* The same if nothing goes down for it. */
static struct mgds_request *hidden_at(const struct mgds_wave *wave, int i)
{
    struct mgds_request *request = own_at(wave, i);

    return request && wave->drops[i].down == MPI_REQUEST_NULL ? request : NULL;
}

/* Acquire: who reads what it brought sees it. */
static bool is_done(const struct mgds_request *request)
{
    return __atomic_load_n(&request->state, __ATOMIC_ACQUIRE) ==
           MGDS_REQUEST_DONE;
}

bool mgds_wave_own_is_over(const struct mgds_wave *wave, int i)
{
    const struct mgds_request *request = hidden_at(wave, i);

    return request && is_done(request);
}

bool mgds_wave_own_any_left(const struct mgds_wave *wave)
{
    for (int i = 0; i < wave->count && wave->owns > 0; i++)
        if (hidden_at(wave, i) && !is_done(hidden_at(wave, i)))
            return true;
    return false;
}

bool mgds_wave_own_show(struct mgds_wave *wave)
{
    bool all = true;

    for (int i = 0; i < wave->count && wave->owns > 0; i++) {
        struct mgds_request *request = hidden_at(wave, i);

        if (!request || is_done(request))
            continue;
        if (mgds_grequest_show(request) == 0)
            let_go_down(wave, i, request->general);
        else
            all = false;
    }
    return all;
}

void mgds_wave_own_step_in_turn(const struct mgds_wave *wave, int *next)
{
    enum { TRIES = 16 };
    int tries = 0;

    while (*next < wave->count && wave->owns > 0 && tries++ < TRIES)
        if (!hidden_at(wave, *next) || mgds_wave_own_is_over(wave, *next) ||
            mgds_grequest_poll(hidden_at(wave, *next))) {
            (*next)++;
            tries = 0;
        }
}

void mgds_wave_own_give_back(const struct mgds_wave *wave, int i)
{
    const struct mgds_drop *drop = &wave->drops[i];

    if (drop->down != MPI_REQUEST_NULL &&
        wave->requests[i] == MPI_REQUEST_NULL &&
        wave->callers[i] == drop->handle)
        wave->callers[i] = MPI_REQUEST_NULL;
}

struct mgds_request *mgds_wave_own_take(struct mgds_wave *wave,
                                        struct mgds_request *consumed)
{
    for (int i = 0; i < wave->count && wave->owns > 0; i++) {
        struct mgds_request *request = hidden_at(wave, i);

        if (!request || !mgds_grequest_take(request, &wave->statuses[i]))
            continue;
        if (wave->callers[i] == request->handle)
            wave->callers[i] = MPI_REQUEST_NULL;
        request->next = consumed;
        consumed = request;
    }
    return consumed;
}
