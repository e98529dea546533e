/* Failures on demand: the n-th time a site is passed, it fails as if the
 * system had. Builds with MGDS_FAULT only; in all others a fault point is the
 * constant false and costs nothing. */
#ifndef MGDS_BASE_FAULT_H
#define MGDS_BASE_FAULT_H

#include <stdbool.h>

/* X(site): what can be made to fail; a later layer adds its own here. */
#define MGDS_FAULT_SITES(X)                                                    \
    X(alloc)                                                                   \
    X(extension) /* MPIX_Grequest_start is not in the MPI below */

enum mgds_fault_site {
#define X(site) MGDS_FAULT_##site,
    MGDS_FAULT_SITES(X)
#undef X
        MGDS_FAULT_SITE_COUNT
};

/* Obeys the FAULT setting, "site:n"; "" asks for nothing. A text that makes
 * no sense, or a build without the hook, gets one line and changes nothing:
 * -EINVAL, -ENOTSUP. */
int mgds_fault_configure(const char *text);

#ifdef MGDS_FAULT

#define MGDS_FAULT_POINT(site) mgds_fault_hit(MGDS_FAULT_##site)

/* True for the one passage that must fail. Any thread. */
bool mgds_fault_hit(enum mgds_fault_site site);

/* The n-th passage from now fails, once; 0 disarms. */
void mgds_fault_arm(enum mgds_fault_site site, unsigned n);

/* Whether the site still waits for its n-th passage: a test that sweeps n is
 * done when a run leaves it armed. */
bool mgds_fault_armed(enum mgds_fault_site site);

#else

#define MGDS_FAULT_POINT(site) false

#endif
#endif
