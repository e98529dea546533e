/* Rows of syndromes.def, provoked: beside those of check_test.c. */
#ifndef MGDS_TESTS_HCA_PROVOKE_H
#define MGDS_TESTS_HCA_PROVOKE_H

struct place;

/* A provocation posts by end a, index 0, unless it says otherwise. */
typedef void provoke(struct place *place);

provoke provoke_WQE_UMR, provoke_WINDOW_KEY, provoke_WINDOW_PD,
    provoke_WINDOW_QP, provoke_WINDOW_BOUND, provoke_WINDOW_REGION,
    provoke_WINDOW_BOUNDS, provoke_WINDOW_ACCESS, provoke_REMOTE_WINDOW,
    provoke_INVALIDATE_KEY, provoke_DC_KEY;

#endif
