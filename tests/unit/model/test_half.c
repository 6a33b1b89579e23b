// SPDX-License-Identifier: Apache-2.0
// The 16-bit formats over all of their values: each decodes to what its fields say, and each double
// between two neighbours rounds to the nearer one, ties to even.
#include "model/half.h"
#include "unit/testing.h"

#include <math.h>

typedef struct format {
    const char *name;
    int n_fraction;
    int bias;
    float (*decode)(uint16_t bits);
    uint16_t (*encode)(double value);
} format;

static const format formats[] = {
    {"float16", 10, 15, lg_f16_to_f32, lg_f64_to_f16},
    {"bfloat16", 7, 127, lg_bf16_to_f32, lg_f64_to_bf16},
};

static double by_fields(const format *f, unsigned bits) {
    int exponent = (int)((bits & 0x7fff) >> f->n_fraction);
    double fraction = bits & ((1u << f->n_fraction) - 1);
    double scale = ldexp(1, -f->n_fraction);
    double magnitude = exponent ? ldexp(1 + fraction * scale, exponent - f->bias)
                                : ldexp(fraction * scale, 1 - f->bias);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static unsigned infinity_bits(const format *f) {
    return 0x7fffu >> f->n_fraction << f->n_fraction;
}

static void test_all_values(void) {
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        unsigned wrong = 0;
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            float value = f->decode((uint16_t)bits);
            unsigned magnitude = bits & 0x7fff;
            if (magnitude > infinity_bits(f)) {
                uint16_t back = f->encode((double)value);
                wrong += !isnan(value) || (back & 0x7fffu) <= infinity_bits(f);
            } else if (magnitude == infinity_bits(f)) {
                wrong += !isinf(value) || f->encode((double)value) != bits;
            } else {
                wrong += (double)value != by_fields(f, bits);
                wrong += f->encode((double)value) != bits; // also the sign of zero
            }
        }
        LG_CHECK_ROW(f->name, wrong == 0);
    }
}

static void test_every_rounding_boundary(void) {
    for (int k = 0; k < 2; k++) {
        const format *f = &formats[k];
        unsigned wrong = 0;
        for (unsigned low = 0; low < infinity_bits(f); low++) {
            unsigned high = low + 1;
            // Above the largest finite value, infinity stands where the next power of two would.
            double a = by_fields(f, low);
            double b =
                high == infinity_bits(f) ? 2 * a - by_fields(f, low - 1) : by_fields(f, high);
            double middle = a + (b - a) / 2;
            unsigned even = low & 1 ? high : low;
            wrong += f->encode(middle) != even;
            wrong += f->encode(nextafter(middle, INFINITY)) != high;
            wrong += f->encode(nextafter(middle, 0)) != low;
            wrong += f->encode(-middle) != (even | 0x8000);
        }
        LG_CHECK_ROW(f->name, wrong == 0);
    }
}

typedef struct row {
    const char *name;
    double value;
    uint16_t f16;
    uint16_t bf16;
} row;

static void test_known_values(void) {
    static const row rows[] = {
        {"one", 1, 0x3c00, 0x3f80},
        {"largest float16", 65504, 0x7bff, 0x4780},
        {"tie to infinity in float16", 65520, 0x7c00, 0x4780},
        {"below that tie", 65519.99, 0x7bff, 0x4780},
        {"a double that float would round up first", 1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80},
        {"far too large", 1e300, 0x7c00, 0x7f80},
        {"far too small", -1e-300, 0x8000, 0x8000},
        {"least double", 0x1p-1074, 0, 0},
        {"half of the least float16", 0x1p-25, 0, 0x3300},
        {"a little above it", 0x1.000001p-25, 1, 0x3300},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LG_CHECK_ROW(rows[i].name, lg_f64_to_f16(rows[i].value) == rows[i].f16);
        LG_CHECK_ROW(rows[i].name, lg_f64_to_bf16(rows[i].value) == rows[i].bf16);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"all values", test_all_values},
        {"every rounding boundary", test_every_rounding_boundary},
        {"known values", test_known_values},
    };
    return lg_run_tests("half", tests, sizeof tests / sizeof *tests);
}
