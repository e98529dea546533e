/*
 * Arguments as machine words. Until the MPI underneath is known to have
 * MPICH's handles, nothing here may assume a type: an int handle and a
 * pointer handle both travel unharmed in a full register or stack slot (both
 * ABIs we build for, x86-64 and AArch64 Linux, pass every integer and pointer
 * argument that way). Own bodies narrow to the types of mpi.h, after the check.
 */
#ifndef MGDS_PMPI_WORDS_H
#define MGDS_PMPI_WORDS_H

#include <stdint.h>

typedef uintptr_t mgds_word;

/* A definition further down, called only through its MGDS_FN(n) shape. */
typedef void mgds_next_fn(void);

#define MGDS_PARAMS_0 void
#define MGDS_PARAMS_1 mgds_word a
#define MGDS_PARAMS_2 MGDS_PARAMS_1, mgds_word b
#define MGDS_PARAMS_3 MGDS_PARAMS_2, mgds_word c
#define MGDS_PARAMS_4 MGDS_PARAMS_3, mgds_word d
#define MGDS_PARAMS_5 MGDS_PARAMS_4, mgds_word e
#define MGDS_PARAMS_6 MGDS_PARAMS_5, mgds_word f
#define MGDS_PARAMS_7 MGDS_PARAMS_6, mgds_word g
#define MGDS_PARAMS_8 MGDS_PARAMS_7, mgds_word h
#define MGDS_PARAMS_9 MGDS_PARAMS_8, mgds_word i
#define MGDS_PARAMS_10 MGDS_PARAMS_9, mgds_word j
#define MGDS_PARAMS_11 MGDS_PARAMS_10, mgds_word k
#define MGDS_PARAMS_12 MGDS_PARAMS_11, mgds_word l
#define MGDS_PARAMS_13 MGDS_PARAMS_12, mgds_word m

#define MGDS_ARGS_0
#define MGDS_ARGS_1 a
#define MGDS_ARGS_2 MGDS_ARGS_1, b
#define MGDS_ARGS_3 MGDS_ARGS_2, c
#define MGDS_ARGS_4 MGDS_ARGS_3, d
#define MGDS_ARGS_5 MGDS_ARGS_4, e
#define MGDS_ARGS_6 MGDS_ARGS_5, f
#define MGDS_ARGS_7 MGDS_ARGS_6, g
#define MGDS_ARGS_8 MGDS_ARGS_7, h
#define MGDS_ARGS_9 MGDS_ARGS_8, i
#define MGDS_ARGS_10 MGDS_ARGS_9, j
#define MGDS_ARGS_11 MGDS_ARGS_10, k
#define MGDS_ARGS_12 MGDS_ARGS_11, l
#define MGDS_ARGS_13 MGDS_ARGS_12, m

/* The type of a function of n words that returns one. */
#define MGDS_FN(n) mgds_fn_##n
typedef mgds_word MGDS_FN(0)(MGDS_PARAMS_0);
typedef mgds_word MGDS_FN(1)(MGDS_PARAMS_1);
typedef mgds_word MGDS_FN(2)(MGDS_PARAMS_2);
typedef mgds_word MGDS_FN(3)(MGDS_PARAMS_3);
typedef mgds_word MGDS_FN(4)(MGDS_PARAMS_4);
typedef mgds_word MGDS_FN(5)(MGDS_PARAMS_5);
typedef mgds_word MGDS_FN(6)(MGDS_PARAMS_6);
typedef mgds_word MGDS_FN(7)(MGDS_PARAMS_7);
typedef mgds_word MGDS_FN(8)(MGDS_PARAMS_8);
typedef mgds_word MGDS_FN(9)(MGDS_PARAMS_9);
typedef mgds_word MGDS_FN(10)(MGDS_PARAMS_10);
typedef mgds_word MGDS_FN(11)(MGDS_PARAMS_11);
typedef mgds_word MGDS_FN(12)(MGDS_PARAMS_12);
typedef mgds_word MGDS_FN(13)(MGDS_PARAMS_13);

#endif
