/* Reads a dataset of 64-bit floats over the HDF REST API, with libcurl alone:
 *
 *   cc read.c -o read -lcurl && ./read http://127.0.0.1:5101 /moon /grid "[0:10,3]"
 *
 * The service answers ids as JSON; the few fields that are needed are found by name. */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t length;
};

static size_t collect(char *data, size_t size, size_t count, void *to) {
    struct buffer *buffer = to;
    char *grown = realloc(buffer->bytes, buffer->length + size * count + 1);
    if (grown == NULL) return 0;
    memcpy(grown + buffer->length, data, size * count);
    buffer->bytes = grown;
    buffer->length += size * count;
    buffer->bytes[buffer->length] = 0;
    return size * count;
}

/* Asks for a URL; ends the program where the answer is an error or is cut off. */
static struct buffer ask(CURL *curl, const char *url, const char *accept) {
    struct buffer answer = {calloc(1, 1), 0};
    char header[64];
    long status = 0;
    snprintf(header, sizeof header, "Accept: %s", accept);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    if (code != CURLE_OK || status != 200) {
        fprintf(stderr, "%s: %s, status %ld\n%s\n", url, curl_easy_strerror(code), status, answer.bytes);
        exit(1);
    }
    return answer;
}

/* The string after "name": in JSON, copied to `out`. */
static void field(const char *json, const char *name, char *out, size_t size) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *at = strstr(json, key);
    const char *end = at == NULL ? NULL : strchr(at + strlen(key), '"');
    if (end == NULL || (size_t)(end - at) - strlen(key) >= size) {
        fprintf(stderr, "the answer has no %s: %s\n", name, json);
        exit(1);
    }
    size_t length = (size_t)(end - at) - strlen(key);
    memcpy(out, at + strlen(key), length);
    out[length] = 0;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: %s ENDPOINT DOMAIN PATH [SELECT]\n", argv[0]);
        return 2;
    }
    CURL *curl = curl_easy_init();
    char url[2048], id[64], path[1024], base[32];
    char *domain = curl_easy_escape(curl, argv[2], 0);

    snprintf(url, sizeof url, "%s/?domain=%s", argv[1], domain);
    struct buffer answer = ask(curl, url, "application/json");
    field(answer.bytes, "root", id, sizeof id);
    free(answer.bytes);
    snprintf(path, sizeof path, "%s", argv[3]);
    for (char *part = strtok(path, "/"); part != NULL; part = strtok(NULL, "/")) {
        char *title = curl_easy_escape(curl, part, 0);
        snprintf(url, sizeof url, "%s/groups/%s/links/%s?domain=%s", argv[1], id, title, domain);
        answer = ask(curl, url, "application/json");
        field(answer.bytes, "id", id, sizeof id);
        free(answer.bytes);
        curl_free(title);
    }
    snprintf(url, sizeof url, "%s/datasets/%s/type?domain=%s", argv[1], id, domain);
    answer = ask(curl, url, "application/json");
    field(answer.bytes, "base", base, sizeof base);
    if (strcmp(base, "H5T_IEEE_F64LE") != 0) {
        fprintf(stderr, "%s has elements of type %s; this example reads H5T_IEEE_F64LE\n", argv[3], base);
        return 1;
    }
    free(answer.bytes);
    char *select = curl_easy_escape(curl, argc > 4 ? argv[4] : "", 0);
    snprintf(url, sizeof url, "%s/datasets/%s/value?domain=%s%s%s", argv[1], id, domain, argc > 4 ? "&select=" : "", select);
    answer = ask(curl, url, "application/octet-stream");
    for (size_t at = 0; at + sizeof(double) <= answer.length; at += sizeof(double)) {
        double value;
        memcpy(&value, answer.bytes + at, sizeof value);
        printf("%.17g\n", value);
    }
    curl_easy_cleanup(curl);
    return 0;
}
