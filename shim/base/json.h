/* Strings of JSON, into a text of bounded size. */
#ifndef MGDS_BASE_JSON_H
#define MGDS_BASE_JSON_H

#include "shim/base/text.h"

/* Adds the string with its quotes: what JSON wants escaped is, and each byte
 * that is no UTF-8 becomes U+FFFD. */
void mgds_json_string(struct mgds_text *text, const char *string);

#endif
