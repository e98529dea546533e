/* Failed launches, by what they say; see diagnosis.h. */
#include "tools/doctor/diagnosis.h"

#include <string.h>

/* Those further down may be consequences of those above. */
static const struct symptom {
    const char *says; /* in a line */
    const char *text; /* %s: the line's rest behind that */
    const char *remedy;
} symptoms[] = {
    {"mpix-gds-run: ", "mpix-gds-run refuses to start: %s",
     "do what that says"},
    {"mpix-gds-probe: ", "an examination failed: %s",
     "that is a bug of mpix-gds, or of what is below: run it again with "
     "mpix-gds-run, mpix-gds-probe and MPIX_GDS_LOG_LEVEL=info, and report "
     "what it says"},
    {"error while loading shared libraries: ", "a rank cannot start: %s",
     "install that library on every host, or name its folder in "
     "LD_LIBRARY_PATH"},
    {"execvp error on file ", "the launcher cannot start %s",
     "let every host have this installation, at the same path"},
    {"Open MPI", "the launcher is Open MPI's, and the ranks are MPICH's",
     "use MPICH's, as in --launcher \"mpiexec.mpich -n 2\""},
    {"PRTE", "the launcher is Open MPI's, and the ranks are MPICH's",
     "use MPICH's, as in --launcher \"mpiexec.mpich -n 2\""},
    {"EXIT STRING: ", "a rank was ended: %s",
     "see what ended it: the lines below, dmesg (out of memory?), a limit of "
     "the batch system"},
};

bool mgds_diagnosis_find(struct mgds_finding *finding, const char *text)
{
    for (size_t i = 0; i < sizeof(symptoms) / sizeof(symptoms[0]); i++) {
        const struct symptom *symptom = &symptoms[i];
        const char *found = strstr(text, symptom->says);
        const char *mark = strstr(symptom->text, "%s");

        if (!found)
            continue;
        found += strlen(symptom->says);
        mgds_finding_set(finding, MGDS_BROKEN, "%.*s",
                         mark ? (int)(mark - symptom->text)
                              : (int)strlen(symptom->text),
                         symptom->text);
        if (mark)
            mgds_finding_add(finding, "%.*s", (int)strcspn(found, "\n"), found);
        mgds_finding_remedy(finding, "%s", symptom->remedy);
        return true;
    }
    return false;
}
