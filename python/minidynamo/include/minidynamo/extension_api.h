/* The interface of minidynamo for compiled extensions: a table of functions, in the
   capsule minidynamo._C._extension_api. */
#pragma once
#include <Python.h>
#include <stdint.h>

#define MINIDYNAMO_EXTENSION_API_VERSION 1
#define MINIDYNAMO_EXTENSION_API_NAME "minidynamo._C._extension_api"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  MINIDYNAMO_BOOL,
  MINIDYNAMO_UINT8,
  MINIDYNAMO_INT8,
  MINIDYNAMO_INT16,
  MINIDYNAMO_INT32,
  MINIDYNAMO_INT64,
  MINIDYNAMO_FLOAT16,
  MINIDYNAMO_BFLOAT16,
  MINIDYNAMO_FLOAT32,
  MINIDYNAMO_FLOAT64,
  MINIDYNAMO_UINT16,
  MINIDYNAMO_UINT32,
  MINIDYNAMO_UINT64,
  MINIDYNAMO_COMPLEX64, /* two floats, the real part first */
  MINIDYNAMO_COMPLEX128
} MinidynamoDType;

/* The current state of a tensor. Borrowed: valid while the tensor object lives and is not
   changed. Strides are in elements. */
typedef struct {
  const void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int64_t numel;
  int32_t rank;
  MinidynamoDType dtype;
} MinidynamoTensorView;

/* Both need the GIL, and return -1 or null with a Python exception set. */
typedef struct {
  uint32_t version;
  /* TypeError unless it is a tensor, RuntimeError for a tensor without data (one that is traced). */
  int (*view)(PyObject* tensor, MinidynamoTensorView* view);
  /* The elements for writing: invalidates everything cached from them. RuntimeError for read-only memory. */
  void* (*mutable_data)(PyObject* tensor);
} MinidynamoExtensionApi;

#ifdef __cplusplus
}
#endif
