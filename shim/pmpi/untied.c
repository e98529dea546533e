/* Who hears of errors that are tied to no object. */
#include "shim/pmpi/untied.h"

#include <stddef.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/pmpi/self.h"

static struct mgds_lock sessions_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);

/* In the order of opening. */
static struct {
    MPI_Session *session;
    size_t count, room;
} open MGDS_GUARDED_BY(sessions_lock);

/* Without memory it is one that no error is told to. */
void mgds_untied_open(MPI_Session session)
{
    MPI_Session *more;

    mgds_lock_acquire(&sessions_lock);
    if (open.count == open.room) {
        more =
            mgds_realloc(open.session, (open.room + 8) * sizeof(*open.session));
        if (more) {
            open.session = more;
            open.room += 8;
        }
    }
    if (open.count < open.room)
        open.session[open.count++] = session;
    mgds_lock_release(&sessions_lock);
}

void mgds_untied_close(MPI_Session session)
{
    size_t kept = 0;

    mgds_lock_acquire(&sessions_lock);
    for (size_t i = 0; i < open.count; i++)
        if (open.session[i] != session)
            open.session[kept++] = open.session[i];
    open.count = kept;
    if (kept == 0) {
        free(open.session);
        open.session = NULL;
        open.room = 0;
    }
    mgds_lock_release(&sessions_lock);
}

static bool first_session(MPI_Session *out)
{
    bool any;

    mgds_lock_acquire(&sessions_lock);
    any = open.count > 0;
    if (any)
        *out = open.session[0];
    mgds_lock_release(&sessions_lock);
    return any;
}

bool mgds_untied_hearer(struct mgds_hearer *out)
{
    MPI_Session session;

    if (mgds_has_world()) {
        *out = (struct mgds_hearer){MGDS_CALL_Comm_call_errhandler,
                                    (mgds_word)MPI_COMM_SELF};
        return true;
    }
    if (!first_session(&session))
        return false;
    *out = (struct mgds_hearer){MGDS_CALL_Session_call_errhandler,
                                (mgds_word)session};
    return true;
}
