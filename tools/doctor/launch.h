/* Starts the probe's ranks and takes their report. */
#ifndef MGDS_DOCTOR_LAUNCH_H
#define MGDS_DOCTOR_LAUNCH_H

#include "tools/doctor/exam.h"

/* Fills exam->launch, and exam->facts if its finding is ok; exam's options,
 * place and missing must be set; without all files nothing is started. Returns
 * 0 however the launch went, and a negative errno only when the doctor itself
 * cannot go on. */
int mgds_launch_run(struct mgds_exam *exam);

#endif
