// SPDX-License-Identifier: Apache-2.0
#ifndef LG_PIPELINE_PRIORS_H
#define LG_PIPELINE_PRIORS_H
#define LG_SENTINEL_DEFAULT_SHARE 0.2
#endif
