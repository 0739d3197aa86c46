/* BLAKE3, plain hash mode, 32 bytes out, fed piece by piece. Little-endian hosts only, as all of ours are. */
#include "tree.h"

#include <string.h>

enum { CHUNK_START = 1, CHUNK_END = 2, PARENT = 4, ROOT = 8, BLOCK = 64, BLOCKS_OF_CHUNK = 16 };

static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
static const uint8_t permutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};

static inline uint32_t rotated(uint32_t word, int bits) {
  return word >> bits | word << (32 - bits);
}

static inline void mix(uint32_t *v, int a, int b, int c, int d, uint32_t x, uint32_t y) {
  v[a] += v[b] + x;
  v[d] = rotated(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 12);
  v[a] += v[b] + y;
  v[d] = rotated(v[d] ^ v[a], 8);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 7);
}

/* One block into the eight words of `value`. */
static void compress(uint32_t *value, const uint8_t *block, uint64_t counter, uint32_t length, uint32_t flags) {
  uint32_t m[16], moved[16];
  memcpy(m, block, sizeof m);
  uint32_t v[16] = {
      value[0], value[1],   value[2],   value[3],   value[4],   value[5],          value[6],
      value[7], initial[0], initial[1], initial[2], initial[3], (uint32_t)counter, (uint32_t)(counter >> 32),
      length,   flags};
  for (int round = 0;; round++) {
    mix(v, 0, 4, 8, 12, m[0], m[1]);
    mix(v, 1, 5, 9, 13, m[2], m[3]);
    mix(v, 2, 6, 10, 14, m[4], m[5]);
    mix(v, 3, 7, 11, 15, m[6], m[7]);
    mix(v, 0, 5, 10, 15, m[8], m[9]);
    mix(v, 1, 6, 11, 12, m[10], m[11]);
    mix(v, 2, 7, 8, 13, m[12], m[13]);
    mix(v, 3, 4, 9, 14, m[14], m[15]);
    if (round == 6) break;
    for (int i = 0; i < 16; i++) moved[i] = m[permutation[i]];
    memcpy(m, moved, sizeof m);
  }
  for (int i = 0; i < 8; i++) value[i] = v[i] ^ v[i + 8];
}

/* The value of two subtrees, left and right, where the left one is. */
static void join(uint32_t *left, const uint32_t *right, uint32_t flags) {
  uint8_t pair[BLOCK];
  memcpy(pair, left, 32);
  memcpy(pair + 32, right, 32);
  memcpy(left, initial, 32);
  compress(left, pair, 0, BLOCK, PARENT | flags);
}

static uint32_t start_flag(const struct blake3 *hash) {
  return hash->blocks == 0 ? CHUNK_START : 0;
}

void blake3_begin(struct blake3 *hash) {
  *hash = (struct blake3){0};
  memcpy(hash->value, initial, sizeof initial);
}

/* Something follows: the block that is full is not the last one. */
static void end_block(struct blake3 *hash) {
  bool last = hash->blocks == BLOCKS_OF_CHUNK - 1;
  compress(hash->value, hash->block, hash->chunks, BLOCK, start_flag(hash) | (last ? CHUNK_END : 0));
  hash->length = 0;
  if (!last) {
    hash->blocks++;
    return;
  }
  /* As many subtrees are whole now as the number of chunks ends in zero bits. */
  hash->blocks = 0;
  hash->chunks++;
  uint32_t *top = hash->stack[hash->depth++];
  memcpy(top, hash->value, 32);
  for (uint64_t chunks = hash->chunks; (chunks & 1) == 0; chunks >>= 1) {
    hash->depth--;
    join(hash->stack[hash->depth - 1], hash->stack[hash->depth], 0);
  }
  memcpy(hash->value, initial, sizeof initial);
}

void blake3_add(struct blake3 *hash, const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  while (length > 0) {
    if (hash->length == BLOCK) end_block(hash);
    size_t part = BLOCK - hash->length;
    if (part > length) part = length;
    memcpy(hash->block + hash->length, from, part);
    hash->length += part;
    from += part;
    length -= part;
  }
}

void blake3_end(struct blake3 *hash, char text[65]) {
  memset(hash->block + hash->length, 0, BLOCK - hash->length);
  uint32_t root = hash->depth == 0 ? ROOT : 0;
  compress(hash->value, hash->block, hash->chunks, (uint32_t)hash->length, start_flag(hash) | CHUNK_END | root);
  while (hash->depth > 0) {
    hash->depth--;
    join(hash->stack[hash->depth], hash->value, hash->depth == 0 ? ROOT : 0);
    memcpy(hash->value, hash->stack[hash->depth], 32);
  }
  uint8_t digest[32];
  memcpy(digest, hash->value, sizeof digest);
  for (int i = 0; i < 32; i++) {
    text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  text[64] = '\0';
}
