/* Failures on demand: the n-th time a site is passed, it fails as if the
 * system had. And age on demand: numbers that grow as long as a program runs
 * begin as if it had run for months. Builds with MGDS_FAULT only; in all others
 * a fault point is the constant false, numbers begin at the constant 0, and
 * neither costs anything. */
#ifndef MGDS_BASE_FAULT_H
#define MGDS_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

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

/* Obeys the COUNT_FROM setting, before anything counts; 0 asks for nothing. A
 * build without the hook says so in one line: -ENOTSUP. */
int mgds_fault_count_from(uint64_t from);

#ifdef MGDS_FAULT

/* The number that counting begins at, of all that grow for ever:
 * docs/ordering.md lists them. */
#define MGDS_COUNT_FROM mgds_fault_first()

uint64_t mgds_fault_first(void);

#define MGDS_FAULT_POINT(site) mgds_fault_hit(MGDS_FAULT_##site)

/* True for the one passage that must fail. Any thread. */
bool mgds_fault_hit(enum mgds_fault_site site);

/* The n-th passage from now fails, once; 0 disarms. */
void mgds_fault_arm(enum mgds_fault_site site, unsigned n);

/* Whether the site still waits for its n-th passage: a test that sweeps n is
 * done when a run leaves it armed. */
bool mgds_fault_armed(enum mgds_fault_site site);

#else

#define MGDS_COUNT_FROM UINT64_C(0)
#define MGDS_FAULT_POINT(site) false

#endif
#endif
