/* Distances of a row to LANES sampled rows that lie side by side, feature by feature.

   Each is summed in the order of the features and without fused products, so that every width of
   the processor's registers gives the same bits. The vectors are as wide as the registers of the
   processor at hand: a compiler that splits wider ones keeps them in memory, many times slower.  */

#include <math.h>

#define LANES 16

#if defined(__GNUC__)

#define FUNCTIONS_IN_C(WIDTH, TARGET, BYTES) \
/* Write how far the sampled rows are; 0 where none is nearer than MOST. */ \
TARGET static int add_up_##WIDTH( \
    const double *row, const double *column, Py_ssize_t n_features, double most, double *total) \
{ \
    typedef double wide __attribute__((vector_size(BYTES), aligned(8), may_alias)); \
    typedef long long bits __attribute__((vector_size(BYTES), aligned(8), may_alias)); \
    enum { STEP = BYTES / 8, PARTS = LANES / STEP }; \
    const bits no_sign = (bits){0} + 0x7fffffffffffffffLL; \
    wide sum[PARTS]; \
    bits near = {0}; \
    long long any = 0; \
    Py_ssize_t m; \
    int j; \
    for (j = 0; j < PARTS; j++) sum[j] = (wide){0}; \
    for (m = 0; m < n_features; m++, column += LANES) \
        for (j = 0; j < PARTS; j++) \
            sum[j] += (wide)((bits)(row[m] - *(const wide *)(column + STEP * j)) & no_sign); \
    for (j = 0; j < PARTS; j++) { \
        near |= (bits)(sum[j] < most); \
        *(wide *)(total + STEP * j) = sum[j]; \
    } \
    for (j = 0; j < STEP; j++) any |= near[j]; \
    return any != 0; \
} \
/* Add one for every code that differs, half where one of the two is missing (below zero). */ \
TARGET static void add_codes_##WIDTH( \
    const double *codes, const double *column, Py_ssize_t n_codes, double *total) \
{ \
    typedef double wide __attribute__((vector_size(BYTES), aligned(8), may_alias)); \
    typedef long long bits __attribute__((vector_size(BYTES), aligned(8), may_alias)); \
    enum { STEP = BYTES / 8, PARTS = LANES / STEP }; \
    const wide halves = (wide){0} + 0.5; \
    wide differing[PARTS]; \
    Py_ssize_t m; \
    int j; \
    for (j = 0; j < PARTS; j++) differing[j] = (wide){0}; \
    for (m = 0; m < n_codes; m++, column += LANES) { \
        const wide code = (wide){0} + codes[m]; \
        const bits half = (bits)(code >= 0) & (bits)halves; \
        for (j = 0; j < PARTS; j++) { \
            const wide other = *(const wide *)(column + STEP * j); \
            const bits differs = (bits)(other != code); \
            differing[j] += (wide)(differs & half); \
            differing[j] += (wide)(differs & (bits)(other >= 0) & (bits)halves); \
        } \
    } \
    for (j = 0; j < PARTS; j++) *(wide *)(total + STEP * j) += differing[j]; \
}

FUNCTIONS_IN_C(narrow, , 16)
#if defined(__x86_64__)
FUNCTIONS_IN_C(wide, __attribute__((target("avx2"))), 32)
static int has_wide(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2") != 0; }
#else
#define add_up_wide add_up_narrow
#define add_codes_wide add_codes_narrow
static int has_wide(void) { return 0; }
#endif

#else

static int add_up_narrow(
    const double *row, const double *column, Py_ssize_t n_features, double most, double *total)
{
    Py_ssize_t m;
    int j, near = 0;
    for (j = 0; j < LANES; j++) total[j] = 0;
    for (m = 0; m < n_features; m++, column += LANES)
        for (j = 0; j < LANES; j++) total[j] += fabs(row[m] - column[j]);
    for (j = 0; j < LANES; j++) near |= total[j] < most;
    return near;
}
static void add_codes_narrow(
    const double *codes, const double *column, Py_ssize_t n_codes, double *total)
{
    double differing[LANES] = {0};
    Py_ssize_t m;
    int j;
    for (m = 0; m < n_codes; m++, column += LANES)
        for (j = 0; j < LANES; j++)
            if (column[j] != codes[m])
                differing[j] += (codes[m] < 0 ? 0.0 : 0.5) + (column[j] < 0 ? 0.0 : 0.5);
    for (j = 0; j < LANES; j++) total[j] += differing[j];
}
#define add_up_wide add_up_narrow
#define add_codes_wide add_codes_narrow
static int has_wide(void) { return 0; }

#endif
