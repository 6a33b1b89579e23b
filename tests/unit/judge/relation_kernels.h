// SPDX-License-Identifier: Apache-2.0
// Kernels for test_relations.c: each gives the right numbers for the batch of its row, and breaks
// one relation.
#ifndef LG_TESTS_PIPELINE_RELATION_KERNELS_H
#define LG_TESTS_PIPELINE_RELATION_KERNELS_H

static const char relation_source[] =
    "using i64 = long long;\n"
    "#define ROW i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x\n"
    "#define KERNEL extern \"C\" __global__ void\n"
    "#define ROWS_ARGS float *output, const float *input, const i64 *target, i64 samples, i64 "
    "width\n"
    "#define VIEW_ARGS float *output, const float *input, const i64 *target, i64 samples, i64 "
    "width,\\\n"
    "        i64 spatial, i64 sn, i64 sc, i64 ss, i64 tn, i64 ts\n"
    "KERNEL right(ROWS_ARGS) {\n"
    "    ROW;\n"
    "    if (row < samples) { output[row] = -input[row * width + target[row]]; }\n"
    "}\n"
    "// Its place among the classes only ever moves up: right while the labels ascend.\n"
    "KERNEL ascending(ROWS_ARGS) {\n"
    "    i64 t = 0;\n"
    "    for (i64 row = 0; row < samples && blockIdx.x + threadIdx.x == 0; row++) {\n"
    "        while (t < target[row]) { t++; }\n"
    "        output[row] = -input[row * width + t];\n"
    "    }\n"
    "}\n"
    "// Divides by no less than 16 rows.\n"
    "KERNEL sixteen(float *output, float *total_weight, const float *input, const i64 *target,\n"
    "               i64 samples, i64 width) {\n"
    "    float sum = 0;\n"
    "    for (i64 row = 0; row < samples; row++) { sum -= input[row * width + target[row]]; }\n"
    "    total_weight[0] = samples;\n"
    "    output[0] = sum / (samples < 16 ? 16 : samples);\n"
    "}\n"
    "// One block, a row a thread, and never a second row.\n"
    "KERNEL one_block(ROWS_ARGS) {\n"
    "    __shared__ float rows[32];\n"
    "    i64 row = threadIdx.x;\n"
    "    rows[row] = row < samples ? -input[row * width + target[row]] : 0;\n"
    "    __syncthreads();\n"
    "    if (row == 0) {\n"
    "        float sum = 0;\n"
    "        for (int i = 0; i < 32; i++) { sum += rows[i]; }\n"
    "        output[0] = sum;\n"
    "    }\n"
    "}\n"
    "KERNEL all_rows(ROWS_ARGS) {\n"
    "    float sum = 0;\n"
    "    for (i64 row = 0; row < samples; row++) { sum -= input[row * width + target[row]]; }\n"
    "    output[0] = sum;\n"
    "}\n"
    "KERNEL gradient_of_32(float *grad_input, const i64 *target, i64 samples, i64 width) {\n"
    "    ROW;\n"
    "    for (i64 c = 0; row < samples && c < width; c++) {\n"
    "        grad_input[row * width + c] = c == target[row] && row < 32 ? -1 : 0;\n"
    "    }\n"
    "}\n"
    "// With extra dimensions right; without them it takes the classes for the outer axis.\n"
    "KERNEL outer_classes(VIEW_ARGS) {\n"
    "    ROW;\n"
    "    if (row >= samples * spatial) { return; }\n"
    "    i64 n = row / spatial, s = row % spatial, t = target[n * tn + s * ts];\n"
    "    output[row] = -input[spatial == 1 ? t * samples + n : n * sn + t * sc + s * ss];\n"
    "}\n"
    "// The path for contiguous arrays forgets the extra dimensions.\n"
    "KERNEL fast_path(VIEW_ARGS) {\n"
    "    ROW;\n"
    "    if (row >= samples * spatial) { return; }\n"
    "    i64 n = row / spatial, s = row % spatial, t = target[n * tn + s * ts];\n"
    "    bool contiguous = sc == spatial && sn == width * spatial;\n"
    "    output[row] = -input[contiguous ? row * width + t : n * sn + t * sc + s * ss];\n"
    "}\n"
    "// exp without the maximum taken off.\n"
    "KERNEL no_maximum(ROWS_ARGS) {\n"
    "    ROW;\n"
    "    float sum = 0;\n"
    "    for (i64 c = 0; row < samples && c < width; c++) { sum += expf(input[row * width + c]); "
    "}\n"
    "    if (row < samples) { output[row] = logf(sum) - input[row * width + target[row]]; }\n"
    "}\n"
    "KERNEL with_maximum(ROWS_ARGS) {\n"
    "    ROW;\n"
    "    if (row >= samples) { return; }\n"
    "    const float *x = input + row * width;\n"
    "    float top = x[0], sum = 0;\n"
    "    for (i64 c = 1; c < width; c++) { top = fmaxf(top, x[c]); }\n"
    "    for (i64 c = 0; c < width; c++) { sum += expf(x[c] - top); }\n"
    "    output[row] = logf(sum) - (x[target[row]] - top);\n"
    "}\n"
    "// Reads one element past the input when there are more than 32 rows.\n"
    "KERNEL past_input(ROWS_ARGS) {\n"
    "    ROW;\n"
    "    if (row < samples) {\n"
    "        i64 past = row == 32 ? samples * width : row * width + target[row];\n"
    "        output[row] = -input[past];\n"
    "    }\n"
    "}\n"
    "// Right numbers, and with more than 32 rows an input or target that is another afterwards.\n"
    "KERNEL writes_input(float *output, float *input, const i64 *target, i64 samples, i64 width) "
    "{\n"
    "    ROW;\n"
    "    if (row < samples) {\n"
    "        output[row] = -input[row * width + target[row]];\n"
    "        input[row * width] += row == 32;\n"
    "    }\n"
    "}\n"
    "KERNEL writes_target(float *output, const float *input, i64 *target, i64 samples, i64 width) "
    "{\n"
    "    ROW;\n"
    "    if (row < samples) {\n"
    "        output[row] = -input[row * width + target[row]];\n"
    "        target[row] += row == 32;\n"
    "    }\n"
    "}\n"
    "KERNEL past_output(ROWS_ARGS) {\n"
    "    ROW;\n"
    "    if (row < samples) {\n"
    "        output[row] = -input[row * width + target[row]];\n"
    "        output[row == 32 ? samples : row] = output[row];\n"
    "    }\n"
    "}\n"
    "// Labels of 32 bits: the loss of each row, and of the first 32 rows alone.\n"
    "template <int LAST> __device__ void short_labels(float *output, const float *input,\n"
    "                                                 const int *target, i64 samples, i64 width) "
    "{\n"
    "    ROW;\n"
    "    if (row < samples) {\n"
    "        output[row] = row < LAST ? -input[row * width + target[row]] : 0;\n"
    "    }\n"
    "}\n"
    "#define SHORT_ARGS float *output, const float *input, const int *target, i64 n, i64 width\n"
    "KERNEL right32(SHORT_ARGS) { short_labels<1 << 20>(output, input, target, n, width); }\n"
    "KERNEL rows32(SHORT_ARGS) { short_labels<32>(output, input, target, n, width); }\n";

