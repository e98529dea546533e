/* A call in the place of the caller's own, which leaves no frame behind. */
#ifndef MGDS_PMPI_TAIL_H
#define MGDS_PMPI_TAIL_H

/* Where it must be said: clang copies arguments on the stack otherwise. */
#if __has_attribute(musttail)
#define MGDS_TAIL_RETURN __attribute__((musttail)) return
#else
#define MGDS_TAIL_RETURN return
#endif

#endif
