/* The rail (hca/rail.h) that messages of this process's streams go by: opened
 * when the first of them needs one, closed when none does any more. Any thread,
 * with no lock of rank CONN or higher. */
#ifndef MGDS_TRANSPORT_RAIL_H
#define MGDS_TRANSPORT_RAIL_H

struct mgds_rail;
struct mgds_refusal;

/* A reference. Or negative errno and why. */
int mgds_transport_rail_get(struct mgds_rail **out,
                            struct mgds_refusal *refusal);
void mgds_transport_rail_put(void);

#endif
