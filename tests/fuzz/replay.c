/* Runs every file of a corpus folder through a fuzz target, without libFuzzer: the
 * ordinary test run keeps every input that once broke a parser. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whole content of a regular file; NULL if it cannot be read. The caller frees it. */
static uint8_t *slurp(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    uint8_t *data = NULL;
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode)) {
        *size = (size_t)st.st_size;
        data = malloc(*size > 0 ? *size : 1);
        if (data != NULL && fread(data, 1, *size, file) != *size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static int replay_file(const char *path) {
    size_t size = 0;
    uint8_t *data = slurp(path, &size);
    if (data == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    struct dirent **names = NULL;
    int count = scandir(argv[1], &names, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: no such folder; a fuzz target needs a corpus\n", argv[1]);
        return 1;
    }
    int run = 0;
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
            failed += replay_file(path) != 0;
            run++;
        }
        free(names[i]);
    }
    free(names);
    if (run == 0) {
        fprintf(stderr, "%s: empty; a fuzz target needs a corpus\n", argv[1]);
        return 1;
    }
    printf("%d inputs replayed\n", run - failed);
    return failed != 0;
}
