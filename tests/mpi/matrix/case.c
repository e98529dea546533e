/* Names of cases, and what the bodies of all calls share. */
#include "tests/mpi/matrix/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/pattern.h"

#define BYTES_MAX (1 << 30)

const struct mgds_mx_call *const mgds_mx_tables[] = {
    mgds_mx_p2p_calls,
    mgds_mx_persistent_calls,
    mgds_mx_coll_calls,
    mgds_mx_reduce_calls,
    mgds_mx_edge_calls,
    mgds_mx_window_calls,
    NULL,
};

static const struct mgds_mx_call *call_find(const char *name)
{
    for (size_t t = 0; mgds_mx_tables[t]; t++) {
        for (const struct mgds_mx_call *call = mgds_mx_tables[t]; call->name;
             call++) {
            if (strcmp(call->name, name) == 0)
                return call;
        }
    }
    return NULL;
}

static int kind_find(const char *name)
{
    for (int i = 0; i < MGDS_TEST_KINDS; i++) {
        if (strcmp(mgds_test_kind_name((enum mgds_test_kind)i), name) == 0)
            return i;
    }
    return -1;
}

static int type_find(const char *name)
{
    for (int i = 0; i < MGDS_MX_TYPE_KINDS; i++) {
        if (strcmp(mgds_mx_type_name((enum mgds_mx_type_kind)i), name) == 0)
            return i;
    }
    return -1;
}

int mgds_mx_case_parse(struct mgds_mx_case *c, const char *name, char why[256])
{
    char call[48], first[16], second[16], type[16];
    long long bytes;
    int end = 0;
    int found[3];

    memset(c, 0, sizeof(*c));
    if (sscanf(name, "%47[^/]/%15[^/]/%15[^/]/%15[^/]/%lld/%d%n", call, first,
               second, type, &bytes, &c->ranks, &end) != 6 ||
        name[end] != '\0' || bytes < 0 || bytes > BYTES_MAX || c->ranks < 1) {
        snprintf(why, 256,
                 "case %.128s: give CALL/KIND/KIND/DATATYPE/BYTES/RANKS", name);
        return 1;
    }
    c->call = call_find(call);
    found[0] = kind_find(first);
    found[1] = kind_find(second);
    found[2] = type_find(type);
    if (!c->call || found[0] < 0 || found[1] < 0 || found[2] < 0) {
        snprintf(why, 256, "case %.128s: no such %s; see --list", name,
                 !c->call ? "call" : (found[2] < 0 ? "datatype" : "kind"));
        return 1;
    }
    c->kind[0] = (enum mgds_test_kind)found[0];
    c->kind[1] = (enum mgds_test_kind)found[1];
    c->type_kind = (enum mgds_mx_type_kind)found[2];
    c->bytes = (size_t)bytes;
    for (const char *at = name; *at; at++)
        c->seed = c->seed * 131 + (unsigned char)*at;
    return 0;
}

void mgds_mx_fail(struct mgds_mx_case *c, const char *format, ...)
{
    va_list args;

    if (c->why[0])
        return;
    va_start(args, format);
    vsnprintf(c->why, sizeof(c->why), format, args);
    va_end(args);
}

int mgds_mx_success(struct mgds_mx_case *c, int rc, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return 1;
    MPI_Error_string(rc, text, &length);
    mgds_mx_fail(c, "%.120s: %.300s", call, text);
    return 0;
}

void mgds_mx_expect(struct mgds_mx_case *c, const struct mgds_mx_buffer *b)
{
    char why[256];

    if (mgds_mx_buffer_check(b, why))
        mgds_mx_fail(c, "%s", why);
}

void mgds_mx_stream(const struct mgds_mx_case *c, int from, int to, int round,
                    unsigned char *packed, size_t bytes)
{
    struct mgds_bench_pattern pattern = {
        .seed = mgds_bench_seed(c->seed, (uint64_t)round,
                                (uint64_t)from * 1000 + (uint64_t)to)};

    mgds_bench_pattern_fill(pattern, packed, bytes);
}

void *mgds_mx_alloc(size_t bytes)
{
    void *at = malloc(bytes ? bytes : 1);

    if (!at) {
        fprintf(stderr, "matrix: no %zu bytes\n", bytes);
        abort();
    }
    return at;
}
