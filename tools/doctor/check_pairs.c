/* The check of what goes between ranks; pairs.h has the ways. */
#include <stdlib.h>

#include "tools/doctor/exam.h"

static bool serves_all(const struct mgds_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        if (!facts->rank[i].library.found || facts->rank[i].library.state != 1)
            return false;
    return true;
}

static bool has_gpu(const struct mgds_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->rank[i].gpu.count > 0)
            return true;
    return false;
}

/* Why there is nothing to say, or NULL. */
static const char *why_not(const struct mgds_facts *facts)
{
    if (facts->count == 0)
        return "no rank reported";
    if (!facts->rank[0].messages.asked)
        return "no GPU was asked for";
    if (!serves_all(facts))
        return "the library does not act in every rank";
    return has_gpu(facts) ? NULL : "no GPU to send from";
}

/* How bad it is that a message takes its way: what nothing helps against is no
 * finding. */
static enum mgds_state judge(const struct mgds_pair *pair)
{
    if (pair->at_fault)
        return MGDS_BROKEN;
    return pair->bytes > 0 && pair->remedy[0] ? MGDS_FALLBACK : MGDS_OK;
}

static const struct mgds_pair *find_worst(const struct mgds_pairs *pairs)
{
    const struct mgds_pair *worst = NULL;

    for (size_t i = 0; i < pairs->count; i++)
        if (!worst || judge(&pairs->pair[i]) > judge(worst))
            worst = &pairs->pair[i];
    return worst;
}

void mgds_check_pairs(struct mgds_finding *finding,
                      const struct mgds_exam *exam)
{
    const char *reason = why_not(&exam->facts);
    const struct mgds_pair *worst = find_worst(&exam->pairs);

    if (reason || !worst) {
        mgds_finding_set(finding, MGDS_UNKNOWN, "%s",
                         reason ? reason : "no messages");
        return;
    }
    mgds_finding_set(finding, judge(worst),
                     "what GPU memory takes from rank to rank, by enqueued and "
                     "by ordinary calls:");
    finding->rows = mgds_pairs_text(&exam->pairs);
    if (finding->state != MGDS_OK)
        mgds_finding_remedy(finding, "%s", worst->remedy);
}