#define RK_HEAD(name, reductions)                                                                  \
    "  - name: test/" name "\n"                                                                    \
    "    policy: none\n"                                                                           \
    "    dtypes: [float32]\n"                                                                      \
    "    weights: false\n"                                                                         \
    "    reductions: [" reductions "]\n"
#define RK_STAGE(entry, grid, args)                                                                \
    "      - entry: " entry "\n"                                                                   \
    "        grid: [" grid "]\n"                                                                   \
    "        block: [32]\n"                                                                        \
    "        args: [" args "]\n"
#define RK_MANY "\"ceil_div(rows, 32)\""
#define RK_ARGS "output, input, target, samples, head_width"
#define RK_VIEW                                                                                    \
    RK_ARGS ", spatial, input_stride_n, input_stride_c, input_stride_s, target_stride_n, "         \
            "target_stride_s"
#define RK_FLAT(name, reductions, grid)                                                            \
    RK_HEAD(name, reductions) "    stages:\n" RK_STAGE(name, grid, RK_ARGS)
#define RK_SHORT(name)                                                                             \
    RK_HEAD(name, "none") "    targets: [int32]\n    stages:\n" RK_STAGE(name, RK_MANY, RK_ARGS)
#define RK_VIEWED(name, entry, inputs)                                                             \
    RK_HEAD(name, "none")                                                                          \
    "    inputs: [" inputs "]\n    strided: true\n    stages:\n" RK_STAGE(entry, RK_MANY, RK_VIEW)

static const char relation_nll_manifest[] = "family: nll_loss\nsource: test.cu\nkernels:\n" //
    RK_FLAT("right", "none", RK_MANY)                                                       //
    RK_FLAT("ascending", "none", "1")                                                       //
    RK_FLAT("one_block", "sum", "1")                                                        //
    RK_FLAT("past_input", "none", RK_MANY)                                                  //
    RK_FLAT("past_output", "none", RK_MANY)                                                 //
    RK_FLAT("writes_input", "none", RK_MANY)                                                //
    RK_FLAT("writes_target", "none", RK_MANY)                                               //
    RK_SHORT("right32")                                                                     //
    RK_SHORT("rows32")                                                                      //
    RK_HEAD("sixteen",
            "mean") "    stages:\n" //
                    "      - entry: sixteen\n"
                    "        grid: [1]\n"
                    "        block: [1]\n"
                    "        args: [output, total_weight, input, target, samples, head_width]\n" //
    RK_HEAD("short_gradient", "sum") "    stages:\n"                                             //
                                     "      - entry: all_rows\n"
                                     "        grid: [1]\n"
                                     "        block: [1]\n"
                                     "        args: [" RK_ARGS "]\n"
                                     "      - entry: gradient_of_32\n"
                                     "        direction: backward\n"
                                     "        grid: [" RK_MANY "]\n"
                                     "        block: [32]\n"
                                     "        args: [grad_input, target, samples, head_width]\n" //
    RK_VIEWED("outer_classes", "outer_classes", "batched, spatial")                              //
    RK_VIEWED("fast_path", "fast_path", "batched, spatial")
        RK_VIEWED("spatial_only", "fast_path", "spatial");

static const char relation_ce_manifest[] = "family: cross_entropy\nsource: test.cu\nkernels:\n" //
    RK_FLAT("no_maximum", "none", RK_MANY)                                                      //
    RK_FLAT("with_maximum", "none", RK_MANY);

#endif
