#pragma once
#include "apps/rapt/commands.h"

namespace rapt::app {

// rapt insight check FILE
int insight_check_main(const Arguments& arguments);

}  // namespace rapt::app
