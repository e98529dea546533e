/* The kernels as PTX text: the driver compiles them for whatever device there
 * is. Scope is the system throughout: hosts and peers look at the words. */
#include "kernel.h"

#include "case.h"

const char mgds_list_ptx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry mgds_flag_kernel(.param .align 8 .b8 args[40])\n"
    "{\n"
    "  .reg .b64 %wait, %least, %word, %to, %value, %stop;\n"
    "  .reg .pred %p;\n"
    "  ld.param.u64 %wait, [args];\n"
    "  ld.param.u64 %least, [args+8];\n"
    "  ld.param.u64 %to, [args+16];\n"
    "  ld.param.u64 %value, [args+24];\n"
    "  ld.param.u64 %stop, [args+32];\n"
    "  setp.eq.u64 %p, %wait, 0;\n"
    "  @%p bra passed;\n"
    "again:\n"
    "  setp.eq.u64 %p, %stop, 0;\n"
    "  @%p bra look;\n"
    "  ld.relaxed.sys.u64 %word, [%stop];\n"
    "  setp.ne.u64 %p, %word, 0;\n"
    "  @%p bra out;\n"
    "look:\n"
    "  ld.acquire.sys.u64 %word, [%wait];\n"
    "  sub.s64 %word, %word, %least;\n"
    "  setp.lt.s64 %p, %word, 0;\n"
    "  @%p bra again;\n"
    "passed:\n"
    "  setp.eq.u64 %p, %to, 0;\n"
    "  @%p bra out;\n"
    "  st.release.sys.u64 [%to], %value;\n"
    "out:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry mgds_copy_kernel(.param .align 8 .b8 args[48])\n"
    "{\n"
    "  .reg .b64 %to, %from, %bytes, %i, %step, %a, %b;\n"
    "  .reg .b32 %block, %size, %thread, %at, %blocks, %v;\n"
    "  .reg .pred %p;\n"
    "  ld.param.u64 %to, [args];\n"
    "  ld.param.u64 %from, [args+8];\n"
    "  ld.param.u64 %bytes, [args+16];\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %blocks, %nctaid.x;\n"
    "  mov.u32 %size, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %at, %block, %size, %thread;\n"
    "  cvt.u64.u32 %i, %at;\n"
    "  mul.wide.u32 %step, %blocks, %size;\n"
    "again:\n"
    "  setp.ge.u64 %p, %i, %bytes;\n"
    "  @%p bra out;\n"
    "  add.u64 %a, %from, %i;\n"
    "  add.u64 %b, %to, %i;\n"
    "  ld.u8 %v, [%a];\n"
    "  st.u8 [%b], %v;\n"
    "  add.u64 %i, %i, %step;\n"
    "  bra again;\n"
    "out:\n"
    "  ret;\n"
    "}\n";

static CUfunction load(const char *name)
{
    CUfunction function;
    CUmodule module;

    OK(cu.ModuleLoadData(&module, mgds_list_ptx));
    OK(cu.ModuleGetFunction(&function, module, name));
    return function;
}

CUfunction mgds_copy_function(void)
{
    return load("mgds_copy_kernel");
}

CUfunction mgds_flag_function(void)
{
    return load("mgds_flag_kernel");
}

CUresult mgds_kernel_launch(CUfunction function, CUstream stream, void *args)
{
    void *params[] = {args};

    return cu.LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

CUresult mgds_kernel_store(CUstream stream, CUdeviceptr to, uint64_t value)
{
    struct mgds_flag_args args = {.write = to, .write_value = value};

    return mgds_kernel_launch(mgds_flag_function(), stream, &args);
}
