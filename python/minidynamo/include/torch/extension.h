/* For sources written for torch. */
#pragma once
#include <minidynamo/extension.h>
