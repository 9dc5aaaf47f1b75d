/* Runs an exported model from C: sentences from standard input, one a line, to numbers.
 *
 * Usage: predict FOLDER INPUT[,LENGTHS] OUTPUT[:INDEX] [LIBRARY]
 *
 *   FOLDER   the SavedModel, as saved_models/elmo/1
 *   INPUT    the operation that takes the text, OUTPUT the one that gives floats: those of a
 *            signature, as `saved_model_cli show --dir FOLDER --all` prints them
 *   LENGTHS  with the signature `tokens`: the operation that takes `sequence_len`; INPUT takes the
 *            tokens then, which are what single spaces separate in a line
 *   LIBRARY  tensorflow_text/python/ops/_regex_split_ops.so, unless exported with ops="core"
 *
 * Prints the shape on one line, then each number on its own. With the libraries of the pip package
 * (TF is the folder of the Python package `tensorflow`):
 *
 *   cc -I$TF/include predict.c -o predict -L$TF -l:libtensorflow_cc.so.2 \
 *      -l:libtensorflow_framework.so.2 -Wl,-rpath,$TF
 */

#define _GNU_SOURCE /* getline */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static void stop(const char *what, const char *why) {
  fprintf(stderr, "predict: %s: %s\n", what, why);
  exit(1);
}

static void check(const TF_Status *status, const char *what) {
  if (TF_GetCode(status) != TF_OK) stop(what, TF_Message(status));
}

/* "name:1" is the second output of the operation `name`. */
static TF_Output find(TF_Graph *graph, char *name) {
  TF_Output output = {NULL, 0};
  char *colon = strrchr(name, ':');
  if (colon != NULL) {
    *colon = '\0';
    output.index = atoi(colon + 1);
  }
  output.oper = TF_GraphOperationByName(graph, name);
  if (output.oper == NULL) stop(name, "the graph has no such operation");
  return output;
}

struct lines {
  size_t count;
  char **text;
  size_t *size;
};

static struct lines read_lines(FILE *file) {
  struct lines lines = {0, NULL, NULL};
  char *line = NULL;
  size_t space = 0;
  ssize_t size;
  while ((size = getline(&line, &space, file)) >= 0) {
    if (size > 0 && line[size - 1] == '\n') size--;
    lines.text = realloc(lines.text, (lines.count + 1) * sizeof(char *));
    lines.size = realloc(lines.size, (lines.count + 1) * sizeof(size_t));
    lines.text[lines.count] = malloc(size + 1);
    memcpy(lines.text[lines.count], line, size);
    lines.size[lines.count++] = size;
  }
  free(line);
  return lines;
}

/* A tensor of strings, all of them "". */
static TF_Tensor *strings(const int64_t *shape, int rank) {
  size_t count = 1;
  for (int k = 0; k < rank; k++) count *= shape[k];
  TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, shape, rank, count * sizeof(TF_TString));
  TF_TString *string = TF_TensorData(tensor);
  for (size_t i = 0; i < count; i++) TF_StringInit(&string[i]);
  return tensor;
}

/* The lines as they are, (lines,). */
static TF_Tensor *as_text(struct lines lines) {
  int64_t shape[] = {(int64_t)lines.count};
  TF_Tensor *tensor = strings(shape, 1);
  TF_TString *string = TF_TensorData(tensor);
  for (size_t i = 0; i < lines.count; i++) TF_StringCopy(&string[i], lines.text[i], lines.size[i]);
  return tensor;
}

/* The tokens of the lines, (lines, longest), and their numbers, (lines,). */
static void as_tokens(struct lines lines, TF_Tensor **tokens, TF_Tensor **lengths) {
  int64_t shape[] = {(int64_t)lines.count, 0};
  *lengths = TF_AllocateTensor(TF_INT32, shape, 1, lines.count * sizeof(int32_t));
  int32_t *length = TF_TensorData(*lengths);
  for (size_t i = 0; i < lines.count; i++) {
    length[i] = lines.size[i] > 0;
    for (size_t k = 0; k < lines.size[i]; k++) length[i] += lines.text[i][k] == ' ';
    if (length[i] > shape[1]) shape[1] = length[i];
  }
  *tokens = strings(shape, 2);
  TF_TString *string = TF_TensorData(*tokens);
  for (size_t i = 0; i < lines.count; i++) {
    size_t start = 0;
    for (int32_t t = 0; t < length[i]; t++) {
      size_t end = start;
      while (end < lines.size[i] && lines.text[i][end] != ' ') end++;
      TF_StringCopy(&string[i * shape[1] + t], lines.text[i] + start, end - start);
      start = end + 1;
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) stop("usage", "predict FOLDER INPUT[,LENGTHS] OUTPUT[:INDEX] [LIBRARY]");
  TF_Status *status = TF_NewStatus();
  if (argc == 5) {
    TF_LoadLibrary(argv[4], status);
    check(status, argv[4]);
  }
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Graph *graph = TF_NewGraph();
  const char *tags[] = {"serve"};
  TF_Session *session =
      TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  check(status, argv[1]);

  struct lines lines = read_lines(stdin);
  char *comma = strchr(argv[2], ',');
  int count = comma == NULL ? 1 : 2;
  TF_Output inputs[2], output = find(graph, argv[3]);
  TF_Tensor *values[2], *result = NULL;
  if (comma != NULL) {
    *comma = '\0';
    inputs[1] = find(graph, comma + 1);
    as_tokens(lines, &values[0], &values[1]);
  } else {
    values[0] = as_text(lines);
  }
  inputs[0] = find(graph, argv[2]);
  TF_SessionRun(session, NULL, inputs, values, count, &output, &result, 1, NULL, 0, NULL, status);
  check(status, "run");
  if (TF_TensorType(result) != TF_FLOAT) stop(argv[3], "the output does not hold floats");

  for (int k = 0; k < TF_NumDims(result); k++) {
    printf(k ? " %lld" : "%lld", (long long)TF_Dim(result, k));
  }
  printf("\n");
  const float *numbers = TF_TensorData(result);
  for (int64_t i = 0; i < TF_TensorElementCount(result); i++) printf("%.9g\n", numbers[i]);

  for (int k = 0; k < count; k++) TF_DeleteTensor(values[k]);
  TF_DeleteTensor(result);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteGraph(graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(status);
  return 0;
}
