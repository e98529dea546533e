/* Tests of hosts and processes: who may open whose memory. */
#include "tests/sim/gpu.h"

#include <sys/socket.h>
#include <unistd.h>

/* Two processes, a socket between them, and the hosts they play. */
struct pair {
    const char *exporter_host, *importer_host;
    void (*exporter)(int fd);
    void (*importer)(int fd);
};

static void send_all(int fd, const void *data, size_t size)
{
    CLAIM(write(fd, data, size) == (ssize_t)size);
}

static void receive(int fd, void *data, size_t size)
{
    CLAIM(read(fd, data, size) == (ssize_t)size);
}

static void meet(int fd)
{
    char c = 0;

    send_all(fd, &c, 1);
    receive(fd, &c, 1);
}

static void play(const char *host, void (*run)(int fd), int fd)
{
    setenv("MPIX_SIM_HOST", host, 1);
    gpu_start();
    run(fd);
}

/* Forks before anything of CUDA has started. */
static void run_pair(void *arg)
{
    const struct pair *pair = arg;
    int fds[2], status;
    pid_t pid;

    CLAIM(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pid = fork();
    CLAIM(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        play(pair->exporter_host, pair->exporter, fds[1]);
        _exit(0);
    }
    close(fds[1]);
    play(pair->importer_host, pair->importer, fds[0]);
    CLAIM(waitpid(pid, &status, 0) == pid && status == 0);
}

static void export_and_free(int fd)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    OK(cuMemAlloc_v2(&at, 1 << 20));
    OK(cuMemsetD32_v2(at, 77, 1 << 18));
    OK(cuCtxSynchronize());
    OK(cuIpcGetMemHandle(&handle, at));
    send_all(fd, &handle, sizeof(handle));
    meet(fd);
    OK(cuMemFree_v2(at));
    meet(fd);
}

static void import_and_use(int fd)
{
    CUipcMemHandle handle;
    CUdeviceptr at;
    uint32_t word = 0;

    receive(fd, &handle, sizeof(handle));
    OK(cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuMemcpyDtoH_v2(&word, at + 4000, 4));
    CLAIM(word == 77);
    meet(fd);
    meet(fd); /* now it is freed over there */
    EXPECT_RC(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemcpyDtoH_v2(&word, at, 4));
    EXPECT_RC(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

static void freed_memory_faults_in_the_other_process(void **state)
{
    static struct mgds_child child;
    struct pair pair = {"a", "a", export_and_free, import_and_use};

    (void)state;
    gpu_test(&child, run_pair, &pair);
}

static void import_refused(int fd)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    receive(fd, &handle, sizeof(handle));
    EXPECT_RC(
        CUDA_ERROR_INVALID_VALUE,
        cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    meet(fd);
    meet(fd);
}

static void handle_of_another_host_is_refused(void **state)
{
    static struct mgds_child child;
    struct pair pair = {"a", "b", export_and_free, import_refused};

    (void)state;
    gpu_test(&child, run_pair, &pair);
    assert_non_null(strstr(child.errors, "MPIX_SIM_HOST"));
}

static void export_and_die(int fd)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    OK(cuMemAlloc_v2(&at, 4096));
    OK(cuIpcGetMemHandle(&handle, at));
    send_all(fd, &handle, sizeof(handle));
}

static void import_from_the_dead(int fd)
{
    CUipcMemHandle handle;
    CUdeviceptr at;
    char c;

    receive(fd, &handle, sizeof(handle));
    while (read(fd, &c, 1) > 0) /* until it is gone */
        ;
    EXPECT_RC(
        CUDA_ERROR_INVALID_VALUE,
        cuIpcOpenMemHandle_v2(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

/* Its socket closes with its other descriptors, so the memory is gone too. */
static void handle_of_a_dead_process_is_refused(void **state)
{
    static struct mgds_child child;
    struct pair pair = {"a", "a", export_and_die, import_from_the_dead};

    (void)state;
    gpu_test(&child, run_pair, &pair);
}

static void tell_uuid(int fd)
{
    CUuuid uuid;

    OK(cuDeviceGetUuid_v2(&uuid, 0));
    send_all(fd, &uuid, sizeof(uuid));
}

static void same_uuid(int fd)
{
    CUuuid mine, theirs;

    OK(cuDeviceGetUuid_v2(&mine, 0));
    receive(fd, &theirs, sizeof(theirs));
    CLAIM(memcmp(&mine, &theirs, sizeof(mine)) == 0);
}

static void other_uuid(int fd)
{
    CUuuid mine, theirs;

    OK(cuDeviceGetUuid_v2(&mine, 0));
    receive(fd, &theirs, sizeof(theirs));
    CLAIM(memcmp(&mine, &theirs, sizeof(mine)) != 0);
}

static void processes_of_a_host_see_the_same_gpus(void **state)
{
    static struct mgds_child child;
    struct pair same = {"a", "a", tell_uuid, same_uuid};
    struct pair other = {"a", "b", tell_uuid, other_uuid};

    (void)state;
    gpu_test(&child, run_pair, &same);
    gpu_test(&child, run_pair, &other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freed_memory_faults_in_the_other_process),
        cmocka_unit_test(handle_of_another_host_is_refused),
        cmocka_unit_test(handle_of_a_dead_process_is_refused),
        cmocka_unit_test(processes_of_a_host_see_the_same_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
