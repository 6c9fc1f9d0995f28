# Sets of leaves as 64 bits; included by both kernels.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    static __inline int highest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanReverse64(&place, word);
        return (int)place;
    }
    #else
    static inline int lowest_bit(unsigned long long word) { return __builtin_ctzll(word); }
    static inline int highest_bit(unsigned long long word) { return 63 - __builtin_clzll(word); }
    #endif

    /* Compiled once for each width of the processor's registers; products and sums are rounded one
       by one in all of them (see pyproject.toml), so the bits are the same. */
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
    #define ANY_WIDTH __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
    #define SIDE_BY_SIDE _Pragma("GCC ivdep")
    #else
    #define ANY_WIDTH
    #define SIDE_BY_SIDE
    #endif
    """
    int lowest_bit(uint64_t word) noexcept nogil  # of a word that is not zero
    int highest_bit(uint64_t word) noexcept nogil

cdef enum:
    WORD = 64  # as in ``classifier.trees``
