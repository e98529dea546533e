/* Initialisation, devices, error names, symbol look-up. */
#include <string.h>

#include "case.h"

static void calls_before_init_say_not_initialized(void)
{
    int count = 0;
    CUcontext ctx = NULL;
    CUdeviceptr at = 0;
    CUstream stream = NULL;

    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.DeviceGetCount(&count));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.CtxGetCurrent(&ctx));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.MemAlloc(&at, 16));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.StreamCreate(&stream, 0));
}

static void pointer_query_before_init_says_not_initialized(void)
{
    CUmemorytype type = 0;

    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED,
              cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     (CUdeviceptr)(uintptr_t)&type));
}

static void version_and_error_names_work_before_init(void)
{
    int version = 0;
    const char *name = NULL;

    OK(cu.DriverGetVersion(&version));
    EXPECT(version >= 12000);
    OK(cu.GetErrorName(CUDA_ERROR_NOT_READY, &name));
    EXPECT(name && strcmp(name, "CUDA_ERROR_NOT_READY") == 0);
}

static void init_refuses_flags(void)
{
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.Init(1));
    OK(cu.Init(0));
}

static void init_again_changes_nothing(void)
{
    CUcontext before, after;

    OK(cu.CtxGetCurrent(&before));
    OK(cu.Init(0));
    OK(cu.CtxGetCurrent(&after));
    EXPECT(before == after);
}

static void device_ordinals_out_of_range_are_invalid(void)
{
    CUdevice device;

    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.DeviceGet(&device, -1));
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE,
              cu.DeviceGet(&device, mgds_env_devices()));
}

static void unknown_device_attribute_is_an_invalid_value(void)
{
    int value;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.DeviceGetAttribute(&value, (CUdevice_attribute)100000,
                                    mgds_env_device(0)));
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE,
              cu.DeviceGetAttribute(&value,
                                    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
                                    mgds_env_devices() + 7));
}

static void addressing_is_unified(void)
{
    EXPECT_EQ(1, mgds_env_attribute(0, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
    EXPECT_EQ(1,
              mgds_env_attribute(0, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY));
}

static void devices_have_different_uuids(void)
{
    CUuuid a, b;

    OK(cu.DeviceGetUuid(&a, mgds_env_device(0)));
    OK(cu.DeviceGetUuid(&b, mgds_env_device(1)));
    EXPECT(memcmp(&a, &b, sizeof(a)) != 0);
}

static void free_memory_is_less_than_all(void)
{
    size_t free_bytes = 0, all = 0, total = 0;

    OK(cu.MemGetInfo(&free_bytes, &all));
    OK(cu.DeviceTotalMem(&total, mgds_env_device(0)));
    EXPECT(free_bytes > 0 && free_bytes <= all);
    EXPECT_EQ(total, all);
}

static void error_codes_have_names_and_texts(void)
{
    const char *name = NULL, *text = NULL;

    OK(cu.GetErrorName(CUDA_SUCCESS, &name));
    EXPECT(strcmp(name, "CUDA_SUCCESS") == 0);
    OK(cu.GetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
    EXPECT(strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    OK(cu.GetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    EXPECT(text && strlen(text) > 3);
}

static void unknown_error_code_has_no_name(void)
{
    const char *name = "unset";

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.GetErrorName((CUresult)12345, &name));
    EXPECT(name == NULL);
    name = "unset";
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.GetErrorString((CUresult)12345, &name));
    EXPECT(name == NULL);
}

static void look_up(const char *name, int version, cuuint64_t flags,
                    void **found, CUdriverProcAddressQueryResult *status,
                    CUresult want)
{
    *found = NULL;
    EXPECT_CU(want, cu.GetProcAddress(name, found, version, flags, status));
}

/* H100 and H200, driver 580: a symbol that is not there is no error of the
 * call; the pointer and the status tell. */
static void unknown_symbol_is_told_by_its_status(void)
{
    void *found;
    CUdriverProcAddressQueryResult status = 0;

    look_up("cuNoSuchCall", 13000, 0, &found, &status, CUDA_SUCCESS);
    EXPECT(found == NULL);
    EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
    mgds_case_note(
        "cuGetProcAddress of an unknown symbol without a status gives %d",
        (int)cu.GetProcAddress("cuNoSuchCall", &found, 13000, 0, NULL));
}

static void symbol_newer_than_the_version_asked_for_is_not_given(void)
{
    void *found;
    CUdriverProcAddressQueryResult status = 0;

    look_up("cuMemAllocAsync", 10000, 0, &found, &status, CUDA_SUCCESS);
    EXPECT(found == NULL);
    EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
}

static void symbols_have_per_thread_variants(void)
{
    void *legacy, *per_thread, *same, *again;
    CUdriverProcAddressQueryResult status = 0;

    look_up("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &legacy,
            &status, CUDA_SUCCESS);
    look_up("cuStreamQuery", 12000,
            CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &per_thread, &status,
            CUDA_SUCCESS);
    EXPECT(legacy != per_thread);
    /* A call without a stream has one form. */
    look_up("cuEventQuery", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &same,
            &status, CUDA_SUCCESS);
    look_up("cuEventQuery", 12000,
            CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &again, &status,
            CUDA_SUCCESS);
    EXPECT(same == again);
}

static void symbol_has_a_form_a_version(void)
{
    void *first, *second;
    CUdriverProcAddressQueryResult status = 0;

    look_up("cuStreamWaitValue32", 8000, 0, &first, &status, CUDA_SUCCESS);
    look_up("cuStreamWaitValue32", 11070, 0, &second, &status, CUDA_SUCCESS);
    EXPECT(first != second);
}

const struct mgds_case mgds_cases_init[] = {
    CASE(calls_before_init_say_not_initialized, 0, FRESH),
    CASE(pointer_query_before_init_says_not_initialized, 0, FRESH),
    CASE(version_and_error_names_work_before_init, 0, FRESH),
    CASE(init_refuses_flags, 0, FRESH),
    CASE(init_again_changes_nothing),
    CASE(device_ordinals_out_of_range_are_invalid),
    CASE(unknown_device_attribute_is_an_invalid_value),
    CASE(addressing_is_unified),
    CASE(devices_have_different_uuids, NEED_2DEV),
    CASE(free_memory_is_less_than_all),
    CASE(error_codes_have_names_and_texts),
    CASE(unknown_error_code_has_no_name),
    CASE(unknown_symbol_is_told_by_its_status),
    CASE(symbol_newer_than_the_version_asked_for_is_not_given),
    CASE(symbols_have_per_thread_variants),
    CASE(symbol_has_a_form_a_version),
    CASE_END,
};
