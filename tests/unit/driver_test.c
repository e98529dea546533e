/* Tests of shim/gds/cuda/driver.c: which libcuda is taken, which is refused,
 * and what the user reads. Each runs in a child: a process has one driver. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/presence.h"
#include "shim/gds/cuda/result.h"
#include "tests/lib/capture.h"
#include "tests/lib/child.h"
#include "tests/unit/fake_cuda.h"

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "does not hold: %s\n", #condition);                \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* What a child does: load a library, set the script, ask. */
struct story {
    const char *library; /* NULL: none */
    void (*script)(struct fake_cuda *fake);
    int require; /* what mgds_driver_require must say */
    bool usable; /* whether there is a table */
};

static struct mgds_child child;

static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    CHECK(library);
    CHECK(mgds_presence_scan());
    return library;
}

static void tell(void *arg)
{
    const struct story *story = arg;

    if (story->library) {
        void *library = load(story->library);
        void *fake = dlsym(library, "fake_script");

        if (story->script)
            story->script(fake);
    }
    /* Asked more than once: said once. */
    for (int i = 0; i < 3; i++) {
        CHECK((mgds_driver() != NULL) == story->usable);
        CHECK(mgds_driver_require() == story->require);
    }
}

/* Runs the story; true if exactly one line came, with all of the words. */
static void assert_one_line(const struct story *story, const char *const *words)
{
    mgds_child_run(&child, tell, (void *)story);
    assert_string_not_equal(child.errors, "");
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
        fail_msg("%s", child.errors);
    if (mgds_count_lines(child.errors) != 1)
        fail_msg("not one line: %s", child.errors);
    for (; *words; words++) {
        if (!strstr(child.errors, *words))
            fail_msg("no '%s' in: %s", *words, child.errors);
    }
}

#define WORDS(...)                                                             \
    (const char *const[])                                                      \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

static void run_quietly(void (*body)(void *arg))
{
    mgds_child_run(&child, body, NULL);
    assert_string_equal(child.errors, "");
    assert_int_equal(child.status, 0);
}

static void take_it(void *arg)
{
    struct fake_cuda *fake = fake_cuda_load();
    const struct mgds_driver *driver = mgds_driver();
    int count = 0;

    (void)arg;
    CHECK(driver && driver == mgds_driver());
    CHECK(driver->version == 13000);
    CHECK(mgds_driver_require() == 0);
    CHECK(driver->cuDeviceGetCount(&count) == CUDA_SUCCESS && count == 1);
    CHECK(!fake->other_version);
    CHECK(fake->inits == 0 && !fake->asked_for_init);
}

static void driver_is_taken_with_each_call_at_its_version(void **state)
{
    (void)state;
    run_quietly(take_it);
}

static void program_without_cuda_is_left_without(void **state)
{
    const struct story story = {NULL, NULL, -ENODEV, false};

    (void)state;
    assert_one_line(&story, WORDS("libcuda.so.1", "NVIDIA driver"));
}

static void look_without_cuda(void *arg)
{
    char line[4096];
    FILE *maps;

    (void)arg;
    CHECK(!mgds_driver());
    maps = fopen("/proc/self/maps", "re");
    CHECK(maps);
    while (fgets(line, sizeof(line), maps))
        CHECK(!strstr(line, "libcuda"));
    fclose(maps);
}

static void look_loads_nothing_and_says_nothing(void **state)
{
    (void)state;
    run_quietly(look_without_cuda);
}

static void toolkits_stub_is_named_as_one(void **state)
{
    const struct story story = {CUDA_STUB, NULL, -ENOTSUP, false};

    (void)state;
    if (access(CUDA_STUB, R_OK) != 0)
        skip();
    assert_one_line(&story, WORDS(CUDA_STUB, "stub", "LD_LIBRARY_PATH"));
}

static void answer_as_stub(struct fake_cuda *fake)
{
    fake->version_result = CUDA_ERROR_STUB_LIBRARY;
}

static void library_that_answers_as_stub_is_named_as_one(void **state)
{
    const struct story story = {FAKE_CUDA, answer_as_stub, -ENOTSUP, false};

    (void)state;
    assert_one_line(&story, WORDS(FAKE_CUDA, "stub", "LD_LIBRARY_PATH"));
}

static void answer_nonsense(struct fake_cuda *fake)
{
    fake->version_result = CUDA_ERROR_OPERATING_SYSTEM;
}

static void driver_that_fails_is_told_with_its_result(void **state)
{
    const struct story story = {FAKE_CUDA, answer_nonsense, -ENOTSUP, false};

    (void)state;
    assert_one_line(
        &story, WORDS(FAKE_CUDA, "CUDA_ERROR_OPERATING_SYSTEM", "reinstall"));
}

static void other_library_in_the_way_is_named(void **state)
{
    const struct story story = {FAKE_EMPTY, NULL, -ENOTSUP, false};

    (void)state;
    assert_one_line(&story,
                    WORDS(FAKE_EMPTY, "cuDriverGetVersion", "LD_PRELOAD"));
}

static void library_that_lacks_the_look_up_is_no_driver(void **state)
{
    const struct story story = {FAKE_OLD, NULL, -ENOTSUP, false};

    (void)state;
    assert_one_line(&story, WORDS(FAKE_OLD, "cuGetProcAddress_v2"));
}

