/* Graphs: nodes with an operation each; what is instantiated is a copy. Called
 * locked. */
#ifndef MGDS_SIM_GRAPH_H
#define MGDS_SIM_GRAPH_H

#include "sim/cuda/op.h"

struct mgds_gpu_graph;

struct mgds_gpu_node {
    struct mgds_gpu_graph *graph; /* that owns it */
    CUgraphNodeType type;
    struct mgds_gpu_op *op;       /* owned; NULL for a child graph */
    struct mgds_gpu_graph *child; /* owned */
    struct mgds_gpu_node **deps;  /* of the same graph; only pointed at */
    size_t dep_count, dep_capacity;
    /* Scratch of whoever walks the graph, within one hold of the lock. */
    size_t index;
    bool mark;
};

/* A user object: `destroy` is called, in a pool thread, when nobody holds it.
 */
struct mgds_gpu_user {
    unsigned refs;
    void *ptr;
    CUhostFn destroy;
};

/* That many references that a graph holds. */
struct mgds_user_ref {
    struct mgds_gpu_user *user;
    unsigned count;
};

struct mgds_gpu_graph {
    struct mgds_gpu_node **nodes;
    size_t count, capacity;
    struct mgds_user_ref *users;
    size_t user_count, user_capacity;
    bool is_child; /* owned by a node: a program may not destroy it */
};

/* What a handle names; INVALID_VALUE if it is none. */
CUresult mgds_graph_find(CUgraph handle, struct mgds_gpu_graph **out);
CUresult mgds_node_find(CUgraphNode handle, struct mgds_gpu_node **out);

/* An empty graph, a live handle, the caller's. */
struct mgds_gpu_graph *mgds_graph_new(void);

/* Frees it with its nodes, children and holds on user objects. */
void mgds_graph_free(struct mgds_gpu_graph *graph);

/* A graph of its own with the same nodes, and more
 * references to the same user objects. */
struct mgds_gpu_graph *mgds_graph_copy(const struct mgds_gpu_graph *graph);

/* A new node after `count` deps, which are of this graph; takes op (NULL: the
 * caller sets the child). */
struct mgds_gpu_node *mgds_graph_add(struct mgds_gpu_graph *graph,
                                     struct mgds_gpu_op *op,
                                     struct mgds_gpu_node *const *deps,
                                     size_t count);
/* `node` comes after `dep`, of the same graph, from now on. */
void mgds_node_depend(struct mgds_gpu_node *node, struct mgds_gpu_node *dep);

/* References to a user object, held by graphs and executables; the last one
 * back has it destroyed. */
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
    bool done;        /* in the launch that runs: its lanes write it, locked */
};

struct mgds_gpu_body {
    unsigned refs; /* the executable, every launch */
    struct mgds_body_node *nodes;
    size_t count, capacity;
    size_t *lanes; /* first node of each */
    size_t lane_count, lane_capacity;
};

struct mgds_gpu_exec {
    unsigned refs;   /* the handle, every launch */
    uint64_t serial; /* and launches: start of the lanes' delay sequences */
    unsigned long long flags;
    struct mgds_gpu_body *body;    /* of launches to come; updates replace it */
    struct mgds_gpu_graph *source; /* owned copy: holds the user objects, its
                                      children's too */
    uint64_t launches;
    /* One launch at a time; its executor and lanes write these. */
    bool running;
    struct mgds_gpu_body *now; /* the body that runs */
    size_t lanes_left;
    pthread_cond_t moved; /* a node or the launch ended */
};

/* The body of a graph, one reference; INVALID_VALUE if it has a cycle. */
CUresult mgds_body_new(struct mgds_gpu_graph *graph,
                       struct mgds_gpu_body **out);
/* Give a reference back; the last one frees. */
void mgds_body_put(struct mgds_gpu_body *body);
void mgds_exec_put(struct mgds_gpu_exec *exec);

/* Puts op, which it takes, in the place of `node` for launches to come; takes
 * nothing if it fails. */
CUresult mgds_exec_replace(CUgraphExec handle, const struct mgds_gpu_node *node,
                           struct mgds_gpu_op *op);

/* Runs a launch to its end, after earlier ones of the same executable. Without
 * the lock. Errors of nodes go to mgds_gpu_lose: always CUDA_SUCCESS. */
CUresult mgds_exec_run(struct mgds_gpu_op *op);

/* What a launch must still do in a lost process: its records are waited for.
 * Locked. */
void mgds_exec_skip(struct mgds_gpu_op *op);

#endif
