# Instructions of a blocking enqueued call on the software GPU: bash instructions.sh LIB-FOLDER NAME
L=$1; O=/tmp/cg.$2
rm -f $O.*
timeout 150 mpiexec.mpich -genv LD_PRELOAD "$L/libmpix_gds.so /work/main/build/lib/mpix-gds/sim/libmpix_sim_mpi.so" -genv LD_LIBRARY_PATH /work/main/build/lib/mpix-gds/sim -genv MPIX_SIM_GPUS 2 -genv CUDA_DEVICE_MAX_CONNECTIONS 32 -n 2 valgrind -q --tool=callgrind --callgrind-out-file=$O.%p /work/main/build/libexec/mpix-gds/osu_enqueue_cost --rounds 1 --rivals none -m 8:8 -i 300 2>&1 | tail -2
for f in $O.*; do callgrind_annotate --inclusive=yes $f 2>/dev/null | grep -E "send_enqueue|mgds_op_send|mgds_op_recv|mgds_op_run|mgds_means_make|recv_enqueue" | head -8; grep -A0 -E "^calls=" $f | head -0; done
