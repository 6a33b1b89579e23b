// SPDX-License-Identifier: Apache-2.0
// Address ranges that are backed by memory piece by piece: what is reachable when, who refuses
// what, and how little memory a range of gigabytes takes.
#include "unit/engine/driver/fixture.h"

#define FAR_BYTES ((size_t)48 << 30)

static void test_wrong_arguments(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    CUmemAllocationProp elsewhere = piece_kind;
    elsewhere.location.id = 1;
    CUmemAccessDesc reading = piece_access;
    reading.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle piece = 0, large = 0;
    size_t bytes;
    CU_ASSERT_EQUAL(d->cuMemCreate(&large, 2 * PIECE_BYTES, &piece_kind, 0), 0);
    const struct {
        const char *what;
        CUresult got;
    } rows[] = {
        {"granularity of another device",
         d->cuMemGetAllocationGranularity(&bytes, &elsewhere, CU_MEM_ALLOC_GRANULARITY_MINIMUM)},
        {"a range of no bytes", d->cuMemAddressReserve(&at, 0, 0, 0, 0)},
        {"a range of odd bytes", d->cuMemAddressReserve(&at, 100, 0, 0, 0)},
        {"a piece of odd bytes", d->cuMemCreate(&piece, 100, &piece_kind, 0)},
        {"a piece of another device", d->cuMemCreate(&piece, PIECE_BYTES, &elsewhere, 0)},
        {"a handle that is none", d->cuMemRelease(12345)},
        {"mapping beyond the range",
         d->cuMemMap(f.range + RANGE_BYTES - PIECE_BYTES, 2 * PIECE_BYTES, 0, large, 0)},
        {"mapping outside any range", d->cuMemMap(f.data, PIECE_BYTES, 0, f.another, 0)},
        {"mapping a part of a handle", d->cuMemMap(f.empty_range, PIECE_BYTES, 0, large, 0)},
        {"mapping at an odd address", d->cuMemMap(f.empty_range + 8, PIECE_BYTES, 0, f.another, 0)},
        {"mapping where memory is", d->cuMemMap(f.range, PIECE_BYTES, 0, f.another, 0)},
        {"mapping a handle twice", d->cuMemMap(f.empty_range, PIECE_BYTES, 0, f.piece, 0)},
        {"access to unmapped addresses",
         d->cuMemSetAccess(f.empty_range, PIECE_BYTES, &piece_access, 1)},
        {"access to more than is mapped",
         d->cuMemSetAccess(f.range, 2 * PIECE_BYTES, &piece_access, 1)},
        {"access for reading alone", d->cuMemSetAccess(f.range, PIECE_BYTES, &reading, 1)},
        {"unmapping more than is mapped", d->cuMemUnmap(f.range, RANGE_BYTES)},
        {"freeing a range in use", d->cuMemAddressFree(f.range, RANGE_BYTES)},
        {"freeing a part of a range", d->cuMemAddressFree(f.empty_range, PIECE_BYTES)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LG_CHECK_ROW(rows[i].what, rows[i].got == CUDA_ERROR_INVALID_VALUE);
    }
    LG_CHECK_ROW("more than there is",
                 d->cuMemCreate(&piece, FAR_BYTES, &piece_kind, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    tear_down(&f);
}

// Maps a fresh piece there, not yet open.
static void map(const fixture *f, CUdeviceptr at) {
    CUmemGenericAllocationHandle piece;
    CU_ASSERT_EQUAL_FATAL(f->driver->cuMemCreate(&piece, PIECE_BYTES, &piece_kind, 0), 0);
    CU_ASSERT_EQUAL_FATAL(f->driver->cuMemMap(at, PIECE_BYTES, 0, piece, 0), 0);
    CU_ASSERT_EQUAL(f->driver->cuMemRelease(piece), 0); // mapped memory stays
}

static void test_far_apart(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    size_t free_before, free_after, total;
    CUdeviceptr base;
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_before, &total), 0);
    CU_ASSERT_EQUAL_FATAL(d->cuMemAddressReserve(&base, FAR_BYTES, 0, 0, 0), 0);
    // The last first: order does not matter.
    const size_t offsets[] = {FAR_BYTES - PIECE_BYTES, 0, FAR_BYTES / 2};
    uint32_t word;
    for (uint32_t i = 0; i < 3; i++) {
        map(&f, base + offsets[i]);
        CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, base + offsets[i], 4), CUDA_ERROR_INVALID_VALUE);
        CU_ASSERT_EQUAL(d->cuMemSetAccess(base + offsets[i], PIECE_BYTES, &piece_access, 1), 0);
        CU_ASSERT_EQUAL(launch(&f, "store", PIECE_BYTES / 4, 100 + i, base + offsets[i], f.stream),
                        0);
    }
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_after, &total), 0);
    CU_ASSERT_EQUAL(free_before - free_after, 3 * PIECE_BYTES);
    for (uint32_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, base + offsets[i] + PIECE_BYTES - 4, 4), 0);
        CU_ASSERT_EQUAL(word, 100 + i);
        CU_ASSERT_EQUAL(d->cuMemUnmap(base + offsets[i], PIECE_BYTES), 0);
        CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, base + offsets[i], 4), CUDA_ERROR_INVALID_VALUE);
    }
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_after, &total), 0);
    CU_ASSERT_EQUAL(free_before, free_after);
    CU_ASSERT_EQUAL(d->cuMemAddressFree(base, FAR_BYTES), 0);
    tear_down(&f);
}

// A kernel that leaves a piece is out of bounds, whether nothing follows or a piece that nobody has
// opened.
static void test_between_pieces(void) {
    for (int neighbour = 0; neighbour < 2; neighbour++) {
        fixture f;
        set_up(&f);
        const lg_driver *d = f.driver;
        map(&f, f.range + (neighbour ? 1 : 2) * PIECE_BYTES);
        CU_ASSERT_EQUAL(launch(&f, "store", PIECE_BYTES / 4 + 1, 1, f.range, f.stream), 0);
        CU_ASSERT_EQUAL(d->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        lg_device_fault fault = d->fault();
        CU_ASSERT_TRUE_FATAL(fault.present);
        CU_ASSERT_TRUE(fault.kind == LG_DEVICE_FAULT_OUT_OF_BOUNDS && fault.write);
        CU_ASSERT_EQUAL(fault.address, f.range + PIECE_BYTES);
        tear_down(&f);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"wrong arguments", test_wrong_arguments},
        {"pieces far apart", test_far_apart},
        {"between pieces", test_between_pieces},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
