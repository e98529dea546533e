/* Every failure path of a piece of code; see fault_sweep.h. */
#include "tests/lib/fault_sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_LSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_LSAN 1
#endif
#endif

#ifdef HAVE_LSAN
#include <sanitizer/lsan_interface.h>
#endif

#ifdef MGDS_FAULT

static void check_leaks(unsigned n)
{
#ifdef HAVE_LSAN
    if (__lsan_do_recoverable_leak_check() != 0)
        fail_msg("a leak after failure %u", n);
#else
    (void)n;
#endif
}

unsigned mgds_fault_sweep(enum mgds_fault_site site, int (*run)(void *arg),
                          void *arg)
{
    for (unsigned n = 1;; ++n) {
        mgds_fault_arm(site, n);
        int rc = run(arg);
        if (mgds_fault_armed(site)) {
            mgds_fault_arm(site, 0);
            assert_int_equal(rc, 0);
            return n - 1;
        }
        check_leaks(n);
    }
}

#else

unsigned mgds_fault_sweep(enum mgds_fault_site site, int (*run)(void *arg),
                          void *arg)
{
    (void)site;
    (void)run;
    (void)arg;
    skip();
    return 0;
}

#endif
