# Programs that hand GPU memory to MPI, on the software GPU.
add_library(gpu_case STATIC gpu/gpu_case.c)
target_link_libraries(gpu_case PUBLIC mgds_test_gpu mpich::c)
foreach(program requests errors datatypes threads queries scarce sessions
    sessions_window mixed direct direct_arm direct_asked direct_broken
    direct_eager direct_host direct_persist direct_progress direct_sessions
    counts capture jump handler windows freed settle t1_handles)
  mgds_program(gpu_${program} SOURCES gpu/${program}.c
    LIBS gpu_case Threads::Threads)
endforeach()

target_sources(gpu_direct PRIVATE gpu/direct_buffer.c gpu/direct_complete.c
  gpu/direct_plan.c gpu/direct_receiver.c gpu/direct_sender.c)
mgds_rows(gpu_direct direct_rows)

mgds_program(gpu_d10_sessions SOURCES gpu/d10_sessions.c
  LIBS gpu_case mpix_gds)

# Its kernel fills the software GPU.
mgds_program(gpu_direct_kernel SOURCES gpu/direct_kernel.c
  LIBS gpu_case mpix_gds)
add_dependencies(gpu_direct_kernel sim_test_kernels)

mgds_program(gpu_d12_disconnect SOURCES gpu/d12_disconnect.c
  LIBS gpu_case mpix_gds)

mgds_program(host_calls SOURCES host_calls.c LIBS mgds_test_gpu mpich::c)

set(pmpi ${PROJECT_SOURCE_DIR}/shim/pmpi)
mgds_program(gpu_coverage SOURCES gpu/coverage.c ${pmpi}/calls.c
  LIBS gpu_case mpix_gds)

