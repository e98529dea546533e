/* Graphs: nodes with an operation each; what is instantiated is a copy. Called
 * locked. */
#ifndef MGDS_SIM_GRAPH_H
#define MGDS_SIM_GRAPH_H

#include "sim/cuda/op.h"

struct mgds_gpu_graph;

struct mgds_gpu_node {
    struct mgds_gpu_graph *graph;
    CUgraphNodeType type;
    struct mgds_gpu_op *op;       /* owned; NULL for a child graph */
    struct mgds_gpu_graph *child; /* owned */
    struct mgds_gpu_node **deps;
    size_t dep_count, dep_capacity;
    size_t index; /* in the graph, while somebody walks it */
    bool mark;
    const struct mgds_gpu_node *original; /* of a clone; only compared */
};

struct mgds_gpu_user {
    unsigned refs;
    void *ptr;
    CUhostFn destroy;
};

struct mgds_user_ref {
    struct mgds_gpu_user *user;
    unsigned count;
};

struct mgds_gpu_graph {
    struct mgds_gpu_node **nodes;
    size_t count, capacity;
    struct mgds_user_ref *users;
    size_t user_count, user_capacity;
    bool is_child;
};

CUresult mgds_graph_find(CUgraph handle, struct mgds_gpu_graph **out);
CUresult mgds_node_find(CUgraphNode handle, struct mgds_gpu_node **out);

struct mgds_gpu_graph *mgds_graph_new(void);
void mgds_graph_free(struct mgds_gpu_graph *graph);
struct mgds_gpu_graph *mgds_graph_copy(const struct mgds_gpu_graph *graph);

/* A node after deps; takes op. */
struct mgds_gpu_node *mgds_graph_add(struct mgds_gpu_graph *graph,
                                     struct mgds_gpu_op *op,
                                     struct mgds_gpu_node *const *deps,
                                     size_t count);
void mgds_node_depend(struct mgds_gpu_node *node, struct mgds_gpu_node *dep);

/* User objects held by graphs and executables. */
void mgds_user_get(struct mgds_gpu_user *user, unsigned count);
void mgds_user_put(struct mgds_gpu_user *user, unsigned count);

/* What runs: nodes in an order that respects the dependencies, children
 * unfolded. Never changes; launches refer to it. */
struct mgds_body_node {
    struct mgds_gpu_op *op;
    const struct mgds_gpu_node *original; /* only compared */
    size_t *deps;
    size_t dep_count;
    size_t lane_next; /* the node after this one in its lane, or SIZE_MAX */
    bool done;
};

struct mgds_gpu_body {
    unsigned refs;
    struct mgds_body_node *nodes;
    size_t count, capacity;
    size_t *lanes; /* first node of each */
    size_t lane_count, lane_capacity;
};

struct mgds_gpu_exec {
    unsigned refs;
    uint64_t serial;
    unsigned long long flags;
    struct mgds_gpu_body *body;
    struct mgds_gpu_graph *source; /* owned: what a capture of a launch adds,
                                      and holds the user objects */
    uint64_t launches;
    /* One launch at a time. */
    bool running;
    struct mgds_gpu_body *now; /* the body that runs */
    size_t lanes_left;
    pthread_cond_t moved; /* a node or the launch ended */
};

/* The body of a graph, or NULL with the driver's error if it has a cycle. */
CUresult mgds_body_new(struct mgds_gpu_graph *graph,
                       struct mgds_gpu_body **out);
void mgds_body_put(struct mgds_gpu_body *body);

void mgds_exec_put(struct mgds_gpu_exec *exec);

/* Puts op, which it takes, in the place of `node` for launches to come; takes
 * nothing if it fails. */
CUresult mgds_exec_replace(CUgraphExec handle, const struct mgds_gpu_node *node,
                           struct mgds_gpu_op *op);

/* Runs a launch, without the lock; or does, locked, what must be done in a dead
 * context. */
CUresult mgds_exec_run(struct mgds_gpu_op *op);
void mgds_exec_skip(struct mgds_gpu_op *op);

#endif
