/* The header on the wire; see header.h. */
#include "shim/gds/direct/header.h"

#include <string.h>

/* As it travels. */
struct form {
    uint64_t cookie[2];
    struct mgds_header header;
    uint64_t checksum; /* of all before it */
};

_Static_assert(sizeof(struct form) == MGDS_HEADER_BYTES,
               "a header has no gaps, and the length that all processes know");

static uint64_t checksum_of(const struct form *form,
                            const struct mgds_header_secret *secret)
{
    return mgds_siphash(&secret->key, form, offsetof(struct form, checksum));
}

void mgds_header_encode(unsigned char out[MGDS_HEADER_BYTES],
                        const struct mgds_header *header,
                        const struct mgds_header_secret *secret)
{
    struct form form = {.cookie = {secret->cookie[0], secret->cookie[1]},
                        .header = *header};

    form.checksum = checksum_of(&form, secret);
    memcpy(out, &form, sizeof(form));
}

/* No sum of what another process says may wrap around. */
static bool lies_in_memory(const struct mgds_header *header)
{
    const struct mgds_export_handle *memory = &header->memory;

    return header->address >= memory->base && header->bytes <= memory->size &&
           header->address - memory->base <= memory->size - header->bytes;
}

bool mgds_header_decode(struct mgds_header *out,
                        const unsigned char in[MGDS_HEADER_BYTES],
                        const struct mgds_header_secret *secret)
{
    struct form form;

    memcpy(&form, in, sizeof(form));
    if (form.cookie[0] != secret->cookie[0] ||
        form.cookie[1] != secret->cookie[1] ||
        form.checksum != checksum_of(&form, secret))
        return false;
    *out = form.header;
    return out->bytes >= MGDS_HEADER_BYTES && lies_in_memory(out);
}
