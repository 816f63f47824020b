// Version of the loaded oneDNN and the instructions that it uses here.
#pragma once
#include <string>

namespace md {

std::string onednn_version();       // of the loaded library, "3.2.0"
std::string onednn_threading();     // "OpenMP", ...
std::string onednn_instructions();  // "avx512_core_bf16", "avx2", ...
// Whether those include products of pairs of bfloat16, and of groups of four bytes.
bool onednn_multiplies_bfloat16();
bool onednn_multiplies_bytes();

}  // namespace md
