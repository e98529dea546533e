/* A wire whose answers are late. */
#include "tests/hca/slow.h"

#include <string.h>

static struct mgds_hca *device_of(struct place *place, uint32_t qpn)
{
    return qpn >= PLACE_QPN_B ? place->b.hca : place->a.hca;
}

static void take_request(void *ctx, const struct mgds_hca_request *request)
{
    struct slow *slow = ctx;

    slow->requests++;
    mgds_hca_requested(device_of(slow->place, request->to), request);
}

static void keep_answer(void *ctx, const struct mgds_hca_answer *answer)
{
    struct slow *slow = ctx;
    unsigned n = slow->next++ % SLOW_ANSWERS;

    assert_true(slow->next - slow->first <= SLOW_ANSWERS);
    assert_true(answer->data.bytes <= SLOW_BYTES);
    slow->answer[n] = *answer;
    if (answer->cause == MGDS_CAUSE_NONE && answer->data.at)
        memcpy(slow->data[n], answer->data.at, answer->data.bytes);
    slow->answer[n].data.at = slow->data[n];
}

struct mgds_hca_wire slow_wire(struct slow *slow, struct place *place)
{
    slow->place = place;
    slow->requests = slow->first = slow->next = 0;
    return (struct mgds_hca_wire){
        .request = take_request, .answer = keep_answer, .ctx = slow};
}

void slow_release(struct slow *slow, unsigned count)
{
    struct mgds_hca_answer *answer;

    for (; count > 0; count--) {
        assert_true(slow->first != slow->next);
        answer = &slow->answer[slow->first++ % SLOW_ANSWERS];
        mgds_hca_answered(device_of(slow->place, answer->to), answer);
        place_run(slow->place);
    }
}
