/* Thread-local storage as this library needs it. It is preloaded, so its
 * thread-locals live in the initial block of every thread (initial-exec: one
 * load, no allocation, no lock). That room is scarce when the library comes
 * in by dlopen instead: a few words each, never an array. */
#ifndef MGDS_BASE_TLS_H
#define MGDS_BASE_TLS_H

#define MGDS_TLS __attribute__((tls_model("initial-exec"))) _Thread_local

#endif
