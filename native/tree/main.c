/* One job, or jobs as they are asked for. */
#include "tree.h"

#include <string.h>

int main(int count, char **words) {
  begin_process();
  if (count == 2 && strcmp(words[1], "serve") == 0) {
    prepare_to_serve();
    serve_jobs();
  }
  run_alone(count - 1, words + 1);
}
