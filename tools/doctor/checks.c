/* The table of checks, and how they say what they found. */
#include "tools/doctor/exam.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mgds_state_name[] = {
    [MGDS_OK] = "ok",
    [MGDS_FALLBACK] = "fallback",
    [MGDS_BROKEN] = "broken",
    [MGDS_UNKNOWN] = "unknown",
};

static void examine_launch(struct mgds_finding *finding,
                           const struct mgds_exam *exam)
{
    *finding = exam->launch.finding;
    finding->detail = NULL;
    if (exam->launch.finding.detail)
        finding->detail = strdup(exam->launch.finding.detail);
}

/* Settings are put aside before ranks start, so they were judged then. */
static void examine_settings(struct mgds_finding *finding,
                             const struct mgds_exam *exam)
{
    *finding = exam->settings;
    finding->rows = NULL;
    if (exam->settings.rows)
        finding->rows = strdup(exam->settings.rows);
}

const struct mgds_check mgds_checks[] = {
    {"installation", "files beside the doctor", mgds_check_installation},
    {"settings", "MPIX_GDS_* in the environment", examine_settings},
    {"launch", "ranks start and report", examine_launch},
    {"library", "the library acts inside the ranks", mgds_check_library},
    {"mpi", "the MPI of the ranks", mgds_check_mpi},
    {"cores", "cores of ranks and of their progress threads", mgds_check_cores},
    {"memlock", "memory that a rank may lock", mgds_check_memlock},
    {"driver", "the CUDA driver", mgds_check_driver},
    {"gpus", "devices", mgds_check_gpus},
    {"peers", "GPUs reach each other's memory", mgds_check_peers},
    {"memops", "waits and writes on a stream", mgds_check_memops},
    {"hca", "RDMA adapters", mgds_check_hca},
    {"pairs", "the transports of GPU memory between ranks", mgds_check_pairs},
};

const size_t mgds_check_count = sizeof(mgds_checks) / sizeof(mgds_checks[0]);

void mgds_finding_set(struct mgds_finding *finding, enum mgds_state state,
                      const char *format, ...)
{
    va_list args;

    finding->state = state;
    va_start(args, format);
    vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
}

void mgds_finding_add(struct mgds_finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->text);
    va_list args;

    va_start(args, format);
    vsnprintf(finding->text + used, sizeof(finding->text) - used, format, args);
    va_end(args);
}

void mgds_finding_remedy(struct mgds_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(finding->remedy, sizeof(finding->remedy), format, args);
    va_end(args);
}

void mgds_finding_fini(struct mgds_finding *finding)
{
    free(finding->detail);
    free(finding->rows);
    finding->detail = finding->rows = NULL;
}
