/* A libmpix_gds.so for tests of the tools: it answers MPIX_Gds_query with
 * what the environment says, and interposes nothing. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int MPIX_Gds_query(int what,
                                                          int64_t *value);

int MPIX_Gds_query(int what, int64_t *value)
{
    static const char *const name[] = {"STUB_GDS_VERSION", "STUB_GDS_STATE",
                                       "STUB_GDS_CUDA"};
    static const int64_t usual[] = {MGDS_VERSION_NUMBER, 1, 0};
    const char *text;

    if (what < 0 || what > 2)
        return 1;
    text = getenv(name[what]);
    *value = text ? strtoll(text, NULL, 10) : usual[what];
    return 0;
}
