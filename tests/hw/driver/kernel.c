/* PTX of the list's kernels. Scope is the system throughout: hosts and peers
 * look at what they write. */
#include "kernel.h"

#include "case.h"

/* One parameter block each; %tid and %ctaid only where a grid is used. */
const char mgds_kernel_image[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry mgds_list_store(.param .u64 to, .param .u32 value)\n"
    "{\n"
    "  .reg .b64 %a;\n"
    "  .reg .b32 %v;\n"
    "  ld.param.u64 %a, [to];\n"
    "  ld.param.u32 %v, [value];\n"
    "  st.release.sys.u32 [%a], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry mgds_list_spin(.param .u64 flag, .param .u64 to,\n"
    "                               .param .u32 value)\n"
    "{\n"
    "  .reg .b64 %f, %a;\n"
    "  .reg .b32 %v, %w;\n"
    "  .reg .pred %p;\n"
    "  ld.param.u64 %f, [flag];\n"
    "  ld.param.u64 %a, [to];\n"
    "  ld.param.u32 %v, [value];\n"
    "again:\n"
    "  ld.acquire.sys.u32 %w, [%f];\n"
    "  setp.eq.u32 %p, %w, 0;\n"
    "  @%p bra again;\n"
    "  st.release.sys.u32 [%a], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry mgds_list_count(.param .u64 to)\n"
    "{\n"
    "  .reg .b64 %a;\n"
    "  .reg .b32 %v;\n"
    "  ld.param.u64 %a, [to];\n"
    "  atom.global.add.u32 %v, [%a], 1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry mgds_list_copy(.param .u64 to, .param .u64 from,\n"
    "                               .param .u32 words)\n"
    "{\n"
    "  .reg .b64 %a, %b, %o;\n"
    "  .reg .b32 %i, %n, %g, %t, %v;\n"
    "  .reg .pred %p;\n"
    "  ld.param.u64 %a, [to];\n"
    "  ld.param.u64 %b, [from];\n"
    "  ld.param.u32 %n, [words];\n"
    "  mov.u32 %g, %ctaid.x;\n"
    "  mov.u32 %v, %ntid.x;\n"
    "  mov.u32 %t, %tid.x;\n"
    "  mad.lo.u32 %i, %g, %v, %t;\n"
    "  setp.ge.u32 %p, %i, %n;\n"
    "  @%p bra out;\n"
    "  mul.wide.u32 %o, %i, 4;\n"
    "  add.u64 %a, %a, %o;\n"
    "  add.u64 %b, %b, %o;\n"
    "  ld.u32 %v, [%b];\n"
    "  st.u32 [%a], %v;\n"
    "out:\n"
    "  ret;\n"
    "}\n";

const char *mgds_kernel_name(enum mgds_kernel kernel)
{
    static const char *const names[KERNELS] = {
        [KERNEL_STORE] = "mgds_list_store",
        [KERNEL_SPIN] = "mgds_list_spin",
        [KERNEL_COUNT] = "mgds_list_count",
        [KERNEL_COPY] = "mgds_list_copy",
    };

    return names[kernel];
}

CUfunction mgds_kernel(enum mgds_kernel kernel)
{
    CUfunction function;
    CUmodule module;

    OK(cu.ModuleLoadData(&module, mgds_kernel_image));
    OK(cu.ModuleGetFunction(&function, module, mgds_kernel_name(kernel)));
    return function;
}

CUresult mgds_kernel_launch(CUfunction function, CUstream stream, void **params)
{
    return cu.LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

CUresult mgds_kernel_store(CUstream stream, CUdeviceptr to, uint32_t value)
{
    void *params[] = {&to, &value};

    return mgds_kernel_launch(mgds_kernel(KERNEL_STORE), stream, params);
}
