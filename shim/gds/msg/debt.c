/* Errors that are still to be told; see debt.h. */
#include "shim/gds/msg/debt.h"

#include <stdio.h>
#include <stdlib.h>

#include "shim/gds/comm/comm.h"

void mgds_debt_add(struct mgds_debt *debt, int error, uint64_t name, char *text)
{
    if (debt->error) {
        free(text);
        return;
    }
    debt->name = name;
    debt->text = text;
    __atomic_store_n(&debt->error, error, __ATOMIC_RELAXED);
}

int mgds_debt_pay(struct mgds_debt *debt, struct mgds_failure *out)
{
    int error = debt->error;

    if (out && error)
        snprintf(out->text, sizeof(out->text), "%s",
                 debt->text ? debt->text : "");
    if (out) {
        out->error = error;
        out->name = debt->name;
    }
    free(debt->text);
    debt->text = NULL;
    __atomic_store_n(&debt->error, 0, __ATOMIC_RELAXED);
    return error;
}

void mgds_debt_pass(struct mgds_debt *to, struct mgds_debt *from)
{
    if (to->error) {
        mgds_debt_pay(from, NULL);
        return;
    }
    to->name = from->name;
    to->text = from->text;
    from->text = NULL;
    __atomic_store_n(&to->error, from->error, __ATOMIC_RELAXED);
    __atomic_store_n(&from->error, 0, __ATOMIC_RELAXED);
}
