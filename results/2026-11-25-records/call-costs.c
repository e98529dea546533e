#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define OK(x) do { CUresult r_ = (x); if (r_) { printf("%s: %d line %d\n", #x, r_, __LINE__); exit(1);} } while (0)
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec*1e9+t.tv_nsec;}
static CUstream s; static CUcontext ctx; static CUdeviceptr d; static CUdevice dev;
static int cmp(const void*a,const void*b){double x=*(double*)a,y=*(double*)b;return (x>y)-(x<y);}
#define TIME(name, n, body) do { double v[41]; for(int r_=0;r_<41;r_++){ OK(cuStreamSynchronize(s)); double t=now(); for(int i=0;i<n;i++){body;} v[r_]=(now()-t)/n;} qsort(v,41,8,cmp); printf("%-44s %8.0f ns (least %.0f)\n", name, v[20], v[0]); } while(0)
int main(void){
 CUmodule m; CUfunction f[8]; const char*fn[]={"k8","k64","k256","k512","k1024","k2048","k4000"}; int sz[]={8,64,256,512,1024,2048,4000};
 OK(cuInit(0)); OK(cuDeviceGet(&dev,0)); OK(cuDevicePrimaryCtxRetain(&ctx,dev)); OK(cuCtxSetCurrent(ctx));
 OK(cuStreamCreate(&s,CU_STREAM_NON_BLOCKING)); OK(cuMemAlloc(&d,1<<20)); OK(cuModuleLoad(&m,"k.cubin"));
 for(int i=0;i<7;i++) OK(cuModuleGetFunction(&f[i],m,fn[i]));
 unsigned long long id; CUstreamCaptureStatus cs; CUstreamCaptureMode mode=CU_STREAM_CAPTURE_MODE_RELAXED; CUcontext c;
 TIME("cuCtxGetId",200,OK(cuCtxGetId(ctx,&id)));
 TIME("cuPointerGetAttribute BUFFER_ID",200,OK(cuPointerGetAttribute(&id,CU_POINTER_ATTRIBUTE_BUFFER_ID,d+64)));
 TIME("cuStreamIsCapturing",200,OK(cuStreamIsCapturing(s,&cs)));
 TIME("cuThreadExchangeStreamCaptureMode x2",200,OK(cuThreadExchangeStreamCaptureMode(&mode));OK(cuThreadExchangeStreamCaptureMode(&mode)));
 TIME("cuCtxPush+Pop",200,OK(cuCtxPushCurrent(ctx));OK(cuCtxPopCurrent(&c)));
 TIME("cuCtxGetCurrent",200,OK(cuCtxGetCurrent(&c)));
 TIME("cuStreamGetCtx",200,OK(cuStreamGetCtx(s,&c)));
 static char buf[8192]; 
 for(int j=0;j<7;j++){ void*a[]={buf}; CUlaunchConfig cfg={1,1,1,32,1,1,0,s,NULL,0}; char nm[64]; snprintf(nm,64,"cuLaunchKernelEx params %d B",sz[j]); TIME(nm,100,OK(cuLaunchKernelEx(&cfg,f[j],a,NULL)));
   void*ex[]={CU_LAUNCH_PARAM_BUFFER_POINTER,buf,CU_LAUNCH_PARAM_BUFFER_SIZE,(void*)0,CU_LAUNCH_PARAM_END}; size_t z=sz[j]; ex[3]=&z; snprintf(nm,64,"  as extra buffer %d B",sz[j]); TIME(nm,100,OK(cuLaunchKernelEx(&cfg,f[j],NULL,ex))); }
 { void*a[]={buf}; CUlaunchConfig cfg={16,1,1,512,1,1,0,s,NULL,0}; TIME("cuLaunchKernelEx 512B 16x512",100,OK(cuLaunchKernelEx(&cfg,f[3],a,NULL)));
   CUlaunchAttribute at={.id=CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}; at.value.programmaticStreamSerializationAllowed=1; cfg.attrs=&at; cfg.numAttrs=1; TIME("  with an attribute (PSS)",100,OK(cuLaunchKernelEx(&cfg,f[3],a,NULL))); }
 TIME("cuStreamWriteValue32",100,OK(cuStreamWriteValue32(s,d,1,0)));
 TIME("cuStreamWriteValue64",100,OK(cuStreamWriteValue64(s,d,1,0)));
 { CUstreamBatchMemOpParams p[4]; memset(p,0,sizeof p); for(int i=0;i<4;i++){p[i].writeValue.operation=CU_STREAM_MEM_OP_WRITE_VALUE_32;p[i].writeValue.address=d+64*i;p[i].writeValue.value=1;}
  TIME("cuStreamBatchMemOp 1 write",100,OK(cuStreamBatchMemOp(s,1,p,0)));
  TIME("cuStreamBatchMemOp 2 writes",100,OK(cuStreamBatchMemOp(s,2,p,0)));
  p[0].writeValue.flags=CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER; TIME("cuStreamBatchMemOp 1 no barrier",100,OK(cuStreamBatchMemOp(s,1,p,0))); }
 TIME("memset 4096 (libc)",1000,memset(buf,i,4096);__asm__ volatile(""::"r"(buf):"memory"));
 /* a graph of one kernel, launched */
 CUgraph g; CUgraphExec ge; OK(cuStreamBeginCapture(s,CU_STREAM_CAPTURE_MODE_RELAXED)); {void*a[]={buf}; CUlaunchConfig cfg={1,1,1,32,1,1,0,s,NULL,0}; OK(cuLaunchKernelEx(&cfg,f[3],a,NULL));} OK(cuStreamEndCapture(s,&g)); OK(cuGraphInstantiate(&ge,g,0)); TIME("cuGraphLaunch one kernel",100,OK(cuGraphLaunch(ge,s)));
 return 0; }
