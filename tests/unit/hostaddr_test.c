/* Tests of shim/gds/cuda/hostaddr.c: what counts as host memory unasked, and
 * more so what does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/gds/cuda/hostaddr.h"

#define PAGE ((size_t)4096)

/* In place of the C library's: whoever asks for the heap's end may set it
 * (UCX's sbrk does). */
static unsigned asked;

void *sbrk(intptr_t increment)
{
    void *(*real)(intptr_t) = (void *(*)(intptr_t))dlsym(RTLD_NEXT, "sbrk");

    asked++;
    return real(increment);
}

static void heap_is_not_asked_for_its_end(void **state)
{
    char *heap = sbrk((intptr_t)PAGE);
    unsigned before = asked;

    (void)state;
    assert_true(mgds_hostaddr_known(heap));
    assert_false(mgds_hostaddr_known(heap + 2 * PAGE));
    assert_int_equal(asked, before);
}

static int in_data_segment = 1;
static int in_bss;

static void own_memory_is_known(void **state)
{
    char *heap = sbrk((intptr_t)PAGE);

    (void)state;
    assert_true(heap != (char *)-1);
    assert_true(mgds_hostaddr_known(heap));
    assert_true(mgds_hostaddr_known(heap + PAGE - 1));
    assert_true(mgds_hostaddr_known(&in_data_segment));
    assert_true(mgds_hostaddr_known(&in_bss));
    assert_true(mgds_hostaddr_known(__builtin_frame_address(0)));
}

static void what_lies_behind_the_heap_is_not(void **state)
{
    (void)state;
    assert_false(mgds_hostaddr_known(sbrk(0)));
    sbrk((intptr_t)PAGE);
    assert_true(mgds_hostaddr_known((char *)sbrk(0) - 1));
    sbrk(-(intptr_t)PAGE);
    assert_false(mgds_hostaddr_known(sbrk(0)));
}

static void mapped_memory_and_nonsense_are_not(void **state)
{
    void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(map != MAP_FAILED);
    assert_false(mgds_hostaddr_known(map));
    assert_false(mgds_hostaddr_known(NULL));
    assert_false(mgds_hostaddr_known((void *)8));
    assert_false(mgds_hostaddr_known((void *)UINTPTR_MAX));
    munmap(map, PAGE);
}

static void *other_stack;

static void *look_at_stacks(void *arg)
{
    void **own = arg;

    assert_true(mgds_hostaddr_known(__builtin_frame_address(0)));
    assert_false(mgds_hostaddr_known(other_stack));
    *own = __builtin_frame_address(0);
    return NULL;
}

static void each_thread_knows_its_own_stack_only(void **state)
{
    pthread_t thread;
    void *theirs = NULL;

    (void)state;
    other_stack = __builtin_frame_address(0);
    assert_int_equal(pthread_create(&thread, NULL, look_at_stacks, &theirs), 0);
    pthread_join(thread, NULL);
    assert_false(mgds_hostaddr_known(theirs));
}

static void readable_is_what_the_cpu_may_read(void **state)
{
    char *map = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + PAGE, PAGE, PROT_NONE), 0);
    assert_int_equal(munmap(map + 2 * PAGE, PAGE), 0);
    errno = EXDEV;
    assert_true(mgds_hostaddr_readable(map + PAGE - 1));
    assert_false(mgds_hostaddr_readable(map + PAGE));
    assert_false(mgds_hostaddr_readable(map + 2 * PAGE - 1));
    assert_false(mgds_hostaddr_readable(map + 2 * PAGE));
    assert_false(mgds_hostaddr_readable(NULL));
    assert_int_equal(errno, EXDEV);
    munmap(map, 2 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_memory_is_known),
        cmocka_unit_test(heap_is_not_asked_for_its_end),
        cmocka_unit_test(what_lies_behind_the_heap_is_not),
        cmocka_unit_test(mapped_memory_and_nonsense_are_not),
        cmocka_unit_test(each_thread_knows_its_own_stack_only),
        cmocka_unit_test(readable_is_what_the_cpu_may_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
