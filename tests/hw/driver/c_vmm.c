/* Virtual memory management: reserve, create, map, share by descriptor
 * (Driver API, "Virtual Memory Management"). */
#include <unistd.h>

#include "case.h"

struct map {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    size_t bytes;
};

static CUmemAllocationProp prop(void)
{
    CUmemAllocationProp p = {0};

    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = mgds_env_device(0);
    return p;
}

static size_t granularity(void)
{
    CUmemAllocationProp p = prop();
    size_t bytes = 0;

    OK(cu.MemGetAllocationGranularity(&bytes, &p,
                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    MUST(bytes >= 4096 && (bytes & (bytes - 1)) == 0);
    return bytes;
}

static void open_access(CUdeviceptr at, size_t bytes, int device)
{
    CUmemAccessDesc desc = {0};

    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = mgds_env_device(device);
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cu.MemSetAccess(at, bytes, &desc, 1));
}

static CUdeviceptr place(CUmemGenericAllocationHandle handle, size_t bytes)
{
    CUdeviceptr at;

    OK(cu.MemAddressReserve(&at, bytes, 0, 0, 0));
    OK(cu.MemMap(at, bytes, 0, handle, 0));
    open_access(at, bytes, 0);
    return at;
}

static struct map map_new(void)
{
    CUmemAllocationProp p = prop();
    struct map m = {0, 0, granularity()};

    OK(cu.MemCreate(&m.handle, m.bytes, &p, 0));
    m.at = place(m.handle, m.bytes);
    return m;
}

static void unplace(CUdeviceptr at, size_t bytes)
{
    OK(cu.MemUnmap(at, bytes));
    OK(cu.MemAddressFree(at, bytes));
}

static void map_drop(struct map m)
{
    unplace(m.at, m.bytes);
    OK(cu.MemRelease(m.handle));
}

static void mapped_memory_is_device_memory(void)
{
    struct map m = map_new();
    uint64_t ctx = 1, id = 0;
    uint32_t got = 0, type = 0, ordinal = 9;
    unsigned char legacy = 9;

    OK(cu.MemsetD32(m.at, 5, m.bytes / 4));
    OK(cu.MemcpyDtoH(&got, m.at + m.bytes - 4, 4));
    EXPECT_EQ(5, got);
    OK(cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m.at));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, type);
    OK(cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              m.at));
    EXPECT_EQ(0, ordinal);
    OK(cu.PointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, m.at));
    EXPECT(id != 0);
    OK(cu.PointerGetAttribute(
        &legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, m.at));
    EXPECT_EQ(0, legacy);
    /* It belongs to a device, not to a context. */
    OK(cu.PointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, m.at));
    EXPECT_EQ(0, ctx);
    map_drop(m);
}

static void mapping_holds_its_memory_after_the_release(void)
{
    struct map m = map_new();
    uint32_t got = 0;

    OK(cu.MemRelease(m.handle));
    OK(cu.MemsetD32(m.at, 6, 1));
    OK(cu.MemcpyDtoH(&got, m.at, 4));
    EXPECT_EQ(6, got);
    unplace(m.at, m.bytes);
}

static void two_mappings_show_one_memory(void)
{
    struct map m = map_new();
    CUdeviceptr twin = place(m.handle, m.bytes);
    uint32_t got = 0;

    EXPECT(twin != m.at);
    OK(cu.MemsetD32(m.at, 8, m.bytes / 4));
    OK(cu.CtxSynchronize());
    OK(cu.MemcpyDtoH(&got, twin + 64, 4));
    EXPECT_EQ(8, got);
    unplace(twin, m.bytes);
    map_drop(m);
}

static void memory_operations_work_on_mapped_memory(void)
{
    struct map m = map_new();
    CUstream s = mgds_free_stream();

    OK(cu.StreamWriteValue32(s, m.at, 3, 0));
    OK(cu.StreamWaitValue32(s, m.at, 3, CU_STREAM_WAIT_VALUE_EQ));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(3, mgds_peek(m.at));
    map_drop(m);
}

static void unaligned_sizes_are_refused(void)
{
    CUmemAllocationProp p = prop();
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemCreate(&handle, granularity() + 1, &p, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemAddressReserve(&at, granularity() + 1, 0, 0, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAddressReserve(&at, 0, 0, 0, 0));
}

static void mapped_range_cannot_be_given_back(void)
{
    struct map m = map_new();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAddressFree(m.at, m.bytes));
    map_drop(m);
}

