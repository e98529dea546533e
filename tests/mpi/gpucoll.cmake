# Collectives on GPU memory.
mgds_unit_test(coll_plan SOURCES gpu_coll_plan_test.c
  ${PROJECT_SOURCE_DIR}/shim/pmpi/calls.c
  ${PROJECT_SOURCE_DIR}/shim/pmpi/coll_plan.c
  ${PROJECT_SOURCE_DIR}/shim/pmpi/coll_table.c
  LIBS mpich::headers)

mgds_unit_test(coll_cover SOURCES gpu_coll_cover_test.c gpu_coll_cover.c
  LIBS mpich::headers)

# On the software GPU, with these many ranks.
set(gpucoll_env LD_LIBRARY_PATH=${MGDS_SIM_OUTPUT_DIRECTORY} MPIX_SIM_GPUS=1)
foreach(program gpu_coll gpu_coll_edge)
  mgds_program(${program} SOURCES ${program}.c LIBS mpich::c mgds_test_gpu)
  add_dependencies(${program} mgds_sim_cuda)
endforeach()
target_sources(gpu_coll PRIVATE gpu_coll_calls.c gpu_coll_cover.c
  gpu_coll_worlds.c)

# Every pair of values is quick, every triple for --all with three ranks, which
# have all topologies, and the full product for long runs.
function(mgds_gpu_coll name ranks label timeout)
  mgds_mpi_test(gpu_coll_${name}${ranks} PROGRAM gpu_coll RANKS ${ranks}
    ENV ${gpucoll_env} LABEL ${label} TIMEOUT ${timeout}
    EXPECT "gpu_coll: all well" REFUSE "error:" ARGS ${ARGN})
endfunction()
foreach(ranks 1 2 3 4)
  mgds_gpu_coll("" ${ranks} quick 300 pairs)
  mgds_gpu_coll(all_ ${ranks} long 3600 1 0)
  mgds_mpi_test(gpu_coll_late_${ranks} PROGRAM gpu_coll ARGS 61 ${ranks}
    RANKS ${ranks} ENV ${gpucoll_env} MPIX_SIM_DELAY=500
      MPIX_SIM_SEED=${ranks}
    EXPECT "gpu_coll: all well" LABEL all TIMEOUT 300)
endforeach()
mgds_release_only(mpi/gpu_coll_late_1 mpi/gpu_coll_late_2 mpi/gpu_coll_late_4)
mgds_gpu_coll(triples_ 3 all 1200 triples)
mgds_release_only(mpi/gpu_coll_triples_3)

foreach(ranks 1 2 3)
  mgds_mpi_test(gpu_coll_edge_${ranks} PROGRAM gpu_coll_edge RANKS ${ranks}
    ENV ${gpucoll_env} EXPECT "gpu_coll_edge: all well")
endforeach()

# MPICH cuts these messages by the type's extent, which must be the same where
# the memory is a GPU's and where it is not; else the ranks wait for ever. In
# both roles, with gaps of all sorts.
foreach(ends device/host host/device)
  foreach(type nested vector indexed struct subarray)
    list(APPEND gpucoll_mixed allgatherv/${ends}/${type}/1048576/2
      allgatherv_in_place/${ends}/${type}/1048576/2)
  endforeach()
endforeach()
mgds_mpi_test(gpu_coll_ranks_cut_long_messages_alike
  PROGRAM $<TARGET_FILE:matrix>
  ARGS ${gpucoll_mixed} RANKS 2
  ENV LD_LIBRARY_PATH=${MGDS_SIM_OUTPUT_DIRECTORY} MPIX_SIM_GPUS=2
  EXPECT "ok allgatherv_in_place/host/device/subarray" REFUSE "FAILED"
  TIMEOUT 60)

# Each allocation in turn fails.
if(MGDS_FAULT)
  set(label all)
  if(MGDS_SANITIZE STREQUAL "thread") # one thread: nothing for it to see
    set(label long)
  endif()
  foreach(nth RANGE 1 32)
    mgds_mpi_test(gpu_coll_alloc_${nth} PROGRAM gpu_coll_edge ARGS short RANKS 1
      ENV ${gpucoll_env} MPIX_GDS_FAULT=alloc:${nth}
      EXPECT "gpu_coll_edge: all well" LABEL ${label})
  endforeach()
endif()
