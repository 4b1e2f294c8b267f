/* SPDX-License-Identifier: MIT */
#include "sr_task.h"

#include "sr_secret.h"

void sr_task_wipe(struct sr_task *task)
{
	if (task->kind == SR_TASK_ADMIT)
		sr_admission_wipe(&task->admission);
	sr_wipe(task, sizeof *task);
}