static void be_eleven_four(struct fake_cuda *fake)
{
    fake->version = 11040;
}

static void old_driver_is_told_its_version_and_the_least(void **state)
{
    const struct story story = {FAKE_OLD, be_eleven_four, -ENOTSUP, false};

    (void)state;
    assert_one_line(&story, WORDS("CUDA 11.4", "cuGetProcAddress_v2", "12.0",
                                  "525 or newer"));
}

static void lack_copies(struct fake_cuda *fake)
{
    fake->version = 12020;
    fake->missing = "cuMemcpy2DAsync";
}

static void needed_call_that_is_missing_is_named(void **state)
{
    const struct story story = {FAKE_CUDA, lack_copies, -ENOTSUP, false};

    (void)state;
    assert_one_line(&story,
                    WORDS("CUDA 12.2", "cuMemcpy2DAsync", "12.0", "install"));
}

static void do_without_texts(void *arg)
{
    struct fake_cuda *fake = fake_cuda_load();
    char text[MGDS_CU_TEXT];

    (void)arg;
    fake->missing = "cuGetErrorString";
    CHECK(mgds_driver() && !mgds_driver()->cuGetErrorString);
    CHECK(mgds_cu(CUDA_ERROR_UNKNOWN) == -EIO);
    CHECK(strcmp(mgds_cu_text(mgds_driver_found(), text),
                 "unknown (FAKE_UNKNOWN)") == 0);
}

static void spare_call_may_be_missing(void **state)
{
    (void)state;
    run_quietly(do_without_texts);
}

static void not_be_initialised(struct fake_cuda *fake)
{
    fake->count_result = CUDA_ERROR_NOT_INITIALIZED;
}

static void driver_that_the_program_did_not_start_is_not_started(void **state)
{
    const struct story story = {FAKE_CUDA, not_be_initialised, -ENODEV, true};

    (void)state;
    assert_one_line(&story, WORDS("not initialised", "cuInit"));
}

static void have_no_device(struct fake_cuda *fake)
{
    fake->count_result = CUDA_ERROR_NO_DEVICE;
}

static void count_no_device(struct fake_cuda *fake)
{
    fake->devices = 0;
}

static void driver_without_device_is_told(void **state)
{
    const struct story refused = {FAKE_CUDA, have_no_device, -ENODEV, true};
    const struct story counted = {FAKE_CUDA, count_no_device, -ENODEV, true};

    (void)state;
    assert_one_line(&refused, WORDS("no GPU", "CUDA_VISIBLE_DEVICES"));
    assert_one_line(&counted, WORDS("no GPU", "CUDA_VISIBLE_DEVICES"));
}

static void mismatch(struct fake_cuda *fake)
{
    fake->count_result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
}

static void driver_that_does_not_work_is_told_with_its_result(void **state)
{
    const struct story story = {FAKE_CUDA, mismatch, -ENOTSUP, true};

    (void)state;
    assert_one_line(&story,
                    WORDS("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "nvidia-smi"));
}

static void unload_it(void *arg)
{
    void *library;

    (void)arg;
    library = load(FAKE_EMPTY);
    CHECK(dlclose(library) == 0);
    CHECK(!mgds_driver());
    CHECK(dlopen(FAKE_EMPTY, RTLD_NOW | RTLD_NOLOAD) == NULL);
}

static void library_that_left_again_is_not_brought_back(void **state)
{
    (void)state;
    run_quietly(unload_it);
}

enum { THREADS = 8 };
static pthread_barrier_t together;

static void *ask(void *arg)
{
    pthread_barrier_wait(&together);
    *(const struct mgds_driver **)arg = mgds_driver();
    return NULL;
}

static void ask_together(void *arg)
{
    const struct mgds_driver *found[THREADS];
    pthread_t threads[THREADS];

    (void)arg;
    fake_cuda_load();
    CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &found[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(found[i] && found[i] == found[0]);
        CHECK(found[i]->cuEventQuery);
    }
}

static void threads_that_come_first_together_get_one_table(void **state)
{
    (void)state;
    run_quietly(ask_together);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_is_taken_with_each_call_at_its_version),
        cmocka_unit_test(program_without_cuda_is_left_without),
        cmocka_unit_test(look_loads_nothing_and_says_nothing),
        cmocka_unit_test(toolkits_stub_is_named_as_one),
        cmocka_unit_test(library_that_answers_as_stub_is_named_as_one),
        cmocka_unit_test(driver_that_fails_is_told_with_its_result),
        cmocka_unit_test(other_library_in_the_way_is_named),
        cmocka_unit_test(library_that_lacks_the_look_up_is_no_driver),
        cmocka_unit_test(old_driver_is_told_its_version_and_the_least),
        cmocka_unit_test(needed_call_that_is_missing_is_named),
        cmocka_unit_test(spare_call_may_be_missing),
        cmocka_unit_test(driver_that_the_program_did_not_start_is_not_started),
        cmocka_unit_test(driver_without_device_is_told),
        cmocka_unit_test(driver_that_does_not_work_is_told_with_its_result),
        cmocka_unit_test(library_that_left_again_is_not_brought_back),
        cmocka_unit_test(threads_that_come_first_together_get_one_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
