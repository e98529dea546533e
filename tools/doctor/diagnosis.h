/* What went wrong, from what a launcher or a rank wrote. */
#ifndef MGDS_DOCTOR_DIAGNOSIS_H
#define MGDS_DOCTOR_DIAGNOSIS_H

#include <stdbool.h>

#include "tools/doctor/exam.h"

/* Fills the finding if the text has a line that is known: one diagnosis, of
 * the cause that lies deepest. */
bool mgds_diagnosis_find(struct mgds_finding *finding, const char *text);

#endif
