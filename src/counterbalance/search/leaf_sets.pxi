# Sets of leaves as words; a part of both kernels.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    static inline int lowest_bit(unsigned long long word) { return __builtin_ctzll(word); }
    #endif
    """
    int lowest_bit(uint64_t word) noexcept nogil  # of a word that is not zero

cdef enum:
    WORD = 64  # as in ``classifier.trees``
