/* Arguments of the form name=value. */
#pragma once
#include <stdlib.h>
#include <string.h>

static inline const char *text(int argc, char **argv, const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
            return argv[i] + length + 1;
    return otherwise;
}

static inline double number(int argc, char **argv, const char *name, double otherwise)
{
    const char *value = text(argc, argv, name, NULL);
    return value ? atof(value) : otherwise;
}