# What is decided about a buffer, without MPI and GPU.
mgds_unit_test(p2p_side SOURCES gpu_side_test.c
  ${pmpi}/buffer.c ${pmpi}/call.c ${pmpi}/p2p.c ${pmpi}/side.c
  LIBS mgds_mem mpich::headers
  ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")

# Messages by header: which they are, and which kept one a receive gets.
foreach(object direct_choice kept_list)
  mgds_unit_test(${object} SOURCES ${object}_test.c ${pmpi}/${object}.c
    LIBS mgds_test mpich::headers
    ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")
endforeach()

# What a completion call does to the table of requests; T1 with other threads.
foreach(name t1_wave own_wave)
  mgds_unit_test(${name} SOURCES ${name}_test.c wave_played.c
    ${pmpi}/request.c ${pmpi}/request_orphan.c ${pmpi}/request_state.c
    ${pmpi}/request_table.c ${pmpi}/wave.c ${pmpi}/wave_own.c
    ${pmpi}/wave_settle.c
    LIBS mgds_base mpich::headers
    ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")
endforeach()

# A receive that is shown while a step of it is made.
mgds_unit_test(grequest_show SOURCES grequest_show_test.c
  ${pmpi}/grequest.c ${pmpi}/pulling.c ${pmpi}/request.c ${pmpi}/request_state.c
  ${pmpi}/request_table.c LIBS mgds_base mpich::headers
  ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")

# The table of a request's states.
mgds_unit_test(request_state SOURCES request_state_test.c
  ${pmpi}/request_state.c LIBS mgds_test
  ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")

# The table of requests: what a search costs.
mgds_unit_test(request_table SOURCES request_table_test.c
  ${pmpi}/request_table.c LIBS mgds_base mgds_test mpich::headers
  ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")

mgds_program(gpu_coll_nested SOURCES gpu/coll_nested.c LIBS gpu_case)
mgds_program(gpu_direct_coll SOURCES gpu/direct_coll.c gpu/direct_coll_calls.c
  gpu/direct_coll_lap.c gpu/direct_coll_worlds.c
  LIBS gpu_case Threads::Threads)

set(defaults LD_LIBRARY_PATH=${MGDS_SIM_OUTPUT_DIRECTORY} MPIX_SIM_GPUS=2)
# All is staged, unless a test says otherwise.
set(soft ${defaults} MPIX_GDS_DIRECT=0)
set(late MPIX_SIM_DELAY=300)

foreach(ranks 1 2 3)
  mgds_mpi_test(gpu_requests_${ranks} PROGRAM gpu_requests RANKS ${ranks}
    ENV ${soft} ${late} MPIX_SIM_SEED=${ranks}
    EXPECT "requests: all well")
endforeach()
# What was written just before the call, in another stream than ours.
foreach(direct 0 1)
  mgds_mpi_test(gpu_settle_direct_${direct} PROGRAM gpu_settle
    ENV ${soft} MPIX_SIM_DELAY=3000 MPIX_GDS_DIRECT=${direct}
    EXPECT "settle: all well")
endforeach()
# Copies that take long are made in rows, if nothing else is asked for.
mgds_mpi_test(gpu_uploads_in_rows PROGRAM gpu_requests RANKS 2
  ENV ${soft} MPIX_SIM_DELAY=1000 MPIX_GDS_SUMMARY=all
  EXPECT "requests: all well" "stage_rows [1-9]")
mgds_mpi_test(gpu_uploads_plain PROGRAM gpu_requests RANKS 2
  ENV ${soft} MPIX_SIM_DELAY=1000 MPIX_GDS_SUMMARY=all MPIX_GDS_UPLOAD=plain
  EXPECT "requests: all well" REFUSE "stage_rows")
mgds_release_only(mpi/gpu_uploads_plain)
mgds_mpi_test(gpu_errors PROGRAM gpu_errors RANKS 1 ENV ${soft}
  EXPECT "errors: all well" "buffer in GPU memory was freed"
    "one-sided communication")
mgds_mpi_test(gpu_coverage PROGRAM gpu_coverage RANKS 1 ENV ${soft}
  EXPECT "coverage: all well")
mgds_release_only(mpi/gpu_coverage)
mgds_mpi_test(gpu_errors_late PROGRAM gpu_errors RANKS 1 ENV ${soft} ${late}
  EXPECT "errors: all well")
mgds_mpi_test(gpu_datatypes PROGRAM gpu_datatypes RANKS 1 ENV ${soft}
  EXPECT "datatypes: all well")
# The same by header, wherever that is shorter than the message, and everything
# that can meet one, in plans drawn from a seed: seed, laps, threads.
set(armed ${defaults} MPIX_GDS_DIRECT=1 MPIX_GDS_DIRECT_SHARED=1
  MPIX_GDS_DIRECT_EAGER=0
  MPIX_GDS_ARM=init)
set(direct ENV ${armed} MPIX_GDS_SUMMARY=all)
foreach(ranks 2 3)
  mgds_mpi_test(gpu_direct_requests_${ranks} PROGRAM gpu_requests
    RANKS ${ranks} ${direct} ${late} MPIX_SIM_SEED=${ranks}
    EXPECT "requests: all well" "direct_pulls [1-9]")
endforeach()
mgds_release_only(mpi/gpu_direct_requests_3)
mgds_mpi_test(gpu_direct_threads PROGRAM gpu_threads RANKS 2
  ENV ${armed} MPIX_SIM_DELAY=50 EXPECT "threads: all well")
# Each rank by itself, but armed.
mgds_mpi_test(gpu_direct_handler PROGRAM gpu_handler RANKS 2 ${direct}
  MPIX_SIM_DELAY=20 EXPECT "handler: all well")
mgds_mpi_test(gpu_direct_errors PROGRAM gpu_errors RANKS 2 ${direct}
  EXPECT "errors: all well" "buffer in GPU memory was freed")
mgds_mpi_test(gpu_direct_jump PROGRAM gpu_jump RANKS 2 TIMEOUT 40 ${direct}
  ${late} EXPECT "jump: all well")
mgds_mpi_test(gpu_direct_mixed PROGRAM gpu_mixed ${direct}
  EXPECT "mixed: all well")
mgds_not_under(thread mpi/gpu_direct_mixed) # 40 s; one thread
mgds_mpi_test(gpu_direct_everyday PROGRAM everyday ${direct}
  EXPECT "everyday: all well")
set(direct_laps 200)
set(direct_gaps "direct_gaps [1-9]")
if(MGDS_SANITIZE)
  set(direct_laps 50)
  set(direct_gaps "direct_sends [1-9]")
endif()
foreach(ranks 2 3)
  mgds_mpi_test(gpu_direct_drawn_${ranks} PROGRAM gpu_direct
    RANKS ${ranks} ARGS ${ranks} ${direct_laps} ${direct}
    EXPECT "direct: all well" "direct_pulls [1-9]" "direct_alike [1-9]"
      "direct_unmappable [1-9]" "${direct_gaps}")
endforeach()
# Every pair of what a message may be, in jobs of every kind, and every triple
# in one of most threads.
set(direct_labels "" quick all long)
set(jobs ${CMAKE_CURRENT_SOURCE_DIR}/direct_jobs.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${jobs} ${PROJECT_SOURCE_DIR}/tests/lib/covering.py
  ${PROJECT_SOURCE_DIR}/tests/lib/matrix_rows.py)
execute_process(COMMAND ${MGDS_PYTHON} -B ${jobs} OUTPUT_VARIABLE jobs
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" jobs "${jobs}")
foreach(job IN LISTS jobs)
  string(REPLACE "|" ";" job "${job}")
  list(POP_FRONT job strength name ranks options variables)
  separate_arguments(options)
  separate_arguments(variables)
  list(GET direct_labels ${strength} label)
  set(rows 2)
  if(strength EQUAL 3)
    set(rows 3)
  endif()
  mgds_mpi_test(gpu_direct_rows_${name} PROGRAM gpu_direct RANKS ${ranks}
    ARGS rows ${rows} ${options} LABEL ${label} TIMEOUT 300
    ENV ${armed} MPIX_GDS_SUMMARY=all ${variables}
    EXPECT "direct: all well" "direct_sends [1-9]")
  if(strength GREATER 1)
    mgds_release_only(mpi/gpu_direct_rows_${name})
  endif()
  if(NOT options MATCHES "threads|multiple")
    mgds_not_under(thread mpi/gpu_direct_rows_${name})
  endif()
endforeach()
mgds_mpi_test(gpu_direct_triples PROGRAM gpu_direct RANKS 3
  ARGS rows 3 threads LABEL all TIMEOUT 300 ${direct} MPIX_SIM_DELAY=30
  EXPECT "direct: all well" "direct_pulls [1-9][0-9][0-9]")
mgds_release_only(mpi/gpu_direct_triples)
mgds_mpi_test(gpu_direct_far_3 PROGRAM gpu_direct RANKS 3
  ARGS 7 200 far ${direct} EXPECT "direct: all well"
    "rank 0.* direct_pulls [1-9]" "rank 2.* direct_pulls [1-9]"
  REFUSE "rank 1.* direct_sends" "rank 1.* direct_pulls")
# GPUs that do not reach each other, and few mappings at a time: what nobody
# uses is closed.
mgds_mpi_test(gpu_direct_apart PROGRAM gpu_direct RANKS 2
  ARGS 8 ${direct_laps} ${direct} MPIX_SIM_PEERS=no
  EXPECT "direct: all well")
mgds_mpi_test(gpu_direct_few_mappings PROGRAM gpu_direct_progress ARGS again
  ${direct} MPIX_SIM_MAPPINGS=3
  EXPECT "progress: all well" "rank 1.* direct_pulls [1-9][0-9]")
# Where nothing but a sample can be mapped, headers are refused.
foreach(way both started answered behind exchange again)
  mgds_mpi_test(gpu_direct_refused_${way} PROGRAM gpu_direct_progress
    ARGS ${way} ${direct} MPIX_SIM_MAPPINGS=1
    EXPECT "progress: all well" "direct_fetches [1-9][0-9]"
    REFUSE "cannot be copied")
endforeach()
mgds_mpi_test(gpu_direct_refused_unheard PROGRAM gpu_direct_progress
  ARGS unheard ${direct} MPIX_SIM_MAPPINGS=1
  EXPECT "progress: all well" "rank 1.* cannot be copied")
mgds_mpi_test(gpu_direct_broken PROGRAM gpu_direct_broken RANKS 2 TIMEOUT 40
  ARGS before 300000
  ${direct} EXPECT "broken: all well" "rank 0.* direct_sends [1-9]")
mgds_mpi_test(gpu_direct_broken_unmatched PROGRAM gpu_direct_broken RANKS 2
  TIMEOUT 40 ARGS later 4096 ${direct} MPIX_GDS_DIRECT_EAGER=8192
  EXPECT "broken: all well" "rank 0.* direct_sends [1-9]"
  REFUSE "direct_unmatched")
# Memory that the MPI below may have is left to it.
mgds_mpi_test(gpu_direct_stage_never PROGRAM everyday ${direct}
  MPIX_GDS_STAGE=never EXPECT "everyday: all well" REFUSE "direct_")
foreach(way alone elsewhere both exchange cancel again freed gone)
  mgds_mpi_test(gpu_direct_${way} PROGRAM gpu_direct_progress ARGS ${way}
    ${direct} EXPECT "progress: all well" "direct_pulls [1-9]")
endforeach()
foreach(way behind short)
  mgds_mpi_test(gpu_direct_${way} PROGRAM gpu_direct_progress ARGS ${way}
    ${direct} EXPECT "progress: all well" "rank 1.* direct_pulls [12][0-9]")
endforeach()
# Short sends that do not wait for their receivers.
set(eager_synchronous "direct_sends [1-9]")
set(eager_crossing "direct_unmatched [1-9]")
foreach(way unmatched crossing synchronous gone order)
  if(way MATCHES "unmatched|gone|order")
    set(eager_${way} "rank 0.* direct_unmatched [1-9]"
      "rank 1.* direct_fetches [1-9]")
  endif()
  mgds_mpi_test(gpu_direct_eager_${way} PROGRAM gpu_direct_eager ARGS ${way}
    ${direct} MPIX_GDS_DIRECT_EAGER=8192
    EXPECT "eager: all well" ${eager_${way}})
endforeach()
mgds_mpi_test(gpu_default_eager PROGRAM gpu_direct_eager ARGS unmatched
  ENV ${defaults} MPIX_GDS_DIRECT_SHARED=1 MPIX_GDS_SUMMARY=all
  EXPECT "eager: all well" "rank 0.* direct_unmatched [1-9]")
# Collectives inside a host. What each row that makes such by direct copies is
# to say goes in here.
set(direct_coll_counted "direct_collectives [1-9]")
set(direct_coll ${armed} MPIX_GDS_GPUS=yes MPIX_GDS_DIRECT_COLL=1
  MPIX_GDS_SUMMARY=all)
set(direct_coll_ways placed drawn in_place uneven types roots mixed
  communicators freed wildcard nonblocking threads errors)
# Where 2 ranks are another case than 3; under sanitizers; for the long run.
set(direct_coll_of_2 roots freed threads)
set(direct_coll_sane drawn in_place uneven mixed nonblocking errors threads)
foreach(ranks 2 3 4)
  foreach(way ${direct_coll_ways})
    if(ranks EQUAL 2 AND NOT way IN_LIST direct_coll_of_2)
      continue()
    endif()
    set(label quick)
    if(ranks EQUAL 4)
      set(label long)
    endif()
    set(test gpu_direct_coll_${way}_${ranks})
    mgds_mpi_test(${test} PROGRAM gpu_direct_coll RANKS ${ranks} ARGS ${way}
      LABEL ${label} ENV ${direct_coll}
      EXPECT "direct coll: all well" ${direct_coll_counted})
    if(NOT ranks EQUAL 3 OR NOT way IN_LIST direct_coll_sane)
      mgds_release_only(mpi/${test})
    elseif(NOT way STREQUAL "threads")
      mgds_not_under(thread mpi/${test})
    endif()
  endforeach()
endforeach()
foreach(way callback jump cut one between)
  mgds_mpi_test(gpu_coll_nested_${way} PROGRAM gpu_coll_nested RANKS 3
    ARGS ${way} ENV ${direct_coll}
    EXPECT "coll nested: all well" "direct_votes [1-9]")
  mgds_not_under(thread mpi/gpu_coll_nested_${way})
endforeach()
# Copies that take long, GPUs that do not reach each other, few mappings, short
# sends that do not wait, ranks that agree on nothing, and all of it staged.
set(direct_coll_late MPIX_SIM_DELAY=300)
set(direct_coll_apart MPIX_SIM_PEERS=no)
set(direct_coll_few MPIX_SIM_MAPPINGS=1)
set(direct_coll_eager MPIX_GDS_DIRECT_EAGER=8192)
set(direct_coll_context MPIX_GDS_ARM=context)
set(direct_coll_alone MPIX_GDS_PEERS=none)
set(direct_coll_staged MPIX_GDS_DIRECT=0)
set(direct_coll_long MPIX_GDS_DIRECT_COLL=4096)
mgds_mpi_test(gpu_direct_coll_far PROGRAM gpu_direct_coll RANKS 4
  ARGS mixed 1 far LABEL all ENV ${direct_coll} EXPECT "direct coll: all well")
mgds_release_only(mpi/gpu_direct_coll_far)
set(seed 1)
foreach(setting late apart few eager context alone staged long)
  math(EXPR seed "${seed} + 1")
  mgds_mpi_test(gpu_direct_coll_${setting} PROGRAM gpu_direct_coll RANKS 3
    ARGS mixed ${seed} LABEL all ENV ${direct_coll} ${direct_coll_${setting}}
    EXPECT "direct coll: all well")
  mgds_release_only(mpi/gpu_direct_coll_${setting})
endforeach()
# From when on a rank looks for headers, and what it receives in host memory.
mgds_unit_test(direct_arm SOURCES direct_arm_test.c ${pmpi}/direct_arm.c
  LIBS mgds_base mgds_test mpich::headers
  ENV "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66")
set(barred_nothing EXPECT "direct_pulls [1-9]" REFUSE "direct_barred")
set(barred_blocking ${barred_nothing})
set(barred_begun EXPECT "direct_barred 1" REFUSE "direct_sends" "direct_pulls")
set(barred_threads ${barred_begun})
foreach(way nothing blocking begun threads)
  mgds_mpi_test(gpu_direct_arm_${way} PROGRAM gpu_direct_arm ARGS ${way}
    ${direct} MPIX_GDS_ARM=context ${barred_${way}})
endforeach()
foreach(way many cancelled short handed freed nested handlers instead
    replaced kept)
  mgds_mpi_test(gpu_direct_host_${way} PROGRAM gpu_direct_host ARGS ${way}
    ${direct} EXPECT "host: all well" "rank 1.* direct_pulls [1-9]")
endforeach()
# Persistent receives of what a probe has found.
foreach(way all ends)
  mgds_mpi_test(gpu_direct_persist_${way} PROGRAM gpu_direct_persist
    ARGS ${way} ${direct} ${late} EXPECT "persist: all well"
      "rank 1.* direct_pulls [1-9]")
endforeach()
mgds_mpi_test(gpu_direct_persist_threads PROGRAM gpu_direct_persist
  ARGS all threads ${direct} EXPECT "persist: all well")
# By a kernel, or by copy engines where that does not come.
set(kernel_copies "rank 1.* direct_kernels [1-9]")
set(kernel_full "rank 1.* direct_kernels_late [1-9]" REFUSE "direct_kernels ")
set(kernel_blocking REFUSE "direct_kernels" ENV CUDA_LAUNCH_BLOCKING=1)
foreach(way copies full blocking)
  mgds_mpi_test(gpu_direct_kernel_${way} PROGRAM gpu_direct_kernel ARGS ${way}
    ${direct} MPIX_SIM_KERNELS=$<TARGET_FILE:sim_test_kernels>
    MPIX_SIM_RUNNING_KERNELS=1 EXPECT "kernel: all well" ${kernel_${way}})
endforeach()
# Sessions that go on behind MPI_Finalize.
mgds_mpi_test(gpu_direct_sessions PROGRAM gpu_direct_sessions RANKS 2
  TIMEOUT 40 ${direct} ${late} EXPECT "sessions: all well"
    "rank 1.* direct_pulls [1-9]")
# Beside what makes progress only when MPI is asked about it.
foreach(way host gpu failed)
  mgds_mpi_test(gpu_direct_asked_${way} PROGRAM gpu_direct_asked ARGS ${way}
    ${direct} EXPECT "asked: all well" "rank 1.* direct_pulls [1-9]")
endforeach()
mgds_mpi_test(gpu_direct_asked_uncounted PROGRAM gpu_direct_asked ARGS failed
  ENV ${armed} EXPECT "asked: all well")
mgds_mpi_test(gpu_asked_staged PROGRAM gpu_direct_asked ARGS gpu ENV ${soft}
  EXPECT "asked: all well")
# Programs that have a context of CUDA when they begin to receive; and with
# nothing set.
foreach(ranks 2 3)
  mgds_mpi_test(gpu_context_requests_${ranks} PROGRAM gpu_requests
    RANKS ${ranks} ENV ${defaults} ${late} MPIX_GDS_DIRECT=1
      MPIX_GDS_SUMMARY=all
    EXPECT "requests: all well" "direct_pulls [1-9]")
endforeach()
foreach(way many freed handlers)
  mgds_mpi_test(gpu_default_host_${way} PROGRAM gpu_direct_host ARGS ${way}
    ENV ${defaults} MPIX_GDS_SUMMARY=all
    EXPECT "host: all well" "rank 1.* direct_pulls [1-9]")
endforeach()
mgds_mpi_test(gpu_context_mixed PROGRAM gpu_mixed ENV ${defaults}
  MPIX_GDS_DIRECT=1
  EXPECT "mixed: all well")
mgds_not_under(thread mpi/gpu_context_mixed) # 40 s; one thread
# Short receives go by where nothing counts calls. The sender of what is too long
# for one waits in MPI_Finalize for somebody who fetches it, for 10 s.
foreach(way kept tiny)
  mgds_mpi_test(gpu_direct_host_${way}_uncounted PROGRAM gpu_direct_host
    ARGS ${way} ENV ${armed} EXPECT "host: all well"
    TIMEOUT 60)
endforeach()
mgds_release_only(mpi/gpu_direct_host_tiny_uncounted)
# A rank that sits in another call is not waited for.
mgds_mpi_test(gpu_direct_elsewhere_late PROGRAM gpu_direct_progress
  ARGS elsewhere ${direct} ${late}
  EXPECT "progress: all well" "rank 0.* direct_withdrawn [3-9]"
    "rank 1.* direct_fetches [3-9]")
foreach(delay 30 300 3000)
  mgds_mpi_test(gpu_direct_begun_${delay} PROGRAM gpu_direct_progress
    ARGS begun ${direct} MPIX_SIM_DELAY=${delay}
    EXPECT "progress: all well" "rank 1.* direct_pulls [1-9]")
endforeach()
foreach(way beside halves peeked dropped)
  mgds_mpi_test(gpu_direct_${way} PROGRAM gpu_direct_progress ARGS ${way}
    ${direct} MPIX_SIM_DELAY=1000
    EXPECT "progress: all well" "rank 1.* direct_pulls [1-9]")
endforeach()
# Nothing is agreed, and everything staged.
mgds_mpi_test(gpu_direct_no_peers PROGRAM gpu_direct RANKS 2
  ARGS 6 ${direct_laps} ${direct} MPIX_GDS_PEERS=none
  EXPECT "direct: all well" REFUSE "direct_")
mgds_mpi_test(gpu_direct_staged PROGRAM gpu_direct RANKS 3
  ARGS 4 ${direct_laps} multiple ENV ${soft} MPIX_GDS_SUMMARY=all
  EXPECT "direct: all well" REFUSE "direct_")
mgds_mpi_test(gpu_direct_long PROGRAM gpu_direct RANKS 3
  ARGS 5 20000 multiple LABEL long TIMEOUT 1800 ${direct} MPIX_SIM_DELAY=20
  EXPECT "direct: all well")
foreach(ranks 1 2)
  mgds_mpi_test(gpu_threads_${ranks} PROGRAM gpu_threads RANKS ${ranks}
    ENV ${soft} MPIX_SIM_DELAY=50 EXPECT "threads: all well")
endforeach()
# T1: the quick row is a fortieth of the long one.
set(t1_runs 25)
if(MGDS_SANITIZE)
  set(t1_runs 4)
endif()
mgds_mpi_test(gpu_t1_handles PROGRAM gpu_t1_handles ARGS ${t1_runs} ENV ${soft}
  EXPECT "t1_handles: all well")
mgds_mpi_test(gpu_t1_handles_late PROGRAM gpu_t1_handles ARGS ${t1_runs}
  LABEL all TIMEOUT 300 ENV ${soft} MPIX_SIM_DELAY=50 MPIX_SIM_SEED=1
  EXPECT "t1_handles: all well")
mgds_mpi_test(gpu_t1_handles_long PROGRAM gpu_t1_handles ARGS 1000 LABEL long
  TIMEOUT 1800 ENV ${soft} EXPECT "t1_handles: all well")
# Slow copies are asked about more often: what a sanitizer makes of that says
# nothing.
if(NOT MGDS_SANITIZE)
  mgds_mpi_test(gpu_counts PROGRAM gpu_counts RANKS 1 ENV ${soft}
    EXPECT "counts: all well")
endif()
mgds_mpi_test(gpu_capture PROGRAM gpu_capture RANKS 1 ENV ${soft} ${late}
  EXPECT "capture: all well")
mgds_mpi_test(gpu_jump PROGRAM gpu_jump RANKS 1 TIMEOUT 40 ENV ${soft} ${late}
  EXPECT "jump: all well")
mgds_mpi_test(gpu_handler PROGRAM gpu_handler RANKS 1 ENV ${soft} ${late}
  EXPECT "handler: all well")
mgds_mpi_test(gpu_handler_at_once PROGRAM gpu_handler RANKS 1 ENV ${soft}
  EXPECT "handler: all well")
mgds_mpi_test(gpu_windows PROGRAM gpu_windows RANKS 1 ENV ${soft}
  MPIX_SIM_DELAY=20 EXPECT "windows: all well")
foreach(ranks 1 2)
  mgds_mpi_test(gpu_freed_${ranks} PROGRAM gpu_freed RANKS ${ranks}
    ENV ${soft} EXPECT "freed: all well"
    REFUSE "were freed and are still")
endforeach()
mgds_mpi_test(gpu_mixed PROGRAM gpu_mixed ENV ${soft}
  EXPECT "mixed: all well")
mgds_not_under(thread mpi/gpu_mixed) # 40 s; one thread
mgds_mpi_test(gpu_sessions_window PROGRAM gpu_sessions_window RANKS 2
  ENV ${soft} ${late} EXPECT "sessions: all well")
mgds_mpi_test(gpu_sessions PROGRAM gpu_sessions ENV ${soft}
  EXPECT "sessions: all well")
# D12: MPI_Comm_disconnect waits for what is under way.
mgds_mpi_test(gpu_d12_disconnect PROGRAM gpu_d12_disconnect
  ENV ${soft} EXPECT "d12_disconnect: all well")
mgds_mpi_test(gpu_d12_disconnect_late PROGRAM gpu_d12_disconnect
  ENV ${soft} ${late} MPIX_SIM_SEED=3 EXPECT "d12_disconnect: all well")
# D10: errors of programs that have sessions only.
foreach(model sessions world)
  mgds_mpi_test(gpu_d10_${model} PROGRAM gpu_d10_sessions ARGS ${model}
    ENV ${soft} EXPECT "d10_sessions: all well" REFUSE "MPI_COMM_SELF")
endforeach()
mgds_mpi_test(gpu_queries PROGRAM gpu_queries ARGS 1 RANKS 1 ENV ${soft}
  EXPECT "queries: all well")
mgds_mpi_test(gpu_queries_never PROGRAM gpu_queries ARGS 0 RANKS 1
  ENV ${soft} MPIX_GDS_STAGE=never EXPECT "queries: all well")
mgds_mpi_test(gpu_staged_always PROGRAM gpu_requests RANKS 2
  ENV ${soft} MPIX_GDS_STAGE=always EXPECT "requests: all well")
if(MGDS_FAULT)
  foreach(program requests errors threads freed)
    mgds_mpi_test(gpu_${program}_without_extension PROGRAM gpu_${program}
      RANKS 1 ENV ${soft} MPIX_GDS_FAULT=extension:1
      EXPECT "${program}: all well" "has no MPIX_Grequest_start")
  endforeach()
  foreach(n RANGE 1 60 6)
    mgds_mpi_test(gpu_scarce_${n} PROGRAM gpu_scarce RANKS 1
      ENV ${soft} MPIX_GDS_FAULT=alloc:${n} EXPECT "scarce: all well")
  endforeach()
endif()
