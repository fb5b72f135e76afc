#pragma once
#include "apps/rapt/commands.h"

namespace rapt::app {

// rapt insight report --model DIR --data FILE
int insight_report_main(const Arguments& arguments);

}  // namespace rapt::app
