/* What a lane of NCCL's way is made of, for calls that are not messages. */
#ifndef MGDS_BENCH_WAY_NCCL_H
#define MGDS_BENCH_WAY_NCCL_H

struct mgds_bench_lane;
struct nccl_comm;

struct nccl_comm *mgds_bench_nccl_comm(const struct mgds_bench_lane *lane);
void *mgds_bench_nccl_stream(const struct mgds_bench_lane *lane);

#endif
