/* What users may set of how queue pairs are connected. */
#ifndef MGDS_HCA_SETTINGS_H
#define MGDS_HCA_SETTINGS_H

enum mgds_gid_type {
    MGDS_GID_AUTO, /* RoCE v2; of InfiniBand its only one */
    MGDS_GID_V1,
    MGDS_GID_V2
};

enum { MGDS_GID_ANY = 256 }; /* for gid_index: the first row of that type */

struct mgds_rail_settings {
    unsigned pkey; /* 0: the first of the port that is a full member's */
    unsigned gid_index;
    enum mgds_gid_type gid_type;
    unsigned traffic_class;
    unsigned service_level;
    unsigned timeout; /* of an answer: 4.096 us * 2^this */
    unsigned retries;
    unsigned rnr_retries; /* 7: for ever */
    unsigned mtu;         /* bytes; 0: as the port has it */
};

#endif
