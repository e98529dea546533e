/* Whether this is a sanitized build: code takes ten times as long there, and
 * freed memory is kept. */
#ifndef MGDS_TEST_SANITIZED_H
#define MGDS_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MGDS_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { MGDS_SANITIZED = 1 };
#else
enum { MGDS_SANITIZED = 0 };
#endif
#else
enum { MGDS_SANITIZED = 0 };
#endif

/* Laps of a loop that shows the same again and again, or with other draws. */
static inline unsigned mgds_test_laps(unsigned laps)
{
    return MGDS_SANITIZED ? (laps + 3) / 4 : laps;
}

#endif
