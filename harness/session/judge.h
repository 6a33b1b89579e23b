// SPDX-License-Identifier: Apache-2.0
// From what was seen of a case to its verdict, finding and grade.
#ifndef LG_SESSION_JUDGE_H
#define LG_SESSION_JUDGE_H

#include "session/case.h"

// The batch's size, labels, injected faults and right loss, for reports.
void lg_case_copy_truth(const lg_point_data *data, lg_case_result *result);
// Fills verdict, finding and attribution from the observation of `run`. `device` and `request`:
// what was run, or NULL when the batch was refused.
void lg_case_judge(lg_device_session *device, const lg_run_request *request,
                   const lg_point_data *data, lg_case_run *run);

#endif
