/* Envelopes that come; see wire_come.h. */
#include "tests/unit/wire_come.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

void wire_come_rts(const struct mgds_rts *rts)
{
    assert_int_equal(wire_come(MGDS_ENVELOPE_RTS, rts, sizeof(*rts), NULL, 0),
                     HEARD);
}

void wire_come_taken(uint64_t request_id, uint32_t rank)
{
    const struct mgds_taken taken = {
        .count = 1, .rank = rank, .request_id = {request_id}};

    assert_int_equal(wire_come(MGDS_ENVELOPE_TAKEN, &taken,
                               offsetof(struct mgds_taken, request_id[1]), NULL,
                               0),
                     HEARD);
}

void wire_come_pull(uint64_t request_id, uint64_t bytes, uint32_t rank)
{
    const struct mgds_pull pull = {
        .request_id = request_id, .answer = 99, .bytes = bytes, .rank = rank};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_PULL, &pull, sizeof(pull), NULL, 0), HEARD);
}

void wire_come_ended(uint64_t request_id, int error, uint32_t rank)
{
    const struct mgds_ended ended = {
        .request_id = request_id, .error = error, .rank = rank};

    assert_int_equal(
        wire_come(MGDS_ENVELOPE_ENDED, &ended, sizeof(ended), NULL, 0), HEARD);
}

int wire_come_data(uint64_t answer, size_t bytes, uint32_t rank)
{
    const struct mgds_data data = {.answer = answer, .rank = rank};
    unsigned char *body = (unsigned char *)malloc(bytes ? bytes : 1);
    int rc;

    assert_non_null(body);
    memset(body, 0x11, bytes);
    rc = wire_come(MGDS_ENVELOPE_DATA, &data, sizeof(data), body, bytes);
    free(body);
    return rc;
}
