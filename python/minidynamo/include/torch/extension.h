/* For sources that were written for torch. */
#pragma once
#include <minidynamo/extension.h>
