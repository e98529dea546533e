/* Addresses as rows of bytes; see address.h. */
#include "shim/gds/wire/address.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/base/random.h"

#define MAGIC UINT32_C(0x5744474d) /* MGDW */

/* What an address begins with; the workers' bytes follow in their order. */
struct start {
    uint32_t magic, version;
    uint64_t process;
    struct mgds_siphash_key key;
    uint32_t bytes[MGDS_WIRE_WORKERS];
};

int mgds_wire_identity_draw(struct mgds_wire_identity *out)
{
    int rc;

    *out = (struct mgds_wire_identity){.process = 0};
    do
        rc = mgds_random(&out->process, sizeof(out->process));
    while (rc == 0 && out->process == 0);
    return rc < 0 ? rc : mgds_random(&out->key, sizeof(out->key));
}

size_t mgds_wire_address_bytes(const struct mgds_wire_identity *who)
{
    size_t bytes = sizeof(struct start);

    for (unsigned i = 0; i < MGDS_WIRE_WORKERS; i++)
        bytes += who->worker[i].bytes;
    return bytes;
}

void mgds_wire_address_write(void *out, const struct mgds_wire_identity *who)
{
    struct start start;
    char *at = (char *)out + sizeof(start);

    memset(&start, 0, sizeof(start)); /* what pads it, too, is sent */
    start.magic = MAGIC;
    start.version = MGDS_WIRE_VERSION;
    start.process = who->process;
    start.key = who->key;
    for (unsigned i = 0; i < MGDS_WIRE_WORKERS; i++) {
        start.bytes[i] = (uint32_t)who->worker[i].bytes;
        if (who->worker[i].bytes > 0)
            memcpy(at, who->worker[i].address, who->worker[i].bytes);
        at += who->worker[i].bytes;
    }
    memcpy(out, &start, sizeof(start));
}

static int refuse_address(int rc, const char *why)
{
    mgds_warn("the address of another process cannot be used: %s: do all "
              "processes of the job load the same libmpix_gds.so?",
              why);
    return rc;
}

/* False: there is none, or they reach behind the end. */
static bool find_workers(struct mgds_wire_identity *out,
                         const struct start *start, const char *at,
                         size_t bytes)
{
    bool any = false;

    for (unsigned i = 0; i < MGDS_WIRE_WORKERS; i++) {
        size_t has = start->bytes[i];

        if (has > bytes)
            return false;
        out->worker[i].address = has > 0 ? at : NULL;
        out->worker[i].bytes = has;
        any = any || has > 0;
        at += has;
        bytes -= has;
    }
    return any;
}

int mgds_wire_address_read(struct mgds_wire_identity *out, const void *address,
                           size_t bytes)
{
    struct start start = {.magic = 0};

    *out = (struct mgds_wire_identity){.process = 0};
    if (address && bytes >= sizeof(start))
        memcpy(&start, address, sizeof(start));
    if (start.magic != MAGIC)
        return refuse_address(-EINVAL, "it is none");
    if (start.version != MGDS_WIRE_VERSION)
        return refuse_address(-EPROTO, "it is of another version");
    if (start.process == 0 ||
        !find_workers(out, &start, (const char *)address + sizeof(start),
                      bytes - sizeof(start)))
        return refuse_address(-EINVAL, "it is broken");
    out->process = start.process;
    out->key = start.key;
    return 0;
}
