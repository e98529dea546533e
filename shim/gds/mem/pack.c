/* The pack kernel, loaded and launched; see pack.h. */
#include "shim/gds/mem/pack.h"

#include <errno.h>
#include <stdint.h>

#include "device/kernels.h"
#include "device/kernels/pack_abi.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/kernel.h"

/* A kernel over the host link: more blocks would only take the GPU from the
 * program. 32 blocks of 16-byte units keep 128 KiB in flight, twice what a
 * fast link needs. */
enum { MOST_BLOCKS = 32 };

static int cuda_load(void **kernel, struct mgds_context *ctx, const void *image,
                     const char *name)
{
    struct mgds_kernel_handle *handle;
    int rc = mgds_kernel_load(&handle, ctx, image, name);

    if (rc == 0)
        *kernel = handle;
    return rc;
}

static void cuda_unload(void *kernel, struct mgds_context *ctx)
{
    (void)ctx;
    mgds_kernel_unload((struct mgds_kernel_handle *)kernel);
}

static int cuda_launch(void *kernel, void *stream, unsigned blocks,
                       unsigned threads, const void *args, size_t args_bytes)
{
    (void)args_bytes;
    return mgds_kernel_launch((struct mgds_kernel_handle *)kernel, stream,
                              blocks, threads, args);
}

static const struct mgds_pack_door cuda_door = {cuda_load, cuda_unload,
                                                cuda_launch};

static const struct mgds_pack_door *door = &cuda_door;

void mgds_pack_use(const struct mgds_pack_door *use)
{
    door = use;
}

unsigned mgds_pack_blocks(uint64_t units)
{
    uint64_t blocks = units / MGDS_PACK_THREADS + 1;

    if (blocks > 1 && units % MGDS_PACK_THREADS == 0)
        blocks--;
    return blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS;
}

static int launch_pack(void *kernel, void *stream,
                       const struct mgds_pack_args *args)
{
    return door->launch(kernel, stream,
                        mgds_pack_blocks(args->bytes / args->unit),
                        MGDS_PACK_THREADS, args, sizeof(*args));
}

static int load_pack(void **kernel, struct mgds_context *ctx, void *stream)
{
    const struct mgds_pack_args nothing = {.unit = 1};
    int rc = door->load(kernel, ctx, mgds_kernel_image, "mgds_pack_kernel");

    if (rc < 0)
        return rc;
    rc = mgds_context_enter(ctx);
    if (rc == 0) {
        rc = launch_pack(*kernel, stream, &nothing);
        mgds_context_leave();
    }
    if (rc < 0)
        mgds_pack_unload(*kernel, ctx);
    return rc;
}

void mgds_pack_load(void **kernel, struct mgds_context *ctx, void *stream)
{
    int rc = door ? load_pack(kernel, ctx, stream) : -ENOTSUP;

    if (rc == 0)
        return;
    *kernel = NULL;
    errno = -rc;
    mgds_info("the kernel that packs irregular datatypes cannot be loaded: %m");
}

void mgds_pack_unload(void *kernel, struct mgds_context *ctx)
{
    if (kernel)
        door->unload(kernel, ctx);
}

/* The widest access that all addresses allow. */
static uint32_t unit_of(uint64_t bits)
{
    if (bits & 3)
        return 1;
    if (bits & 7)
        return 4;
    return bits & 15 ? 8 : 16;
}

static struct mgds_pack_args args_of(const struct mgds_bounce *bounce, bool up,
                                     size_t first, size_t bytes)
{
    struct mgds_pack_args args = {
        .user = (uintptr_t)bounce->user,
        .bounce = (uintptr_t)bounce->base,
        .table = (uintptr_t)bounce->table,
        .nodes = bounce->nodes,
        .first = first,
        .bytes = bytes,
        .up = up,
        .mirror = bounce->form == MGDS_BOUNCE_MIRROR,
    };

    args.unit =
        unit_of(args.user | args.bounce | first | bytes | bounce->grain);
    return args;
}

int mgds_pack_queue(const struct mgds_bounce *bounce, void *kernel,
                    void *stream, bool up, const uint64_t *limit)
{
    struct mgds_pack_args args = args_of(bounce, up, 0, bounce->layout->size);

    args.limit = (uintptr_t)limit;
    return launch_pack(kernel, stream, &args);
}

int mgds_pack_launch(struct mgds_bounce *bounce, bool up, size_t first,
                     size_t bytes)
{
    const struct mgds_pack_args args = args_of(bounce, up, first, bytes);

    mgds_count(stage_launches);
    return launch_pack(bounce->queue->kernel, bounce->queue->stream, &args);
}
