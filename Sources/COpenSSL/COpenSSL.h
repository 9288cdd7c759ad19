// libcrypto of OpenSSL 3, Debian's libssl-dev: hashes with the processor's own instructions, and nothing that an app compiles.
#ifndef UBIQUITY_COPENSSL_H
#define UBIQUITY_COPENSSL_H

#include <openssl/evp.h>

#endif
