/* Reads a dataset of 64-bit floats over the HDF REST API, with sockets alone:
 *
 *   cc -std=c99 -Wall read.c -o read && ./read 127.0.0.1 5101 /moon /grid "[0:10,3]"
 *
 * The service answers ids as JSON; the few fields that are needed are found by name. Use libcurl for TLS. */
#define _POSIX_C_SOURCE 200112L
#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *host, *port;

static void fail(const char *what, const char *detail) {
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(1);
}

/* Appends text to a URL, percent-encoded. */
static void append(char *url, size_t size, const char *text) {
    size_t at = strlen(url);
    for (; *text != 0 && at + 4 < size; text++) {
        int plain = isalnum((unsigned char)*text) || strchr("/-_.~", *text) != NULL;
        at += (size_t)snprintf(url + at, size - at, plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
}

/* Asks for a URL. HTTP/1.0: the answer ends where the connection ends. Returns the body and its length. */
static char *ask(const char *url, const char *accept, size_t *length) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo(host, port, &hints, &found) != 0) fail(host, "unknown host");
    int stream = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (stream < 0 || connect(stream, found->ai_addr, found->ai_addrlen) != 0) fail(host, "cannot connect");
    freeaddrinfo(found);
    char request[4096];
    int count = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\nAccept: %s\r\n\r\n", url, host, accept);
    if (count >= (int)sizeof request || write(stream, request, (size_t)count) != count) fail(url, "not sent");
    size_t filled = 0, size = 1 << 16;
    char *answer = malloc(size);
    ssize_t got = 0;
    while (answer != NULL && (got = read(stream, answer + filled, size - filled - 1)) > 0) {
        filled += (size_t)got;
        if (size - filled < 2) answer = realloc(answer, size *= 2);
    }
    close(stream);
    if (answer == NULL || got < 0) fail(url, "the answer was not read");
    answer[filled] = 0;
    char *body = strstr(answer, "\r\n\r\n");
    if (body == NULL || strncmp(answer + 8, " 200", 4) != 0) fail(url, answer);
    char *announced = strstr(answer, "content-length: ");
    *length = filled - (size_t)(body + 4 - answer);
    /* A value that fails while it is sent ends early. */
    if (announced == NULL || announced > body || strtoul(announced + 16, NULL, 10) != *length) fail(url, "cut off");
    memmove(answer, body + 4, *length + 1);
    return answer;
}

/* Asks for JSON, and copies the string after "name": to `out`. */
static void field(const char *url, const char *name, char *out, size_t size) {
    char key[64];
    size_t length;
    char *json = ask(url, "application/json", &length);
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *at = strstr(json, key);
    if (at == NULL) fail(name, json);
    at += strlen(key);
    length = strcspn(at, "\"");
    if (length >= size) fail(name, "too long");
    memcpy(out, at, length);
    out[length] = 0;
    free(json);
}

int main(int argc, char **argv) {
    if (argc < 5) fail("usage", "read HOST PORT DOMAIN PATH [SELECT]");
    host = argv[1], port = argv[2];
    char domain[512] = "?domain=", url[3000], id[64], path[1024], base[32];
    append(domain, sizeof domain, argv[3]);
    snprintf(url, sizeof url, "/%s", domain);
    field(url, "root", id, sizeof id);
    snprintf(path, sizeof path, "%s", argv[4]);
    for (char *part = strtok(path, "/"); part != NULL; part = strtok(NULL, "/")) {
        char title[1024] = "";
        append(title, sizeof title, part);
        snprintf(url, sizeof url, "/groups/%s/links/%s%s", id, title, domain);
        field(url, "id", id, sizeof id);
    }
    snprintf(url, sizeof url, "/datasets/%s/type%s", id, domain);
    field(url, "base", base, sizeof base);
    if (strcmp(base, "H5T_IEEE_F64LE") != 0) fail("this example reads H5T_IEEE_F64LE, not", base);
    snprintf(url, sizeof url, "/datasets/%s/value%s&select=", id, domain);
    append(url, sizeof url, argc > 5 ? argv[5] : "");
    size_t length;
    char *bytes = ask(url, "application/octet-stream", &length);
    for (size_t at = 0; at + sizeof(double) <= length; at += sizeof(double)) {
        double value;
        memcpy(&value, bytes + at, sizeof value);
        printf("%.17g\n", value);
    }
    free(bytes);
    return 0;
}
