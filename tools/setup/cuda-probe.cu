/* Compiled while configuring: does this nvcc, with its headers and its host
 * compiler, make code for the GPUs we build for? */
#include <cuda.h>
#include <cuda/atomic>

extern "C" __global__ void mgds_cuda_probe(int *word, CUdeviceptr unused)
{
    cuda::atomic_ref<int, cuda::thread_scope_system> flag(*word);
    flag.store(static_cast<int>(unused), cuda::memory_order_release);
}