static void range_is_mapped_once(void)
{
    struct map m = map_new();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemMap(m.at, m.bytes, 0, m.handle, 0));
    map_drop(m);
}

static void unmapped_range_is_unknown_to_the_driver(void)
{
    struct map m = map_new();
    uint32_t type = 0;

    OK(cu.MemUnmap(m.at, m.bytes));
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m.at));
    /* H200, driver 580: what is not mapped may be unmapped. */
    EXPECT_CU(CUDA_SUCCESS, cu.MemUnmap(m.at, m.bytes));
    OK(cu.MemAddressFree(m.at, m.bytes));
    OK(cu.MemRelease(m.handle));
}

/* A reservation of four granules with memory in the second and the third, each
 * mapped by itself. */
struct island {
    CUmemGenericAllocationHandle handle[2];
    CUdeviceptr at, mapped;
    size_t granule, all;
};

static struct island island_new(void)
{
    CUmemAllocationProp p = prop();
    struct island i = {.granule = granularity()};

    i.all = 4 * i.granule;
    OK(cu.MemCreate(&i.handle[0], i.granule, &p, 0));
    OK(cu.MemCreate(&i.handle[1], i.granule, &p, 0));
    OK(cu.MemAddressReserve(&i.at, i.all, 0, 0, 0));
    i.mapped = i.at + i.granule;
    OK(cu.MemMap(i.mapped, i.granule, 0, i.handle[0], 0));
    OK(cu.MemMap(i.mapped + i.granule, i.granule, 0, i.handle[1], 0));
    open_access(i.mapped, 2 * i.granule, 0);
    return i;
}

static void island_drop(struct island i)
{
    OK(cu.MemUnmap(i.mapped, i.granule));
    OK(cu.MemUnmap(i.mapped + i.granule, i.granule));
    OK(cu.MemAddressFree(i.at, i.all));
    OK(cu.MemRelease(i.handle[0]));
    OK(cu.MemRelease(i.handle[1]));
}

/* H200, driver 580. */
static void part_of_a_handle_is_not_mapped(void)
{
    CUmemAllocationProp p = prop();
    CUmemGenericAllocationHandle handle;
    size_t granule = granularity();
    CUdeviceptr at;

    OK(cu.MemCreate(&handle, 2 * granule, &p, 0));
    OK(cu.MemAddressReserve(&at, 2 * granule, 0, 0, 0));
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, cu.MemMap(at, granule, 0, handle, 0));
    OK(cu.MemAddressFree(at, 2 * granule));
    OK(cu.MemRelease(handle));
}

/* What the driver says of an address, all attributes at once: of no memory
 * that is not an error. */
struct told {
    uint32_t type;
    uint64_t start, mapping;
    size_t size, mapping_size;
};

static struct told tell(CUdeviceptr at)
{
    struct told t = {.type = 9};
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
        CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void *data[] = {&t.type, &t.start, &t.size, &t.mapping, &t.mapping_size};

    OK(cu.PointerGetAttributes(5, which, data, at));
    return t;
}

/* H100, driver 580. */
static void range_of_mapped_memory_is_its_reservation(void)
{
    struct island i = island_new();
    struct told t = tell(i.mapped + i.granule + 8);

    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, t.type);
    EXPECT_EQ(i.at, t.start);
    EXPECT_EQ(i.all, t.size);
    island_drop(i);
}

/* H100, driver 580: a gap has no memory, and a range all the same. */
static void unmapped_reserved_address_has_a_range_and_no_memory(void)
{
    struct island i = island_new();
    struct told t = tell(i.at + 8);

    EXPECT_EQ(0, t.type);
    EXPECT_EQ(i.at, t.start);
    EXPECT_EQ(i.all, t.size);
    island_drop(i);
}

static void address_range_of_mapped_memory_is_its_mapping(void)
{
    struct island i = island_new();
    CUdeviceptr base = 0;
    size_t bytes = 0;

    OK(cu.MemGetAddressRange(&base, &bytes, i.mapped + i.granule + 8));
    EXPECT_EQ(i.mapped + i.granule, base);
    EXPECT_EQ(i.granule, bytes);
    island_drop(i);
}

static void mapping_attributes_tell_the_mapping(void)
{
    struct island i = island_new();
    struct told t = tell(i.mapped + i.granule + 8);

    EXPECT_EQ(i.mapped + i.granule, t.mapping);
    EXPECT_EQ(i.granule, t.mapping_size);
    island_drop(i);
}

