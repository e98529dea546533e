/* Finds memory of the software GPU, and maps it. */
#include "sim/hca/front/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cuda/hooks.h"
#include "sim/hca/front/adapter.h"
#include "sim/hca/front/far.h"
#include "sim/hca/front/pump.h"
#include "sim/hca/key.h"
#include "sim/hca/transit.h"

static struct {
    __typeof__(&mgds_sim_pin) pin;
    __typeof__(&mgds_sim_unpin) unpin;
    __typeof__(&mgds_sim_on_flush) on_flush;
} gpu;

/* Called by whichever thread of the GPU flushes. */
static void flush(unsigned number)
{
    if (!mgds_hca_pump_serves())
        return;
    mgds_hca_lock();
    mgds_hca_adapters_flush(number);
    mgds_hca_unlock();
}

/* A program may load it at any time; it stays. */
bool mgds_hca_gpu_is_there(void)
{
    void *library;

    if (gpu.on_flush)
        return true;
    library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return false;
    gpu.pin = (__typeof__(gpu.pin))dlsym(library, "mgds_sim_pin");
    gpu.unpin = (__typeof__(gpu.unpin))dlsym(library, "mgds_sim_unpin");
    gpu.on_flush =
        (__typeof__(gpu.on_flush))dlsym(library, "mgds_sim_on_flush");
    dlclose(library);
    if (!gpu.on_flush) /* of a real GPU */
        return false;
    gpu.on_flush(flush);
    return true;
}

/* The name of a descriptor says which GPU its memory is of. */
static int read_name(int fd, unsigned *number, unsigned *ordering)
{
    static const char kind[] = "/memfd:" MGDS_SIM_MEMFD_KIND;
    char path[64], name[128] = "", *end;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (readlink(path, name, sizeof(name) - 1) < 0)
        return -EBADF;
    if (strncmp(name, kind, strlen(kind)) != 0)
        return -EINVAL;
    strtoull(name + strlen(kind), &end, 16); /* the host, which is this one */
    if (*end != '-')
        return -EINVAL;
    *number = (unsigned)strtoul(end + 1, &end, 10);
    if (*end != '-')
        return -EINVAL;
    *ordering = (unsigned)strtoul(end + 1, NULL, 10);
    return 0;
}

/* `reported` is one of CU_GPU_DIRECT_RDMA_WRITES_ORDERING_*. */
static enum mgds_hca_ordering ordering_of(unsigned reported)
{
    enum { OWNER = 100, ALL_DEVICES = 200 };

    if (reported >= ALL_DEVICES)
        return MGDS_HCA_ORDERING_ALL;
    return reported >= OWNER ? MGDS_HCA_ORDERING_OWNER : MGDS_HCA_ORDERING_NONE;
}

static int map(int fd, uint64_t offset, uint64_t bytes,
               struct mgds_hca_mapped *mapped, struct mgds_hca_region *region)
{
    uint64_t inside = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned ordering;
    int rc = read_name(fd, &region->gpu, &ordering);
    uint8_t *at;

    if (rc < 0)
        return rc;
    at = mmap(NULL, inside + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
              (off_t)(offset - inside));
    if (at == MAP_FAILED)
        return -errno;
    mapped->at = at;
    mapped->bytes = inside + bytes;
    region->ordering = ordering_of(ordering);
    region->at = at + inside;
    region->bytes = bytes;
    return 0;
}

static int map_region(struct mgds_hca *engine, int fd, uint64_t offset,
                      struct mgds_hca_memory *memory,
                      struct mgds_hca_mapped *mapped)
{
    struct mgds_hca_region region = {.far = NULL};
    int rc = map(fd, offset, memory->bytes, mapped, &region);

    if (rc < 0)
        return rc;
    rc = mgds_hca_transit_add(engine, &region);
    if (rc < 0) {
        munmap(mapped->at, mapped->bytes);
        mapped->at = NULL;
        return rc;
    }
    mapped->region = region.at;
    memory->at = region.at;
    return 0;
}

int mgds_hca_gpu_map_address(struct mgds_hca *engine,
                             struct mgds_hca_memory *memory,
                             struct mgds_hca_mapped *mapped)
{
    struct mgds_sim_memory found;
    int rc;

    if (!mgds_hca_gpu_is_there())
        return -ENOENT;
    rc = gpu.pin(memory->at, memory->bytes, &found);
    if (rc < 0)
        return rc;
    rc = map_region(engine, found.fd, found.offset, memory, mapped);
    close(found.fd);
    if (rc < 0) {
        gpu.unpin(found.pin);
        return rc;
    }
    mapped->pin = found.pin;
    memory->gone = found.gone;
    return 0;
}

int mgds_hca_gpu_map_dmabuf(struct mgds_hca *engine, int fd, uint64_t offset,
                            struct mgds_hca_memory *memory,
                            struct mgds_hca_mapped *mapped)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
    struct stat about;

    if (fstat(fd, &about) < 0)
        return -EBADF;
    if (memory->bytes == 0 ||
        __builtin_add_overflow(offset, memory->bytes, &end) ||
        end > (uint64_t)about.st_size ||
        offset % page != memory->address % page)
        return -EINVAL;
    return map_region(engine, fd, offset, memory, mapped);
}

void mgds_hca_gpu_unmap(struct mgds_hca *engine, struct mgds_hca_mapped *mapped)
{
    if (mapped->far)
        mgds_hca_far_unmap(engine, mapped->far);
    mapped->far = NULL;
    if (!mapped->at)
        return;
    mgds_hca_transit_drop(engine, mapped->region);
    munmap(mapped->at, mapped->bytes);
    if (mapped->pin)
        gpu.unpin(mapped->pin);
    *mapped = (struct mgds_hca_mapped){.at = NULL};
}
