/* Failures on demand; see fault.h. */
#include "shim/base/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"

#ifdef MGDS_FAULT
#include <ctype.h>
#include <stdatomic.h>

static const char *const site_names[] = {
#define X(site) #site,
    MGDS_FAULT_SITES(X)
#undef X
};

static atomic_uint_fast64_t first;

int mgds_fault_count_from(uint64_t from)
{
    atomic_store(&first, from);
    return 0;
}

uint64_t mgds_fault_first(void)
{
    return atomic_load_explicit(&first, memory_order_relaxed);
}

/* Passages left until the failing one; 0 is disarmed. */
static atomic_uint left[MGDS_FAULT_SITE_COUNT];

bool mgds_fault_hit(enum mgds_fault_site site)
{
    unsigned now = atomic_load(&left[site]);
    while (now > 0 && !atomic_compare_exchange_weak(&left[site], &now, now - 1))
        ;
    return now == 1;
}

void mgds_fault_arm(enum mgds_fault_site site, unsigned n)
{
    atomic_store(&left[site], n);
}

bool mgds_fault_armed(enum mgds_fault_site site)
{
    return atomic_load(&left[site]) > 0;
}

static int find_site(const char *name, size_t length)
{
    for (int i = 0; i < MGDS_FAULT_SITE_COUNT; ++i) {
        if (strlen(site_names[i]) == length &&
            memcmp(site_names[i], name, length) == 0)
            return i;
    }
    return -EINVAL;
}

int mgds_fault_configure(const char *text)
{
    if (text[0] == '\0')
        return 0;
    size_t name_length = strcspn(text, ":");
    int site = find_site(text, name_length);
    char *end = NULL;
    unsigned long n = 0;
    if (text[name_length] == ':' &&
        isdigit((unsigned char)text[name_length + 1]))
        n = strtoul(text + name_length + 1, &end, 10);
    if (site < 0 || n == 0 || n > 1000000000 || *end != '\0') {
        mgds_warn("MPIX_GDS_FAULT '%.64s' is not site:n with site one of "
                  "%s and n from 1 to 1000000000: ignored",
                  text, site_names[0]);
        return -EINVAL;
    }
    mgds_fault_arm((enum mgds_fault_site)site, (unsigned)n);
    return 0;
}

#else

int mgds_fault_configure(const char *text)
{
    if (text[0] == '\0')
        return 0;
    mgds_warn("MPIX_GDS_FAULT is ignored: this build has no fault hook "
              "(configure with -DMGDS_FAULT=ON)");
    return -ENOTSUP;
}

int mgds_fault_count_from(uint64_t from)
{
    if (from == 0)
        return 0;
    mgds_warn("MPIX_GDS_COUNT_FROM is ignored: this build has no fault hook "
              "(configure with -DMGDS_FAULT=ON)");
    return -ENOTSUP;
}

#endif