static void access_is_per_device(void)
{
    struct map m = map_new();
    CUmemLocation where = {0};
    unsigned long long flags = 99;

    where.type = CU_MEM_LOCATION_TYPE_DEVICE;
    where.id = mgds_env_device(1);
    OK(cu.MemGetAccess(&flags, &where, m.at));
    EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags);
    open_access(m.at, m.bytes, 1);
    OK(cu.MemGetAccess(&flags, &where, m.at));
    EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
    map_drop(m);
}

static void mapped_memory_is_not_freed_as_plain(void)
{
    struct map m = map_new();

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(m.at));
    map_drop(m);
}

static void handle_is_found_from_its_address(void)
{
    struct map m = map_new();
    CUmemGenericAllocationHandle again = 0;

    OK(cu.MemRetainAllocationHandle(&again, (void *)(uintptr_t)m.at));
    EXPECT_EQ(m.handle, again);
    OK(cu.MemRelease(again));
    map_drop(m);
}

static void descriptor_imports_the_same_memory(void)
{
    struct map m = map_new();
    CUmemGenericAllocationHandle import;
    CUdeviceptr twin;
    int fd = -1;

    OK(cu.MemExportToShareableHandle(
        &fd, m.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(fd >= 0);
    OK(cu.MemImportFromShareableHandle(
        &import, (void *)(intptr_t)fd,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    twin = place(import, m.bytes);
    mgds_poke(m.at, 12);
    EXPECT_EQ(12, mgds_peek(twin));
    unplace(twin, m.bytes);
    OK(cu.MemRelease(import));
    map_drop(m);
}

static void vmm_importer(int sock)
{
    CUmemGenericAllocationHandle import;
    CUdeviceptr at;
    int fd;

    mgds_env_start();
    fd = mgds_peer_recv_fd(sock);
    OK(cu.MemImportFromShareableHandle(
        &import, (void *)(intptr_t)fd,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    at = place(import, granularity());
    EXPECT_EQ(21, mgds_peek(at));
    mgds_poke(at, 22);
    mgds_peer_meet(sock);
    mgds_peer_meet(sock);
    unplace(at, granularity());
    OK(cu.MemRelease(import));
}

static void descriptor_shares_memory_across_processes(void)
{
    struct mgds_peer peer;
    struct map m;
    int fd = -1;

    mgds_peer_start(&peer, vmm_importer);
    mgds_env_start();
    m = map_new();
    mgds_poke(m.at, 21);
    OK(cu.MemExportToShareableHandle(
        &fd, m.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    mgds_peer_send_fd(peer.fd, fd);
    close(fd);
    mgds_peer_meet(peer.fd);
    EXPECT_EQ(22, mgds_peek(m.at));
    mgds_peer_meet(peer.fd);
    mgds_peer_end(&peer);
    map_drop(m);
}

static void legacy_ipc_refuses_mapped_memory(void)
{
    struct map m = map_new();
    CUipcMemHandle handle;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.IpcGetMemHandle(&handle, m.at));
    map_drop(m);
}

const struct mgds_case mgds_cases_vmm[] = {
    CASE(mapped_memory_is_device_memory, NEED_VMM),
    CASE(mapping_holds_its_memory_after_the_release, NEED_VMM),
    CASE(two_mappings_show_one_memory, NEED_VMM),
    CASE(memory_operations_work_on_mapped_memory, NEED_VMM | NEED_MEMOPS),
    CASE(unaligned_sizes_are_refused, NEED_VMM),
    CASE(mapped_range_cannot_be_given_back, NEED_VMM),
    CASE(range_is_mapped_once, NEED_VMM),
    CASE(unmapped_range_is_unknown_to_the_driver, NEED_VMM),
    CASE(part_of_a_handle_is_not_mapped, NEED_VMM),
    CASE(range_of_mapped_memory_is_its_reservation, NEED_VMM),
    CASE(unmapped_reserved_address_has_a_range_and_no_memory, NEED_VMM),
    CASE(address_range_of_mapped_memory_is_its_mapping, NEED_VMM),
    CASE(mapping_attributes_tell_the_mapping, NEED_VMM, UNSURE),
    CASE(access_is_per_device, NEED_VMM | NEED_PEER),
    CASE(mapped_memory_is_not_freed_as_plain, NEED_VMM),
    CASE(handle_is_found_from_its_address, NEED_VMM),
    CASE(descriptor_imports_the_same_memory, NEED_VMM),
    CASE(descriptor_shares_memory_across_processes, NEED_VMM, FRESH),
    CASE(legacy_ipc_refuses_mapped_memory, NEED_VMM | NEED_IPC),
    CASE_END,
};
